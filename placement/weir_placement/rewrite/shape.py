"""Canonical names: `shape` of a plan, where order matters, and `signature` of a stream, where it does not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import permutations, product

from weir_placement.model.expressions import conjuncts
from weir_placement.model.operators import Operator
from weir_placement.model.problem import Query
from weir_placement.rewrite.constraints import Classes, equal_columns
from weir_placement.rewrite.rules import is_plain

_MOST_LABELINGS = 5040
_ALIAS = re.compile(r"""'[^']*'|"[^"]*"|(?<![\w.])(\w+)\.""")  # not inside of strings


def shape(query: Query) -> str:
    """The structure of a plan: operators by what they do, a join's sides in either order.

    Plans of equal shape do the same work at the same places of the tree, whatever ids they have.
    """
    done: dict[str, str] = {}
    for operator in query.operators:
        inputs = [done.get(name, name) for name in operator.inputs]
        if operator.kind == "join":
            inputs.sort()
        done[operator.id] = f"{_does(operator)}({','.join(inputs)})"
    return done[query.operators[-1].id]


def _does(operator: Operator) -> str:
    if operator.kind == "filter":
        return f"filter[{operator.predicate}]"
    if operator.kind == "project":
        return f"project[{','.join(f'{i.name}={i.expression}' for i in operator.items)}]"
    if operator.kind == "join":
        windows = sorted(f"{w.left},{w.right},{w.lower},{w.upper}" for w in operator.windows)
        return f"join[{';'.join(sorted(c.text for c in conjuncts(operator.on)))};{';'.join(windows)}]"
    if operator.kind == "aggregate":
        keys = [f"{i.name}={i.expression}" for i in operator.items]
        made = [f"{a.name}={a.function}({a.expression or '*'})" for a in operator.aggregations]
        return f"aggregate[{operator.time},{operator.window},{operator.slide},{','.join(keys + made)}]"
    return operator.kind


def signature(query: Query, name: str) -> str:
    """Of the stream that leaves an operator or a source: equal when the same operators were applied to
    the same streams, whatever the aliases, the order of joins and filters, and where columns were
    dropped before the last time.

    Streams that occur several times (self-joins) are told apart by trying every labelling, up to
    5,040; beyond, labels follow the aliases, and equal streams may get unequal signatures.
    """
    facts = _facts({o.id: o for o in query.operators}, query.sources, name)
    best = min(_written(facts, labels) for labels in _labellings(query.sources, sorted(facts.aliases)))
    return blake2b(best.encode(), digest_size=12).hexdigest()


@dataclass
class _Facts:
    """What was done to make a stream, without order.

    `nested` are operators that keep an order (aggregates, unions, projections that compute), each
    with what was done to make its inputs; `columns` what is left of the columns.
    """

    aliases: set[str] = field(default_factory=set)
    parts: set[str] = field(default_factory=set)
    equal: list[tuple[str, str]] = field(default_factory=list)
    nested: list[tuple[str, list[_Facts]]] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)


def _facts(operators: Mapping[str, Operator], sources: Mapping[str, str], name: str) -> _Facts:
    if name in sources:
        return _Facts(aliases={name}, columns=[f"all {name}."])
    operator = operators[name]
    below = [_facts(operators, sources, i) for i in operator.inputs]
    first = below[0]
    if operator.kind == "filter":
        first.parts.add(f"filter {operator.predicate}")
        return first
    if operator.kind == "join":
        return _joined(operator, below)
    if is_plain(operator):
        first.columns = [i.name for i in operator.items]
        return first
    aliases = set().union(*(f.aliases for f in below))
    for facts in below:
        if operator.kind != "union":
            facts.columns = []  # what the operator reads is all that matters, and it says so itself
    return _Facts(aliases, nested=[(_does(operator), below)])


def _joined(operator: Operator, below: list[_Facts]) -> _Facts:
    facts = _Facts()
    for side in below:
        facts.aliases |= side.aliases
        facts.parts |= side.parts
        facts.equal += side.equal
        facts.nested += side.nested
        facts.columns += side.columns
    for condition in conjuncts(operator.on):
        pair = equal_columns(condition.text)
        if pair:
            facts.equal.append(pair)
        else:
            facts.parts.add(f"on {condition.text}")
    for w in operator.windows:
        facts.parts |= {f"{w.left}. - {w.right}. <= {w.upper}", f"{w.right}. - {w.left}. <= {-w.lower}"}
    return facts


def _written(facts: _Facts, labels: Mapping[str, str]) -> str:
    def renamed(text: str) -> str:
        return _ALIAS.sub(lambda m: labels.get(m[1], m[1]) + "." if m[1] else m[0], text)

    classes = Classes(facts.equal)
    members: dict[str, set[str]] = {}
    for column in {c for pair in facts.equal for c in pair}:
        members.setdefault(classes.root(column), set()).add(renamed(column))
    lines = [
        *sorted(labels[a] for a in facts.aliases),
        *sorted("=".join(sorted(m)) for m in members.values()),
    ]
    lines += sorted(map(renamed, facts.parts)) + sorted(map(renamed, facts.columns))
    for does, below in facts.nested:
        lines.append(f"{renamed(does)} of {sorted(_written(f, labels) for f in below)}")
    return "\n".join(lines)


def _labellings(sources: Mapping[str, str], aliases: list[str]) -> Iterable[dict[str, str]]:
    """Aliases as `stream#number`, in every way that streams occurring several times allow."""
    by_stream: dict[str, list[str]] = {}
    for alias in aliases:
        by_stream.setdefault(sources[alias], []).append(alias)
    count = 1
    for group in by_stream.values():
        for n in range(2, len(group) + 1):
            count *= n
    orders = [permutations(g) if count <= _MOST_LABELINGS else [tuple(g)] for g in by_stream.values()]
    for chosen in product(*orders):
        yield {
            alias: f"{stream}#{i}"
            for stream, order in zip(by_stream, chosen, strict=True)
            for i, alias in enumerate(order)
        }
