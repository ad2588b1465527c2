"""One SELECT to operators: joins, filters, an aggregate, a projection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, cast

from weir_placement.model.expression_parser import (
    ExpressionError,
    UnknownColumn,
    place_of,
    together,
)
from weir_placement.model.expressions import Expression, item_type
from weir_placement.model.operators import Filter, Item, Operator, Project
from weir_placement.model.types import is_hidden
from weir_placement.rewrite.estimates import filter_selectivity
from weir_placement.rewrite.function_costs import with_functions
from weir_placement.rewrite.grouping import Grouping, group
from weir_placement.rewrite.hints import spread
from weir_placement.rewrite.joining import Conjunct, join
from weir_placement.rewrite.scope import Scope
from weir_placement.rewrite.statement import SelectItem

if TYPE_CHECKING:
    from sqlglot.expressions import Expression as Node


@dataclass(frozen=True)
class Branch:
    """The operators of one SELECT, the last one a projection; `types` are those of its input columns."""

    below: tuple[Operator, ...]
    project: Project
    types: Mapping[str, str]
    offset: int | None

    @property
    def operators(self) -> tuple[Operator, ...]:
        """In topological order."""
        return (*self.below, self.project)

    def renamed(self, items: list[Item]) -> Project:
        """The projection with other items."""
        return replace(self.project, items=tuple(items))


class BranchBuilder:
    """Builds one branch."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.select, self.ids, self.costs = scope.select, scope.ids, scope.costs

    def build(self) -> Branch:
        """The operators of this SELECT.

        Raises:
            ExpressionError: see `query_from_sql`.
        """
        try:
            return self._built()
        except UnknownColumn as error:
            raise together(self._unknown_columns(error)) from None

    def _unknown_columns(self, first: UnknownColumn) -> list[UnknownColumn]:
        """The first, and all others of the SELECT, at each of their places."""
        from sqlglot import exp

        aliases = {item.alias.lower() for item in self.select.items}
        clauses = (self.select.conditions, self.select.keys, self.select.having)
        nodes = [*(item.node for item in self.select.items), *chain(*clauses)]
        errors = {(first.line, first.column): first}
        for column in (column for node in nodes for column in node.find_all(exp.Column)):
            name = ".".join(part.name for part in column.parts).lower()
            if name in aliases or name.partition(".")[0] == "window" or isinstance(column.this, exp.Star):
                continue
            try:
                self.scope.expression(column)
            except UnknownColumn as error:
                errors[error.line, error.column] = error
            except ExpressionError:
                continue
        return list(errors.values())

    def _built(self) -> Branch:
        conditions = [self._condition(node) for node in self.select.conditions]
        operators, filters = join(self.scope, conditions)
        top = operators[-1].id if operators else self.scope.order[0]
        for condition, selectivity in zip(filters, self._selectivities(filters), strict=True):
            operators.append(self._filter(condition.written, top, selectivity))
            top = operators[-1].id
        types: Mapping[str, str] = self.scope.types
        items = self._expand_stars()
        has_aggregates = bool(self.select.keys or self.select.having) or any(
            _has_aggregate(i.node) for i in items
        )
        if has_aggregates:
            grouping = group(self.scope, items, top)
            operators.append(grouping.aggregate)
            top, types = grouping.aggregate.id, grouping.types
            for having in grouping.having:
                operators.append(self._filter(having, top, filter_selectivity(having.text, {})))
                top = operators[-1].id
            selected = self._grouped_items(grouping)
        else:
            selected = [self._plain_item(item, types) for item in items]
        project = self._project(selected, types, top)
        return Branch(tuple(operators), project, types, place_of(self.select.items[0].node))

    # -- conditions

    def _condition(self, node: Node) -> Conjunct:
        if aggregate := _aggregate_in(node):
            wrong = f"{aggregate.sql('spark').lower()} is an aggregate, which is computed after WHERE and ON"
            self.scope.refuse(aggregate, f"{wrong}; write this condition in HAVING")
        written = self.scope.condition(node, self.scope.expression(node))
        return Conjunct(written, frozenset(c.partition(".")[0] for c in written.columns), node)

    def _selectivities(self, filters: list[Conjunct]) -> list[float]:
        """Of each filter: as estimated, or as a hint says it of all that look at one stream alone."""
        result = [filter_selectivity(condition.written.text, self.scope.distinct) for condition in filters]
        for alias, share in self.scope.shares.items():
            own = [i for i, condition in enumerate(filters) if condition.aliases == {alias}]
            if not own:
                wrong = f"{alias} has no condition of its own in WHERE or ON, so that nothing is selected"
                raise ExpressionError(wrong, self.scope.statement.text, share.offset)
            for i, selectivity in zip(own, spread(share.value, [result[i] for i in own]), strict=True):
                result[i] = selectivity
        return result

    def _filter(self, written: Expression, top: str, selectivity: float) -> Operator:
        return with_functions(
            Filter(
                self.ids.new("f"),
                (top,),
                columns=written.columns,
                predicate=written.text,
                selectivity=selectivity,
                cost=self.costs.filter,
            )
        )

    # -- items of SELECT

    def _expand_stars(self) -> list[SelectItem]:
        from sqlglot import exp

        items: list[SelectItem] = []
        for item in self.select.items:
            node = item.node
            is_all = type(node).__name__ == "Star"
            if not is_all and type(getattr(node, "this", None)).__name__ != "Star":
                items.append(item)
                continue
            if type(node).__name__ not in ("Star", "Column") or node.find(exp.Star).args.get("except_"):  # type: ignore[union-attr]
                items.append(item)
                continue
            qualifier = "" if is_all else node.args["table"].name.lower()
            tables = [t for t in self.select.tables if qualifier in ("", t.alias.lower())]
            if not tables:
                self.scope.refuse(node, f"there is no stream {node.args['table'].name} in FROM")
            for table in tables:
                stream = self.scope.stream(table.alias)
                columns = [exp.column(c.name, table=table.alias) for c in stream.columns]
                for column in columns:
                    column.parent = node.parent  # its place is that of the list
                items += [SelectItem(column, "") for column in columns]
        return items

    def _plain_item(self, item: SelectItem, types: Mapping[str, str]) -> tuple[str, Expression, Node]:
        written = self.scope.expression(item.node, types)
        return self._item_name(item), written, item.node

    def _item_name(self, item: SelectItem) -> str:
        if item.alias:
            return item.alias
        if type(item.node).__name__ != "Column":
            if self.select is not self.scope.statement.selects[0]:
                return (
                    f"column{self.select.items.index(item) + 1}"  # UNION ALL takes the first SELECT's names
                )
            self.scope.refuse(item.node, "this item needs a name: write ... AS name")
        return item.node.name

    def _grouped_items(self, grouping: Grouping) -> list[tuple[str, Expression, Node]]:
        return [
            (i.alias or i.default or self._item_name(i.item), i.written, i.item.node) for i in grouping.items
        ]

    def _project(
        self, selected: list[tuple[str, Expression, Node]], types: Mapping[str, str], top: str
    ) -> Project:
        names: set[str] = set()
        items = []
        for name, written, node in selected:
            if name.lower() in names:
                self.scope.refuse(node, f"two output columns are called {name}; write ... AS another_name")
            if is_hidden(name):
                self.scope.refuse(
                    node, f"{name} is a name reserved by the runtime; write ... AS another_name"
                )
            names.add(name.lower())
            items.append(Item(name, written.text))
            item_type(items[-1], types)
        columns = {c for _, written, _ in selected for c in written.columns}
        return with_functions(
            Project(
                self.ids.new("p"),
                (top,),
                columns=tuple(sorted(columns)),
                items=tuple(items),
                cost=self.costs.project,
            )
        )


def _has_aggregate(node: Node) -> bool:
    return _aggregate_in(node) is not None


def _aggregate_in(node: Node) -> Node | None:
    """The first that is no window function, and in no subquery."""
    from sqlglot import exp

    nested = {id(call) for select in node.find_all(exp.Select) for call in select.find_all(exp.AggFunc)}
    calls = (cast("Node", call) for call in node.find_all(exp.AggFunc) if id(call) not in nested)
    return next((call for call in calls if call.find_ancestor(exp.Window) is None), None)
