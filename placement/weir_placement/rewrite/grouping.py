"""GROUP BY a time window: the aggregate operator, and the items and HAVING above it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from weir_placement.model.expression_parser import ExpressionError, UnknownColumn, place_of
from weir_placement.model.expression_writer import interval_micros
from weir_placement.model.expressions import Expression, aggregation_type, canonical_name, columns_of, write
from weir_placement.model.functions import AGGREGATES, ALL_NAMES, UNIT_MICROS, WHY_REFUSED
from weir_placement.model.operators import Aggregate, Aggregation, Item, Operator
from weir_placement.model.types import is_hidden
from weir_placement.model.writer_base import written_name
from weir_placement.rewrite.estimates import distinct_values
from weir_placement.rewrite.function_costs import with_functions
from weir_placement.rewrite.scope import Scope
from weir_placement.rewrite.statement import AGGREGATE_TWICE, SelectItem

if TYPE_CHECKING:
    from sqlglot.expressions import Expression as Node

FUNCTIONS = {"Count": "count", "Sum": "sum", "Avg": "avg", "Min": "min", "Max": "max"}
WINDOW = {"window.start": "TIMESTAMP", "window.end": "TIMESTAMP"}
LONGEST_WINDOW = 366 * 86_400.0  # [s]
_MAX_WINDOW = round(LONGEST_WINDOW * 1e6)


@dataclass(frozen=True)
class GroupedItem:
    """An item of SELECT written over the aggregate's output; `default` is its name without AS."""

    item: SelectItem
    alias: str
    default: str
    written: Expression


@dataclass(frozen=True)
class Grouping:
    """The aggregate, the types of its output columns, and what is above it."""

    aggregate: Operator
    types: dict[str, str]
    items: list[GroupedItem]
    having: list[Expression]


def group(scope: Scope, items: list[SelectItem], top: str) -> Grouping:
    """The aggregate of a SELECT with GROUP BY.

    Raises:
        ExpressionError: no window, keys or items that are not possible.
    """
    return _Grouper(scope).group(items, top)


