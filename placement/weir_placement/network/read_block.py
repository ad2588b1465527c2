"""Finds the join block of a query: which operators may change order, on which inputs and conditions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import reduce
from operator import or_
from types import MappingProxyType
from typing import TypeGuard

from weir_placement.model.expressions import conjuncts
from weir_placement.model.operators import Filter, Join, Operator, Project, is_plain
from weir_placement.model.problem import Query
from weir_placement.network.join_block import Edge, JoinBlock
from weir_placement.rewrite.joined_rate import JoinCondition, WrittenJoin, joined_rate

_EQUALITY = re.compile(r"([\w`]+\.[\w.`]+) = ([\w`]+\.[\w.`]+)")


def block_of(
    query: Query,
    root: str,
    single_reader: frozenset[str],
    types: Mapping[str, str] = MappingProxyType({}),
    distinct: Mapping[str, float] = MappingProxyType({}),
) -> JoinBlock | None:
    """The block whose result is that of operator `root`, or None when no join is in reach.

    Goes down through joins, filters and plain projections that have one reader. `types` (by qualified
    column) keep classes exact: an equality of unlike types (BIGINT = DOUBLE) is not transitive; `distinct`
    are declared values.
    """
    operators = {op.id: op for op in query.operators}
    inputs: list[str] = []
    covers: dict[str, int] = {}  # source alias -> mask of its input
    filters: list[tuple[int, Filter]] = []
    joins: list[tuple[int, int, Join]] = []
    projections: list[Project] = []

    def walk(name: str) -> int:
        op = operators.get(name)
        inner = op is not None and (name == root or name in single_reader)
        if op is None or not inner or not in_block(op):
            mask = 1 << len(inputs)
            inputs.append(name)
            covers.update(dict.fromkeys(_aliases(query, operators, name), mask))
            return mask
        masks = [walk(i) for i in op.inputs]
        if isinstance(op, Join):
            joins.append((masks[0], masks[1], op))
        elif isinstance(op, Filter):
            filters.append((masks[0], op))
        else:
            projections.append(op)
        return reduce(or_, masks)

    walk(root)
    if not joins:
        return None
    beneath = tuple(tuple(sorted(_aliases(query, operators, name))) for name in inputs)
    reads = [(_mask(covers, op.columns) or below, op) for below, op in filters]
    checked = [(left, right, op, _edges(op, covers, types)) for left, right, op in joins]
    edges = [edge for *_, own in checked for edge in own]
    written = [
        WrittenJoin(left, right, tuple(map(_condition, own)), op.half_width, op.selectivity)
        for left, right, op, own in checked
    ]
    windows = [
        (covers[w.left].bit_length() - 1, covers[w.right].bit_length() - 1, w)
        for _, _, op in joins
        for w in op.windows
    ]
    return JoinBlock(
        tuple(inputs),
        tuple(edges),
        tuple(windows),
        tuple(reads),
        tuple(joins),
        tuple(projections),
        beneath,
        joined_rate(written, (w for _, _, w in windows), covers, distinct),
    )


def in_block(op: Operator) -> TypeGuard[Join | Filter | Project]:
    """Whether other operators of a block may change places with it."""
    return isinstance(op, Join | Filter) or is_plain(op)


def _aliases(query: Query, operators: Mapping[str, Operator], name: str) -> set[str]:
    if name in query.sources:
        return {name}
    return {alias for i in operators[name].inputs for alias in _aliases(query, operators, i)}


def _mask(covers: Mapping[str, int], columns: Iterable[str]) -> int:
    return reduce(or_, (covers.get(c.split(".")[0], 0) for c in columns), 0)


def _edges(op: Join, covers: Mapping[str, int], types: Mapping[str, str]) -> list[Edge]:
    """The conjuncts of a written join."""
    own = [_edge(op, text, columns, covers, types) for text, columns in _conjuncts(op.on)]
    return own or [Edge("", (), (covers[w.left], covers[w.right]), op.id, False) for w in op.windows]


def _condition(edge: Edge) -> JoinCondition:
    """An edge for the rule of rates."""
    if not edge.equality:
        return JoinCondition(edge.mask, edge.text)
    (one, other), (left, right) = edge.columns, edge.sides
    return JoinCondition(edge.mask, edge.text, ((one, left), (other, right)))


def _conjuncts(text: str) -> list[tuple[str, tuple[str, ...]]]:
    """A canonical condition split at AND, with the columns of each part."""
    pair = _EQUALITY.fullmatch(text)
    if pair:  # nearly always: no need to parse
        return [(text, pair.groups())]
    return [(part.text, part.columns) for part in conjuncts(text)]


def _edge(
    op: Join, text: str, columns: tuple[str, ...], covers: Mapping[str, int], types: Mapping[str, str]
) -> Edge:
    pair = _EQUALITY.fullmatch(text)
    if pair:
        sides = tuple(_mask(covers, [c]) for c in pair.groups())
        if sides[0] != sides[1] and types.get(pair[1]) == types.get(pair[2]):
            return Edge(text, pair.groups(), sides, op.id, True)
    return Edge(text, columns, tuple(_mask(covers, [c]) for c in columns), op.id, False)
