"""A join block: the joins of a query that may change order, with what is pushed into them.

A block is a largest connected piece of a query made of joins, filters and plain projections. Every
subset S of its K inputs that legal joins can derive is a stream whose rate does not depend on the
order (model.md section 4). Subsets are bit masks, bit i for input i.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_

from weir_placement.model.expressions import columns_of, conjunction
from weir_placement.model.operators import Filter, Join, Project, Window
from weir_placement.rewrite.joined_rate import JoinedRate


@dataclass(frozen=True)
class Edge:
    """A conjunct of a join: its text, the columns it reads, and for each column the mask of its input.

    A join without predicate has one edge, "", over the two inputs of each of its windows.
    """

    text: str
    columns: tuple[str, ...]
    sides: tuple[int, ...]
    join: str  # id of the written join
    equality: bool

    @property
    def mask(self) -> int:
        """The inputs it reads."""
        return reduce(or_, self.sides, 0)


@dataclass(frozen=True)
class JoinBlock:
    """Inputs 0..K-1, each a source alias or an operator's id, and what joins and filters them.

    `filters` and `joins` carry the mask of the inputs they read (a join: left, right);
    `windows` the two inputs they bound; `output` are the columns that leave the block.
    """

    inputs: tuple[str, ...]
    edges: tuple[Edge, ...]
    windows: tuple[tuple[int, int, Window], ...]
    filters: tuple[tuple[int, Filter], ...]
    joins: tuple[tuple[int, int, Join], ...]
    projections: tuple[Project, ...]
    beneath: tuple[tuple[str, ...], ...]  # source aliases under each input
    rate: JoinedRate

    @property
    def full(self) -> int:
        """The mask of all inputs."""
        return (1 << len(self.inputs)) - 1

    @cached_property
    def classes(self) -> tuple[tuple[Edge, ...], ...]:
        """The equality edges by class: columns that are equal in every result row."""
        group: dict[str, set[str]] = {}
        for edge in self.edges:
            if edge.equality:
                merged = set().union(*(group.get(c, {c}) for c in edge.columns))
                group.update(dict.fromkeys(merged, merged))
        by_class: dict[int, list[Edge]] = {}
        for edge in self.edges:
            if edge.equality:
                by_class.setdefault(id(group[edge.columns[0]]), []).append(edge)
        return tuple(tuple(edges) for edges in by_class.values())

    @cached_property
    def class_members(self) -> tuple[dict[str, int], ...]:
        """For each class, its columns with the masks of their inputs."""
        return tuple(
            {c: side for e in edges for c, side in zip(e.columns, e.sides, strict=True)}
            for edges in self.classes
        )

    @cached_property
    def factor(self) -> dict[int, float]:
        """Of every derivable set: its rate over the product of its inputs' rates."""
        return {
            mask: self.rate.factor(mask)
            for mask in (*(1 << i for i in range(len(self.inputs))), *self.splits)
        }

    @cached_property
    def splits(self) -> Mapping[int, tuple[tuple[int, int], ...]]:
        """Derivable set -> its legal splits (A, B) into derivable sets, A holding the lowest bit.

        A split is legal when a predicate and a window remain between A and B, or when it was written
        so. Sets come by size, then by mask: a topological order.
        """
        written = {(left, right) for left, right, _ in self.joins}
        derivable: dict[int, tuple[tuple[int, int], ...]] = {}
        singles = {1 << i for i in range(len(self.inputs))}
        for mask in sorted(range(1, self.full + 1), key=lambda m: (m.bit_count(), m)):
            if mask in singles:
                continue
            legal = tuple(
                (a, b)
                for a, b in _halves(mask)
                if (a in singles or a in derivable)
                and (b in singles or b in derivable)
                and ((a, b) in written or (b, a) in written or self._joinable(a, b))
            )
            if legal:
                derivable[mask] = legal
        return derivable

    def _joinable(self, a: int, b: int) -> bool:
        return self._meet(self._predicates, a, b) and self._meet(self._bounds, a, b)

    @staticmethod
    def _meet(neighbours: tuple[int, ...], a: int, b: int) -> bool:
        return any(n & b for i, n in enumerate(neighbours) if a >> i & 1)

    @cached_property
    def _predicates(self) -> tuple[int, ...]:
        """Shape (K,): the inputs with which each shares an equality class or another conjunct of two."""
        neighbours = [0] * len(self.inputs)
        shared = [reduce(or_, (e.mask for e in edges)) for edges in self.classes]
        shared += [e.mask for e in self.edges if not e.equality and e.mask.bit_count() == 2]
        for mask in shared:
            for i in range(len(self.inputs)):
                if mask >> i & 1:
                    neighbours[i] |= mask & ~(1 << i)
        return tuple(neighbours)

    @cached_property
    def _bounds(self) -> tuple[int, ...]:
        """Shape (K,): the inputs to which a window ties each."""
        neighbours = [0] * len(self.inputs)
        for i, j, _ in self.windows:
            neighbours[i] |= 1 << j
            neighbours[j] |= 1 << i
        return tuple(neighbours)

    def join_text(self, a: int, b: int) -> tuple[str, tuple[str, ...]]:
        """The predicate of the join of A and B with the columns it reads: the equalities of each
        class that meets here, and every other conjunct that can be checked first here."""
        both = a | b
        texts: list[str] = []
        for edges, members in zip(self.classes, self.class_members, strict=True):
            texts += _equalities(edges, members, a, b)
        texts += [
            e.text for e in self.edges if not e.equality and e.mask & a and e.mask & b and not e.mask & ~both
        ]
        text = conjunction(t for t in texts if t)
        return text, columns_of(text)

    def residual(self, a: int, b: int) -> tuple[Filter, ...]:
        """Filters that can be checked once A and B are joined, and on neither alone."""
        return tuple(op for reads, op in self.filters if not reads & ~(a | b) and reads & ~a and reads & ~b)

    def like(self, a: int, b: int) -> Join:
        """The written join whose costs the join of A and B has: the first whose predicate it checks."""
        both = a | b
        for edge in self.edges:
            if edge.mask & a and edge.mask & b and not edge.mask & ~both:
                return next(op for _, _, op in self.joins if op.id == edge.join)
        return self.joins[-1][2]

    @cached_property
    def delay(self) -> float:
        """[s]: the longest watermark delay among the joins."""
        return max(op.delay for _, _, op in self.joins)

    def join_windows(self, a: int, b: int) -> tuple[Window, ...]:
        """The windows checked by the join of A and B: every pair with a side in each."""
        return tuple(
            w for i, j, w in self.windows if (a >> i & 1 and b >> j & 1) or (a >> j & 1 and b >> i & 1)
        )


