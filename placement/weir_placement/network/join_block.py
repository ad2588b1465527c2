"""A join block: the joins of a query that may change order, with what is pushed into them.

A block is a largest connected piece of a query made of joins, filters and plain projections. Every
subset S of its K inputs that legal joins can derive is a stream whose rate does not depend on the
order (model.md section 4): `prod r_i * V(S) * prod of selectivities over a spanning tree of each
equality class in S`. Subsets are bit masks, bit i for input i.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from math import prod
from operator import or_
from types import MappingProxyType

from weir_placement.model.expressions import columns_of, conjunction, conjuncts
from weir_placement.model.operators import Operator, Window
from weir_placement.model.problem import Query
from weir_placement.network.window_volume import volume


@dataclass(frozen=True)
class Edge:
    """A conjunct of a join: its text, the columns it reads, and for each column the mask of its input.

    `selectivity` is its part of the written join's. A join without predicate has one edge, "", over
    the two inputs of each of its windows.
    """

    text: str
    columns: tuple[str, ...]
    sides: tuple[int, ...]
    selectivity: float
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
    filters: tuple[tuple[int, Operator], ...]
    joins: tuple[tuple[int, int, Operator], ...]
    projections: tuple[Operator, ...]
    beneath: tuple[tuple[str, ...], ...]  # source aliases under each input

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
        """selectivity(S) V(S) of every derivable set: its rate over the product of its inputs' rates."""
        singles = {1 << i: 1.0 for i in range(len(self.inputs))}
        return singles | {mask: self.selectivity(mask) * self.volume(mask) for mask in self.splits}

    def selectivity(self, mask: int) -> float:
        """Of the joins inside `mask`: a spanning forest of each class in the order written, an implied
        equality at its class's largest selectivity, and every other conjunct once."""
        result = prod(e.selectivity for e in self.edges if not e.equality and e.mask & ~mask == 0)
        for edges, members in zip(self.classes, self.class_members, strict=True):
            forest = _forest([e for e in edges if e.mask & ~mask == 0])
            joined = (reduce(or_, members.values()) & mask).bit_count()
            result *= prod(e.selectivity for e in forest)
            implied = joined - 1 - len(forest)
            if implied > 0:
                result *= max(e.selectivity for e in edges) ** implied
        return result

    def volume(self, mask: int) -> float:
        """V(S) [s^(n-1)]: how far apart in time the rows of S may be."""
        inside = [
            (i, j, w.lower / 1e6, w.upper / 1e6) for i, j, w in self.windows if mask >> i & mask >> j & 1
        ]
        members = [i for i in range(len(self.inputs)) if mask >> i & 1]
        return volume(len(members), [(members.index(i), members.index(j), lo, up) for i, j, lo, up in inside])

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
            found = tuple(
                (a, b)
                for a, b in _halves(mask)
                if (a in singles or a in derivable)
                and (b in singles or b in derivable)
                and ((a, b) in written or (b, a) in written or self._joinable(a, b))
            )
            if found:
                derivable[mask] = found
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

    def residual(self, a: int, b: int) -> tuple[Operator, ...]:
        """Filters that can be checked once A and B are joined, and on neither alone."""
        return tuple(op for reads, op in self.filters if not reads & ~(a | b) and reads & ~a and reads & ~b)

    def like(self, a: int, b: int) -> Operator:
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


def _forest(equalities: Iterable[Edge]) -> list[Edge]:
    """The equalities that the earlier ones do not imply."""
    equal: dict[str, str] = {}

    def root(column: str) -> str:
        while column in equal:
            column = equal[column]
        return column

    kept = []
    for edge in equalities:
        left, right = (root(c) for c in edge.columns)
        if left != right:
            equal[left] = right
            kept.append(edge)
    return kept


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


_EQUALITY = re.compile(r"([\w`]+\.[\w.`]+) = ([\w`]+\.[\w.`]+)")


