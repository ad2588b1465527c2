"""Writes a parsed expression again, node by node, from the allow-list; refuses every other node."""

from __future__ import annotations

import operator as operators
import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

from weir_placement.model import types
from weir_placement.model.call_writer import CallWriter
from weir_placement.model.expression_parser import UnknownColumn, place_of
from weir_placement.model.functions import BINARY, FUNCTIONS, UNIT_MICROS, WHY_REFUSED
from weir_placement.model.mixed_types import as_number
from weir_placement.model.odd_signs import odd_letter
from weir_placement.model.suggestion import near, suggestion
from weir_placement.model.writer_base import ATOM, COMPARISON, UNARY, TypedText, inside

if TYPE_CHECKING:
    from sqlglot.expressions import Expression as Node


_INTEGER = re.compile(r"-?\d+")
_WHOLE = {"+": operators.add, "-": operators.sub, "*": operators.mul}
_TYPOGRAPHIC = ("\u2018", "\u2019", "\u201c", "\u201d", "\u00b4")


class Writer(CallWriter):
    """One pass over a tree: resolves columns, checks types when they are known, writes text."""

    def write(self, node: Node) -> TypedText:
        """The node's text; refused when it, or anything below it, is not on the allow-list."""
        name = type(node).__name__
        if name in BINARY:
            return self._binary(node, *BINARY[name])
        handler = getattr(self, f"_write_{name.lower()}", None)
        if handler is not None:
            return handler(node)  # type: ignore[no-any-return]
        if name in FUNCTIONS:
            return self._function(node, FUNCTIONS[name])
        return self.refuse_unknown(node)

    # -- leaves

    def _write_column(self, node: Node) -> TypedText:
        parts = [part.name for part in node.parts]  # type: ignore[attr-defined]
        if type(node.this).__name__ == "Star":
            self.refuse(node, WHY_REFUSED["Star"])
        name = ".".join(parts)
        if self.column_types is None:
            return TypedText(self.column(name), ATOM, "")
        column = self._resolve(node, name)
        return TypedText(self.column(column), ATOM, self.column_types[column])

    def _resolve(self, node: Node, name: str) -> str:
        folded = name.lower()
        if folded in self._folded:
            return self._folded[folded]
        if "." not in name:
            matches = [full for low, full in self._folded.items() if low.endswith("." + folded)]
            if len(matches) == 1:
                return matches[0]
            if matches:
                self.refuse(node, f"the column {name} is ambiguous; write {' or '.join(sorted(matches))}")
        raise UnknownColumn(name, self._no_column(name), self.text, place_of(node))

    def _no_column(self, name: str) -> str:
        """What is wrong with a column, by its qualifier and by what is written like it."""
        names = sorted(self._folded.values())
        if name[:1] in _TYPOGRAPHIC:
            return f"{name} is in typographic quotes; write a string in ' '"
        qualifier, _, short = name.rpartition(".")
        if wrong := wrong_window(name, qualifier, short):
            return wrong
        sources = {full.rpartition(".")[0] for full in names}
        if qualifier and qualifier.lower() not in {source.lower() for source in sources}:
            elsewhere = [full for full in names if full.rpartition(".")[2].lower() == short.lower()]
            right = f"did you mean {' or '.join(elsewhere)}?" if elsewhere else suggestion(qualifier, sources)
            return f"there is no stream or alias {qualifier} in FROM; {right}"
        return f"there is no column {name}; {self._written_like(name, short, names)}{odd_letter(name)}"

    def _written_like(self, name: str, short: str, names: Sequence[str]) -> str:
        meant = near(name, names)
        if not meant and "." not in name:  # without its alias
            meant = near(short, [full.rpartition(".")[2] for full in names])
        return f"did you mean {meant}?" if meant else suggestion(name, names, "columns")

    def _write_identifier(self, node: Node) -> TypedText:
        self.refuse(node, f"{node.name} is not a column")

    def _write_literal(self, node: Node) -> TypedText:
        if node.is_string:
            return TypedText(quoted(node.name), ATOM, "STRING")
        return self._number(node, node.name)

    def _number(self, node: Node, text: str) -> TypedText:
        try:
            value = Decimal(text)
        except InvalidOperation:
            self.refuse(node, f"{text} is not a number")
        if re.fullmatch(r"\d+", text):
            kind = "INT" if value < 2**31 else "BIGINT"
            if value >= 2**63:
                right = f"CAST('{text}' AS DECIMAL(38,0))" if value < 10**38 else f"{value:.1e}, a DOUBLE"
                self.refuse(node, f"{text} does not fit a BIGINT, which ends at {2**63 - 1}; write {right}")
            return TypedText(str(int(text)), ATOM, kind)
        if "e" in text.lower():
            return TypedText(text.upper(), ATOM, "DOUBLE")
        digits = value.as_tuple()
        scale = -int(digits.exponent)
        precision = max(len(digits.digits), scale)
        if precision > 38:
            self.refuse(node, f"{text} has more than 38 digits")
        return TypedText(f"{value:f}", ATOM, f"DECIMAL({precision},{scale})")

    def _write_boolean(self, node: Node) -> TypedText:
        return TypedText("TRUE" if node.this else "FALSE", ATOM, "BOOLEAN")

    def _write_null(self, node: Node) -> TypedText:
        return TypedText("NULL", ATOM, "NULL")

    def _write_paren(self, node: Node) -> TypedText:
        return self.write(node.this)

    # -- operators

    def _binary(self, node: Node, operator: str, precedence: int) -> TypedText:
        moved = self._moved_time(node, operator)
        if moved is not None:
            return moved
        left, right = self.write(node.this), self.write(node.expression)
        kind = self._binary_type(node, operator, precedence, left, right)
        if kind in types.INTEGERS:
            self._check_constants(node, operator, left.text, right.text, kind)
        # comparisons do not chain; + and * of floats are not associative: keep the tree's shape
        tight = precedence + (operator not in ("AND", "OR", "||"))
        left_tight = precedence + (precedence == COMPARISON)
        text = f"{inside(left, left_tight)} {operator} {inside(right, tight)}"
        return TypedText(text, precedence, kind)

    def _check_constants(self, node: Node, operator: str, left: str, right: str, kind: str) -> None:
        """Refuses a calculation of whole constants whose result would wrap."""
        calculate = _WHOLE.get(operator)
        if calculate is None or not (_INTEGER.fullmatch(left) and _INTEGER.fullmatch(right)):
            return
        result, bits = calculate(int(left), int(right)), int(8 * types.type_bytes(kind))
        if not -(2 ** (bits - 1)) <= result < 2 ** (bits - 1):
            wider = "BIGINT" if abs(result) < 2**63 else "DECIMAL(38,0)"
            wrong = f"{left} {operator} {right} is {result}, which does not fit {kind} and would wrap"
            self.refuse(node, f"{wrong}; write CAST({left} AS {wider}) {operator} {right}")

    def _binary_type(
        self, node: Node, operator: str, precedence: int, left: TypedText, right: TypedText
    ) -> str:
        operand_types = [w.type for w in (left, right) if w.type]
        if operator in ("AND", "OR"):
            self.need(node, (left, right), "BOOLEAN", operator)
            return "BOOLEAN"
        if precedence == COMPARISON:
            self.comparable(node, (left, right))
            return "BOOLEAN"
        if operator == "||":
            self.need(node, (left, right), "STRING", operator)
            return "STRING"
        if len(operand_types) < 2:
            return ""
        sides = [
            (node.this, operand_types[0], operand_types[1]),
            (node.expression, operand_types[1], operand_types[0]),
        ]
        exact = [_literal_type(side, kind) if "DECIMAL" in other else kind for side, kind, other in sides]
        try:
            return types.arithmetic(operator, *exact)
        except ValueError as error:
            other = next((w for w in (left, right) if w.type == "STRING"), None)
            hint = f"; write {as_number((other.text, other.type))}" if other and operator != "div" else ""
            if set(operand_types) == {"TIMESTAMP"}:
                hint = "; write timestamps' distance as unix_micros(a) - unix_micros(b)"
            elif "TIMESTAMP" in operand_types:
                hint = "; a length of time is written as INTERVAL 5 MINUTES"
            self.refuse(node, f"{error}{hint}")

    def _moved_time(self, node: Node, operator: str) -> TypedText | None:
        """`timestamp + INTERVAL ...`, the interval as seconds with exact microseconds."""
        if operator not in ("+", "-"):
            return None
        left, right = node.this, node.expression
        if operator == "+" and interval_micros(left) is not None:
            left, right = right, left
        micros = interval_micros(right)
        if micros is None:
            return None
        time = self.write(left)
        if time.type not in ("", "TIMESTAMP", "TIMESTAMP_NTZ"):
            self.refuse(node, f"an interval can be added to a TIMESTAMP, not to a {time.type}")
        if micros < 0:
            operator, micros = ("-" if operator == "+" else "+"), -micros
        seconds = f"{micros // 1_000_000}" + (f".{micros % 1_000_000:06d}" if micros % 1_000_000 else "")
        return TypedText(f"{inside(time, 6)} {operator} INTERVAL '{seconds}' SECOND", 6, time.type)

    def _write_bitwisexor(self, node: Node) -> TypedText:
        sides = ", ".join(side.sql("spark") for side in (node.this, node.expression))
        self.refuse(node, f"^ is no operator here; write power({sides})")

    def _write_neg(self, node: Node) -> TypedText:
        if type(node.this).__name__ == "Literal" and not node.this.is_string:
            literal = self._number(node, node.this.name)
            return TypedText(f"-{literal.text}", UNARY, literal.type)
        inner = self.write(node.this)
        if inner.type and inner.type != "NULL" and types.family(inner.type) != "number":
            self.refuse(node, f"- needs a number, not {inner.type}")
        return TypedText(f"-{inside(inner, ATOM)}", UNARY, inner.type)

    def _write_not(self, node: Node) -> TypedText:
        if type(node.this).__name__ == "Is":
            return self._is(node.this, "IS NOT")
        inner = self.write(node.this)
        self.need(node, [inner], "BOOLEAN", "NOT")
        return TypedText(f"NOT {inside(inner, ATOM)}", 3, "BOOLEAN")

    def _write_is(self, node: Node) -> TypedText:
        return self._is(node, "IS")

    def _is(self, node: Node, words: str) -> TypedText:
        inner, what = self.write(node.this), type(node.expression).__name__
        if what not in ("Null", "Boolean"):
            self.refuse(node, "IS needs NULL, TRUE or FALSE; compare other values with =")
        if what == "Boolean":
            self.need(node, [inner], "BOOLEAN", "IS TRUE")
        value = self.write(node.expression).text
        return TypedText(f"{inside(inner, 5)} {words} {value}", COMPARISON, "BOOLEAN")

    def _write_between(self, node: Node) -> TypedText:
        if node.args.get("symmetric"):
            self.refuse(node, "BETWEEN SYMMETRIC is not supported")
        this, low, high = (self.write(node.args[key]) for key in ("this", "low", "high"))
        self.comparable(node, (this, low, high))
        text = f"{inside(this, 5)} BETWEEN {inside(low, 5)} AND {inside(high, 5)}"
        return TypedText(text, COMPARISON, "BOOLEAN")

    def _write_in(self, node: Node) -> TypedText:
        if node.args.get("query") or node.args.get("unnest") or not node.expressions:
            written = node.args.get("query") or node.args.get("unnest")
            right = "IN needs values in parentheses, as in IN ('a', 'b')"
            self.refuse(node, WHY_REFUSED["Subquery"] if written else right)
        this, options = self.write(node.this), [self.write(e) for e in node.expressions]
        self.comparable(node, (this, *options))
        listed = ", ".join(o.text for o in options)
        return TypedText(f"{inside(this, 5)} IN ({listed})", COMPARISON, "BOOLEAN")

    def _write_like(self, node: Node) -> TypedText:
        return self._like(node, "LIKE")

    def _write_ilike(self, node: Node) -> TypedText:
        return self._like(node, "ILIKE")

    def _like(self, node: Node, word: str) -> TypedText:
        pattern = node.expression
        if type(pattern).__name__ != "Literal" or not pattern.is_string:
            self.refuse(node, f"{word} needs a pattern written as a string")
        this = self.write(node.this)
        self.need(node, [this], "STRING", word)
        text = f"{inside(this, 5)} {word} {quoted(pattern.name)}"
        if node.args.get("negate"):  # sqlglot's mark of NOT LIKE; other negations are nodes of their own
            return TypedText(f"NOT ({text})", 3, "BOOLEAN")
        return TypedText(text, COMPARISON, "BOOLEAN")


