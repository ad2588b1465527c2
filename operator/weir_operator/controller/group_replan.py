"""One group's planning in one round: its inputs, and the gate that every plan passes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf

from weir_placement.cost.evaluation import Evaluation
from weir_placement.model.plan import Plan, QueryPlan
from weir_placement.model.problem import Problem

from weir_operator.controller.approval import plan_hash, why_it_waits
from weir_operator.controller.change import leave
from weir_operator.controller.current_plan import as_specified
from weir_operator.controller.decision import Event
from weir_operator.controller.desired_state import DesiredState, Group
from weir_operator.controller.observed_state import passed
from weir_operator.controller.quota_ledger import QuotaLedger
from weir_operator.controller.record import Record, pack
from weir_operator.controller.statistics import Measurement, with_measured
from weir_operator.planning.running import placed, with_current_origins, with_missing_nodes


@dataclass
class GroupReplan:
    """Records and events change as it goes on."""

    group: Group
    desired: DesiredState
    now: float
    records: dict[str, Record]
    measured: Mapping[str, Mapping[str, Measurement]]  # query -> last operator of a fragment -> measurement
    rates: Mapping[str, float]  # measured, by stream
    unplaced: Mapping[str, str] = field(default_factory=dict)
    """ "query/operator" -> node that has no room for it"""
    events: list[Event] = field(default_factory=list)
    refusals: dict[str, str] = field(default_factory=dict)  # query -> why it has no plan
    errors: dict[str, Exception] = field(default_factory=dict)  # query -> what ended its planning
    left_out: set[str] = field(default_factory=set)  # that run, and with which nothing can be planned
    moving: frozenset[str] = frozenset()  # queries with a fragment that is moving
    look: bool = True  # whether this is a round in which a better plan is looked for
    longest: float = inf  # [s] that one call of the strategy may take
    ledger: QuotaLedger | None = None  # what remains of quotas; less with each plan that comes into force
    evaluation: Evaluation | None = None  # of the plans in force, under measured statistics
    clock_set: float = 0.0  # as of an ObservedState
    ended: Mapping[str, str] = field(default_factory=dict)  # as of a RoundState

    def passed(self, since: float) -> float:
        """[s] since a stored time."""
        return passed(self.now, since, self.clock_set)

    def adopt_or_propose(
        self,
        name: str,
        plan: QueryPlan,
        boundaries: frozenset[str],
        why: str,
        gain: float | None,
        source: str,
    ) -> bool:
        """The gate, for a plan of version `source` of the query. Auto: in force at once. Shadow: only shown.
        Manual: waits for `weir approve`."""
        record, mode = self.records[name], self.group.policy.mode
        revision, packed = record.next_revision(), pack(plan, boundaries, source)
        candidate = plan_hash(revision, packed)
        waits = {
            "Auto": "",
            "Shadow": "mode Shadow: shown, not applied",
            "Manual": why_it_waits(name, candidate, record.approval, record.approved, self.now),
        }[mode]
        if not waits:
            changed = record.adopt(plan, boundaries, source, self.now, why).with_decision(self.now, why)
            self.records[name] = leave(record, changed, anew=name in self.ended)
            self.add_event(name, "Planned", f"revision {revision}: {why}")
            return True
        proposed = {
            "revision": revision,
            "hash": candidate,
            "reason": waits,
            "diff": difference(record.plan, plan),
            "gain": gain,
            "plan": packed,
        }
        if {**(record.status.get("proposed") or {}), "gain": gain} != proposed:  # the gain is measured
            changed = record.with_status(proposed=proposed)
            self.records[name] = changed.with_decision(self.now, f"proposed: {why}")
            self.add_event(name, "Proposed", f"revision {revision}, plan {candidate}: {why}")
        return False

    def running(self) -> list[str]:
        """Queries with a plan in force."""
        return [n for n, q in self.group.queries.items() if self.records[n].plan and not q.suspended]

    def problem_in_force(self, measured: bool) -> Problem:
        """The group's problem with what runs where; its profile has measured rates, or the declared ones."""
        problem = self.group.problem
        plans = [plan for name in self.running() if (plan := self.records[name].plan)]
        problem = replace(
            problem,
            cluster=with_missing_nodes(problem.cluster, plans, self.desired.unreadable_nodes),
            in_force=placed(plans),
            budgets=(),  # fragments of a plan in force move, and become neither more nor less
        )
        return replace(problem, profile=({**self.rates},)) if measured and self.rates else problem

    def measured_plan(self, running: list[str]) -> Plan:
        """The plans in force with what was measured of them."""
        problem = self.group.problem
        streams = {n: replace(s, rate=self.rates.get(n, s.rate)) for n, s in problem.streams.items()}
        problem = replace(problem, streams=streams)
        plans = []
        for name in running:
            record = self.records[name]
            plan = as_specified(record, self.group.queries[name], problem.cluster)
            if plan is not None:
                current = with_current_origins(problem, plan)
                plans.append(with_measured(problem, current, record.boundaries, self.measured.get(name, {})))
        return Plan(tuple(plans))

    def add_event(self, query: str, reason: str, message: str) -> None:
        """One more event."""
        self.events.append(Event(query, reason, message))


def difference(old: QueryPlan | None, new: QueryPlan) -> str:
    """A line for each operator that comes, goes or moves."""
    before = dict(old.nodes) if old else {}
    lines = [f"+ {op} on {node}" for op, node in new.nodes.items() if op not in before]
    lines += [f"~ {op}: {before[op]} -> {n}" for op, n in new.nodes.items() if before.get(op, n) != n]
    lines += [f"- {op} on {node}" for op, node in before.items() if op not in new.nodes]
    return "\n".join(lines)
