"""Writes a parsed expression again, node by node, from the allow-list; refuses every other node."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from weir_placement.model import types
from weir_placement.model.functions import (
    AGGREGATES,
    BINARY,
    EXTRACT,
    FUNCTIONS,
    NAMED,
    TRUNCATE,
    UNIT_MICROS,
    WHY_REFUSED,
    Function,
)

if TYPE_CHECKING:
    from sqlglot.expressions import Expression as Node

ATOM = 9
_UNARY = 8
_COMPARISON = 4
_FAMILY_WORDS = {"N": "a number", "S": "a STRING", "I": "a whole number", "T": "a TIMESTAMP"}


class Written(NamedTuple):
    """Text, how tightly its outermost operator binds, and its type ("" unknown, `NULL`)."""

    text: str
    precedence: int
    type: str


class Writer:
    """One pass over a tree: resolves columns, checks types when they are known, writes text.

    Attributes:
        column: how to write a column of this qualified name.
        column_types: type by qualified name; None: columns are taken as written, types are unknown.
        refuse: raises the error for a node.
    """

    def __init__(
        self,
        column: Callable[[str], str],
        column_types: Mapping[str, str] | None,
        refuse: Callable[[Node, str], NoReturn],
    ) -> None:
        self.column = column
        self.column_types = column_types
        self.refuse = refuse
        self._folded = {name.lower(): name for name in column_types or ()}

    def write(self, node: Node) -> Written:
        """The node's text; refused when it, or anything below it, is not on the allow-list."""
        name = type(node).__name__
        if name in BINARY:
            return self._binary(node, *BINARY[name])
        handler = getattr(self, f"_write_{name.lower()}", None)
        if handler is not None:
            return handler(node)  # type: ignore[no-any-return]
        if name in FUNCTIONS:
            return self._function(node, FUNCTIONS[name])
        return self._refuse_unknown(node)

    def _refuse_unknown(self, node: Node) -> NoReturn:
        name = type(node).__name__
        called = str(node.this) if name == "Anonymous" else _sql_name(node)
        if name in AGGREGATES:
            self.refuse(
                node, f"{called} is an aggregate; it is only possible as an item of SELECT with GROUP BY"
            )
        why = WHY_REFUSED.get(called.lower()) or WHY_REFUSED.get(name)
        if why and (name in WHY_REFUSED and called.lower() not in WHY_REFUSED):
            self.refuse(node, why)
        what = f"the function {called}" if _is_function(node) else f"{called}"
        self.refuse(
            node, f"{what} is not supported" + (f": it {why}" if why else "; docs/sql.md lists what is")
        )

    # -- leaves

    def _write_column(self, node: Node) -> Written:
        parts = [part.name for part in node.parts]  # type: ignore[attr-defined]
        if type(node.this).__name__ == "Star":
            self.refuse(node, WHY_REFUSED["Star"])
        name = ".".join(parts)
        if self.column_types is None:
            return Written(self.column(name), ATOM, "")
        found = self._resolve(node, name)
        return Written(self.column(found), ATOM, self.column_types[found])

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
        known = ", ".join(sorted(self._folded.values())[:30])
        return self.refuse(node, f"there is no column {name}; there are {known}")

    def _write_identifier(self, node: Node) -> Written:
        self.refuse(node, f"{node.name} is not a column")

    def _write_literal(self, node: Node) -> Written:
        if node.is_string:
            return Written(quoted(node.name), ATOM, "STRING")
        return self._number(node, node.name)

    def _number(self, node: Node, text: str) -> Written:
        try:
            value = Decimal(text)
        except InvalidOperation:
            self.refuse(node, f"{text} is not a number")
        if re.fullmatch(r"\d+", text):
            kind = "INT" if value < 2**31 else "BIGINT"
            if value >= 2**63:
                self.refuse(node, f"{text} does not fit a BIGINT")
            return Written(str(int(text)), ATOM, kind)
        if "e" in text.lower():
            return Written(text.upper(), ATOM, "DOUBLE")
        digits = value.as_tuple()
        scale = -int(digits.exponent)
        precision = max(len(digits.digits), scale)
        if precision > 38:
            self.refuse(node, f"{text} has more than 38 digits")
        return Written(f"{value:f}", ATOM, f"DECIMAL({precision},{scale})")

    def _write_boolean(self, node: Node) -> Written:
        return Written("TRUE" if node.this else "FALSE", ATOM, "BOOLEAN")

    def _write_null(self, node: Node) -> Written:
        return Written("NULL", ATOM, "NULL")

    def _write_paren(self, node: Node) -> Written:
        return self.write(node.this)

    # -- operators

    def _binary(self, node: Node, operator: str, precedence: int) -> Written:
        moved = self._moved_time(node, operator)
        if moved is not None:
            return moved
        left, right = self.write(node.this), self.write(node.expression)
        kind = self._binary_type(node, operator, precedence, left, right)
        # comparisons do not chain; + and * of floats are not associative: keep the tree's shape
        tight = precedence + (operator not in ("AND", "OR", "||"))
        left_tight = precedence + (precedence == _COMPARISON)
        text = f"{_inside(left, left_tight)} {operator} {_inside(right, tight)}"
        return Written(text, precedence, kind)

    def _binary_type(self, node: Node, operator: str, precedence: int, left: Written, right: Written) -> str:
        known = [w.type for w in (left, right) if w.type]
        if operator in ("AND", "OR"):
            self._need(node, known, "BOOLEAN", operator)
            return "BOOLEAN"
        if precedence == _COMPARISON:
            self._comparable(node, known)
            return "BOOLEAN"
        if operator == "||":
            self._need(node, known, "STRING", operator)
            return "STRING"
        if len(known) < 2:
            return ""
        try:
            return types.arithmetic(operator, *known)
        except ValueError as error:
            hint = "; write timestamps' distance as unix_micros(a) - unix_micros(b)"
            self.refuse(node, str(error) + (hint if "TIMESTAMP" in known else ""))

    def _need(self, node: Node, known: Sequence[str], wanted: str, where: str) -> None:
        for kind in known:
            if kind not in (wanted, "NULL"):
                self.refuse(node, f"{where} needs {wanted}, not {kind}; write a comparison or a CAST")

    def _comparable(self, node: Node, known: Sequence[str]) -> None:
        families = {types.family(kind) for kind in known if kind != "NULL"}
        if len(families) > 1:
            names = " with ".join(known)
            literal = " (a time is written TIMESTAMP '2026-01-31 12:00:00')" if "TIMESTAMP" in known else ""
            self.refuse(node, f"this compares {names}; write a CAST{literal}")

    def _moved_time(self, node: Node, operator: str) -> Written | None:
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
        return Written(f"{_inside(time, 6)} {operator} INTERVAL '{seconds}' SECOND", 6, time.type)

    def _write_neg(self, node: Node) -> Written:
        if type(node.this).__name__ == "Literal" and not node.this.is_string:
            literal = self._number(node, node.this.name)
            return Written(f"-{literal.text}", _UNARY, literal.type)
        inner = self.write(node.this)
        if inner.type and inner.type != "NULL" and types.family(inner.type) != "number":
            self.refuse(node, f"- needs a number, not {inner.type}")
        return Written(f"-{_inside(inner, ATOM)}", _UNARY, inner.type)

    def _write_not(self, node: Node) -> Written:
        if type(node.this).__name__ == "Is":
            return self._is(node.this, "IS NOT")
        inner = self.write(node.this)
        self._need(node, [inner.type] if inner.type else [], "BOOLEAN", "NOT")
        return Written(f"NOT {_inside(inner, ATOM)}", 3, "BOOLEAN")

    def _write_is(self, node: Node) -> Written:
        return self._is(node, "IS")

    def _is(self, node: Node, words: str) -> Written:
        inner, what = self.write(node.this), type(node.expression).__name__
        if what not in ("Null", "Boolean"):
            self.refuse(node, "IS needs NULL, TRUE or FALSE")
        if what == "Boolean":
            self._need(node, [inner.type] if inner.type else [], "BOOLEAN", "IS TRUE")
        value = self.write(node.expression).text
        return Written(f"{_inside(inner, 5)} {words} {value}", _COMPARISON, "BOOLEAN")

    def _write_between(self, node: Node) -> Written:
        if node.args.get("symmetric"):
            self.refuse(node, "BETWEEN SYMMETRIC is not supported")
        this, low, high = (self.write(node.args[key]) for key in ("this", "low", "high"))
        self._comparable(node, [w.type for w in (this, low, high) if w.type])
        text = f"{_inside(this, 5)} BETWEEN {_inside(low, 5)} AND {_inside(high, 5)}"
        return Written(text, _COMPARISON, "BOOLEAN")

    def _write_in(self, node: Node) -> Written:
        if node.args.get("query") or node.args.get("unnest") or not node.expressions:
            self.refuse(node, WHY_REFUSED["Subquery"])
        this, options = self.write(node.this), [self.write(e) for e in node.expressions]
        self._comparable(node, [w.type for w in (this, *options) if w.type])
        listed = ", ".join(o.text for o in options)
        return Written(f"{_inside(this, 5)} IN ({listed})", _COMPARISON, "BOOLEAN")

    def _write_like(self, node: Node) -> Written:
        return self._like(node, "LIKE")

    def _write_ilike(self, node: Node) -> Written:
        return self._like(node, "ILIKE")

    def _like(self, node: Node, word: str) -> Written:
        pattern = node.expression
        if type(pattern).__name__ != "Literal" or not pattern.is_string:
            self.refuse(node, f"{word} needs a pattern written as a string")
        this = self.write(node.this)
        self._need(node, [this.type] if this.type else [], "STRING", word)
        return Written(f"{_inside(this, 5)} {word} {quoted(pattern.name)}", _COMPARISON, "BOOLEAN")

    # -- conditionals, casts, times

    def _write_case(self, node: Node) -> Written:
        branches = [(self.write(b.this), self.write(b.args["true"])) for b in node.args["ifs"]]
        default = self.write(node.args["default"]) if node.args.get("default") else None
        head = ""
        if node.this:
            subject = self.write(node.this)
            head = f" {subject.text}"
            self._comparable(node, [w.type for w in (subject, *(c for c, _ in branches)) if w.type])
        else:
            self._need(node, [c.type for c, _ in branches if c.type], "BOOLEAN", "WHEN")
        values = [value for _, value in branches] + ([default] if default else [])
        text = "".join(f" WHEN {c.text} THEN {v.text}" for c, v in branches)
        tail = f" ELSE {default.text}" if default else ""
        return Written(f"CASE{head}{text}{tail} END", ATOM, self._common(node, values))

    def _write_if(self, node: Node) -> Written:
        condition, then = self.write(node.this), self.write(node.args["true"])
        otherwise = (
            self.write(node.args["false"]) if node.args.get("false") else Written("NULL", ATOM, "NULL")
        )
        self._need(node, [condition.type] if condition.type else [], "BOOLEAN", "IF")
        text = f"if({condition.text}, {then.text}, {otherwise.text})"
        return Written(text, ATOM, self._common(node, [then, otherwise]))

    def _common(self, node: Node, values: Sequence[Written]) -> str:
        if any(not v.type for v in values):
            return ""
        try:
            return types.common(v.type for v in values)
        except ValueError as error:
            self.refuse(node, str(error))

    def _write_cast(self, node: Node) -> Written:
        if node.args.get("format"):
            self.refuse(node, "CAST with FORMAT is not supported")
        inner, target = self.write(node.this), node.args["to"].sql(dialect="spark")
        try:
            kind = types.normalise(target)
        except ValueError as error:
            self.refuse(node, f"CAST: {error}")
        return Written(f"CAST({inner.text} AS {kind})", ATOM, kind)

    _write_trycast = _write_cast  # how sqlglot reads Spark's CAST

    def _write_extract(self, node: Node) -> Written:
        unit = node.this.name.upper()
        if unit not in EXTRACT:
            self.refuse(node, f"EXTRACT({unit} ...) is not supported; use one of {', '.join(EXTRACT)}")
        argument = self.write(node.expression)
        self._check_families(node, Function(EXTRACT[unit], "expression", "M", "INT"), [argument])
        return Written(f"{EXTRACT[unit]}({argument.text})", ATOM, "INT")

    def _write_timestamptrunc(self, node: Node) -> Written:
        unit = node.args["unit"].name.upper()
        if unit not in TRUNCATE or node.args.get("zone"):
            self.refuse(node, f"date_trunc('{unit}', ...) is not supported; use one of {', '.join(TRUNCATE)}")
        argument = self.write(node.this)
        self._check_families(node, Function("date_trunc", "this", "M", "TIMESTAMP"), [argument])
        return Written(f"date_trunc('{unit}', {argument.text})", ATOM, argument.type and "TIMESTAMP")

    def _write_round(self, node: Node) -> Written:
        argument = self.write(node.this)
        self._check_families(node, Function("round", "this", "N", ""), [argument])
        places = node.args.get("decimals")
        if places is None or node.args.get("truncate"):
            digits = 0
        elif type(places).__name__ != "Literal" or not places.name.isdigit() or int(places.name) > 18:
            self.refuse(node, "round needs a number of digits from 0 to 18, written out")
        else:
            digits = int(places.name)
        kind = argument.type
        if kind.startswith("DECIMAL"):
            precision, scale = types.decimal_digits(kind)
            kept = min(digits, scale)
            kind = f"DECIMAL({min(precision - scale + 1 + kept, 38)},{kept})"
        return Written(f"round({argument.text}, {digits})", ATOM, kind)

    def _write_trim(self, node: Node) -> Written:
        if node.expression or node.args.get("collation"):
            self.refuse(node, "TRIM of other characters than spaces is not supported")
        word = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(str(node.args.get("position") or ""), "trim")
        argument = self.write(node.this)
        self._check_families(node, Function(word, "this", "S", "STRING"), [argument])
        return Written(f"{word}({argument.text})", ATOM, "STRING")

    # -- functions

    def _write_anonymous(self, node: Node) -> Written:
        function = NAMED.get(str(node.this).lower())
        if function is None:
            self._refuse_unknown(node)
        return self._call(node, function, list(node.expressions))

    def _function(self, node: Node, function: Function) -> Written:
        keys = function.keys.split()
        allowed = {key.rstrip("?*") for key in keys}
        for key, value in node.args.items():
            if key not in allowed and isinstance(value, (list, type(node.parent))) and value:
                self.refuse(node, f"{function.name} with {key.upper()} is not supported")
        arguments: list[Node] = []
        for key in keys:
            value = node.args.get(key.rstrip("?*"))
            arguments += value if isinstance(value, list) else [value] if value is not None else []
        required = sum(not key.endswith(("?", "*")) for key in keys)
        if len(arguments) < required:
            self.refuse(node, f"{function.name} needs {required} arguments")
        if function.families == "M":
            # sqlglot wraps the argument of year() and the like in a conversion to a date
            arguments = [
                a.this if type(a).__name__ == "TsOrDsToDate" and function.name != "to_date" else a
                for a in arguments
            ]
        return self._call(node, function, arguments)

    def _call(self, node: Node, function: Function, arguments: list[Node]) -> Written:
        counted = "*" in function.keys or not function.keys
        if counted and not function.minimum <= len(arguments) <= function.maximum:
            self.refuse(node, f"{function.name} does not take {len(arguments)} arguments")
        written = [self.write(a) for a in arguments]
        self._check_families(node, function, written)
        text = f"{function.name}({', '.join(w.text for w in written)})"
        if isinstance(function.result, str):
            return Written(text, ATOM, function.result)
        if any(not w.type for w in written):
            return Written(text, ATOM, "")
        try:
            return Written(text, ATOM, function.result([w.type for w in written]))
        except ValueError as error:
            self.refuse(node, f"{function.name}: {error}")

    def _check_families(self, node: Node, function: Function, written: Sequence[Written]) -> None:
        for i, argument in enumerate(written):
            wanted = function.families[min(i, len(function.families) - 1)]
            kind = argument.type
            if kind in ("", "NULL") or wanted in "A=":
                continue
            good = {
                "N": types.family(kind) == "number",
                "S": kind == "STRING",
                "I": kind in types.INTEGERS,
                "T": kind == "TIMESTAMP",
                "M": kind in ("TIMESTAMP", "TIMESTAMP_NTZ", "DATE"),
            }[wanted]
            if not good:
                word = _FAMILY_WORDS.get(wanted, "a TIMESTAMP or DATE")
                self.refuse(node, f"{function.name} needs {word} as argument {i + 1}, not {kind}")


def quoted(text: str) -> str:
    """A string literal that ends where it should, in sqlglot and in Spark.

    The text has no backslash and not both kinds of quotes: `check_text` refused those.
    """
    quote = '"' if "'" in text else "'"
    if "\\" in text or quote in text:
        raise ValueError(f"{text!r} cannot be written as a string")
    return f"{quote}{text}{quote}"


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


def _inside(written: Written, precedence: int) -> str:
    return written.text if written.precedence >= precedence else f"({written.text})"


def _is_function(node: Node) -> bool:
    return any(base.__name__ == "Func" for base in type(node).__mro__)


def _sql_name(node: Node) -> str:
    names = getattr(type(node), "sql_names", None)
    return names()[0] if names else type(node).__name__.upper()
