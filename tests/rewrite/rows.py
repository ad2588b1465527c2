"""A row interpreter of queries, independent of everything else: nested loops over Python dictionaries.

Times are microseconds, NULL is None, rows are dictionaries by qualified column.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from sqlglot import exp, parse_one
from weir_placement.model.operators import Aggregation, Filter, Join, Operator, Project, Union
from weir_placement.model.problem import Query

Row = dict[str, Any]
Data = Mapping[str, Sequence[Row]]
"""Rows by stream name, columns unqualified."""


def run(query: Query, data: Data, times: Mapping[str, str]) -> Counter[tuple[tuple[str, Any], ...]]:
    """The multiset of rows that the query gives; `times` is each stream's event-time column."""
    streams: dict[str, list[Row]] = {
        alias: [{f"{alias}.{c}": v for c, v in row.items()} for row in data[name]]
        for alias, name in query.sources.items()
    }
    clock = {alias: f"{alias}.{times[name]}" for alias, name in query.sources.items()}
    for operator in query.operators:
        streams[operator.id] = list(_apply(operator, [streams[i] for i in operator.inputs], clock))
    return Counter(tuple(sorted(row.items())) for row in streams[query.operators[-1].id])


def _apply(operator: Operator, inputs: list[list[Row]], clock: Mapping[str, str]) -> list[Row]:
    if isinstance(operator, Filter):
        return [row for row in inputs[0] if value(operator.predicate, row) is True]
    if isinstance(operator, Project):
        return [{i.name: value(i.expression, row) for i in operator.items} for row in inputs[0]]
    if isinstance(operator, Union):
        return [row for rows in inputs for row in rows]
    if isinstance(operator, Join):
        return [
            {**left, **right}
            for left in inputs[0]
            for right in inputs[1]
            if _joins(operator, {**left, **right}, clock)
        ]
    return _aggregate(operator, inputs[0])


def _joins(operator: Operator, row: Row, clock: Mapping[str, str]) -> bool:
    near = all(w.lower <= row[clock[w.left]] - row[clock[w.right]] <= w.upper for w in operator.windows)
    return near and (not operator.on or value(operator.on, row) is True)


def _aggregate(operator: Operator, rows: list[Row]) -> list[Row]:
    length, slide = round(operator.window * 1e6), round(operator.slide * 1e6)
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        time = row[operator.time]
        keys = tuple(value(i.expression, row) for i in operator.items)
        start = time // slide * slide
        while start > time - length:
            groups.setdefault((start, *keys), []).append(row)
            start -= slide
    return [
        {
            "window.start": start,
            "window.end": start + length,
            **{i.name: k for i, k in zip(operator.items, keys, strict=True)},
            **{a.name: _reduced(a, group) for a in operator.aggregations},
        }
        for (start, *keys), group in groups.items()
    ]


def _reduced(aggregation: Aggregation, rows: list[Row]) -> Any:
    if aggregation.expression is None:
        return len(rows)
    values = [v for row in rows if (v := value(aggregation.expression, row)) is not None]
    if aggregation.function == "count":
        return len(values)
    if not values:
        return None
    if aggregation.function == "avg":
        return sum(values) / len(values)
    return {"sum": sum, "min": min, "max": max}[aggregation.function](values)


_trees: dict[str, exp.Expression] = {}


def value(text: str, row: Row) -> Any:
    """An expression's value in SQL's three-valued logic."""
    if text not in _trees:
        _trees[text] = parse_one(text, read="spark")
    return _value(_trees[text], row)


_COMPARE = {
    exp.EQ: lambda a, b: a == b,
    exp.NEQ: lambda a, b: a != b,
    exp.LT: lambda a, b: a < b,
    exp.LTE: lambda a, b: a <= b,
    exp.GT: lambda a, b: a > b,
    exp.GTE: lambda a, b: a >= b,
    exp.Add: lambda a, b: a + b,
    exp.Mul: lambda a, b: a * b,
}


def _value(node: exp.Expression, row: Row) -> Any:
    if isinstance(node, exp.Column):
        return row[".".join(part.name for part in node.parts)]
    if isinstance(node, exp.Literal):
        return node.name if node.is_string else int(node.name)
    if isinstance(node, exp.Paren):
        return _value(node.this, row)
    if isinstance(node, exp.And | exp.Or):
        return _logic(node, _value(node.this, row), _value(node.expression, row))
    if isinstance(node, exp.Not):
        inner = _value(node.this, row)
        return None if inner is None else not inner
    if isinstance(node, exp.Is):
        return _value(node.this, row) is None
    if isinstance(node, exp.Coalesce):
        return next((v for n in [node.this, *node.expressions] if (v := _value(n, row)) is not None), None)
    if isinstance(node, exp.Anonymous):
        return _called(node.name.lower(), [_value(n, row) for n in node.expressions])
    if isinstance(node, exp.UnixMillis):
        time = _value(node.this, row)
        return None if time is None else time // 1000
    left, right = _value(node.this, row), _value(node.expression, row)
    return None if left is None or right is None else _COMPARE[type(node)](left, right)


def _called(name: str, arguments: list[Any]) -> Any:
    assert name == "pmod", name
    return None if None in arguments else arguments[0] % arguments[1]


def _logic(node: exp.Expression, left: bool | None, right: bool | None) -> bool | None:
    decides = isinstance(node, exp.Or)
    if decides in (left, right):
        return decides
    return None if left is None or right is None else not decides
