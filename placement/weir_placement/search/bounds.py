"""Upper bounds: no plan, logical or physical, can have a greater headroom (see `kernel.bound`)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain
from math import prod
from typing import TYPE_CHECKING

from weir_placement.search.blocks import MOST
from weir_placement.search.item import EQUAL, HUGE, numbers_of
from weir_placement.search.kernel import entry_codes as code
from weir_placement.search.kernel import layout

if TYPE_CHECKING:
    from weir_placement.search.encode import Encoding

MAX_LEAVES = 13
PRECISION = 5e-4


@dataclass
class Region:
    """A node of the program: what its words say, and what is chained right above it."""

    kind: int  # of `kernel.layout`: SOURCE_NODE, JOIN_REGION, ...
    words: list[int]
    passing: list[int] = field(default_factory=list)  # items whose selectivities its rate has in it
    several: list[int] = field(default_factory=list)  # selections over several leaves of a region of joins
    parent: int = -1
    filters: list[int] = field(default_factory=list)
    written_here: int = 0  # how many of the filters cannot run above the region of joins that reads this
    projections: list[int] = field(default_factory=list)
    readers: list[int] = field(default_factory=list)  # joins of that region which may read this first


Sinking = list[tuple[int, bool]]
"""Selections on their way down: item, and whether it was written below the joins that are next above."""


class Regions:
    """The regions of joins of an encoding, from its written plan.

    A region is a maximal set of joins that can change places; its leaves are sources and whatever holds
    its place: projections (with all below them), aggregates, unions, operators with several readers.
    """

    def __init__(self, encoding: Encoding):
        self.items = encoding.items
        self.free, self.readers = encoding.read("free"), encoding.reads
        self.own, self.sets = encoding.read("own"), encoding.read("set")
        self.block = encoding.read("block")
        self.nodes: list[Region] = []
        self.node_of: dict[int, int] = {}
        self.operators: list[tuple[int, int]] = []  # item, the node whose whole output it reads
        self.possible = True
        for sink in encoding.sinks:
            self.visit(self.items[sink].children[0], [])

    def visit(self, i: int, filters: Sinking) -> int:
        """The node whose rate item i has at the least; `filters` were written above and sink onto it."""
        item = self.items[i]
        if item.kind == layout.FILTER and self.free[i]:
            return self.visit(item.children[0], [*filters, (i, True)])
        if self.readers[i] > 1 and filters:
            return self.settle(self.add(Region(layout.SAME_NODE, [self.visit(i, [])])), filters)
        if i in self.node_of:
            return self.node_of[i]
        if item.kind == layout.PROJECT:
            node = self.visit(item.children[0], filters)
            if self.nodes[node].kind in (layout.JOIN_REGION, layout.BLOCK_REGION):
                self.operators.append((i, node))
            else:
                self.nodes[node].projections.append(i)
        elif item.kind == layout.JOIN:
            node = self.join_region(i, filters)
        else:
            node = self.fixed_region(i, filters)
        self.node_of[i] = node
        return node

    def fixed_region(self, i: int, filters: Sinking) -> int:
        """A source, an aggregate, a union, a selection that stays: selections stop on it."""
        item = self.items[i]
        children = [self.visit(c, []) for c in item.children]
        if item.kind == layout.FILTER:
            node = self.add(Region(layout.SUM_NODE, [i, 1, *children], passing=[i]))
        elif item.kind == layout.SOURCE:
            node = self.add(Region(layout.SOURCE_NODE, [i]))
        elif item.kind == layout.AGGREGATE:
            node = self.add(Region(layout.AGGREGATE_NODE, [i, *children]))
        else:
            node = self.add(Region(layout.SUM_NODE, [i, len(children), *children]))
        return self.settle(node, filters)

    def settle(self, number: int, filters: Sinking) -> int:
        node = self.nodes[number]
        for f, here in filters:
            node.passing.append(f)
            node.filters.append(f)
            node.written_here += here
        return number

    def add(self, region: Region) -> int:
        self.nodes.append(region)
        return len(self.nodes) - 1

    def join_region(self, top: int, filters: Sinking) -> int:
        """Collects the joins below `top` that only free selections part from it."""
        joins: list[int] = []
        leaves: list[int] = []
        sinking = [f for f, _ in filters]

        def collect(i: int) -> None:
            item = self.items[i]
            if item.kind == layout.FILTER and self.free[i]:
                sinking.append(i)
                collect(item.children[0])
            elif item.kind == layout.JOIN and (i == top or self.free[i]):
                joins.append(i)
                for c in item.children:
                    collect(c)
            else:
                leaves.append(i)

        collect(top)
        masks = [self.sets[i] for i in leaves]
        ends = [sum(1 << a for a, m in enumerate(masks) if m & self.own[j]) for j in joins]
        several: list[int] = []
        onto: dict[int, list[int]] = defaultdict(list)
        for f in sinking:
            touched = [a for a, m in enumerate(masks) if m & self.own[f]]
            if len(touched) == 1:
                onto[touched[0]].append(f)
            else:
                several.append(f)
        block = self.block[top]
        if block >= 0:
            ends = [(1 << len(leaves)) - 1] * len(joins)
            self.possible &= len(leaves) <= MOST and all(self.block[j] == block for j in joins)
        elif len(leaves) > MAX_LEAVES or any(e.bit_count() != 2 for e in ends):
            self.possible = False
        nodes = [self.visit(leaf, [(f, False) for f in onto[a]]) for a, leaf in enumerate(leaves)]
        words = [len(leaves), *nodes]
        if block >= 0:
            words += [block, top, *masks]
        else:
            words.append(len(joins))
            for j, end in zip(joins, ends, strict=True):
                words += [j, self.side(end, [e for e in ends if e is not end], len(leaves)), end]
        words.append(len(several))
        words += [sum(1 << a for a, m in enumerate(masks) if m & self.own[f]) for f in several]
        words += [0, 0, 0]  # the list of connected sets
        kind = layout.BLOCK_REGION if block >= 0 else layout.JOIN_REGION
        region = self.add(Region(kind, words, several=several))
        for a, node in enumerate(nodes):
            self.nodes[node].parent = region
            self.nodes[node].readers = [j for j, end in zip(joins, ends, strict=True) if end >> a & 1]
        return region

    @staticmethod
    def side(end: int, others: list[int], leaves: int) -> int:
        """The leaves that stay with the first end when the join is taken out of the tree."""
        side = end & -end
        grown = True
        while grown:
            grown = False
            for other in others:
                if other & side and other & ~side and other != end:
                    side |= other
                    grown = True
        return side

    def chain(self, v: int, numbers: int) -> list[int]:
        """The words of `kernel.bound._chain`, whose numbers are at `numbers`."""
        node = self.nodes[v]
        here = node.written_here if node.readers else len(node.filters)
        words = [v, here, len(node.filters), len(node.projections), len(node.readers), numbers]
        return [*words, *node.filters, *node.projections, *node.readers]

    def numbers(self, chains: Sequence[int], point: int) -> list[list[float]]:
        """The numbers of each node, then of each chain, at a point of the profile."""
        share = [item.selectivities[point] for item in self.items]
        cost = [numbers_of(item).cost for item in self.items]
        nodes = [
            [prod(share[i] for i in node.passing), *(share[f] for f in node.several)] for node in self.nodes
        ]
        above = [self.nodes[v].filters for v in chains]
        least = [min((cost[f] for f in filters), default=0.0) for filters in above]
        shares = [sorted(share[f] for f in filters) for filters in above]
        return nodes + [[first, *rest] for first, rest in zip(least, shares, strict=True)]

    def write(self, encoding: Encoding) -> bool:
        """Into the encoding's fields; false if it does not fit or a region is no tree of joins."""
        chains = [v for v, node in enumerate(self.nodes) if node.filters or node.projections]
        head = 1 + 4 * len(self.nodes) + 1 + 2 * len(self.operators) + 1 + len(chains)
        words, tail = [len(self.nodes)], list[int]()
        numbers = [self.numbers(chains, k) for k in range(encoding.dims["points"])]
        begins = [0, *accumulate(map(len, numbers[0]))]
        for node, begin in zip(self.nodes, begins, strict=False):
            words += [node.kind, node.parent, head + len(tail), begin]
            tail += node.words
        words += [len(self.operators), *(word for pair in self.operators for word in pair), len(chains)]
        for v, begin in zip(chains, begins[len(self.nodes) :], strict=False):
            words.append(head + len(tail))
            tail += self.chain(v, begin)
        words += tail
        if not self.possible or len(words) > encoding.length["regions"]:
            return False
        room = encoding.length["region_number_"] // len(numbers)
        if begins[-1] > room:
            return False
        encoding.write("regions", words)
        for k, at_point in enumerate(numbers):
            encoding.write("region_number_", [*chain.from_iterable(at_point)], start=k * room)
        return True


