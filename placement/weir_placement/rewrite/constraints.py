"""What the joins of a query require together: equalities by class, other conditions, windows.

It is taken once from the written query. Join orders differ in where these are checked, never in
which: so the rate of a joined set does not depend on the order (model.md section 4).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod

from weir_placement.model.expressions import canonical_name, columns_of, conjuncts, parse_tree
from weir_placement.model.operators import Join, Window
from weir_placement.rewrite.estimates import equality


@lru_cache(maxsize=65536)
def equal_columns(text: str) -> tuple[str, str] | None:
    """The columns of an equality between two sources; None for any other condition."""
    pair = equality(text)
    if pair is None or pair[0].partition(".")[0] == pair[1].partition(".")[0]:
        return None
    return (min(pair), max(pair))


@lru_cache(maxsize=65536)
def aliases_of(text: str) -> frozenset[str]:
    """The source aliases whose columns a condition reads."""
    return frozenset(c.partition(".")[0] for c in columns_of(text))


@lru_cache(maxsize=65536)
def is_equality(text: str) -> bool:
    """Whether a condition is `... = ...`."""
    return type(parse_tree(text)).__name__ == "EQ"


class Classes:
    """Columns known to be equal (union-find)."""

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self._parent: dict[str, str] = {}
        for a, b in pairs:
            self.join(a, b)

    def root(self, column: str) -> str:
        """The class of a column, by its representative."""
        while column in self._parent:
            column = self._parent[column]
        return column

    def join(self, a: str, b: str) -> bool:
        """Make two columns equal; False when they already were."""
        a, b = self.root(a), self.root(b)
        if a != b:
            self._parent[max(a, b)] = min(a, b)
        return a != b


@dataclass(frozen=True)
class Side:
    """An input of a join: its source aliases, and its columns when they are known."""

    aliases: frozenset[str]
    columns: frozenset[str] | None

    def has(self, column: str) -> bool:
        """Whether the column is there."""
        if self.columns is not None:
            return column in self.columns
        return column.partition(".")[0] in self.aliases


@dataclass
class Constraints:
    """All that the given joins check. `types` (by qualified column) keep classes exact: an equality of
    unlike types (BIGINT = DOUBLE) is not transitive, so it is an ordinary condition."""

    types: Mapping[str, str] = field(default_factory=dict)
    equalities: dict[tuple[str, str], float] = field(default_factory=dict)  # in the order written
    others: dict[str, float] = field(default_factory=dict)
    windows: list[Window] = field(default_factory=list)
    bare: list[tuple[frozenset[str], float]] = field(default_factory=list)  # joins on windows alone

    @staticmethod
    def of(joins: Iterable[Join], types: Mapping[str, str]) -> Constraints:
        """Of the joins in topological order; a join's selectivity is shared evenly by its conjuncts
        that are not implied by earlier ones."""
        found = Constraints(types)
        known = Classes()
        for join in joins:
            texts = [c.text for c in conjuncts(join.on)]
            fresh = []
            for text in texts:
                pair = found.pair(text)
                if pair is None or known.join(*pair):
                    fresh.append(text)
            share = join.selectivity ** (1.0 / max(1, len(fresh)))
            for text in texts:
                pair = found.pair(text)
                if pair is None:
                    found.others[text] = found.others.get(text, 1.0) * share
                else:
                    found.equalities.setdefault(pair, share)
            if not texts:
                pairs = [frozenset([w.left, w.right]) for w in join.windows]
                found.bare += [(pair, join.selectivity ** (1.0 / len(pairs))) for pair in pairs]
            found.windows += [w for w in join.windows if w not in found.windows]
        return found

    def pair(self, text: str) -> tuple[str, str] | None:
        """The columns of a transitive equality."""
        pair = equal_columns(text)
        if pair is None or self.types.get(pair[0]) != self.types.get(pair[1]):
            return None
        return pair

    def checked_at(self, left: Side, right: Side, below: Classes) -> list[str] | None:
        """The conditions of the join of two inputs; `below` are the equalities that the inputs already
        check, and gets those of this join.

        For every class that meets here as many equalities as make it one, written or implied, the
        first by name; then every other condition that can be checked here for the first time. None
        when a column that is needed was projected away.
        """
        both = left.aliases | right.aliases
        whole = Classes(self.equalities)
        members: dict[str, list[str]] = {}
        for column in sorted({c for pair in self.equalities for c in pair}):
            if column.partition(".")[0] in both:
                members.setdefault(whole.root(column), []).append(column)
        texts = []
        for columns in members.values():
            sides = [[c for c in columns if c.partition(".")[0] in s.aliases] for s in (left, right)]
            if not all(sides):
                continue
            for a in filter(left.has, sides[0]):
                for b in filter(right.has, sides[1]):
                    if below.join(a, b):
                        texts.append(f"{canonical_name(min(a, b))} = {canonical_name(max(a, b))}")
            if len({below.root(c) for c in columns}) > 1:
                return None
        for text in self.others:
            if _crosses(aliases_of(text), left.aliases, right.aliases):
                if not all(left.has(c) or right.has(c) for c in columns_of(text)):
                    return None
                texts.append(text)
        return texts

    def windows_between(self, left: frozenset[str], right: frozenset[str]) -> tuple[Window, ...]:
        """Every pairwise window with a side in each set."""
        return tuple(w for w in self.windows if _crosses(frozenset([w.left, w.right]), left, right))

    def connected(self, left: frozenset[str], right: frozenset[str]) -> bool:
        """Whether a window and an equality remain between two sets: else their join is a cross product.
        Where a join was written with windows alone, a window of it is enough."""
        if not self.windows_between(left, right):
            return False
        classes = Classes(self.equalities)
        columns = {c for pair in self.equalities for c in pair}
        roots = [{classes.root(c) for c in columns if c.partition(".")[0] in side} for side in (left, right)]
        if roots[0] & roots[1]:
            return True
        if any(is_equality(t) and _crosses(aliases_of(t), left, right) for t in self.others):
            return True
        return any(_crosses(aliases, left, right) for aliases, _ in self.bare)

    def selectivity(self, aliases: frozenset[str]) -> float:
        """Of all joins inside a set: a spanning forest of each equality class in the order written, an
        implied equality at its class's largest selectivity, and every other condition once."""
        result = prod(s for t, s in self.others.items() if aliases_of(t) <= aliases)
        result *= prod(s for pair, s in self.bare if pair <= aliases)
        known, whole = Classes(), Classes(self.equalities)
        weakest: dict[str, float] = {}
        inside: dict[str, list[str]] = {}
        for pair, share in self.equalities.items():
            root = whole.root(pair[0])
            weakest[root] = max(share, weakest.get(root, 0.0))
            for column in pair:
                if column.partition(".")[0] in aliases:
                    inside.setdefault(root, []).append(column)
            if all(c.partition(".")[0] in aliases for c in pair) and known.join(*pair):
                result *= share
        for root, columns in inside.items():
            reached = sorted(set(columns))
            for a in reached:
                for b in reached:
                    if a.partition(".")[0] != b.partition(".")[0] and known.join(a, b):
                        result *= weakest[root]
        return result


def _crosses(aliases: frozenset[str], left: frozenset[str], right: frozenset[str]) -> bool:
    return bool(aliases & left) and bool(aliases & right) and aliases <= left | right
