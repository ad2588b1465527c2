"""Abstract plans: by which operators a query's stream is made, before any has a host (SQPR, V.A)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from weir_placement.admission.system import StreamSystem

AbstractPlan = Mapping[int, int]
"""Composite stream -> the operator that makes it, for all that the plan needs."""


def abstract_plans(system: StreamSystem, query: int, most: int = 1000) -> Iterator[AbstractPlan]:
    """Every way to make a stream, each stream by one operator; the first `most` of them.

    The paper enumerates them all, which for joins of up to five streams are 105; with more streams their
    number grows as (2n - 3)!!, so there is a limit.

    >>> from weir_placement.admission.system import DataStream, HostResources, SharedOperator
    >>> names = ["A", "B", "C", "AB", "AC", "BC", "ABC"]
    >>> streams = tuple(DataStream(n, 1, frozenset({0}) if len(n) == 1 else frozenset()) for n in names)
    >>> ways = [((0, 1), 3), ((0, 2), 4), ((1, 2), 5), ((3, 2), 6), ((4, 1), 6), ((5, 0), 6)]
    >>> operators = tuple(SharedOperator(inputs, output, 1) for inputs, output in ways)
    >>> system = StreamSystem((HostResources("h", 9),), streams, operators)
    >>> [plan for plan in abstract_plans(system, 6)]
    [{6: 3, 3: 0}, {6: 4, 4: 1}, {6: 5, 5: 2}]
    """
    yield from islice(_plans(system, (query,), {}), most)


def _plans(system: StreamSystem, needed: tuple[int, ...], chosen: AbstractPlan) -> Iterator[AbstractPlan]:
    """Completes what is chosen so far, so that all needed streams are made."""
    missing = next((s for s in needed if s not in chosen and system.makers[s]), None)
    if missing is None:
        yield chosen
        return
    rest = tuple(s for s in needed if s != missing)
    for operator in system.makers[missing]:
        inputs = system.operators[operator].inputs
        yield from _plans(system, (*inputs, *rest), {**chosen, missing: operator})
