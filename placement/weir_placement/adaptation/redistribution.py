"""Redistribution while queries run (D-CAPE, section 6.3, algorithm 5)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from itertools import islice
from math import inf

from weir_placement.adaptation.connection_limit import over_limit
from weir_placement.adaptation.connections import connections_by_node
from weir_placement.adaptation.cost_models import CostModel, RunningState
from weir_placement.adaptation.distribution_table import Differences, DistributionTable, faults
from weir_placement.adaptation.policies import PolicyInput, RedistributionPolicy
from weir_placement.adaptation.redistribution_parameters import RedistributionParameters

INTERVAL = 60.0
"""[s] between two redistributions: section 4.4, "we will only move operators once per minute"."""
TRIES = 5
"""Proposals that are looked at before the present distribution stays."""
ROUNDING = 1e-9

HeadroomOf = Callable[[DistributionTable], float]
"""Headroom under the present statistics (model.md section 3); -1: it cannot run, inf: nothing limits it."""


@dataclass(frozen=True)
class RedistributionReport:
    """What a round of algorithm 5 came to.

    Attributes:
        table: the distribution from now on.
        moves: its differences from the one before; empty: it stays.
        reason: why it moves, or why not.
        refused: for each proposal that was not taken, why.
    """

    table: DistributionTable
    moves: Differences
    reason: str
    refused: tuple[str, ...] = ()


@dataclass
class Redistributor:
    """A cost model, a policy and its parameters over time: lines 17 to 21 of algorithm 1.

    Algorithm 5 as printed tries distributions without end where none is valid, and its policy would propose
    the same one each time. Here a policy proposes one after the other, at most `tries` of them, and then the
    distribution stays. It compares max and min where it defines maxCost and minCost. Its line 4 asks for a
    difference between nodes before any policy; degradation compares a node with its own past, and all nodes
    may degrade alike, so each policy applies the percentage itself.

    Beside what section 5.1.3 validates, a distribution must keep the connections of a node within `limit` (or
    not add to what is beyond it), and must not lower the headroom.

    Attributes:
        interval: [s] between two redistributions.
        limit: connections a node; infinite: not limited.
    """

    model: CostModel
    policy: RedistributionPolicy
    parameters: RedistributionParameters = field(default_factory=RedistributionParameters)
    tries: int = TRIES
    interval: float = INTERVAL
    limit: float = inf
    _last: float = field(default=-inf, init=False)
    _baseline: dict[str, float] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        if self.tries < 1:
            raise ValueError(f"tries is {self.tries}; algorithm 5 needs at least one")

    def round(
        self, now: float, state: RunningState, alive: Collection[str], headroom: HeadroomOf | None = None
    ) -> RedistributionReport:
        """Looks at new statistics and redistributes at most once an interval.

        Args:
            now: [s] of a clock that does not go back.
            alive: nodes that answer.
            headroom: None: headroom is not looked at.
        """
        self._remember(self.model.strain(state))
        if now - self._last < self.interval:
            return self._stay(state, f"redistributed {now - self._last:g} s ago, less than {self.interval:g}")
        given = PolicyInput(state, self.model, self.parameters, dict(self._baseline))
        refused = list[str]()
        for moves in islice(self.policy.proposals(given), self.tries):
            table = state.table.with_moves(moves)
            if wrong := self._wrong(state, table, alive, headroom):
                refused.append(f"{_listed(moves)}: {wrong}")
                continue
            self._allocated(state.table, moves)
            self._last = now
            text = f"{self.policy.name} by {self.model.name}: {_listed(moves)}"
            return RedistributionReport(table, state.table.differences(table), text, tuple(refused))
        if refused:
            return self._stay(state, f"none of {len(refused)} proposals is valid", tuple(refused))
        return self._stay(state, f"{self.policy.name} by {self.model.name} finds nothing to move")

    def _wrong(
        self,
        state: RunningState,
        table: DistributionTable,
        alive: Collection[str],
        headroom: HeadroomOf | None,
    ) -> str:
        """Why a distribution is not valid; empty: it is."""
        if wrong := faults(table, state.graph, alive):
            return "; ".join(wrong)
        if self.limit < inf:
            limit = int(self.limit)
            before = over_limit(connections_by_node(state.table, state.graph), limit)
            after = over_limit(connections_by_node(table, state.graph), limit)
            worse = {node: limit + n for node, n in after.items() if n > before.get(node, 0)}
            if worse:
                return "; ".join(
                    f"node {node} would have {n} of {limit} connections" for node, n in worse.items()
                )
        if headroom is not None:
            now, then = headroom(state.table), headroom(table)
            if then < now - ROUNDING * abs(now) if now < inf else then < inf:
                return f"headroom would fall from {now:.3g} to {then:.3g}"
        return ""

    def _remember(self, strain: Mapping[str, float]) -> None:
        for node, value in strain.items():
            self._baseline[node] = min(value, self._baseline.get(node, inf))

    def _allocated(self, before: DistributionTable, moves: Differences) -> None:
        """The nodes between which operators moved begin anew, from their next strain on."""
        for ref, node in moves.items():
            self._baseline.pop(node, None)
            self._baseline.pop(before[ref], None)

    def _stay(self, state: RunningState, why: str, refused: tuple[str, ...] = ()) -> RedistributionReport:
        return RedistributionReport(state.table, {}, why, refused)


def _listed(moves: Differences) -> str:
    return ", ".join(f"{'/'.join(ref)} to {node}" for ref, node in moves.items())
