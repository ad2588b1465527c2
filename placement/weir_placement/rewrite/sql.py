"""SQL to a query of operators (docs/sql.md).

The plan that comes out is the written one: joins in the order of FROM, every condition of WHERE
above them, one filter for each conjunct, the items of SELECT on top. Pushing down is one-way, so
this is the plan from which every legal one can be reached.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from math import inf

from weir_placement.model.amounts import count
from weir_placement.model.expression_parser import ExpressionError, together
from weir_placement.model.expressions import item_type
from weir_placement.model.operators import Item, Operator, Union
from weir_placement.model.problem import Query
from weir_placement.model.streams import Stream
from weir_placement.model.suggestion import suggestion
from weir_placement.rewrite.branch import Branch, BranchBuilder
from weir_placement.rewrite.estimates import CostDefaults
from weir_placement.rewrite.scope import Ids, Scope
from weir_placement.rewrite.statement import Statement, TableReference

MAX_OPERATORS = 100


@lru_cache(maxsize=16)
def _statement(sql: str) -> Statement:
    """Kept for a moment: a query is read right after its streams were."""
    return Statement(sql)


@lru_cache(maxsize=4096)
def stream_references(sql: str, namespace: str) -> tuple[str, ...]:
    """Full names (namespace/name) of the streams that a statement reads, in order, each once.

    Raises:
        ExpressionError: the statement cannot be read.
    """
    names = (_full(table, namespace) for select in _statement(sql).selects for table in select.tables)
    return tuple(dict.fromkeys(names))


def place_of_stream(sql: str, namespace: str, name: str) -> tuple[int, int] | None:
    """Line and column where a stream of `stream_references` is named first."""
    tables = (table for select in _statement(sql).selects for table in select.tables)
    offset = next((table.offset for table in tables if _full(table, namespace) == name), None)
    error = ExpressionError("", sql, offset)
    return (error.line, error.column) if error.line else None


def query_from_sql(
    name: str,
    sql: str,
    streams: Mapping[str, Stream],
    *,
    deliver_to: tuple[str, ...] = (),
    max_latency: float = inf,
    priority: int = 0,
    fixed_order: bool = False,
    costs: CostDefaults | None = None,
) -> Query:
    """The query `namespace/name` of a statement over `streams` (by full name).

    Raises:
        ExpressionError: with line and column: a clause or function that is not supported, an unknown
            stream or column, types that do not go together, a join that is not within a time window.
    """
    statement = _statement(sql)
    namespace = name.partition("/")[0]
    ids, sources, builders = Ids(), dict[str, str](), list[BranchBuilder]()
    for select in statement.selects:
        aliases = {}
        for table in select.tables:
            full = _full(table, namespace)
            if full not in streams:
                names = [s.removeprefix(f"{namespace}/") for s in streams]
                right = suggestion(table.stream, names, "streams")
                raise ExpressionError(f"there is no stream {table.stream}; {right}", sql, table.offset)
            unique = _unique(table.alias, sources)
            sources[unique] = full
            aliases[table.alias] = unique
        chosen = {alias: streams[sources[unique]] for alias, unique in aliases.items()}
        scope = Scope(statement, select, chosen, aliases, ids, costs or CostDefaults())
        builders.append(BranchBuilder(scope))
    branches = _built(builders)
    operators = [operator for branch in branches for operator in branch.operators]
    if len(branches) > 1:
        operators = _union(branches, ids, sql, costs or CostDefaults())
    if len(operators) > MAX_OPERATORS:
        raise ExpressionError(f"{len(operators)} operators; at most {MAX_OPERATORS} are allowed")
    return Query(name, sources, tuple(operators), deliver_to, max_latency, priority, fixed_order)


def _built(builders: list[BranchBuilder]) -> list[Branch]:
    """The branches of all SELECTs, or the errors of all of them as one."""
    branches, errors = list[Branch](), list[ExpressionError]()
    for builder in builders:
        try:
            branches.append(builder.build())
        except ExpressionError as error:
            errors += [error, *error.others]
    if errors:
        raise together(errors)
    return branches


def _full(table: TableReference, namespace: str) -> str:
    return table.stream if "/" in table.stream else f"{namespace}/{table.stream}"


def _unique(alias: str, aliases: Mapping[str, str]) -> str:
    """Branches of a union may use an alias again: `b`, then `b_2`."""
    folded = {name.lower() for name in aliases}
    if alias.lower() not in folded:
        return alias
    return next(f"{alias}_{n}" for n in range(2, 1000) if f"{alias}_{n}".lower() not in folded)


def _union(branches: list[Branch], ids: Ids, sql: str, costs: CostDefaults) -> list[Operator]:
    """Branches under one UNION ALL; columns get the first branch's names."""
    first = branches[0]
    expected = [(item.name, item_type(item, first.types)) for item in first.project.items]
    operators: list[Operator] = []
    for number, branch in enumerate(branches, 1):
        last = branch.project
        if len(last.items) != len(expected):
            raise ExpressionError(
                f"UNION ALL: SELECT {number} has {count(len(last.items), 'column')}, "
                f"the first has {len(expected)}",
                sql,
                branch.offset,
            )
        items = []
        for item, (name, kind) in zip(last.items, expected, strict=True):
            other = item_type(item, branch.types)
            if other != kind:
                raise ExpressionError(
                    f"UNION ALL: column {name} is {kind} in the first SELECT and {other} in SELECT {number}; "
                    f"write CAST({item.expression} AS {kind})",
                    sql,
                    branch.offset,
                )
            items.append(Item(name, item.expression))
        operators += [*branch.below, branch.renamed(items)]
    inputs = tuple(branch.project.id for branch in branches)
    return [*operators, Union(ids.new("u"), inputs, cost=costs.union)]
