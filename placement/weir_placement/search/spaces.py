"""The spaces over which a bound or a proof holds, in the words of the report and of the picture."""

from __future__ import annotations

from collections.abc import Iterable

from weir_placement.model.operators import Aggregate, Join, Project
from weir_placement.model.problem import Query
from weir_placement.proof import ALL
from weir_placement.search.blocks import Blocks

PUSHED = "swaps of selections and joins, projections pushed down and merged"
KEPT = "swaps of selections and joins, projections on their side of the joins"
WRITTEN = "swaps of selections and joins, some joins only on the streams that they are written for"
"""Depends on how the query is written: nothing is proven over it."""


def space_of(queries: Iterable[Query], blocks: Iterable[Blocks]) -> str:
    """What a compiled search reaches from queries."""
    if not all(each.complete for each in blocks):
        return WRITTEN
    return KEPT if any(drops_columns(query) for query in queries if not query.fixed_order) else ALL


def drops_columns(query: Query) -> bool:
    """Whether columns may go at several places: there is a projection, or a join under an aggregate."""
    kinds = {type(op) for op in query.operators}
    return Project in kinds or {Aggregate, Join} <= kinds
