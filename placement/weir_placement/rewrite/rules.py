"""Rules for swaps: which operator may change places with the one below it ([1]_, section 5.3, Table 6).

A rule looks at a parent `top` and its child `bottom` and gives every graph that one swap makes.
A rule is legal only if the result is the same multiset of rows for every input; tests/rewrite
shows that on random rows. A new kind of operator registers its own rules.

References
----------
.. [1] Ioana Stanoi, George A. Mihaila, Themis Palpanas, Christian A. Lang, "WhiteWater: Distributed
       Processing of Fast Streams", 2007.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from weir_placement.model.operators import Aggregate, Filter, Item, Join, Operator, Project, is_plain
from weir_placement.rewrite.function_costs import narrow_cost
from weir_placement.rewrite.graph import OperatorGraph

RewriteRule = Callable[[OperatorGraph, Any, Any], Iterator[OperatorGraph]]
"""(graph, top, bottom) -> the graphs after one swap; nothing when it is not legal."""

RULES: dict[tuple[str, str], RewriteRule] = {}


def register(top: str, bottom: str, rule: RewriteRule) -> None:
    """Make a rule for operators of kind `top` over `bottom` known to every search."""
    RULES[top, bottom] = rule


def _exchanged(graph: OperatorGraph, top: Operator, bottom: Operator) -> OperatorGraph:
    """`top` below `bottom`, both with one input, otherwise unchanged."""
    lower = replace(top, inputs=bottom.inputs)
    upper = replace(bottom, inputs=(top.id,))
    return graph.replaced([top.id, bottom.id], [lower, upper], {top.id: bottom.id})


def filter_over_filter(graph: OperatorGraph, top: Filter, bottom: Filter) -> Iterator[OperatorGraph]:
    """Always."""
    yield _exchanged(graph, top, bottom)


def filter_over_project(graph: OperatorGraph, top: Filter, bottom: Project) -> Iterator[OperatorGraph]:
    """When the projection keeps the filter's columns as they are."""
    unchanged = {i.name for i in bottom.items if i.name == i.expression}
    if set(top.columns) <= unchanged:
        yield _exchanged(graph, top, bottom)


def project_over_filter(graph: OperatorGraph, top: Project, bottom: Filter) -> Iterator[OperatorGraph]:
    """When the projection keeps the columns that the filter reads."""
    if is_plain(top) and set(bottom.columns) <= set(top.new_columns):
        yield _exchanged(graph, top, bottom)


def project_over_project(graph: OperatorGraph, top: Project, bottom: Project) -> Iterator[OperatorGraph]:
    """The lower one becomes the intersection; the upper one, which it makes superfluous, goes. When
    the upper one computes, only the lower one is narrowed to what is read."""
    if not is_plain(bottom):
        return
    if set(top.columns) <= set(bottom.new_columns):
        merged = replace(top, inputs=bottom.inputs, origin=_origins(top, bottom))
        yield graph.replaced([top.id, bottom.id], [merged], {})


def filter_over_join(graph: OperatorGraph, top: Filter, bottom: Join) -> Iterator[OperatorGraph]:
    """Only when one side has all its columns."""
    for side, name in enumerate(bottom.inputs):
        if _has(graph, name, top.columns):
            inputs = list(bottom.inputs)
            inputs[side] = top.id
            join = replace(bottom, inputs=tuple(inputs))
            lower = replace(top, inputs=(name,))
            yield graph.replaced([top.id, bottom.id], [lower, join], {top.id: bottom.id})


def project_over_join(graph: OperatorGraph, top: Project, bottom: Join) -> Iterator[OperatorGraph]:
    """One projection a side, keeping what the join reads and event times; the upper one stays when
    such columns must go afterwards, or when it computes."""
    columns = set(top.new_columns) if is_plain(top) else set(top.columns)
    yield from _narrow_join(graph, top, bottom, columns)


def aggregate_over_join(graph: OperatorGraph, top: Aggregate, bottom: Join) -> Iterator[OperatorGraph]:
    """Columns that the aggregate does not read are dropped before the join."""
    yield from _narrow_join(graph, top, bottom, set(top.columns))


def _narrow_join(
    graph: OperatorGraph, top: Project | Aggregate, bottom: Join, above: set[str]
) -> Iterator[OperatorGraph]:
    times = {graph.event_time(alias) for alias in graph.aliases[bottom.id]}
    needed = above | set(bottom.columns) | times
    added: list[Project] = []
    inputs: list[str] = []
    new_ids: list[str] = []
    for name in bottom.inputs:
        columns = graph.columns[name]
        if columns is None or set(columns) <= needed:
            inputs.append(name)
            continue
        narrow = _projection(graph, top, name, [c for c in columns if c in needed], new_ids)
        new_ids.append(narrow.id)
        added.append(narrow)
        inputs.append(narrow.id)
    if not added:
        return
    join = replace(bottom, inputs=tuple(inputs))
    columns_above = [c for a in inputs for c in _columns_after(graph, added, a)]
    superfluous = is_plain(top) and set(columns_above) == set(top.new_columns) and graph.readers.get(top.id)
    if superfluous:
        yield graph.replaced([top.id, bottom.id], [*added, join], {top.id: bottom.id})
    else:
        yield graph.replaced([bottom.id], [*added, join], {})


def _columns_after(graph: OperatorGraph, added: list[Project], name: str) -> tuple[str, ...]:
    columns_of = {o.id: o.new_columns for o in added}
    return columns_of[name] if name in columns_of else graph.columns[name] or ()


def _projection(
    graph: OperatorGraph, top: Project | Aggregate, name: str, columns: list[str], reserved: list[str]
) -> Project:
    """A new plain projection over `name`, with the costs of the one it comes from."""
    like = top if isinstance(top, Project) else None
    return Project(
        graph.fresh_id("p", reserved),
        (name,),
        columns=tuple(sorted(columns)),
        items=tuple(Item(c, c) for c in columns),
        cost=narrow_cost(like) if like else 0.0,
        memory=like.memory if like else 0.0,
        nodes=top.nodes,
        origin=_origins(top),
    )


def _has(graph: OperatorGraph, name: str, columns: tuple[str, ...]) -> bool:
    all_columns = graph.columns[name]
    if all_columns is not None:
        return set(columns) <= set(all_columns)
    return {c.partition(".")[0] for c in columns} <= graph.aliases[name]


def _origins(*operators: Operator) -> tuple[str, ...]:
    """The written operators that these come from."""
    return tuple(sorted({o for op in operators for o in (op.origin or (op.id,))}))


register("filter", "filter", filter_over_filter)
register("filter", "project", filter_over_project)
register("filter", "join", filter_over_join)
register("project", "filter", project_over_filter)
register("project", "project", project_over_project)
register("project", "join", project_over_join)
register("aggregate", "join", aggregate_over_join)
