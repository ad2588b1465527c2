"""What the functions in an operator's expressions cost a row, besides what its kind does."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

from weir_placement.model.expression_parser import parse_tree
from weir_placement.model.operator_base import OperatorBase
from weir_placement.model.operators import Aggregate, Filter, Project, is_plain
from weir_placement.rewrite.estimates import CostDefaults

if TYPE_CHECKING:
    from sqlglot.expressions import Expr as Node

Op = TypeVar("Op", bound=OperatorBase)

COSTS: Mapping[str, float] = {
    "Add": 0.033,
    "Sub": 0.057,
    "Mul": 0.06,
    "Div": 0.057,
    "Mod": 0.047,
    "IntDiv": 0.039,
    "Neg": 0.049,
    "LT": 0.031,
    "LTE": 0.031,
    "GT": 0.071,
    "GTE": 0.07,
    "EQ": 0.05,
    "NEQ": 0.048,
    "NullSafeEQ": 0.067,
    "And": 0.005,
    "Or": 0.008,
    "Not": 0.031,
    "Is": 0.046,
    "Between": 0.07,
    "In": 0.041,
    "If": 0.024,
    "Case": 0.005,
    "Abs": 0.058,
    "Sign": 0.064,
    "Floor": 0.051,
    "Ceil": 0.069,
    "Sqrt": 0.029,
    "Exp": 0.03,
    "Ln": 0.043,
    "Sin": 0.034,
    "Cos": 0.042,
    "Radians": 0.005,
    "Pow": 0.09,
    "Round": 0.49,
    "Greatest": 0.07,
    "Least": 0.056,
    "Coalesce": 0.04,
    "Nullif": 0.068,
    "IsNan": 0.053,
    "isnull": 0.056,
    "isnotnull": 0.044,
    "pmod": 0.071,
    "Lower": 0.32,
    "Upper": 0.51,
    "Length": 0.13,
    "DPipe": 0.3,
    "Concat": 0.29,
    "Substring": 0.22,
    "Left": 0.24,
    "Right": 0.34,
    "StartsWith": 0.069,
    "EndsWith": 0.01,
    "Contains": 0.083,
    "StrPosition": 0.18,
    "Replace": 0.49,
    "Trim": 0.098,
    "MD5": 0.64,
    "Like": 0.069,
    "ILike": 0.32,
    "TsOrDsToDate": 0.2,
    "Year": 0.005,
    "Quarter": 0.22,
    "Month": 0.005,
    "WeekOfYear": 0.11,
    "Day": 0.005,
    "DayOfWeek": 0.005,
    "DayOfYear": 0.005,
    "weekday": 0.21,
    "Hour": 0.13,
    "Minute": 0.066,
    "Second": 0.13,
    "TimestampTrunc": 0.051,
    "UnixMicros": 0.055,
    "UnixMillis": 0.056,
    "UnixSeconds": 0.005,
    "timestamp_micros": 0.005,
    "Interval": 0.147,
    "cast to bigint": 0.009,
    "cast to double": 0.29,
    "cast to text": 0.37,
    "cast to int": 0.012,
    "cast to float": 0.024,
    "cast to boolean": 0.011,
    "cast to timestamptz": 0.4,
    "cast to date": 0.15,
    "cast to decimal": 0.58,
}
"""[CPU-us a row], as `weir bench functions` measured them: columns as arguments, texts of 20 characters."""
FREE = {
    *("Column", "Identifier", "Literal", "Paren", "Null", "Boolean", "Var"),
    *("DataType", "DataTypeParam"),
}
"""Nodes of a parsed expression that do no work of their own."""


def key_of(node: Node) -> str:
    """The entry of `COSTS` for a node of a canonical expression; "" for columns, literals, parentheses."""
    name = type(node).__name__
    if name == "Anonymous":
        return str(node.this).lower()
    if name == "TryCast":
        return f"cast to {node.args['to'].this.name.lower()}"
    return "" if name in FREE else name


@lru_cache(maxsize=4096)
def text_cost(text: str) -> float:
    """[CPU-us] of one evaluation of a canonical expression."""
    return sum(COSTS.get(key_of(node), 0.0) for node in parse_tree(text).walk())


def computing(op: OperatorBase) -> float:
    """[CPU-us a row] of the expressions of a selection, projection or aggregate; 0 of other kinds.

    Each is taken to be evaluated whole: what a CASE leaves out, and what two have in common, counts too.
    """
    if isinstance(op, Filter):
        texts = [op.predicate]
    elif isinstance(op, Project):
        texts = [item.expression for item in op.items]
    elif isinstance(op, Aggregate):
        texts = [item.expression for item in op.items]
        texts += [each.expression for each in op.aggregations if each.expression]
    else:
        return 0.0
    return sum(text_cost(text) for text in texts if text)


def with_functions(op: Op) -> Op:
    """The operator, whose cost is that of its kind, with what its expressions cost besides."""
    extra = computing(op)
    return op.changed(cost=op.cost + extra) if extra else op


def narrow_cost(like: Project) -> float:
    """[CPU-us a row] of a projection that drops columns for one that computes: without what computing is of
    its cost, by the defaults, because its own may be measured."""
    if is_plain(like):
        return like.cost
    base = CostDefaults().project
    return like.cost * base / (base + computing(like))
