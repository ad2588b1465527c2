"""Whether an allocation is a feasible plan: a walk that shares nothing with the models that make plans.

The conditions are SQPR's (III.A): C1 a query is served where its stream is; C2 an operator has all its
inputs and makes the stream that it is said to make; C3 a relay sends on the stream that it receives; C4
what nobody provides enters there as a base stream. Besides: no stream rests on itself, and no capacity is
exceeded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import fsum
from typing import NamedTuple

from weir_placement.admission.allocation import Allocation, HostStream, MadeBy
from weir_placement.admission.system import StreamSystem

SLACK = 1e-9
"""Of a capacity: what rounding may exceed it by."""


class Flaw(NamedTuple):
    """What is wrong with an allocation: `C1` to `C4`, `circle` or a resource, and where."""

    condition: str
    words: str


@dataclass
class PlanWalk:
    """What a walk from the served queries down to base streams met.

    Attributes:
        flaws: all that is wrong.
        idle: providers that no served query rests on: no flaw, but they use resources.
    """

    flaws: list[Flaw] = field(default_factory=list)
    idle: set[HostStream] = field(default_factory=set)


def walk(system: StreamSystem, allocation: Allocation) -> PlanWalk:
    """Walks over every plan tree. O(providers).

    The paper's figure 2(a): queries s4 = o1(s3, a) and s5 = o2(s3, b) share s3 = o3(c, d). Streams a, b, c,
    d, s3, s4, s5 are 0 to 6; all base streams enter at host 1, and host 0 runs all three operators.

    >>> from weir_placement.admission.allocation import ReceivedFrom
    >>> from weir_placement.admission.system import DataStream, HostResources, SharedOperator
    >>> base = [DataStream(name, 1.0, frozenset({1})) for name in "abcd"]
    >>> streams = (*base, *(DataStream(name, 1.0) for name in ("s3", "s4", "s5")))
    >>> operators = (SharedOperator((4, 0), 5, 1), SharedOperator((4, 1), 6, 1), SharedOperator((2, 3), 4, 1))
    >>> system = StreamSystem((HostResources("h1", 3), HostResources("h2", 3)), streams, operators)
    >>> received = {(0, s): ReceivedFrom(1) for s in range(4)}
    >>> running = {(0, 5): MadeBy(0), (0, 6): MadeBy(1), (0, 4): MadeBy(2)}
    >>> walk(system, Allocation({**received, **running}, {5: (0,), 6: (0,)}))
    PlanWalk(flaws=[], idle=set())

    Two hosts that send one another a base stream which neither gets from elsewhere (III):

    >>> one = StreamSystem((HostResources("h1", 1), HostResources("h2", 1), HostResources("h3", 1)),
    ...     (DataStream("s", 1.0, frozenset({2})),), ())
    >>> acausal = Allocation({(0, 0): ReceivedFrom(1), (1, 0): ReceivedFrom(0)}, {0: (0,)})
    >>> [flaw.condition for flaw in walk(one, acausal).flaws]
    ['circle']
    """
    met = PlanWalk(flaws=list(_overloads(system, allocation)))
    done: set[HostStream] = set()
    for query, hosts in allocation.served.items():
        if len(set(hosts)) != len(hosts) or not hosts:
            met.flaws.append(Flaw("C1", f"query {system.streams[query].name} is served by {hosts}"))
        for host in hosts:
            _descend(system, allocation, (host, query), done, met.flaws, "C1")
    met.idle = set(allocation.providers) - done
    for at in sorted(met.idle):
        _descend(system, allocation, at, done, met.flaws, "C4")
    return met


def _descend(
    system: StreamSystem,
    allocation: Allocation,
    root: HostStream,
    done: set[HostStream],
    flaws: list[Flaw],
    lack: str,
) -> None:
    """Depth first from one (host, stream), those `done` left out."""
    above: set[HostStream] = set()
    stack: list[tuple[HostStream, str, bool]] = [(root, lack, False)]
    while stack:
        at, condition, left = stack.pop()
        if left:
            above.discard(at)
            done.add(at)
            continue
        if at in above:
            flaws.append(Flaw("circle", f"{_named(system, at)} rests on itself"))
            continue
        if at in done:
            continue
        above.add(at)
        stack.append((at, condition, True))
        below = _below(system, allocation, at, condition, flaws)
        stack.extend((other, lacking, False) for other, lacking in below)


def _below(
    system: StreamSystem, allocation: Allocation, at: HostStream, condition: str, flaws: list[Flaw]
) -> list[tuple[HostStream, str]]:
    """What one (host, stream) rests on, with the condition that is broken where that is missing."""
    host, stream = at
    provider = allocation.providers.get(at)
    if provider is None:
        if host not in system.streams[stream].origins:
            flaws.append(Flaw(condition, f"nobody provides {_named(system, at)}"))
        return []
    if isinstance(provider, MadeBy):
        operator = system.operators[provider.operator]
        if operator.output != stream:
            flaws.append(Flaw("C2", f"operator {provider.operator} does not make {_named(system, at)}"))
        return [((host, needed), "C2") for needed in operator.inputs]
    if provider.sender == host:
        flaws.append(Flaw("C3", f"{_named(system, at)} is received from the host itself"))
    return [((provider.sender, stream), "C3")]


def _overloads(system: StreamSystem, allocation: Allocation) -> Iterator[Flaw]:
    """Capacities that are exceeded: III.6a to III.6d and memory."""
    loads: dict[tuple[str, int, int], list[float]] = {}
    for (host, stream), provider in allocation.providers.items():
        if isinstance(provider, MadeBy):
            operator = system.operators[provider.operator]
            loads.setdefault(("cpu", host, host), []).append(operator.cpu)
            loads.setdefault(("memory", host, host), []).append(operator.memory)
        else:
            rate = system.streams[stream].rate
            loads.setdefault(("link", provider.sender, host), []).append(rate)
            loads.setdefault(("egress", provider.sender, provider.sender), []).append(rate)
            loads.setdefault(("ingress", host, host), []).append(rate)
    for query, hosts in allocation.served.items():
        for host in hosts:
            loads.setdefault(("egress", host, host), []).append(system.streams[query].rate)
    for (resource, host, other), parts in sorted(loads.items()):
        owner = system.hosts[host]
        capacity = system.link(host, other) if resource == "link" else getattr(owner, resource)
        total = fsum(parts)
        if total > capacity * (1 + SLACK):
            to = f" to {system.hosts[other].name}" if resource == "link" else ""
            yield Flaw(resource, f"{resource} of {owner.name}{to}: {total:.9g} of {capacity:.9g}")


def _named(system: StreamSystem, at: HostStream) -> str:
    return f"{system.streams[at[1]].name} at {system.hosts[at[0]].name}"
