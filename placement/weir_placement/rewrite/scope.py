"""What the parts of one SELECT have in common: its streams, their columns' types, ids, costs, refusals."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, NoReturn

from weir_placement.model.expression_parser import ExpressionError, UnknownColumn, place_of
from weir_placement.model.expressions import Expression, source_types, write
from weir_placement.model.streams import Stream
from weir_placement.model.types import with_article
from weir_placement.rewrite.estimates import CostDefaults, source_distinct
from weir_placement.rewrite.statement import Select, Statement

if TYPE_CHECKING:
    from sqlglot.expressions import Expression as Node


class Ids:
    """Operator ids of a query: a letter for the kind and a number."""

    def __init__(self) -> None:
        self._next: dict[str, int] = {}

    def new(self, letter: str) -> str:
        """The next id of a letter: f1, f2, ..."""
        self._next[letter] = self._next.get(letter, 0) + 1
        return f"{letter}{self._next[letter]}"


class Scope:
    """Names of one SELECT; `aliases` maps each alias as written to its name in the query."""

    def __init__(
        self,
        statement: Statement,
        select: Select,
        streams: Mapping[str, Stream],
        aliases: Mapping[str, str],
        ids: Ids,
        costs: CostDefaults,
    ) -> None:
        self.statement, self.select, self.ids, self.costs = statement, select, ids, costs
        self.streams = {aliases[alias]: stream for alias, stream in streams.items()}
        self.written_alias = {aliases[t.alias]: t for t in select.tables}
        self.shares = {aliases[alias]: share for alias, share in select.shares.items()}
        self.order = [aliases[t.alias] for t in select.tables]
        self._rename = {t.alias.lower(): aliases[t.alias] for t in select.tables}
        self.types = source_types(self.streams)
        self.distinct = source_distinct(self.streams)
        self.times = {f"{alias}.{s.event_time}": alias for alias, s in self.streams.items() if s.event_time}

    def stream(self, alias: str) -> Stream:
        """The stream of an alias as written, in any case."""
        return self.streams[self._rename[alias.lower()]]

    def expression(self, node: Node, types: Mapping[str, str] | None = None) -> Expression:
        """A node of the statement, checked against columns' types, by default those of the streams.

        Raises:
            ExpressionError: with line and column.
        """
        try:
            return write(self._renamed(node), self.statement.text, self.types if types is None else types)
        except ExpressionError as error:
            self._name_as_written(error)
            if isinstance(error, UnknownColumn) and any(
                item.alias.lower() == error.name.lower() for item in self.select.items
            ):
                where = "is the name of an item of SELECT, which is computed after this"
                self.refuse(node, f"{error.name} {where}; write its expression")
            raise

    def _name_as_written(self, error: ExpressionError) -> None:
        """Has the message name the aliases that the statement has."""
        for alias, table in self.written_alias.items():
            if alias != table.alias:
                name = re.compile(rf"(?<![\w.]){re.escape(alias)}(?=\.)")
                error.reason = name.sub(table.alias, error.reason)
                error.args = tuple(name.sub(table.alias, str(part)) for part in error.args)

    def _renamed(self, node: Node) -> Node:
        """The node with aliases as the query knows them (a union's branches may share one)."""
        if all(low == new.lower() for low, new in self._rename.items()):
            return node
        from sqlglot import exp

        copy = node.copy()
        for column in list(copy.find_all(exp.Column)):
            table = column.args.get("table")
            if table is not None and table.name.lower() in self._rename:
                table.set("this", self._rename[table.name.lower()])
        return copy

    def condition(self, node: Node, condition: Expression, shown: str = "") -> Expression:
        """It, if it is a truth value; else refused, by its own text or as `shown`."""
        if condition.type not in ("", "BOOLEAN", "NULL"):
            kind = with_article(condition.type)
            self.refuse(node, f"a condition is needed, but {shown or condition.text} is {kind}")
        return condition

    def refuse(self, node: Node, message: str) -> NoReturn:
        """Raise the error at a node."""
        raise ExpressionError(message, self.statement.text, place_of(node))
