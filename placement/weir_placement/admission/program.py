"""SQPR's model over a region, for CP-SAT: III.4a to III.7, and IV.9 for queries that are admitted.

Differences from the printed model, none of which excludes a plan that it has:

* Where a host has a stream it has exactly one provider of it (III.5a has at least one; a second one only
costs). * Instead of a big M, III.7 is enforced where a flow is used: `level` grows along flows of a stream
from host to
  host. It is left out where no circle can be: for flows from an origin, and everywhere when each host could
  send its streams to all that may want them, as then a relay saves nothing.
* Memory is a resource beside CPU, what a host sends and receives are two, and a query may ask for several
hosts
  that serve it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite
from typing import Any

from weir_placement.admission.allocation import HostStream, MadeBy, ReceivedFrom
from weir_placement.admission.objective import Weights, scales
from weir_placement.admission.region import RelatedRegion
from weir_placement.admission.request import Demand
from weir_placement.admission.whole_numbers import PARTS, whole_numbers

WORTH = 1_000_000_000
"""The objective in whole numbers: of 1."""

LARGEST = 1_000_000
"""O4 in whole numbers: of the largest host's CPU."""

Limited = tuple[str, int, int]
"""("cpu" | "memory" | "egress" | "ingress", host, host) or ("link", sender, receiver)."""


