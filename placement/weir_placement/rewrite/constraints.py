"""What the joins of a query require together: equalities by class, other conditions, windows.

It is taken once from the written query. Join orders differ in where these are checked, never in
which: so the rate of a joined set does not depend on the order (model.md section 4).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, reduce
from operator import or_

from weir_placement.model.expression_parser import parse_tree
from weir_placement.model.expressions import canonical_name, columns_of, conjuncts
from weir_placement.model.operators import Join, Window
from weir_placement.rewrite.estimates import equality
from weir_placement.rewrite.joined_rate import JoinCondition


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
        """Whether the column is available here."""
        if self.columns is not None:
            return column in self.columns
        return column.partition(".")[0] in self.aliases


@dataclass
class Constraints:
    """All that the given joins check. `types` (by qualified column) keep classes exact: an equality of
    unlike types (BIGINT = DOUBLE) is not transitive, so it is an ordinary condition."""

    types: Mapping[str, str] = field(default_factory=dict)
    equalities: list[tuple[str, str]] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    windows: list[Window] = field(default_factory=list)
    bare: list[frozenset[str]] = field(default_factory=list)  # joins on windows alone

    @staticmethod
    def of(joins: Iterable[Join], types: Mapping[str, str]) -> Constraints:
        """Of the joins in topological order."""
        constraints = Constraints(types)
        for join in joins:
            texts = [c.text for c in conjuncts(join.on)]
            for text in texts:
                pair = constraints.pair(text)
                if pair is None:
                    constraints.others += [text] if text not in constraints.others else []
                elif pair not in constraints.equalities:
                    constraints.equalities.append(pair)
            if not texts:
                constraints.bare += [frozenset([w.left, w.right]) for w in join.windows]
            constraints.windows += [w for w in join.windows if w not in constraints.windows]
        return constraints

    def conditions(self, join: Join, bits: Mapping[str, int]) -> tuple[JoinCondition, ...]:
        """What a join checks, for the rule of rates; `bits` by alias."""
        conditions = []
        for text in (c.text for c in conjuncts(join.on)):
            pair = self.pair(text)
            mask = reduce(or_, (bits[a] for a in aliases_of(text)), 0)
            columns = [(c, bits[c.partition(".")[0]]) for c in pair or ()]
            conditions.append(JoinCondition(mask, text, (columns[0], columns[1]) if columns else None))
        if not conditions:
            conditions = [JoinCondition(bits[w.left] | bits[w.right], "") for w in join.windows]
        return tuple(conditions)

    def pair(self, text: str) -> tuple[str, str] | None:
        """The columns of a transitive equality."""
        pair = equal_columns(text)
        if pair is None or self.types.get(pair[0]) != self.types.get(pair[1]):
            return None
        return pair

    @property
    def tied(self) -> list[frozenset[str]]:
        """Sets of aliases of which an equality, written or implied, or windows alone join any two."""
        classes = Classes(self.equalities)
        groups: dict[str, set[str]] = {}
        for column in (c for pair in self.equalities for c in pair):
            groups.setdefault(classes.root(column), set()).add(column.partition(".")[0])
        groups_of_columns = [frozenset(group) for group in groups.values()]
        return groups_of_columns + [aliases_of(t) for t in self.others if is_equality(t)] + self.bare

    @property
    def in_pairs(self) -> bool:
        """Whether no equality reads more than two sources, so that `tied` tells all."""
        return all(len(aliases_of(t)) <= 2 for t in self.others if is_equality(t))

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
        return any(_crosses(aliases, left, right) for aliases in self.bare)


def _crosses(aliases: frozenset[str], left: frozenset[str], right: frozenset[str]) -> bool:
    return bool(aliases & left) and bool(aliases & right) and aliases <= left | right
