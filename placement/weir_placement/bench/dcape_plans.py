"""D-CAPE's query plans 1 to 4 (sections 4.4 and 5.2): binary trees of window joins and more.

The paper prints numbers of operators, depth and breadth, and no shapes. Here the joins are as balanced as
they can be over `breadth` streams, and single-stream operators are put on the longest path until it has
`depth` operators, then on the others. Plan 4 has 16 streams and 2 outputs: it is plan 3 twice. Plan 1 is 5
single-stream operators in a row in section 5.2.1, and 5 joins in section 5.2.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle

from weir_placement.model.operators import Filter, Join, Operator, Window
from weir_placement.model.problem import Query
from weir_placement.model.streams import Column, Stream

RATE = 40.0
"""[tuples/s] of a stream: 72,000 tuples in 30 minutes."""
TUPLE_BYTES = 100.0
SINGLE_COST, JOIN_COST, PAIR_COST = 20.0, 40.0, 0.02
"""[CPU-us] a tuple of a single-stream operator, a tuple of a join, a probed pair. The paper prints none."""
ROW_OVERHEAD = 100.0


@dataclass(frozen=True)
class PaperPlan:
    """What the paper says of a plan."""

    number: int
    operators: int
    joins: int
    depth: int
    breadth: int
    copies: int = 1


PLANS: Sequence[PaperPlan] = (
    PaperPlan(1, 5, 5, 5, 6),
    PaperPlan(2, 20, 5, 9, 6),
    PaperPlan(3, 40, 7, 14, 8),
    PaperPlan(4, 80, 14, 14, 16, 2),
)


@dataclass
class _Vertex:
    """A stream (no children) or a join, with the single-stream operators in a row above it."""

    children: tuple[_Vertex, ...] = ()
    singles: int = 0

    @property
    def height(self) -> int:
        return self.singles + (1 + max(c.height for c in self.children) if self.children else 0)

    def walk(self) -> Iterator[_Vertex]:
        """Below first, in the order of the streams."""
        for child in self.children:
            yield from child.walk()
        yield self


def _shape(plan: PaperPlan) -> _Vertex:
    breadth, joins = plan.breadth // plan.copies, plan.joins // plan.copies
    level = [_Vertex() for _ in range(breadth)]
    singles = plan.operators // plan.copies - joins
    if not singles:  # plan 1: each join on top of the last
        root = level[0]
        for leaf in level[1:]:
            root = _Vertex((root, leaf))
        return root
    while len(level) > 1:
        pairs = [_Vertex(pair) for pair in zip(level[::2], level[1::2], strict=False)]
        level = pairs + level[len(pairs) * 2 :]
    root = level[0]
    longest = [root]
    while longest[-1].children:
        longest.append(longest[-1].children[0])
    others = [vertex for vertex in root.walk() if all(vertex is not each for each in longest)]
    for vertex in cycle(reversed(longest)):
        if root.height == plan.depth:
            break
        vertex.singles += 1
        singles -= 1
    for vertex in cycle(others):
        if not singles:
            return root
        vertex.singles += 1
        if root.height > plan.depth:
            vertex.singles -= 1
        else:
            singles -= 1
    raise AssertionError("a tree has places beside its longest path")


def query_of(plan: PaperPlan, name: str, window: float = 10.0) -> Query:
    """One tree of a plan, its operators level by level; windows of so many seconds to either side.

    Each join gives twice what comes in: 2 w s r1 r2 = 2 (r1 + r2).
    """
    operators: list[tuple[int, Operator]] = []
    sources: list[str] = []

    def build(vertex: _Vertex) -> tuple[str, float, int]:
        """The top of what is made, its rate and its height."""
        if vertex.children:
            first = len(sources)
            (left, r1, h1), (right, r2, h2) = (build(child) for child in vertex.children)
            top, rate, height = f"j{len(operators):02d}", 2 * (r1 + r2), 1 + max(h1, h2)
            width = round(window * 1e6)
            windows = (Window(sources[first], sources[-1], -width, width),)
            selectivity = (r1 + r2) / (window * r1 * r2)
            operators.append((height, _join(top, (left, right), windows, selectivity)))
        else:
            top, rate, height = f"t{len(sources)}", RATE, 0
            sources.append(top)
        for _ in range(vertex.singles):
            height, below, top = height + 1, top, f"s{len(operators):02d}"
            operators.append((height, Filter(top, (below,), cost=SINGLE_COST)))
        return top, rate, height

    build(_shape(plan))
    ordered = tuple(op for _, op in sorted(operators, key=lambda item: (item[0], item[1].id)))
    return Query(name, {alias: f"{name}-{alias}" for alias in sources}, ordered)


def _join(name: str, inputs: tuple[str, ...], windows: tuple[Window, ...], selectivity: float) -> Join:
    return Join(
        name,
        inputs,
        windows=windows,
        selectivity=selectivity,
        cost=JOIN_COST,
        cost_pair=PAIR_COST,
        row_overhead=ROW_OVERHEAD,
    )


def chain() -> Query:
    """Plan 1 of section 5.2.1: 5 single-stream operators."""
    operators = [Filter(f"s{i}", (f"s{i - 1}" if i else "t0",), cost=SINGLE_COST) for i in range(5)]
    return Query("p1", {"t0": "p1-t0"}, tuple(operators))


def queries_of(plan: PaperPlan, window: float = 10.0) -> tuple[Query, ...]:
    """A plan's trees."""
    return tuple(query_of(plan, f"p{plan.number}{'ab'[i]}", window) for i in range(plan.copies))


def streams_of(queries: Sequence[Query], origins: tuple[str, ...] = ()) -> dict[str, Stream]:
    """Their streams, each at `RATE`; they enter anywhere unless `origins` says where."""
    columns = (Column("v", "BIGINT", TUPLE_BYTES),)
    return {
        name: Stream(name, RATE, columns, origins, TUPLE_BYTES)
        for query in queries
        for name in query.sources.values()
    }