class AdmissionProgram:
    """Variables and constraints.

    Args:
        new: queries that may be admitted.
        kept: related queries that are admitted: IV.9.
        elastic: all new queries must be admitted, and capacities may be exceeded, as little as possible,
            each as a part of itself.
    """

    def __init__(
        self,
        region: RelatedRegion,
        new: Sequence[Demand],
        kept: Sequence[Demand],
        weights: Weights,
        *,
        elastic: bool = False,
    ) -> None:
        from ortools.sat.python import cp_model  # takes about a second to load

        self.region, self.new, self.kept, self.elastic = region, new, kept, elastic
        self.model = cp_model.CpModel()
        self.receivers = {stream: self._receivers(stream) for stream in sorted(region.related.streams)}
        self.makers_before: dict[int, set[int]] = {stream: set() for stream in self.receivers}
        for (host, stream), provider in region.before.providers.items():
            if stream in self.makers_before and isinstance(provider, MadeBy):
                self.makers_before[stream].add(host)
        self.relays = self._relays_matter()
        self.run: dict[tuple[int, int], Any] = {}
        self.flow: dict[tuple[int, int, int], Any] = {}
        self.at: dict[HostStream, Any] = {}
        self.serve: dict[HostStream, Any] = {}
        self.admit: dict[int, Any] = {}
        self.excess: dict[Limited, tuple[Any, float]] = {}
        self._availability()
        if self.relays:
            self._no_circles()
        self._demand()
        self._capacities()
        self._objective(weights)

    def literals(self) -> Iterator[tuple[str, Any, Any]]:
        """What runs, flows, is there, is served and admitted: kind, key, variable."""
        for kind in ("run", "flow", "at", "serve", "admit"):
            for key, literal in getattr(self, kind).items():
                yield kind, key, literal

    def free(self, limited: Limited) -> float:
        """What the fixed part leaves of a capacity."""
        return max(self.capacity(limited) - self._fixed(limited), 0.0)

    def capacity(self, limited: Limited) -> float:
        """zeta, memory, beta or kappa."""
        kind, host, other = limited
        system = self.region.system
        return system.link(host, other) if kind == "link" else float(getattr(system.hosts[host], kind))

    def _fixed(self, limited: Limited) -> float:
        kind, host, other = limited
        use = self.region.use
        return use.links.get((host, other), 0.0) if kind == "link" else float(getattr(use, kind)[host])

    def _receivers(self, stream: int) -> list[int]:
        """Hosts that may have a stream that does not enter there."""
        region = self.region
        hosts = set(region.hosts)
        hosts.update(host for host, s in region.pinned if s == stream)
        hosts.update(host for host, s in region.before.providers if s == stream)
        return sorted(hosts - region.system.streams[stream].origins)

    def _relays_matter(self) -> bool:
        """Whether there is a host that could not send all it may have to all that may want it."""
        region = self.region
        rates = {stream: region.system.streams[stream].rate for stream in self.receivers}
        wanted = sum(rate * len(self.receivers[stream]) for stream, rate in rates.items())
        wanted += sum(rates[demand.stream] for demand in (*self.new, *self.kept))
        if any(wanted > self.free(("egress", host, host)) for host in range(len(region.system.hosts))):
            return True
        if region.system.bandwidth is None:
            return False
        hosts = range(len(region.system.hosts))
        together = sum(rates.values())
        return any(together > self.free(("link", a, b)) for a in hosts for b in hosts if a != b)

    def _availability(self) -> None:
        """III.5a to III.5c."""
        region, model = self.region, self.model
        system = region.system
        for stream, receivers in self.receivers.items():
            for host in receivers:
                self.at[host, stream] = model.new_bool_var("")
                for operator in system.makers[stream]:
                    old = region.before.providers.get((host, stream)) == MadeBy(operator)
                    if host in region.hosts or old:
                        self.run[host, operator] = model.new_bool_var("")
        for stream, receivers in self.receivers.items():
            for host in receivers:
                at = self.at[host, stream]
                providers = [self.run[host, o] for o in system.makers[stream] if (host, o) in self.run]
                providers += [self._flow(sender, host, stream) for sender in self._senders(host, stream)]
                model.add_exactly_one([*providers, ~at])
        for (host, operator), run in self.run.items():
            for stream in system.operators[operator].inputs:
                if host not in system.streams[stream].origins:
                    model.add_implication(run, self.at[host, stream])
        for at in region.pinned:
            model.add(self.at[at] == 1)

    def _senders(self, host: int, stream: int) -> list[int]:
        """Hosts that can have a stream, or without relays make it, and so could send it to a host."""
        origins = self.region.system.streams[stream].origins
        senders = set(origins) | set(self.region.hosts) | self.makers_before[stream]
        old = self.region.before.providers.get((host, stream))
        if isinstance(old, ReceivedFrom):
            senders.add(old.sender)
        if not self.relays:
            senders = {sender for sender in senders if sender in origins or self._made_at(sender, stream)}
        return sorted(senders - {host})

    def _made_at(self, host: int, stream: int) -> list[Any]:
        return [self.run[host, o] for o in self.region.system.makers[stream] if (host, o) in self.run]

    def _flow(self, sender: int, host: int, stream: int) -> Any:
        """III.5c: what is sent is there; without relays it is made there."""
        flow = self.flow[sender, host, stream] = self.model.new_bool_var("")
        if sender not in self.region.system.streams[stream].origins:
            if self.relays:
                self.model.add_implication(flow, self.at[sender, stream])
            else:
                self.model.add_bool_or([~flow, *self._made_at(sender, stream)])
        return flow

    def _no_circles(self) -> None:
        """III.7, where a stream goes on from a host that may have received it."""
        streams = self.region.system.streams
        level: dict[HostStream, Any] = {}
        for (sender, host, stream), flow in self.flow.items():
            if sender in streams[stream].origins:
                continue
            for at in ((sender, stream), (host, stream)):
                if at not in level:
                    level[at] = self.model.new_int_var(0, len(self.receivers[stream]) - 1, "")
            self.model.add(level[host, stream] >= level[sender, stream] + 1).only_enforce_if(flow)

    def _demand(self) -> None:
        """III.4a and III.4b, and IV.9."""
        region, model = self.region, self.model
        for demand in (*self.new, *self.kept):
            stream = demand.stream
            serving = set(region.hosts) | set(region.before.served.get(stream, ()))
            serving |= region.system.streams[stream].origins
            for host in sorted(serving):
                serve = self.serve[host, stream] = model.new_bool_var("")
                if host not in region.system.streams[stream].origins:
                    model.add_implication(serve, self.at[host, stream])
            total = sum(self.serve[host, stream] for host in sorted(serving))
            if demand in self.new and not self.elastic:
                now = len(region.before.served.get(stream, ()))
                self.admit[stream] = model.new_bool_var("")
                model.add(total == now + (demand.copies - now) * self.admit[stream])
            else:
                model.add(total == demand.copies)

    def _capacities(self) -> None:
        """III.6a to III.6d and memory, where they can bind."""
        system = self.region.system
        parts: dict[Limited, list[tuple[Any, float]]] = {}
        for (host, number), run in self.run.items():
            operator = system.operators[number]
            parts.setdefault(("cpu", host, host), []).append((run, operator.cpu))
            parts.setdefault(("memory", host, host), []).append((run, operator.memory))
        for (sender, host, stream), flow in self.flow.items():
            rate = system.streams[stream].rate
            for limited in (("egress", sender, sender), ("ingress", host, host), ("link", sender, host)):
                parts.setdefault(limited, []).append((flow, rate))
        for (host, stream), serve in self.serve.items():
            parts.setdefault(("egress", host, host), []).append((serve, system.streams[stream].rate))
        for limited, loads in parts.items():
            free = self.free(limited)
            if isfinite(free) and sum(load for _, load in loads) > free:
                self._limit(limited, free, [(literal, load) for literal, load in loads if load > 0])

    def _limit(self, limited: Limited, free: float, loads: Sequence[tuple[Any, float]]) -> None:
        from ortools.sat.python import cp_model

        capacity = self.capacity(limited)
        counts, most, unit = whole_numbers([load for _, load in loads], free, capacity)
        total = cp_model.LinearExpr.weighted_sum([literal for literal, _ in loads], counts)
        if not self.elastic:
            self.model.add(total <= most)
            return
        excess = self.model.new_int_var(0, sum(counts), "")
        self.excess[limited] = excess, unit
        self.model.add(total <= most + excess)

    def _objective(self, weights: Weights) -> None:
        """III.3, or of an elastic program the excess, each as a part of its capacity."""
        if self.elastic:
            prices = []
            for limited, (excess, unit) in self.excess.items():
                part = unit / self.capacity(limited) if self.capacity(limited) > 0 else 1.0
                prices.append((excess, max(round(min(part, 1.0) * PARTS), 1)))
            self._minimize(prices)
            return
        system, running = self.region.system, self.region.running
        scale = scales(system)
        prices = [(admit, -round(weights.admitted * WORTH)) for admit in self.admit.values()]
        for (_, _, stream), flow in self.flow.items():
            prices.append(
                (flow, round(weights.network * WORTH * system.streams[stream].rate / scale.network))
            )
        for (_, number), run in self.run.items():
            prices.append((run, round(weights.cpu * WORTH * system.operators[number].cpu / scale.cpu)))
        if weights.balance:
            prices.append((self._fullest(scale.largest), round(weights.balance * WORTH / LARGEST)))
        move = round(weights.move * WORTH)
        if move:
            for (host, stream), provider in running.providers.items():
                if isinstance(provider, MadeBy) and stream in self.receivers:
                    prices.append((self._moved(host, provider.operator), move))
            for (host, stream), serve in self.serve.items():
                if host in running.served.get(stream, ()):
                    prices.append((~serve, move))
        self._minimize(prices)

    def _minimize(self, prices: Sequence[tuple[Any, int]]) -> None:
        from ortools.sat.python import cp_model

        chosen = [(variable, price) for variable, price in prices if price]
        self.model.minimize(
            cp_model.LinearExpr.weighted_sum([v for v, _ in chosen], [price for _, price in chosen])
        )

    def _fullest(self, largest: float) -> Any:
        """O4, each load rounded to a millionth of the largest host's CPU."""
        from ortools.sat.python import cp_model

        system, fixed = self.region.system, self.region.use.cpu
        whole = [round(float(load) / largest * LARGEST) for load in fixed]
        runs: dict[int, list[tuple[Any, int]]] = {}
        for (host, number), run in self.run.items():
            load = round(system.operators[number].cpu / largest * LARGEST)
            runs.setdefault(host, []).append((run, load))
        most = max((whole[host] + sum(load for _, load in loads) for host, loads in runs.items()), default=0)
        fullest = self.model.new_int_var(max(whole), max(most, *whole, 0), "")
        for host, loads in runs.items():
            total = cp_model.LinearExpr.weighted_sum([run for run, _ in loads], [load for _, load in loads])
            self.model.add(fullest >= whole[host] + total)
        return fullest

    def _moved(self, host: int, operator: int) -> Any:
        """An operator that ran at a host runs, and not there."""
        moved = self.model.new_bool_var("")
        here = [self.run[host, operator]] if (host, operator) in self.run else []
        for (other, number), run in self.run.items():
            if number == operator and other != host:
                self.model.add_bool_or([~run, *here, moved])
        return moved
