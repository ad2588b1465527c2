"""A plan in force that follows single changes: only the queries that a change touches are planned again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from weir_placement.array_types import Ints
from weir_placement.hierarchy.partition import Hierarchy, hierarchy_of
from weir_placement.model.problem import Problem
from weir_placement.network.ledger import Ledger, flows, steps
from weir_placement.network.plan_space import PlanSpace, plan_spaces, rescaled
from weir_placement.network.several import refused
from weir_placement.network.single import Refusal, SinglePlacement, place_query
from weir_placement.network.sites import named_nodes


class Live:
    """Every query placed by the exact program over its sources, its sink and the coordinators over
    them; where nodes are full, over all members of the clusters on the way.

    What a change touches is found by index: stream -> queries, node -> queries. Attributes:
        placed: query name -> placement. refused: query name -> why not.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._own_links = False
        self.hierarchy: Hierarchy = hierarchy_of(
            self.problem.cluster, problem.tier_label, problem.max_cluster_size
        )
        self.ledger = Ledger(self.problem)
        self.queries = {q.name: q for q in problem.queries}
        self.placed: dict[str, SinglePlacement] = {}
        self.refused: dict[str, str] = {}
        self.readers: dict[str, set[str]] = defaultdict(set)
        self.users: dict[int, set[str]] = defaultdict(set)
        for query in problem.queries:
            for stream in query.sources.values():
                self.readers[stream].add(query.name)
        self.impossible = {q.name: refused(problem, q) for q in problem.queries}
        self.spaces = plan_spaces(problem, (q for q in problem.queries if not self.impossible[q.name]))
        self.ends = {name: named_nodes(problem, space) for name, space in self.spaces.items()}
        self.plan(q.name for q in problem.queries)

    def sites(self, space: PlanSpace, wide: bool) -> Ints:
        """Sources, sinks, running streams that could be read, and the coordinators over them all; `wide`
        adds the members of the lowest clusters on the way."""
        ends = set(self.ends[space.query.name])
        for signature in space.signatures[len(space.aliases) :]:
            ends.update(self.ledger.advertised.get(signature, ()))
        route = {n for end in ends for n in self.hierarchy.path(end)}
        if wide:
            route |= {m for n in route for m in self.hierarchy.of[0][n].members}
        return np.array(sorted(route), np.int64)

    def plan(self, names: Iterable[str]) -> None:
        """Places queries, by priority and then by name."""
        for name in sorted(names, key=lambda n: (-self.queries[n].priority, n)):
            self.refused.pop(name, None)
            placement = self._place(name)
            if isinstance(placement, Refusal):
                self.refused[name] = placement.reason
                continue
            self.ledger.add(placement.space, placement.root, placement.sink)
            self.placed[name] = placement
            for node in self._nodes(placement):
                self.users[node].add(name)

    def _place(self, name: str) -> SinglePlacement | Refusal:
        if self.impossible[name]:
            return Refusal(self.impossible[name])
        space = self.spaces[name]
        missing = [n for n in self.ends[name] if n not in self.hierarchy.of[0]]
        if missing:
            return Refusal(
                f"node {self.problem.cluster.nodes[missing[0]].name} is gone: query {name} names it"
            )
        placement = place_query(self.ledger, space, self.sites(space, wide=False))
        if isinstance(placement, Refusal):
            placement = place_query(self.ledger, space, self.sites(space, wide=True))
        return placement

    @staticmethod
    def _nodes(placed: SinglePlacement) -> set[int]:
        return {step.node for step in steps(placed.root)} | ({placed.sink} - {-1})

    def _take_out(self, names: Iterable[str]) -> list[str]:
        removed = sorted(names)
        for name in removed:
            placed = self.placed.pop(name, None)
            if placed is not None:
                self.ledger.remove(placed.space, placed.root, placed.sink)
                for node in self._nodes(placed):
                    self.users[node].discard(name)
        return removed

    def change_rate(self, stream: str, rate: float) -> list[str]:
        """A stream's rate is `rate` [tuples/s] now; its readers are planned again."""
        removed = self._take_out(self.readers[stream])
        streams = {**self.problem.streams, stream: replace(self.problem.streams[stream], rate=rate)}
        self.problem = replace(self.problem, streams=streams)
        self.ledger.problem = self.problem
        spaces = [self.spaces[name] for name in removed if name in self.spaces]
        self.spaces.update((space.query.name, space) for space in rescaled(self.problem, spaces))
        self.plan(removed)
        return removed

    def remove_node(self, node: int) -> list[str]:
        """A node is gone; what ran on it, read from it or was delivered to it is planned again."""
        removed = self._take_out(set(self.users[node]))
        self.hierarchy.leave(node)
        self.ledger.close(node)
        self.plan(removed)
        return removed

    def change_link(self, source: int, target: int, latency: float) -> list[str]:
        """The latency [s] between two nodes' groups has changed; flows over it are planned again."""
        group = self.problem.cluster.network.group
        a, b = group[source], group[target]
        near = [n for n in self.users if self.users[n] and group[n] == a]
        removed = self._take_out(
            {
                name
                for node in near
                for name in self.users[node]
                if any(
                    group[x] == a and group[y] == b
                    for (_, x, y), _ in flows(
                        self.placed[name].space, self.placed[name].root, self.placed[name].sink
                    )
                )
            }
        )
        self._set_latency(int(a), int(b), latency)
        self.plan(removed)
        return removed

    def _set_latency(self, a: int, b: int, latency: float) -> None:
        """Changes a group pair's latency; the first time on a copy, for the snapshot is not this plan's."""
        if not self._own_links:
            network = self.problem.cluster.network
            own = replace(network, latency=np.array(network.latency, float))
            self.problem = replace(self.problem, cluster=replace(self.problem.cluster, network=own))
            self.ledger.problem, self.ledger.network, self.hierarchy.network = self.problem, own, own
            self._own_links = True
        self.problem.cluster.network.latency[a, b] = latency
