"""Joins that may meet in any order: those of a block whose equalities or windows go beyond a tree.

Where each join is on two streams and every window is its own, a join keeps its predicate wherever it goes.
In other queries predicates follow from the sets that meet (`kernel.blocks`), also equalities that are only
implied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING

from weir_placement.cost.allowed import allowed_nodes
from weir_placement.cost.raised import growth, raised_joins
from weir_placement.model.operators import Join
from weir_placement.model.problem import Problem, Query

if TYPE_CHECKING:
    from weir_placement.rewrite.rewriter import Block

MOST = 9
"""Sources of a block, at most: there are numbers for each set of them, and the bound looks at each split."""


@dataclass(frozen=True)
class SearchBlock:
    """A block in the arrays of a search: masks are over its `aliases`, in their order.

    Attributes:
        joins: ids of its operators, which are alike.
        factors: shape (points, 2^n), the rate of a set over the product of its sources' rates.
        near, equal: shape (n,), the aliases that a window and an equality tie to each.
        half, reach: shape (n n,) [s], of the narrowest window between two; infinite without one.
    """

    aliases: tuple[str, ...]
    joins: frozenset[str]
    factors: tuple[tuple[float, ...], ...]
    near: tuple[int, ...]
    equal: tuple[int, ...]
    half: tuple[float, ...]
    reach: tuple[float, ...]


@dataclass(frozen=True)
class Blocks:
    """Those of a query; `complete`: its other joins miss no order though they keep their predicates."""

    blocks: tuple[SearchBlock, ...] = ()
    complete: bool = True


def blocks_of(problem: Problem, query: Query) -> Blocks:
    """The blocks of a query that a search needs."""
    joins = [op for op in query.operators if isinstance(op, Join)]
    if query.fixed_order or all(len(join.aliases) == 2 for join in joins):
        return Blocks()
    from weir_placement.rewrite.rewriter import Rewriter  # imports the parser, which few plans need

    blocks, covered = [], set[str]()
    rewriter = Rewriter(query, problem.streams)
    for block in rewriter.blocks:
        ids = {join.id for join in block.joins}
        small = len(block.aliases) <= MOST
        if all(len(join.aliases) == 2 for join in block.joins):
            covered |= ids
        elif small and _alike(problem, query, block.joins) and block.constraints.in_pairs:
            covered |= ids
            blocks.append(_search_block(problem, query, block))
    rest = [join for join in joins if join.id not in covered]
    return Blocks(tuple(blocks), not rest)


def _alike(problem: Problem, query: Query, joins: Sequence[Join]) -> bool:
    """Whether joins cost the same and may run on the same nodes."""
    first = joins[0]
    return all(
        replace(join, cost=first.cost, cost_pair=first.cost_pair, cost_out=first.cost_out) == join
        and (join.memory, join.row_overhead, join.delay) == (first.memory, first.row_overhead, first.delay)
        and allowed_nodes(problem, query, join) == allowed_nodes(problem, query, first)
        for join in joins
    )


def _search_block(problem: Problem, query: Query, block: Block) -> SearchBlock:
    aliases = tuple(sorted(block.bits, key=lambda alias: block.bits[alias]))
    n, bits = len(aliases), block.bits
    near, equal = [0] * n, [0] * n
    half, reach = [inf] * (n * n), [inf] * (n * n)
    for window in block.constraints.windows:
        a, b = aliases.index(window.left), aliases.index(window.right)
        for x, y in ((a, b), (b, a)):
            near[x] |= 1 << y
            half[x * n + y] = min(half[x * n + y], window.half_width)
            reach[x * n + y] = min(reach[x * n + y], window.reach)
    for group in block.constraints.tied:
        for alias in group:
            equal[aliases.index(alias)] |= sum(bits[other] for other in group if other != alias)
    sets = [frozenset(a for k, a in enumerate(aliases) if mask >> k & 1) for mask in range(1 << n)]
    expected = [1.0, *(block.rate.factor(mask) for mask in range(1, 1 << n))]
    points = [raised_joins(problem, query, k) for k in range(len(problem.points()))]
    factors = tuple(
        tuple(rate * growth(joins, own) for rate, own in zip(expected, sets, strict=True)) for joins in points
    )
    ids = frozenset(join.id for join in block.joins)
    return SearchBlock(aliases, ids, factors, tuple(near), tuple(equal), tuple(half), tuple(reach))


def alias_bits(query: Query, blocks: Sequence[SearchBlock], most: int) -> Mapping[str, int]:
    """A bit for each alias, those of a block one after the other; none of a query with more than `most`."""
    if len(query.sources) > most:
        return {}
    first = dict.fromkeys(alias for block in blocks for alias in block.aliases)
    return {alias: 1 << k for k, alias in enumerate({**first, **dict.fromkeys(query.sources)})}
