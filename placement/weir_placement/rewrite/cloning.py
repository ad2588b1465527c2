"""Parallel instances of an operator by key ([1]_, section 5.3: stream splitting, merging and cloning).

An operator becomes n clones. Each reads its share of the rows through a selection on the key (splitting);
a union puts the results together (merging). All of them are ordinary operators, so cost model, searches,
fragments and the runtime know them already. Rows that may meet (a join's partners, a group's rows) have
equal keys, so they meet in one clone, and the multiset of results stays.

References
----------
.. [1] Ioana Stanoi, George A. Mihaila, Themis Palpanas, Christian A. Lang, "WhiteWater: Distributed
       Processing of Fast Streams", 2007.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from weir_placement.model.expressions import canonical_name, conjuncts, source_types
from weir_placement.model.operators import Operator
from weir_placement.model.problem import Query
from weir_placement.model.streams import Stream
from weir_placement.model.types import INTEGERS
from weir_placement.rewrite.constraints import equal_columns


def clone(
    query: Query,
    streams: Mapping[str, Stream],
    name: str,
    count: int,
    split_cost: float,
    merge_cost: float,
) -> Query | None:
    """The query with `count` >= 2 clones of operator `name`, or None if no key tells their rows apart, or if
    a join reads what it gives: a window join needs each source's event time, which a union's rows lack.

    Ids: clones `name-1of2`, their selections `name-1of2-in1`, the union `name-merged`; each says `from`
    which operator it comes. Costs [CPU-us a tuple] of a selection and of the union are given, those of a
    clone are the operator's; a join's selectivity grows by `count`: rows of different clones never join.
    """
    op = next(o for o in query.operators if o.id == name)
    keys = _keys(query, streams, op)
    if keys is None or count < 2 or _is_joined(query, name):
        return None
    made: list[Operator] = []
    clones: list[str] = []
    for k in range(count):
        label = f"{name}-{k + 1}of{count}"
        inputs = []
        for side, (read, (column, bucket)) in enumerate(zip(op.inputs, keys, strict=True), 1):
            predicate = f"COALESCE(pmod({bucket}, {count}), 0) = {k}"
            split = Operator(f"{label}-in{side}", "filter", (read,), (column,), predicate, origin=(name,))
            made.append(replace(split, selectivity=1.0 / count, cost=split_cost))
            inputs.append(split.id)
        share = replace(op, id=label, inputs=tuple(inputs), origin=(name,))
        if op.kind == "join":
            share = replace(share, selectivity=min(1.0, count * op.selectivity))
        elif op.kind == "aggregate":
            share = replace(share, groups=max(1.0, op.groups / count))
        made.append(share)
        clones.append(label)
    merged = Operator(f"{name}-merged", "union", tuple(clones), cost=merge_cost, origin=(name,))
    operators: list[Operator] = []
    for other in query.operators:
        if other.id == name:
            operators += [*made, merged]
        else:
            renamed = tuple(merged.id if i == name else i for i in other.inputs)
            operators.append(other if renamed == other.inputs else replace(other, inputs=renamed))
    return replace(query, operators=tuple(operators))


def _is_joined(query: Query, name: str) -> bool:
    """Whether a join is somewhere above an operator."""
    above = {name}
    for op in query.operators:
        if above.intersection(op.inputs):
            if op.kind == "join":
                return True
            above.add(op.id)
    return False


def _keys(query: Query, streams: Mapping[str, Stream], op: Operator) -> list[tuple[str, str]] | None:
    """For each input of an operator the column that decides a row's clone and its text as a whole number."""
    types = source_types({alias: streams[stream] for alias, stream in query.sources.items()})

    def bucket(column: str) -> str | None:
        text = canonical_name(column)
        if types.get(column) in INTEGERS:
            return text
        if types.get(column) == "TIMESTAMP":
            return f"unix_millis({text})"
        if types.get(column) == "STRING":
            return f"instr('0123456789abcdef', left(md5({text}), 1))"
        return None

    if op.kind in ("filter", "project"):
        return next(([(c, b)] for c in op.columns if (b := bucket(c))), None)
    if op.kind == "aggregate":
        plain = (item.expression for item in op.items)
        return next(([(c, b)] for c in plain if (b := bucket(c))), None)
    if op.kind == "join":
        for condition in conjuncts(op.on):
            pair = equal_columns(condition.text)
            if pair is None or types.get(pair[0]) != types.get(pair[1]):
                continue
            left, right = (bucket(column) for column in pair)
            if left and right:
                below = _aliases(query, op.inputs[0])
                ordered = [(pair[0], left), (pair[1], right)]
                return ordered if pair[0].split(".")[0] in below else ordered[::-1]
    return None


def _aliases(query: Query, name: str) -> set[str]:
    """The sources below an operator."""
    if name in query.sources:
        return {name}
    op = next(o for o in query.operators if o.id == name)
    return set().union(*(_aliases(query, i) for i in op.inputs))
