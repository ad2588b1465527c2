"""What operators of every kind have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

TextForm = Callable[[str], str]

ESTIMATE = {"estimate": True}
"""Metadata of a field that decides no row: what the planner believes of an operator, or where it may run. It
may change while the operator stays the same; every other field is part of names and hashes."""


@dataclass(frozen=True)
class OperatorBase:
    """What operators of every kind have. Units are in model.md section 2.

    Attributes:
        inputs: source aliases of the query or other operators' ids.
        columns: the qualified columns that it reads.
        cost: [CPU-us per input tuple].
        memory: [bytes]: m of a filter or projection, h of a join's hash table, state per group.
        nodes: where it may run; empty: anywhere.
        origin: `from` of the plan JSON: ids that it was rewritten from.
    """

    id: str
    inputs: tuple[str, ...]
    columns: tuple[str, ...] = ()
    cost: float = field(default=0.0, kw_only=True, metadata=ESTIMATE)
    memory: float = field(default=0.0, kw_only=True, metadata=ESTIMATE)
    nodes: tuple[str, ...] = field(default=(), kw_only=True, metadata=ESTIMATE)
    origin: tuple[str, ...] = field(default=(), kw_only=True, metadata=ESTIMATE)

    stateful: ClassVar[bool] = False
    """Whether rows wait in it for others."""

    def changed(self, **fields: Any) -> Self:
        """As `dataclasses.replace`, unchecked, at a twentieth of its time."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, **fields)
        return other

    def reading(self, *inputs: str) -> Self:
        """The same operator over other inputs; fast as `changed` is."""
        if inputs == self.inputs:
            return self
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, inputs=inputs)
        return other

    def renamed(self, name: TextForm, text: TextForm, **own: Any) -> Self:
        """The operator under other names: `name` gives those of aliases and operators, `text` those in
        columns and expressions; `own` are a kind's own fields renamed."""
        return self.changed(
            id=name(self.id),
            inputs=tuple(map(name, self.inputs)),
            columns=tuple(map(text, self.columns)),
            origin=tuple(map(name, self.origin)),
            **own,
        )

    def costing(self, factor: float) -> Self:
        """The operator with all its CPU costs times a factor."""
        return self.changed(cost=self.cost * factor)

    @property
    def aliases(self) -> tuple[str, ...]:
        """The source aliases that it names, each once, in the order of its columns."""
        return tuple(dict.fromkeys([column.split(".", 1)[0] for column in self.columns]))

    @property
    def new_columns(self) -> tuple[str, ...]:
        """The columns that it makes; empty: it hands on those of its inputs."""
        return ()

    def output(self, inputs: Sequence[tuple[str, ...] | None]) -> tuple[str, ...] | None:
        """The columns that leave, from those of its inputs (None: not known)."""
        return self.new_columns or inputs[0]

    @property
    def movable(self) -> bool:
        """Whether it may change places with a neighbour (`rewrite.rules`)."""
        return False

    @property
    def reach(self) -> float:
        """[s]: how much older than a row that leaves the rows can be that it depends on."""
        return 0.0

    @property
    def grouped_time(self) -> str:
        """The event-time column whose windows group the rows; "" when none does."""
        return ""

    def lag(self, below: Mapping[str, int]) -> Mapping[str, int]:
        """[us] by column: how far behind its fragment's watermark the times in it may be when they leave;
        `below` is the same of its inputs. Columns whose times follow the watermark are left out."""
        return below
