"""The plans that a compiled search reaches."""

from __future__ import annotations

from collections.abc import Iterable

from weir_placement.model.operators import Aggregate, Join, Project
from weir_placement.model.problem import Query
from weir_placement.model.space import Space
from weir_placement.search.blocks import Blocks


def space_of(queries: Iterable[Query], blocks: Iterable[Blocks]) -> Space:
    """What a compiled search reaches from queries."""
    if not all(each.complete for each in blocks):
        return Space.SOME_JOINS
    dropping = any(drops_columns(query) for query in queries if not query.fixed_order)
    return Space.KEPT if dropping else Space.ALL


def drops_columns(query: Query) -> bool:
    """Whether columns may go at several places: there is a projection, or a join under an aggregate."""
    kinds = {type(op) for op in query.operators}
    return Project in kinds or {Aggregate, Join} <= kinds
