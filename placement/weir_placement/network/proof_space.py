"""Over which plans the bound on network usage holds: a program filters and drops columns early."""

from __future__ import annotations

from collections.abc import Iterable

from weir_placement.array_types import Floats
from weir_placement.model.operators import Aggregate, Filter, Join, Operator, Project, is_plain
from weir_placement.model.problem import Query
from weir_placement.model.space import Space
from weir_placement.network.read_block import in_block


def proof_space(queries: Iterable[tuple[Query, Floats]], priced: bool) -> Space | None:
    """None: all plans.

    Args:
        queries: each with where its ways may run, shape (W, N), 0 or infinite.
        priced: some capacity has a price in the bound.
    """
    spaces = {_of(query, place, priced) for query, place in queries} - {None}
    return Space.EARLY_COLUMNS if len(spaces) > 1 else next(iter(spaces), None)


def _of(query: Query, place: Floats, priced: bool) -> Space | None:
    if query.fixed_order:
        return None
    if keeps_columns(query):
        return Space.COLUMNS
    beside = _beside(query)
    choice = any(isinstance(op, Filter | Project) and in_block(op) for pair in beside for op in pair)
    return Space.EARLY if choice and (priced or bool((place != place[:1]).any())) else None


def _beside(query: Query) -> list[tuple[Operator, Operator]]:
    """Operators and what is right below them."""
    by_id = {op.id: op for op in query.operators}
    return [(op, by_id[i]) for op in query.operators for i in op.inputs if i in by_id]


def keeps_columns(query: Query) -> bool:
    """Whether columns are carried up to what computes or groups them, which a plan may drop below."""
    return any(_keeps_columns(above, below) for above, below in _beside(query))


def _keeps_columns(above: Operator, below: Operator) -> bool:
    """Whether one of them stays where it is written although the other could pass it, or drop columns."""
    if isinstance(above, Aggregate):
        return isinstance(below, Join | Filter)
    computes = isinstance(above, Project) and not is_plain(above)
    computed = isinstance(below, Project) and not is_plain(below)
    return (computes and in_block(below)) or (computed and isinstance(above, Filter | Project))
