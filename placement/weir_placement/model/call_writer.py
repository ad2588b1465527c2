"""Writes calls: functions of the allow-list, CASE, casts, parts of times."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weir_placement.model import types
from weir_placement.model.amounts import count
from weir_placement.model.constants import wrong_constant
from weir_placement.model.functions import EXTRACT, NAMED, TRUNCATE, Function
from weir_placement.model.writer_base import ATOM, BaseWriter, TypedText, what_to_mix

if TYPE_CHECKING:
    from sqlglot.expressions import Expression as Node


class CallWriter(BaseWriter):
    """The part of the writer for everything that looks like a call."""

    def _write_case(self, node: Node) -> TypedText:
        branches = [(self.write(b.this), self.write(b.args["true"])) for b in node.args["ifs"]]
        default = self.write(node.args["default"]) if node.args.get("default") else None
        head = ""
        if node.this:
            subject = self.write(node.this)
            head = f" {subject.text}"
            self.comparable(node, (subject, *(c for c, _ in branches)))
        else:
            self.need(node, [condition for condition, _ in branches], "BOOLEAN", "WHEN")
        values = [value for _, value in branches] + ([default] if default else [])
        text = "".join(f" WHEN {c.text} THEN {v.text}" for c, v in branches)
        tail = f" ELSE {default.text}" if default else ""
        return TypedText(f"CASE{head}{text}{tail} END", ATOM, self.common(node, values))

    def _write_if(self, node: Node) -> TypedText:
        condition, then = self.write(node.this), self.write(node.args["true"])
        otherwise = (
            self.write(node.args["false"]) if node.args.get("false") else TypedText("NULL", ATOM, "NULL")
        )
        self.need(node, [condition], "BOOLEAN", "IF")
        text = f"if({condition.text}, {then.text}, {otherwise.text})"
        return TypedText(text, ATOM, self.common(node, [then, otherwise]))

    def _write_cast(self, node: Node) -> TypedText:
        if node.args.get("format"):
            self.refuse(node, "CAST with FORMAT is not supported")
        inner, target = self.write(node.this), node.args["to"].sql(dialect="spark")
        try:
            kind = types.normalise(target)
        except ValueError as error:
            self.refuse(node, f"CAST: {error}")
        is_text = type(node.this).__name__ == "Literal" and node.this.is_string
        if self.checks_constants and is_text and (wrong := wrong_constant(node.this.name, kind)):
            self.refuse(node, wrong)
        return TypedText(f"CAST({inner.text} AS {kind})", ATOM, kind)

    _write_trycast = _write_cast  # how sqlglot reads Spark's CAST

    def _write_extract(self, node: Node) -> TypedText:
        unit = node.this.name.upper()
        if unit == "SECOND":
            self.refuse(
                node, f"EXTRACT(SECOND ...) is not supported; write second({node.expression.sql('spark')})"
            )
        if unit not in EXTRACT:
            self.refuse(
                node,
                f"EXTRACT({unit} ...) is not supported; use one of {', '.join(EXTRACT)}, or second(time)",
            )
        argument = self.write(node.expression)
        self.check_families(node, Function(EXTRACT[unit], "expression", "M", "INT"), [argument])
        return TypedText(f"{EXTRACT[unit]}({argument.text})", ATOM, "INT")

    def _write_timestamptrunc(self, node: Node) -> TypedText:
        unit = node.args["unit"].name.upper()
        if type(node.this).__name__ == "Literal" and node.this.name.upper() in TRUNCATE:
            right = f"write the unit first: date_trunc('{node.this.name}', {unit.lower()})"
            self.refuse(node, f"the arguments of date_trunc are swapped; {right}")
        if unit not in TRUNCATE or node.args.get("zone"):
            self.refuse(node, f"date_trunc('{unit}', ...) is not supported; use one of {', '.join(TRUNCATE)}")
        argument = self.write(node.this)
        self.check_families(node, Function("date_trunc", "this", "M", "TIMESTAMP"), [argument])
        return TypedText(f"date_trunc('{unit}', {argument.text})", ATOM, argument.type and "TIMESTAMP")

    def _write_round(self, node: Node) -> TypedText:
        argument = self.write(node.this)
        self.check_families(node, Function("round", "this", "N", ""), [argument])
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
            new_scale = min(digits, scale)
            kind = f"DECIMAL({min(precision - scale + 1 + new_scale, 38)},{new_scale})"
        return TypedText(f"round({argument.text}, {digits})", ATOM, kind)

    def _write_trim(self, node: Node) -> TypedText:
        if node.expression or node.args.get("collation"):
            self.refuse(node, "TRIM of characters other than spaces is not supported")
        word = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(str(node.args.get("position") or ""), "trim")
        argument = self.write(node.this)
        self.check_families(node, Function(word, "this", "S", "STRING"), [argument])
        return TypedText(f"{word}({argument.text})", ATOM, "STRING")

    # -- functions

    def _write_anonymous(self, node: Node) -> TypedText:
        function = NAMED.get(str(node.this).lower())
        if function is None:
            self.refuse_unknown(node)
        return self._call(node, function, list(node.expressions))

    def _function(self, node: Node, function: Function) -> TypedText:
        keys = function.keys.split()
        allowed = {key.rstrip("?*") for key in keys}
        for key, value in node.args.items():
            if key not in allowed and value and (isinstance(value, list) or hasattr(value, "walk")):
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

    def _call(self, node: Node, function: Function, arguments: list[Node]) -> TypedText:
        has_bounds = "*" in function.keys or not function.keys
        if has_bounds and not function.minimum <= len(arguments) <= function.maximum:
            self.refuse(node, f"{function.name} does not take {count(len(arguments), 'argument')}")
        written = [self.write(a) for a in arguments]
        self.check_families(node, function, written)
        text = f"{function.name}({', '.join(w.text for w in written)})"
        if isinstance(function.result, str):
            return TypedText(text, ATOM, function.result)
        if any(not w.type for w in written):
            return TypedText(text, ATOM, "")
        try:
            return TypedText(text, ATOM, function.result([w.type for w in written]))
        except ValueError as error:
            self.refuse(node, f"{function.name}: {error}{what_to_mix(written)}")