class _Grouper:
    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.keys: dict[str, str] = {}  # canonical expression -> name
        self.types = dict(WINDOW)
        self.aggregations: list[Aggregation] = []
        self.in_having = False

    def group(self, items: list[SelectItem], top: str) -> Grouping:
        scope = self.scope
        windows = [k for k in scope.select.keys if _is_window(k)]
        if len(windows) != 1:
            for key in scope.select.keys:
                if type(key).__name__ == "Anonymous" and not _is_window(key):
                    scope.expression(key)  # a session or another kind of window: says that it is not there
            if windows:
                both = " and ".join(key.sql("spark").replace("WINDOW", "window", 1) for key in windows)
                right = "keep one, and write a query for each of the others"
                scope.refuse(windows[1], f"aggregates need exactly one time window, not {both}; {right}")
            where = (scope.select.keys or [items[0].node])[0]
            scope.refuse(
                where,
                "aggregates need exactly one time window: GROUP BY window(event_time, '10 minutes'), ...",
            )
        time, length, slide = self._window(windows[0])
        for key in scope.select.keys:
            if key is not windows[0]:
                self._add_key(key)
        grouped = [self._item(item) for item in items]
        self.in_having = True
        having = [scope.condition(node, self._write(node), _shown(node)) for node in scope.select.having]
        columns = {time, *(c for text in self.keys for c in columns_of(text))}
        for aggregation in self.aggregations:
            columns |= set(columns_of(aggregation.expression or ""))
        groups = 1.0
        for text in self.keys:
            groups *= max((distinct_values(c, scope.distinct) for c in columns_of(text)), default=1.0)
        aggregate = Aggregate(
            scope.ids.new("a"),
            (top,),
            columns=tuple(sorted(columns)),
            items=tuple(Item(name, text) for text, name in self.keys.items()),
            time=time,
            window=length / 1e6,
            slide=slide / 1e6,
            aggregations=tuple(self.aggregations),
            groups=groups,
            cost=scope.costs.aggregate,
            memory=scope.costs.group_bytes,
            delay=max(s.delay for s in scope.streams.values()),
        )
        return Grouping(with_functions(aggregate), self.types, grouped, having)

    def _window(self, node: Node) -> tuple[str, int, int]:
        scope, arguments = self.scope, list(node.expressions)
        if not 2 <= len(arguments) <= 3:
            scope.refuse(node, "write window(event_time, 'length') or window(event_time, 'length', 'slide')")
        written = scope.expression(arguments[0])
        if written.text not in {canonical_name(t) for t in scope.times}:
            times = " or ".join(sorted(scope.times))
            right = f"did you mean {times}?" if times else "none of these streams has one"
            scope.refuse(node, f"{arguments[0].sql()} is not an event-time column; {right}")
        length = self._duration(arguments[1])
        slide = self._duration(arguments[2]) if len(arguments) == 3 else length
        if slide > length:
            written_slide, written_length = (arguments[i].sql("spark") for i in (2, 1))
            wrong = f"the slide {written_slide} is longer than the window, {written_length}"
            scope.refuse(node, f"{wrong}: rows between would be lost; write a shorter slide, or none")
        return written.columns[0], length, slide

    def _duration(self, node: Node) -> int:
        exact = interval_micros(node)
        if exact is not None and 0 < exact <= _MAX_WINDOW:
            return exact
        text = node.name if type(node).__name__ == "Literal" and node.args.get("is_string") else ""
        parts = re.findall(r"(\d+)\s*([a-zA-Z]+)", text)
        rest = re.sub(r"(\d+)\s*([a-zA-Z]+)", "", text).strip()
        micros = 0
        for number, unit in parts:
            micros += int(number) * UNIT_MICROS.get(unit.upper().rstrip("S"), 0)
            if unit.upper().rstrip("S") not in UNIT_MICROS:
                rest = unit
        if rest or not 0 < micros <= _MAX_WINDOW:
            right = "is written as '10 minutes' or '1 hour 30 minutes', and is at most 366 days"
            self.scope.refuse(node, f"{node.sql('spark')}: a window's length {right}")
        return micros

    def _add_key(self, node: Node) -> None:
        if type(node).__name__ == "Literal":
            self.scope.refuse(node, "a number in GROUP BY is not supported; write the column")
        written = self.scope.expression(node)
        name = node.name if type(node).__name__ == "Column" else f"key{len(self.keys) + 1}"
        self.keys.setdefault(written.text, self._free(name))
        self.types[self.keys[written.text]] = written.type

    def _free(self, name: str) -> str:
        names = {t.lower() for t in self.types}
        if name.lower() not in names and not is_hidden(name):
            return name
        return next(f"{name}_{n}" for n in range(2, 1000) if f"{name}_{n}".lower() not in names)

    def _item(self, item: SelectItem) -> GroupedItem:
        node = item.node
        name = type(node).__name__
        default = node.name if name == "Column" else ""
        if name in FUNCTIONS and item.alias:
            self._aggregation(node, item.alias)
        return GroupedItem(item, item.alias, default, self._write(node))

    def _write(self, node: Node) -> Expression:
        """A node over the aggregate's columns: keys and aggregates replaced by their names."""
        text = self.scope.statement.text
        return write(self._replaced(node), text, self.types)

    def _replaced(self, node: Node) -> Node:
        from sqlglot import exp

        name = type(node).__name__
        if name == "Window":
            self.scope.refuse(node, WHY_REFUSED["Window"])
        if name == "Anonymous" and node.name.lower() not in ALL_NAMES:
            self.scope.expression(
                node
            )  # says that there is no such function, before its columns are looked at
        if name in AGGREGATES:
            return self._name_node(self._aggregation(node, ""))
        if _is_window(node) or (name == "Column" and node.sql().lower() == "window"):
            self.scope.refuse(node, "select window.start or window.end")
        if name == "Column" and self._is_output(node):
            return node.copy()  # its place in the statement stays its own: it is read again
        item = self._item_of(node) if name == "Column" else None
        if item is not None:
            self.in_having = False  # names within the item are those of its own
            written = exp.Paren(this=self._replaced(item.node))
            self.in_having = True
            return written
        key = self._key_of(node)
        if key:
            return self._name_node(key)
        if name == "Column":
            self._refuse_column(node)
        copy = node.copy()
        for part, original in zip(list(copy.iter_expressions()), list(node.iter_expressions()), strict=True):
            if isinstance(original, exp.Condition | exp.Query):
                part.replace(self._replaced(original))
        return copy

    def _refuse_column(self, node: Node) -> NoReturn:
        """One that is not there is told as such."""
        try:
            self.scope.expression(node)
        except UnknownColumn:
            raise
        except ExpressionError:
            pass
        self.scope.refuse(node, f"{node.sql()} is neither in GROUP BY nor inside an aggregate")

    def _is_output(self, node: Node) -> bool:
        """Whether a column is the window's or the name of another item. A column of the streams goes before
        such a name, as in Spark; only HAVING asks for the items first."""
        name = ".".join(part.name for part in node.parts).lower()  # type: ignore[attr-defined]
        if name in WINDOW:
            return True
        of_streams = any(name in (t.lower(), t.lower().rpartition(".")[2]) for t in self.scope.types)
        return name in {t.lower() for t in self.types} and (self.in_having or not of_streams)

    def _item_of(self, node: Node) -> SelectItem | None:
        """In HAVING, the item of SELECT that a name stands for."""
        name = node.sql().lower()
        items = (item for item in self.scope.select.items if item.alias.lower() == name)
        return next(items, None) if self.in_having else None

    def _name_node(self, name: str) -> Node:
        from sqlglot import exp

        node: Node = exp.column(name)
        return node

    def _key_of(self, node: Node) -> str:
        try:
            written = self.scope.expression(node)
        except ExpressionError:
            return ""
        return self.keys.get(written.text, "")

    def _aggregation(self, node: Node, alias: str) -> str:
        """The name of an aggregate's output column; the same aggregate is computed once."""
        scope, function = self.scope, FUNCTIONS.get(type(node).__name__)
        if function is None:
            scope.refuse(
                node,
                f"{written_name(node, scope.statement.text) or node.sql().split('(')[0]} is not supported; "
                "use count, sum, avg, min or max",
            )
        argument = node.this
        if type(argument).__name__ == "Distinct" or node.args.get("distinct"):
            right = f"group by the column too: {AGGREGATE_TWICE}"
            scope.refuse(node, f"{function}(DISTINCT ...) is not supported in SQL; {right}")
        if any(value for key, value in node.args.items() if key not in ("this", "big_int")):
            scope.refuse(node, f"{function} takes one argument")
        from sqlglot import exp

        if argument is not None and argument.find(exp.AggFunc) is not None:
            scope.refuse(node, f"{function} of an aggregate is not supported in SQL; {AGGREGATE_TWICE}")
        if argument is None or (function == "count" and type(argument).__name__ in ("Star", "Literal")):
            expression = None
        else:
            expression = scope.expression(argument).text
        if expression is None and function != "count":
            scope.refuse(node, f"{function} needs a column")
        for present in self.aggregations:
            if (present.function, present.expression) == (function, expression):
                return present.name
        name = self._free(alias or f"{function}_{len(self.aggregations) + 1}")
        aggregation = Aggregation(name, function, expression)  # type: ignore[arg-type]
        try:
            kind = aggregation_type(aggregation, scope.types)
        except ExpressionError as error:
            raise ExpressionError(error.reason, scope.statement.text, place_of(node)) from None
        self.types[name] = kind
        self.aggregations.append(aggregation)
        return name


def _is_window(node: Node) -> bool:
    return type(node).__name__ == "Anonymous" and str(node.this).lower() == "window"


def _shown(node: Node) -> str:
    """A condition in a message: aggregates within it have names that nobody wrote."""
    return str(node.sql("spark")) if type(node).__name__ in ("Column", "Literal") else "this"