def wrong_window(name: str, qualifier: str, short: str) -> str:
    """What is wrong with a column that means the window of a group; "" for any other."""
    if not qualifier and re.fullmatch(r"window_?(start|end)", name, re.IGNORECASE):
        return f"there is no column {name}; write window.{'start' if name[-1] in 'tT' else 'end'}"
    if qualifier.lower() != "window":
        return ""
    if short.lower() not in ("start", "end"):
        return f"there is no column {name}; a window has window.start and window.end"
    where = "is there only in SELECT and HAVING, beside GROUP BY window(event_time, '10 minutes')"
    return f"{name} {where}"


def quoted(text: str) -> str:
    """A string literal that ends where it should, in sqlglot and in Spark.

    The text has no backslash and not both kinds of quotes: `check_text` refused those.
    """
    quote = '"' if "'" in text else "'"
    if "\\" in text or quote in text:
        raise ValueError(f"{text!r} cannot be written as a string")
    return f"{quote}{text}{quote}"


def _literal_type(node: Node, kind: str) -> str:
    """Beside a decimal Spark takes a whole number that is written out for a decimal of its digits."""
    if type(node).__name__ == "Paren":
        return _literal_type(node.this, kind)
    if type(node).__name__ == "Neg":
        return _literal_type(node.this, kind)
    if type(node).__name__ != "Literal" or kind not in types.INTEGERS:
        return kind
    return f"DECIMAL({len(str(int(node.name)))},0)"


def interval_micros(node: Node) -> int | None:
    """Microseconds of an interval, or of sums of them; None when it is not one of fixed length."""
    name = type(node).__name__
    if name == "Paren":
        return interval_micros(node.this)
    if name in ("Add", "Sub"):
        left, right = interval_micros(node.this), interval_micros(node.expression)
        if left is None or right is None:
            return None
        return left + right if name == "Add" else left - right
    if name == "Neg":
        inner = interval_micros(node.this)
        return None if inner is None else -inner
    if name != "Interval" or node.this is None or node.args.get("unit") is None:
        return None
    unit = UNIT_MICROS.get(node.args["unit"].name.upper().rstrip("S"))
    number = node.this.this if type(node.this).__name__ == "Neg" else node.this
    sign = -1 if number is not node.this else 1
    if unit is None or type(number).__name__ != "Literal":
        return None
    try:
        micros = Decimal(number.name) * unit * sign
    except InvalidOperation:
        return None
    return int(micros) if micros == micros.to_integral_value() else None