def upper_bound(encoding: Encoding, value: float, check: int = code.PACKED) -> float:
    """No plan has a greater headroom than this, or than `value`; 1e300 when nothing limits it.

    `value` is that of some plan: if nothing more than that (to rounding) is possible, it is the bound.
    Else the bound is found by bisection, to `PRECISION`, and is on the safe side. `check` PLAIN leaves out
    the packing of the largest operators, which is seldom what binds where there are many.
    """
    encoding.reset()
    encoding.run(code.EVALUATE)
    if value <= 0 or value >= HUGE or not Regions(encoding).write(encoding):
        return HUGE
    if encoding.run(code.BOUND, check=code.PREPARE, x=0.0) == 0:
        return HUGE
    least = value * (1 + EQUAL)
    if is_bound(encoding, least):
        return least
    low, high = value, value * 1.01
    while not _impossible(encoding, high, check):
        low, high = high, high * 2
        if high > 1e12 * value:
            return HUGE
    while high > low * (1 + PRECISION):
        middle = (low * high) ** 0.5
        if _impossible(encoding, middle, check):
            high = middle
        else:
            low = middle
    return high


def cannot_carry(encoding: Encoding, x: float, check: int) -> bool:
    """Whether it is proved that no plan carries x; `check` as in `upper_bound`."""
    encoding.run(code.EVALUATE)
    if not Regions(encoding).write(encoding) or encoding.run(code.BOUND, check=code.PREPARE, x=0.0) == 0:
        return False
    return _impossible(encoding, x, check)


def is_bound(encoding: Encoding, x: float) -> bool:
    """Whether no plan carries more than x; after `upper_bound` has written the program down."""
    return _impossible(encoding, x, code.PLAIN)


def _impossible(encoding: Encoding, x: float, check: int) -> bool:
    return encoding.run(code.BOUND, check=check, x=x) > 1