def _equalities(edges: tuple[Edge, ...], members: Mapping[str, int], a: int, b: int) -> list[str]:
    """As many equalities as make one of a class's columns in A and in B, written ones first.

    A set with columns of the class in two inputs has them equal already; within one input two of
    them may still differ (b.k = c.k AND b.k = c.m). A column whose conditions are all checked inside
    a set may have been dropped there, so it is not read again.
    """
    equal: dict[str, str] = {}

    def root(column: str) -> str:
        while column in equal:
            column = equal[column]
        return column

    sides: list[list[str]] = []
    for side in (a, b):
        inside = {mask for mask in members.values() if mask & side}
        open_ = sorted({c for e in edges if e.mask & ~side for c in e.columns if members[c] & side})
        if open_ and len(inside) > 1:
            equal.update(dict.fromkeys(open_[1:], open_[0]))
        sides.append(open_)
    written = sorted((e for e in edges if e.mask & a and e.mask & b and not e.mask & ~(a | b)), key=_text)
    pairs = [(*e.columns, e.text) for e in written]
    pairs += [(left, right, f"{left} = {right}") for left in sides[0] for right in sides[1]]
    texts = []
    for left, right, text in pairs:
        x, y = root(left), root(right)
        if x != y:
            equal[x] = y
            texts.append(text)
    return texts


def _text(edge: Edge) -> str:
    return edge.text


def _halves(mask: int) -> Iterator[tuple[int, int]]:
    """Every split of a set in two, the first half holding the lowest bit."""
    lowest = mask & -mask
    rest = mask ^ lowest
    part = (rest - 1) & rest
    while True:
        yield lowest | part, rest ^ part
        if part == 0:
            return
        part = (part - 1) & rest
