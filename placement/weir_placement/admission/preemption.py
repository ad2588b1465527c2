"""Makes room for a query by ending queries of strictly lower priority, as few as it takes."""

from __future__ import annotations

from dataclasses import dataclass

from weir_placement.admission.planner import AdmissionVerdict, SqprPlanner
from weir_placement.admission.request import StreamRequest


@dataclass(frozen=True)
class Preemption:
    """A query that was admitted, and the queries that were ended for it, the lowest priority first."""

    verdict: AdmissionVerdict
    ended: tuple[StreamRequest, ...]


def submit_with_preemption(
    planner: SqprPlanner, request: StreamRequest, margin: int = 1, safe: frozenset[str] = frozenset()
) -> Preemption:
    """Admits a query, if need be instead of others.

    Queries are taken out by rising priority, the newest first, until it is admitted; then each of them that
    can be is put back, by falling priority. So the set is minimal: no query that was ended could have
    stayed by itself. It need not be the smallest of all minimal ones, as those of lower priority go
    first. A stream that several queries asked for is ended with all of them, and
    only where all may be.

    Args:
        margin: by how much its priority must be higher than theirs. 1: strictly higher.
        safe: queries that are not ended whatever their priority, as those that have just been admitted: so
            queries do not take turns.

    Raises:
        ValueError: the margin would let queries of equal priority end one another.
    """
    if margin < 1:
        raise ValueError(f"preemption: margin is {margin}; it must be 1 or more")
    (verdict,) = planner.submit(request)
    if verdict.admitted:
        return Preemption(verdict, ())
    allocation, requests = planner.allocation, dict(planner.requests)
    ended: list[StreamRequest] = []
    for group in _candidates(planner, request, margin, safe):
        planner.withdraw([other.name for other in group])
        ended += group
        (verdict,) = planner.submit(request)
        if verdict.admitted:
            break
    else:
        planner.allocation, planner.requests = allocation, requests
        return Preemption(verdict, ())
    kept = set()
    for other in reversed(ended):
        (back,) = planner.submit(other)
        if back.admitted:
            kept.add(other.name)
    order = {name: place for place, name in enumerate(requests)}
    planner.requests = dict(sorted(planner.requests.items(), key=lambda item: order.get(item[0], len(order))))
    return Preemption(verdict, tuple(other for other in ended if other.name not in kept))


def _candidates(
    planner: SqprPlanner, request: StreamRequest, margin: int, safe: frozenset[str]
) -> list[list[StreamRequest]]:
    """Queries that may be ended, together with all that ask for the same stream."""
    by_stream: dict[int, list[StreamRequest]] = {}
    for other in planner.requests.values():
        by_stream.setdefault(other.stream, []).append(other)
    age = {name: place for place, name in enumerate(planner.requests)}
    groups = [
        group
        for group in by_stream.values()
        if all(o.priority + margin <= request.priority and o.name not in safe for o in group)
    ]
    return sorted(groups, key=lambda g: (max(o.priority for o in g), -max(age[o.name] for o in g)))