def block_of(
    query: Query, root: str, single_reader: frozenset[str], types: Mapping[str, str] = MappingProxyType({})
) -> JoinBlock | None:
    """The block whose result is that of operator `root`, or None when no join is in reach.

    Goes down through joins, filters and plain projections that have one reader. `types` (by qualified
    column) keep classes exact: an equality of unlike types (BIGINT = DOUBLE) is not transitive.
    """
    operators = {op.id: op for op in query.operators}
    inputs: list[str] = []
    covers: dict[str, int] = {}  # source alias -> mask of its input
    filters: list[tuple[int, Operator]] = []
    joins: list[tuple[int, int, Operator]] = []
    projections: list[Operator] = []

    def walk(name: str) -> int:
        op = operators.get(name)
        inner = op is not None and (name == root or name in single_reader)
        if op is None or not inner or not in_block(op):
            mask = 1 << len(inputs)
            inputs.append(name)
            covers.update(dict.fromkeys(_aliases(query, operators, name), mask))
            return mask
        masks = [walk(i) for i in op.inputs]
        if op.kind == "join":
            joins.append((masks[0], masks[1], op))
        elif op.kind == "filter":
            filters.append((masks[0], op))
        else:
            projections.append(op)
        return reduce(or_, masks)

    walk(root)
    if not joins:
        return None
    beneath = tuple(tuple(sorted(_aliases(query, operators, name))) for name in inputs)
    reads = [(_mask(covers, op.columns) or below, op) for below, op in filters]
    edges = _edges((op for _, _, op in joins), covers, types)
    windows = [
        (covers[w.left].bit_length() - 1, covers[w.right].bit_length() - 1, w)
        for _, _, op in joins
        for w in op.windows
    ]
    return JoinBlock(
        tuple(inputs),
        tuple(edges),
        tuple(windows),
        tuple(reads),
        tuple(joins),
        tuple(projections),
        beneath,
    )


def in_block(op: Operator) -> bool:
    """Whether other operators of a block may change places with it."""
    if op.kind == "project":
        return all(item.name == item.expression for item in op.items)
    return op.kind in ("join", "filter")


def _aliases(query: Query, operators: Mapping[str, Operator], name: str) -> set[str]:
    if name in query.sources:
        return {name}
    return {alias for i in operators[name].inputs for alias in _aliases(query, operators, i)}


def _mask(covers: Mapping[str, int], columns: Iterable[str]) -> int:
    return reduce(or_, (covers.get(c.split(".")[0], 0) for c in columns), 0)


def _edges(joins: Iterable[Operator], covers: Mapping[str, int], types: Mapping[str, str]) -> list[Edge]:
    """The conjuncts of the written joins, inner joins first.

    A join's selectivity is shared evenly among its conjuncts that earlier joins do not imply; one
    that they do imply has the same share, for the sets in which it is not implied.
    """
    edges: list[Edge] = []
    for op in joins:
        own = [_edge(op, text, columns, covers, types) for text, columns in _conjuncts(op.on)]
        own = own or [Edge("", (), (covers[w.left], covers[w.right]), 1.0, op.id, False) for w in op.windows]
        fresh = set(map(id, _forest([e for e in edges + own if e.equality])))
        shares = sum(not e.equality or id(e) in fresh for e in own)
        edges += [replace(e, selectivity=op.selectivity ** (1.0 / max(shares, 1))) for e in own]
    return edges


def _conjuncts(text: str) -> list[tuple[str, tuple[str, ...]]]:
    """A canonical condition split at AND, with the columns of each part."""
    pair = _EQUALITY.fullmatch(text)
    if pair:  # nearly always: no need to parse
        return [(text, pair.groups())]
    return [(part.text, part.columns) for part in conjuncts(text)]


def _edge(
    op: Operator, text: str, columns: tuple[str, ...], covers: Mapping[str, int], types: Mapping[str, str]
) -> Edge:
    pair = _EQUALITY.fullmatch(text)
    if pair:
        sides = tuple(_mask(covers, [c]) for c in pair.groups())
        if sides[0] != sides[1] and types.get(pair[1]) == types.get(pair[2]):
            return Edge(text, pair.groups(), sides, 1.0, op.id, True)
    return Edge(text, columns, tuple(_mask(covers, [c]) for c in columns), 1.0, op.id, False)
