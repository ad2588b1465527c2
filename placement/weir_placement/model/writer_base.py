"""What every part of the expression writer shares: the written text, and checks of types."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from weir_placement.model import types
from weir_placement.model.expression_parser import place_of
from weir_placement.model.functions import AGGREGATES, ALL_NAMES, BINARY, UNIT_MICROS, WHY_REFUSED, Function
from weir_placement.model.mixed_types import as_one_type, first_two, shortened, typed
from weir_placement.model.suggestion import near

if TYPE_CHECKING:
    from sqlglot.expressions import Expression as Node

ATOM = 9
UNARY = 8
COMPARISON = 4
_CALL = re.compile(r"[A-Za-z_]\w*(?=\s*\()")
_OPEN_CALL = re.compile(r"([A-Za-z_]\w*)\s*\(\s*$")
COMPARISONS = ("LT", "LTE", "GT", "GTE", "EQ", "NEQ")
SIGNS = {
    # classes of sqlglot that are no calls -> what is written
    "BitwiseAnd": "&",
    "BitwiseOr": "|",
    "BitwiseXor": "^",
    "BitwiseNot": "~",
    "BitwiseLeftShift": "<<",
    "BitwiseRightShift": ">>",
    "SimilarTo": "SIMILAR TO",
    "HexString": "a number of base 16",
    "BitString": "a number of base 2",
    "Array": "a list in [ ]",
}
_FAMILY_CASTS = {"N": "DOUBLE", "S": "STRING", "I": "BIGINT"}
_FAMILY_WORDS = {"N": "a number", "S": "a STRING", "I": "a whole number", "T": "a TIMESTAMP"}


class TypedText(NamedTuple):
    """Text, how tightly its outermost operator binds, and its type ("" unknown, `NULL`)."""

    text: str
    precedence: int
    type: str


class BaseWriter:
    """What a pass over a tree knows, and how it refuses.

    Attributes:
        column: how to write a column of this qualified name.
        column_types: type by qualified name; None: columns are taken as written, types are unknown.
        refuse: raises the error for a node.
        text: in which the nodes have their places.
        checks_constants: whether constants that no row could use are refused; what is stored keeps them.
    """

    def __init__(
        self,
        column: Callable[[str], str],
        column_types: Mapping[str, str] | None,
        refuse: Callable[[Node, str], NoReturn],
        text: str = "",
        checks_constants: bool = False,
    ) -> None:
        self.text = text
        self.checks_constants = checks_constants
        self.column = column
        self.column_types = column_types
        self.refuse = refuse
        self._folded = {name.lower(): name for name in column_types or ()}

    def write(self, node: Node) -> TypedText:
        """The text of a node and all below it."""
        raise NotImplementedError

    def refuse_unknown(self, node: Node) -> NoReturn:
        name = type(node).__name__
        written = written_name(node, self.text)
        sql_name = written or SIGNS.get(name) or _sql_name(node)
        if name in AGGREGATES:
            self.refuse(
                node, f"{sql_name} is an aggregate; it is only allowed as an item of SELECT with GROUP BY"
            )
        if name in WHY_REFUSED and written.lower() not in WHY_REFUSED:
            value, hint = (f"{node.sql('spark')}: ", _unit_meant(node)) if name == "Interval" else ("", "")
            self.refuse(node, f"{value}{WHY_REFUSED[name]}{hint}")
        why = WHY_REFUSED.get(sql_name.lower())
        what = f"the function {sql_name}" if _is_function(node) and name not in SIGNS else sql_name
        if why:
            self.refuse(node, f"{what} is not supported: it {why}")
        if sql_name.lower() == "window":
            right = "BETWEEN joins rows of two streams by their times; `weir help sql`"
            self.refuse(node, f"window(...) makes the groups of aggregates: write it in GROUP BY; {right}")
        meant = near(sql_name.lower(), ALL_NAMES, 0.8) if _is_function(node) else ""
        hint = f"did you mean {meant}?" if meant else "`weir help sql` lists what is"
        self.refuse(node, f"{what} is not supported; {hint}")

    def need(self, node: Node, operands: Sequence[TypedText], right: str, where: str) -> None:
        for value, _, kind in operands:
            if kind not in (right, "NULL", ""):
                cast = "a comparison" if right == "BOOLEAN" else f"CAST({shortened(value)} AS {right})"
                self.refuse(node, f"{where} needs {right}, not {shortened(value)} ({kind}); write {cast}")

    def comparable(self, node: Node, operands: Sequence[TypedText]) -> None:
        if mixed := first_two([(each.text, each.type) for each in operands]):
            if chained := _unchained(node):
                self.refuse(node, f"comparisons make no chain; write {chained}")
            self.refuse(node, f"this compares {typed(*mixed)}; {as_one_type(*mixed)}")

    def common(self, node: Node, values: Sequence[TypedText]) -> str:
        if any(not v.type for v in values):
            return ""
        try:
            return types.common(v.type for v in values)
        except ValueError as error:
            self.refuse(node, f"{error}{what_to_mix(values)}")

    def check_families(self, node: Node, function: Function, written: Sequence[TypedText]) -> None:
        for i, argument in enumerate(written):
            family = function.families[min(i, len(function.families) - 1)]
            kind = argument.type
            if kind in ("", "NULL") or family in "A=":
                continue
            good = {
                "N": types.family(kind) == "number",
                "S": kind == "STRING",
                "I": kind in types.INTEGERS,
                "T": kind == "TIMESTAMP",
                "M": kind in ("TIMESTAMP", "TIMESTAMP_NTZ", "DATE"),
            }[family]
            if not good:
                word = _FAMILY_WORDS.get(family, "a TIMESTAMP or DATE")
                value = shortened(argument.text)
                wrong = f"{function.name} needs {word} as argument {i + 1}, not {value} ({kind})"
                target = _FAMILY_CASTS.get(family, "TIMESTAMP")
                right = f"; write CAST({value} AS {target})" if "STRING" in (kind, target) else ""
                self.refuse(node, f"{wrong}{right}")


def what_to_mix(values: Sequence[TypedText]) -> str:
    """The end of a message about values that cannot be mixed; "" where that is not why."""
    mixed = first_two([(each.text, each.type) for each in values])
    return f": {typed(*mixed)}; {as_one_type(*mixed)}" if mixed else ""


def inside(written: TypedText, precedence: int) -> str:
    return written.text if written.precedence >= precedence else f"({written.text})"


def written_name(node: Node, text: str) -> str:
    """The name of a function as it stands in the text; "" where it is not known."""
    if type(node).__name__ == "Anonymous":
        return str(node.this)
    match = _CALL.match(text, node.meta.get("start", len(text)))
    if match is None and "start" not in node.meta and _is_function(node):
        # sqlglot keeps no place of some functions: it is before their first argument
        before = _OPEN_CALL.search(text, 0, place_of(node) or 0)
        return before[1] if before else ""
    return match[0] if match else ""


def _unchained(node: Node) -> str:
    """`a < b < c` as two comparisons; "" where it is none."""
    if type(node).__name__ not in COMPARISONS or type(node.this).__name__ not in COMPARISONS:
        return ""
    first, middle, last = (each.sql("spark") for each in (node.this, node.this.expression, node.expression))
    return f"{first} AND {middle} {BINARY[type(node).__name__][0]} {last}"


def _unit_meant(interval: Node) -> str:
    unit = interval.args.get("unit")
    written = str(unit.name).upper().rstrip("S") if unit is not None else ""
    meant = near(written, UNIT_MICROS, 0.7) if written not in UNIT_MICROS else ""
    return f"; did you mean {meant}S?" if meant else ""


def _is_function(node: Node) -> bool:
    return any(base.__name__ == "Func" for base in type(node).__mro__)


def _sql_name(node: Node) -> str:
    names = getattr(type(node), "sql_names", None)
    return names()[0] if names else type(node).__name__.upper()
