"""Brute force: every plan that serves some queries, without what serves nobody."""

from __future__ import annotations

from collections.abc import Iterator

from weir_placement.admission.allocation import Allocation, HostStream, MadeBy, ReceivedFrom
from weir_placement.admission.objective import Weights, worth
from weir_placement.admission.system import StreamSystem
from weir_placement.admission.walk import walk


def every_plan(system: StreamSystem, allocation: Allocation, query: int) -> Iterator[Allocation]:
    """Every way to add a query without changing what there is."""
    for host in range(len(system.hosts)):
        served = allocation.with_changes({}, {query: (host,)})
        for plan in _completions(system, served, [(host, query)]):
            if not walk(system, plan).flaws:
                yield plan


def _completions(
    system: StreamSystem, allocation: Allocation, pending: list[HostStream]
) -> Iterator[Allocation]:
    pending = [at for at in pending if not allocation.has(system, *at)]
    if not pending:
        yield allocation
        return
    (host, stream), rest = pending[-1], pending[:-1]
    for operator in system.makers[stream]:
        needed = [(host, i) for i in system.operators[operator].inputs]
        after = allocation.with_changes({(host, stream): MadeBy(operator)}, {})
        if not _overloaded(system, after):
            yield from _completions(system, after, rest + needed)
    for sender in range(len(system.hosts)):
        after = allocation.with_changes({(host, stream): ReceivedFrom(sender)}, {})
        if sender != host and not _overloaded(system, after):
            yield from _completions(system, after, [*rest, (sender, stream)])


def _overloaded(system: StreamSystem, allocation: Allocation) -> bool:
    resources = {"cpu", "memory", "egress", "ingress", "link"}
    return any(flaw.condition in resources for flaw in walk(system, allocation).flaws)


def best_plans(system: StreamSystem, queries: list[int], weights: Weights) -> tuple[int, float]:
    """The most of these queries that can be served together, and what the best plan for so many is worth."""
    best = (0, worth(system, Allocation(), weights))

    def add(allocation: Allocation, left: list[int]) -> None:
        nonlocal best
        if not left:
            best = max(best, (len(allocation.served), worth(system, allocation, weights)))
            return
        if len(allocation.served) + len(left) < best[0]:
            return
        for plan in every_plan(system, allocation, left[0]):
            add(plan, left[1:])
        add(allocation, left[1:])

    add(Allocation(), queries)
    return best
