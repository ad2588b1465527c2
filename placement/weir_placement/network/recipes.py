"""The operators of a way, made when they are asked for: most ways are never chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from weir_placement.model.expressions import conjuncts
from weir_placement.model.operators import Join, Operator
from weir_placement.network.join_block import JoinBlock


@dataclass(frozen=True)
class BlockRecipe:
    """The operators of a way of a block."""

    block: JoinBlock
    a: int
    b: int
    pruned: Operator | None

    def make(self) -> tuple[Operator, ...]:
        """The join of A and B, the filters that can be checked from here on, the projection."""
        filters = self.block.residual(self.a, self.b)
        return (_join(self.block, self.a, self.b), *filters, *((self.pruned,) if self.pruned else ()))


Chain = tuple[Operator, ...]
"""Of a way: the first operator reads the way's inputs, each other one the one before it."""


class Recipes(Sequence[Chain]):
    """Way -> its chain; `own` gives the operators of a shape the names of one query."""

    def __init__(
        self, recipes: Sequence[Chain | BlockRecipe], own: Callable[[Operator], Operator] | None = None
    ) -> None:
        self._recipes = recipes
        self._own = own
        self._chains: dict[int, Chain] = {}

    def __len__(self) -> int:
        return len(self._recipes)

    def __getitem__(self, way: Any) -> Any:
        if way not in self._chains:
            recipe = self._recipes[way]
            chain = recipe.make() if isinstance(recipe, BlockRecipe) else recipe
            self._chains[way] = tuple(map(self._own, chain)) if self._own is not None else chain
        return self._chains[way]

    def under_names(self, own: Callable[[Operator], Operator]) -> Recipes:
        """The same under the names of one query."""
        return Recipes(self._recipes, own)


def _join(block: JoinBlock, a: int, b: int) -> Operator:
    """The join of A and B, its selectivity such that the set has its rate in every order."""
    for left, right, written in block.joins:
        if (left, right) == (a, b) and _same_predicates(block, a, b, written):
            like = block.like(a, b)
            return replace(
                written,
                selectivity=block.rate.between(a, b, written.half_width),
                delay=block.delay,
                cost=like.cost,
                cost_pair=like.cost_pair,
                cost_out=like.cost_out,
                memory=like.memory,
                row_overhead=like.row_overhead,
            )
    meeting = [e.join for e in block.edges if e.mask & a and e.mask & b and not e.mask & ~(a | b)]
    like = block.like(a, b)
    windows = block.join_windows(a, b)
    text, columns = block.join_text(a, b)
    return replace(
        like,
        id="-".join(["join", *names_in(block, a), "with", *names_in(block, b)]),
        on=text,
        columns=columns,
        windows=windows,
        selectivity=block.rate.between(a, b, replace(like, windows=windows).half_width),
        delay=block.delay,
        origin=tuple(dict.fromkeys(meeting)) or (like.id,),
    )


def _same_predicates(block: JoinBlock, a: int, b: int, written: Join) -> bool:
    """Whether a written join checks all that must be checked where A and B meet: also an equality that
    follows from joins written above it, which then rely on it."""
    needed = {part.text for part in conjuncts(block.join_text(a, b)[0])}
    checked = {part.text for part in conjuncts(written.on)}
    return set(block.join_windows(a, b)) == set(written.windows) and needed <= checked


def names_in(block: JoinBlock, mask: int) -> list[str]:
    """The inputs of a set."""
    return [name for i, name in enumerate(block.inputs) if mask >> i & 1]
