"""Upper bounds: no plan, logical or physical, can have a greater headroom (see `kernel.bound`)."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from weir_placement.search.item import HUGE
from weir_placement.search.kernel import entry_codes as code
from weir_placement.search.kernel import layout

if TYPE_CHECKING:
    from weir_placement.search.encode import Encoding

MAX_LEAVES = 13
PRECISION = 5e-4


@dataclass
class Region:
    """A node of the program: what its words say, and the selections that end on it."""

    kind: int  # 0 source, 1 region of joins, 2 aggregate, 3 sum
    words: list[int]
    numbers: list[float] = field(default_factory=list)
    parent: int = -1
    factor: float = 1.0


class Regions:
    """The regions of joins of an encoding, from its written plan.

    A region is a maximal set of joins that can change places; its leaves are sources and whatever holds
    its place: projections (with all below them), aggregates, unions, operators with several readers.
    """

    def __init__(self, encoding: Encoding):
        self.items = encoding.items
        self.free = encoding.read("free")
        self.own, self.sets = encoding.read("own"), encoding.read("set")
        self.nodes: list[Region] = []
        self.made: dict[int, int] = {}
        self.waiting: dict[int, list[int]] = defaultdict(list)  # selections that sink onto an item
        self.operators: list[tuple[int, int, int]] = []  # item, node, whether it may be anywhere above
        self.possible = True
        for sink in encoding.sinks:
            self.visit(self.items[sink].children[0], [])

    def visit(self, i: int, filters: list[int]) -> int:
        """The node whose rate item i has at the least; `filters` were written above and sink onto it."""
        item = self.items[i]
        if item.kind == layout.FILTER and self.free[i]:
            return self.visit(item.children[0], [*filters, i])
        if i in self.made and not filters:
            return self.made[i]
        if item.kind == layout.PROJECT:
            node = self.visit(item.children[0], filters)
            self.operators.append((i, node, 0))
        elif item.kind == layout.JOIN:
            node = self.join_region(i, filters)
        else:
            node = self.held(i, filters)
        self.made[i] = node
        return node

    def held(self, i: int, filters: list[int]) -> int:
        """A source, an aggregate, a union, a selection that stays: selections stop on it."""
        item = self.items[i]
        children = [self.visit(c, []) for c in item.children]
        if item.kind == layout.FILTER:
            node = self.add(Region(3, [i, 1, *children]))
            self.nodes[node].factor *= item.op.selectivity if item.op else 1.0
        elif item.kind == layout.SOURCE:
            node = self.add(Region(0, [i]))
        elif item.kind == layout.AGGREGATE:
            node = self.add(Region(2, [i, *children]))
        else:
            node = self.add(Region(3, [i, len(children), *children]))
        self.settle(node, filters)
        return node

    def settle(self, node: int, filters: list[int]) -> None:
        for f in filters:
            op = self.items[f].op
            assert op is not None
            self.nodes[node].factor *= op.selectivity
            self.operators.append((f, node, 1))

    def add(self, region: Region) -> int:
        self.nodes.append(region)
        return len(self.nodes) - 1

    def join_region(self, top: int, filters: list[int]) -> int:
        """Collects the joins below `top` that only free selections part from it."""
        joins: list[int] = []
        leaves: list[int] = []
        sinking = list(filters)

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
        if len(leaves) > MAX_LEAVES or any(e.bit_count() != 2 for e in ends):
            self.possible = False
        nodes = [self.visit(leaf, onto[a]) for a, leaf in enumerate(leaves)]
        words = [len(leaves), *nodes, len(joins)]
        for j, end in zip(joins, ends, strict=True):
            words += [j, self.side(end, [e for e in ends if e is not end], len(leaves)), end]
        words.append(len(several))
        words += [sum(1 << a for a, m in enumerate(masks) if m & self.own[f]) for f in several]
        selectivities = [op.selectivity for f in several if (op := self.items[f].op) is not None]
        region = self.add(Region(1, words, selectivities))
        for node in nodes:
            self.nodes[node].parent = region
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

    def write(self, encoding: Encoding) -> bool:
        """Into the encoding's fields; false if it does not fit or a region is no tree of joins."""
        head = 1 + 4 * len(self.nodes) + 1 + 4 * len(self.operators)
        words, numbers = [len(self.nodes)], list[float]()
        tail: list[int] = []
        for node in self.nodes:
            words += [node.kind, node.parent, head + len(tail), len(numbers)]
            tail += node.words
            numbers += [node.factor, *node.numbers]
        words.append(len(self.operators))
        for i, v, moving in self.operators:
            op = self.items[i].op
            assert op is not None
            own = max(op.selectivity, 1e-12) if moving else 1.0
            words += [i, v, moving, len(numbers)]
            numbers.append(self.nodes[v].factor / own)
        words += tail
        if not self.possible or len(words) > encoding.length["regions"]:
            return False
        if len(numbers) > encoding.length["region_number_"]:
            return False
        encoding.write("regions", words)
        encoding.write("region_number_", numbers)
        return True


def upper_bound(encoding: Encoding, known: float) -> float:
    """No plan has a greater headroom than this; 1e300 when nothing is known.

    `known` is the value of some plan: if nothing more than that (to rounding) is possible, it is the bound.
    Else the bound is found by bisection, to `PRECISION`, and is on the safe side.
    """
    if known <= 0 or known >= HUGE or not Regions(encoding).write(encoding):
        return HUGE
    if encoding.run(code.BOUND, reals=(known * (1 + 1e-9),)) > 1:
        return known * (1 + 1e-9)
    low, high = known, known * 1.02
    while encoding.run(code.BOUND, reals=(high,)) <= 1:
        low, high = high, high * 2
        if high > 1e12 * known:
            return HUGE
    while high > low * (1 + PRECISION):
        middle = (low * high) ** 0.5
        if encoding.run(code.BOUND, reals=(middle,)) > 1:
            high = middle
        else:
            low = middle
    return high
