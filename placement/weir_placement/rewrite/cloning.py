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

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from weir_placement.model.expressions import canonical_name, conjuncts, source_types
from weir_placement.model.operators import Filter, Join, Operator, Union
from weir_placement.model.problem import Query
from weir_placement.model.streams import Stream
from weir_placement.model.types import INTEGERS
from weir_placement.rewrite.constraints import equal_columns

Keys = list[tuple[str, str]]
"""For each input a column and its text as a whole number."""


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
    parts: list[Operator] = []
    clones: list[str] = []
    for k in range(count):
        label = f"{name}-{k + 1}of{count}"
        inputs = []
        for side, (read, (column, bucket)) in enumerate(zip(op.inputs, keys, strict=True), 1):
            predicate = f"COALESCE(pmod({bucket}, {count}), 0) = {k}"
            split = Filter(f"{label}-in{side}", (read,), (column,), predicate, origin=(name,))
            parts.append(replace(split, selectivity=1.0 / count, cost=split_cost))
            inputs.append(split.id)
        share = _SHARES[op.kind](op, count) if op.kind in _SHARES else op
        parts.append(replace(share, id=label, inputs=tuple(inputs), origin=(name,)))
        clones.append(label)
    merged = Union(f"{name}-merged", tuple(clones), cost=merge_cost, origin=(name,))
    operators: list[Operator] = []
    for other in query.operators:
        if other.id == name:
            operators += [*parts, merged]
        else:
            renamed = tuple(merged.id if i == name else i for i in other.inputs)
            operators.append(other if renamed == other.inputs else replace(other, inputs=renamed))
    return replace(query, operators=tuple(operators))


def _is_joined(query: Query, name: str) -> bool:
    """Whether a join is somewhere above an operator."""
    above = {name}
    for op in query.operators:
        if above.intersection(op.inputs):
            if isinstance(op, Join):
                return True
            above.add(op.id)
    return False


@dataclass(frozen=True)
class _Columns:
    """The columns of a query's sources."""

    query: Query
    types: Mapping[str, str]

    def bucket(self, column: str) -> str | None:
        """A column as the text of a whole number; None when its type has none."""
        text = canonical_name(column)
        if self.types.get(column) in INTEGERS:
            return text
        if self.types.get(column) == "TIMESTAMP":
            return f"unix_millis({text})"
        if self.types.get(column) == "STRING":
            return f"instr('0123456789abcdef', left(md5({text}), 1))"
        return None

    def first(self, names: Iterable[str]) -> Keys | None:
        """The first that has a bucket, as the key of an operator's only input."""
        return next(([(name, b)] for name in names if (b := self.bucket(name))), None)


def _keys(query: Query, streams: Mapping[str, Stream], op: Operator) -> Keys | None:
    """For each input of an operator the column that decides a row's clone and its text as a whole number."""
    types = source_types({alias: streams[stream] for alias, stream in query.sources.items()})
    return _KEYS[op.kind](op, _Columns(query, types)) if op.kind in _KEYS else None


def _join_keys(op: Join, columns: _Columns) -> Keys | None:
    for condition in conjuncts(op.on):
        pair = equal_columns(condition.text)
        if pair is None or columns.types.get(pair[0]) != columns.types.get(pair[1]):
            continue
        left, right = (columns.bucket(column) for column in pair)
        if left and right:
            below = _aliases(columns.query, op.inputs[0])
            ordered = [(pair[0], left), (pair[1], right)]
            return ordered if pair[0].split(".")[0] in below else ordered[::-1]
    return None


def _aliases(query: Query, name: str) -> set[str]:
    """The sources below an operator."""
    if name in query.sources:
        return {name}
    op = next(o for o in query.operators if o.id == name)
    return set().union(*(_aliases(query, i) for i in op.inputs))


_KEYS: Mapping[str, Callable[[Any, _Columns], Keys | None]] = {
    "filter": lambda op, columns: columns.first(op.columns),
    "project": lambda op, columns: columns.first(op.columns),
    "aggregate": lambda op, columns: columns.first(item.expression for item in op.items),
    "join": _join_keys,
}
"""By kind, of kinds that can be cloned."""
_SHARES: Mapping[str, Callable[[Any, int], Operator]] = {
    "join": lambda op, count: replace(op, selectivity=min(1.0, count * op.selectivity)),
    "aggregate": lambda op, count: replace(op, groups=max(1.0, op.groups / count)),
}
"""What one of `count` clones is beside a share of the rows."""
