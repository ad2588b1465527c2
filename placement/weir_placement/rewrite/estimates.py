"""Selectivities, groups and costs before anything was measured.

The fractions are those of System R's optimizer (Selinger et al., 1979, table 1), which every text
book repeats because nothing better is known without statistics; measured values replace them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from weir_placement.model.expression_parser import parse_tree
from weir_placement.model.streams import Stream

if TYPE_CHECKING:
    from sqlglot.expressions import Expression as Node

UNKNOWN_DISTINCT = 100.0
"""Distinct values of a column without statistics."""
RANGE = 1 / 3
BETWEEN = 1 / 4
OTHER = 1 / 3
EQUAL = 1 / 10


@dataclass(frozen=True)
class CostDefaults:
    """Costs by kind, replaced by what `weir calibrate` measured; the defaults are Spark's on one slow core.

    [CPU-us] a tuple, a probed pair or an output row; [bytes] of a group's state and of the overhead
    of a stored row, as Spark's state in memory takes them: keys, entries of two maps, and of two versions.
    """

    filter: float = 1.0
    project: float = 1.0
    join: float = 12.0
    join_pair: float = 0.2
    join_out: float = 2.0
    aggregate: float = 8.0
    union: float = 0.5
    row_overhead: float = 600.0
    group_bytes: float = 500.0


def filter_selectivity(text: str, distinct: Mapping[str, float]) -> float:
    """The share of rows that a canonical condition keeps; `distinct` by qualified column."""
    return min(1.0, max(1e-6, _share(parse_tree(text), distinct)))


def _share(node: Node, distinct: Mapping[str, float]) -> float:
    name = type(node).__name__
    if name == "Paren":
        return _share(node.this, distinct)
    if name == "And":
        return _share(node.this, distinct) * _share(node.expression, distinct)
    if name == "Or":
        a, b = _share(node.this, distinct), _share(node.expression, distinct)
        return a + b - a * b
    if name == "Not":
        return 1 - _share(node.this, distinct)
    if name == "Boolean":
        return 1.0 if node.this else 0.0
    if name in ("EQ", "NullSafeEQ"):
        return _equal(node, distinct)
    if name == "NEQ":
        return 1 - _equal(node, distinct)
    if name == "In":
        return min(0.5, len(node.expressions) * _equal(node, distinct))
    if name == "Is":
        return EQUAL if type(node.expression).__name__ == "Null" else 0.5
    if name == "Column":
        return 0.5
    return {"LT": RANGE, "LTE": RANGE, "GT": RANGE, "GTE": RANGE, "Between": BETWEEN}.get(name, OTHER)


def _equal(node: Node, distinct: Mapping[str, float]) -> float:
    sides = [node.this] if type(node).__name__ == "In" else [node.this, node.expression]
    counts = [distinct[c] for c in map(plain_column, sides) if c in distinct]
    return 1 / max(counts) if counts else EQUAL


def plain_column(node: Node) -> str:
    """The column's qualified name; "" when the node is anything else."""
    if type(node).__name__ == "Paren":
        return plain_column(node.this)
    if type(node).__name__ != "Column":
        return ""
    return ".".join(part.name for part in node.parts)  # type: ignore[attr-defined]


def equality(text: str) -> tuple[str, str] | None:
    """The two columns of `a.x = b.y`; None when the condition is anything else."""
    node = parse_tree(text)
    if type(node).__name__ != "EQ":
        return None
    left, right = plain_column(node.this), plain_column(node.expression)
    return (left, right) if left and right else None


def condition_selectivity(text: str, distinct: Mapping[str, float]) -> float:
    """The share of pairs of rows that a canonical condition on several sources keeps."""
    columns = equality(text)
    if columns is None:
        return filter_selectivity(text, distinct)
    return 1.0 / max(distinct_values(column, distinct) for column in columns)


def source_distinct(sources: Mapping[str, Stream]) -> dict[str, float]:
    """Distinct values by qualified column, where they are declared; `sources` by alias."""
    return {
        f"{alias}.{c}": count for alias, stream in sources.items() for c, count in stream.distinct.items()
    }


def distinct_values(column: str, distinct: Mapping[str, float]) -> float:
    """Distinct values of a column, guessed when there are no statistics."""
    return max(1.0, distinct.get(column, UNKNOWN_DISTINCT))
