"""Adaptive planning: queries are taken out and put back, when loads, costs or hosts have changed (SQPR,
IV.B)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from weir_placement.admission.allocation import (
    Allocation,
    MadeBy,
    ReceivedFrom,
    only_serving,
    used_by,
)
from weir_placement.admission.planner import AdmissionVerdict, SqprPlanner
from weir_placement.admission.preemption import submit_with_preemption
from weir_placement.admission.request import StreamRequest
from weir_placement.admission.room import overloaded
from weir_placement.admission.system import StreamSystem

DEVIATION = 0.2
"""Of an estimate: the paper's threshold, of which it states no value."""


@dataclass(frozen=True)
class Replanning:
    """What became of the queries that were planned anew.

    Attributes:
        verdicts: one for each that was taken out.
        dropped: those for which the capacity is gone; a query of lower priority goes instead of one of a
            higher, even where it was not taken out itself.
    """

    verdicts: tuple[AdmissionVerdict, ...]
    dropped: tuple[StreamRequest, ...]


def deviating(before: StreamSystem, now: StreamSystem, threshold: float = DEVIATION) -> frozenset[int]:
    """Streams whose rate, or whose operators' CPU or memory, differs from the estimate by more than a part
    of it: (a) of the paper's list.

    Both systems have the same streams and operators.
    """
    changed = {
        stream
        for stream, (old, new) in enumerate(zip(before.streams, now.streams, strict=True))
        if abs(new.rate - old.rate) > threshold * old.rate
    }
    for old, new in zip(before.operators, now.operators, strict=True):
        if (
            abs(new.cpu - old.cpu) > threshold * old.cpu
            or abs(new.memory - old.memory) > threshold * old.memory
        ):
            changed.add(new.output)
    return frozenset(changed)


def to_replan(system: StreamSystem, allocation: Allocation, streams: Collection[int]) -> set[int]:
    """The served queries that rest on these streams, or on a host or link that is short."""
    hosts, links = overloaded(system, allocation)
    chosen = set()
    for query, serving in allocation.served.items():
        for host, stream in (*used_by(system, allocation, [query]), *((h, query) for h in serving)):
            provider = allocation.providers.get((host, stream))
            ends = (provider.sender, host) if isinstance(provider, ReceivedFrom) else (host, host)
            if stream in streams or hosts & {*ends} or ends in links:
                chosen.add(query)
                break
    return chosen


def replan(planner: SqprPlanner, now: StreamSystem, threshold: float = DEVIATION) -> Replanning:
    """Plans for a system whose rates, costs or capacities have changed.

    Queries that rest on what has changed or is short go out and come back, by priority and then in the
    order in which they came; each moves only where that is worth `Weights.move`, or where it must. Streams,
    operators and their indexes stay.
    """
    running = planner.allocation
    streams = to_replan(now, running, deviating(planner.system, now, threshold))
    out = [request for request in planner.requests.values() if request.stream in streams]
    planner.withdraw([request.name for request in out])
    planner.system = now
    verdicts: dict[str, AdmissionVerdict] = {}
    dropped: dict[str, StreamRequest] = {}
    out.sort(key=lambda request: -request.priority)
    for request in out:
        kept = restored(now, planner.allocation, running, request.stream)
        (verdicts[request.name],) = planner.submit(request, running=running, ready=kept)
    for request in out:
        if not verdicts[request.name].admitted:
            result = submit_with_preemption(planner, request)
            verdicts[request.name] = result.verdict
            ended = result.ended if result.verdict.admitted else (request,)
            dropped.update((other.name, other) for other in ended)
    back = [replace(v, admitted=False, by="") if v.query in dropped else v for v in verdicts.values()]
    return Replanning(tuple(back), tuple(dropped.values()))


def restored(
    system: StreamSystem, allocation: Allocation, running: Allocation, query: int
) -> Allocation | None:
    """The query as it ran, besides what there is; None where that does not fit any more."""
    if query not in running.served:
        return None
    old = {at: running.providers[at] for at in used_by(system, running, [query])}
    providers = {at: provider for at, provider in old.items() if at not in allocation.providers}
    after = allocation.with_changes(providers, {query: running.served[query]})
    after = only_serving(system, after, after.served)
    hosts, links = overloaded(system, after)
    added = {(h, p.sender) if isinstance(p, ReceivedFrom) else (h, h) for (h, _), p in providers.items()}
    serving = running.served[query]
    if hosts & {end for ends in added for end in ends} or hosts & {*serving}:
        return None
    if any((sender, host) in links for host, sender in added) or _circular(after):
        return None
    return after


def _circular(allocation: Allocation) -> bool:
    """Whether flows of one stream go in a circle: old and new providers may disagree."""
    for at, provider in allocation.providers.items():
        met = {at}
        while isinstance(provider, ReceivedFrom):
            at = provider.sender, at[1]
            if at in met:
                return True
            met.add(at)
            following = allocation.providers.get(at)
            if following is None or isinstance(following, MadeBy):
                break
            provider = following
    return False
