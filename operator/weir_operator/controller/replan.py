"""Which plan shall be in force: first plans, edits, approvals, rollbacks; `drift` says what moves later.

All of it is a pure function of records, problem and measurements; times (how long the headroom has been
low, when it last changed) are kept in the Placement's status, so that a restart forgets nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from weir_placement.cost.evaluation import Evaluation
from weir_placement.cost.flows import fragment_ends
from weir_placement.model.cluster import Cluster, Node
from weir_placement.model.plan import Plan, QueryPlan
from weir_placement.model.problem import Placed, Problem
from weir_placement.strategies import select

from weir_operator.controller.change import leave
from weir_operator.controller.current_plan import as_specified, unconstrained
from weir_operator.controller.decision import Event
from weir_operator.controller.desired_state import DesiredState, Group
from weir_operator.controller.drift import drift
from weir_operator.controller.quota_ledger import QuotaLedger
from weir_operator.controller.record import Record, pack, unpack
from weir_operator.controller.statistics import Measured, with_measured


@dataclass
class GroupReplan:
    """One group's planning: records change as it goes on."""

    group: Group
    desired: DesiredState
    now: float
    records: dict[str, Record]
    found: Mapping[str, Mapping[str, Measured]]  # query -> last operator of a fragment -> measurement
    rates: Mapping[str, float]  # measured, by stream
    unplaced: Mapping[str, str] = field(default_factory=dict)
    """ "query/operator" -> node that has no room for it"""
    events: list[Event] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)  # query -> why it has no plan
    moving: frozenset[str] = frozenset()  # queries with a fragment that is on its way
    look: bool = True  # whether this is a round in which a better plan is looked for
    ledger: QuotaLedger | None = None  # what quotas leave; less with each plan that comes into force
    evaluation: Evaluation | None = None  # of the plans in force, under measured statistics

    def run(self) -> None:
        """Rollbacks, then first plans and edits, then nodes that go, then drift."""
        self._roll_back()
        self._first_plans()
        drift(self)

    # -- what a person asked for

    def _roll_back(self) -> None:
        for name, record in self.records.items():
            if record.pinned is None and "pinnedRevision" in record.status:  # the same may be asked for again
                self.records[name] = record.with_status(pinnedRevision=None)
            if record.pinned is None or record.pinned == record.status.get("pinnedRevision"):
                continue
            entry = next((e for e in record.history if e["revision"] == record.pinned), None)
            plan, boundaries, source = unpack(entry.get("plan") if entry else None)
            if plan is None or source != record.source:
                text = f"revision {record.pinned} cannot be rolled back to: " + (
                    "it is of another version of the query" if plan else "it is not in the history"
                )
                self.records[name] = record.decided(self.now, text)
                continue
            if boundaries != record.boundaries or _operators(plan) != _operators(record.plan):
                text = (
                    f"revision {record.pinned} has other fragments than those that run: they would lose state"
                )
                self.records[name] = record.decided(self.now, text)
                continue
            why = f"rollback to revision {record.pinned}"
            changed = record.adopt(plan, boundaries, source, self.now, why).decided(self.now, why)
            self.records[name] = changed.with_status(pinnedRevision=record.pinned)
            self.say(name, "RolledBack", f"revision {record.pinned} is in force again")

    # -- first plans and edits

    def _first_plans(self) -> None:
        """Queries without a plan, or with one of another version, are planned beside what runs."""
        desired = self.group.queries
        fresh = [
            n
            for n, a in desired.items()
            if not (a.suspended or self.records[n].source == a.source or self.records[n].leaving)
            and not (self.ledger and n in self.ledger.blocked)
        ]
        if not fresh:
            return
        problem = replace(
            self.problem_with_force(measured=False),
            budgets=self.ledger.remaining(fresh) if self.ledger else (),
        )
        present = {n: r for n, r in self.records.items() if n in desired and n not in fresh}
        cluster = self.group.problem.cluster
        kept = {n: p for n, r in present.items() if (p := as_specified(r, desired[n], cluster))}
        pinned = {f"{n}/{op}": node for n, plan in kept.items() for op, node in plan.nodes.items()}
        queries = [unconstrained(plan.query) for plan in kept.values()]
        queries += [desired[n].model for n in fresh]
        policy = self.group.policy
        result = select(policy.strategy.name, policy.objective).load()(
            replace(problem, queries=tuple(queries), pinned={**problem.pinned, **pinned}),
            objective=policy.objective,
            seed=policy.strategy.seed,
            time_limit=policy.strategy.time_limit,
            # each query's fragments are its own: a plan that counts shared ones once would overload nodes
            options={k: v for k, v in policy.strategy.parameters.items() if k != "reuse"},
        )
        plans = {p.query.name: p for p in result.plan.queries}
        reasons = {r.query: r.reason for r in result.plan.rejected}
        for name in fresh:
            if name not in plans:
                self.refused[name] = reasons.get(name, "no place was found for it")
                continue
            boundaries = frozenset(fragment_ends(plans[name]))
            why = "edited" if self.records[name].plan else "first plan"
            if self.adopt_or_propose(name, plans[name], boundaries, why, None) and self.ledger:
                self.ledger.reserve(name, len(boundaries))

    # -- the gate that every plan passes

    def adopt_or_propose(
        self, name: str, plan: QueryPlan, boundaries: frozenset[str], why: str, gain: float | None
    ) -> bool:
        """The gate. Auto: in force at once. Shadow: shown only. Manual: waits for `weir approve`."""
        record, mode = self.records[name], self.group.policy.mode
        revision = record.next_revision()
        source = self.group.queries[name].source
        if mode == "Auto" or (mode == "Manual" and record.approved == revision):
            changed = record.adopt(plan, boundaries, source, self.now, why).decided(self.now, why)
            self.records[name] = leave(record, changed)
            self.say(name, "Planned", f"revision {revision}: {why}")
            return True
        proposed = {
            "revision": revision,
            "reason": "mode Shadow: shown only"
            if mode == "Shadow"
            else f"waits for: weir approve {name} {revision}",
            "diff": difference(record.plan, plan),
            "gain": gain,
            "plan": pack(plan, boundaries, source),
        }
        if proposed != record.status.get("proposed"):
            self.records[name] = record.with_status(proposed=proposed).decided(self.now, f"proposed: {why}")
            self.say(name, "Proposed", f"revision {revision}: {why}")
        return False

    # -- problems and plans

    def running(self) -> list[str]:
        """Queries with a plan in force."""
        return [n for n, a in self.group.queries.items() if self.records[n].plan and not a.suspended]

    def problem_with_force(self, measured: bool) -> Problem:
        """The group's problem that knows what runs where; with measured rates as its profile, or declared."""
        problem = self.group.problem
        force = tuple(
            Placed(n, op, node)
            for n in self.running()
            for op, node in self.records[n].plan.nodes.items()  # type: ignore[union-attr]
        )
        problem = replace(
            problem,
            cluster=with_gone(problem.cluster, (self.records[n].plan for n in self.running())),
            in_force=force,
            budgets=(),  # fragments of a plan in force move, and become neither more nor less
        )
        return replace(problem, profile=({**self.rates},)) if measured and self.rates else problem

    def measured_plan(self, running: list[str]) -> Plan:
        """The plans in force with what was measured of them."""
        problem = self.group.problem
        streams = {n: replace(s, rate=self.rates.get(n, s.rate)) for n, s in problem.streams.items()}
        problem = replace(problem, streams=streams)
        desired, cluster = self.group.queries, self.group.problem.cluster
        plans = [
            (as_specified(self.records[n], desired[n], cluster), self.records[n].boundaries, n)
            for n in running
        ]
        return Plan(
            tuple(
                with_measured(problem, entered(problem, p), b, self.found.get(n, {}))
                for p, b, n in plans
                if p is not None
            )
        )

    def say(self, query: str, reason: str, message: str) -> None:
        """One more event."""
        self.events.append(Event(query, reason, message))


def with_gone(cluster: Cluster, plans: Iterable[QueryPlan | None]) -> Cluster:
    """Nodes that plans use and that were deleted, as nodes that can do nothing: the plans can be judged."""
    used = {node for plan in plans if plan for node in (*plan.nodes.values(), plan.sink) if node}
    gone = sorted(used - set(cluster.index))
    if not gone:
        return cluster
    network = cluster.network
    group = np.concatenate([network.group, np.zeros(len(gone), dtype=network.group.dtype)])
    nodes = cluster.nodes + tuple(Node(name, cpu=0.0, schedulable=False) for name in gone)
    return Cluster(nodes, replace(network, group=group))


def entered(problem: Problem, plan: QueryPlan) -> QueryPlan:
    """A plan whose streams enter where they do now: a node at which one entered may be no more."""
    origins = {}
    for alias, node in plan.origins.items():
        known = problem.streams[plan.query.sources[alias]].origins
        origins[alias] = node if node in known else known[0]
    return replace(plan, origins=origins)


def difference(old: QueryPlan | None, new: QueryPlan) -> str:
    """A line for each operator that comes, goes or moves."""
    before = dict(old.nodes) if old else {}
    lines = [f"+ {op} on {node}" for op, node in new.nodes.items() if op not in before]
    lines += [f"~ {op}: {before[op]} -> {n}" for op, n in new.nodes.items() if before.get(op, n) != n]
    lines += [f"- {op} on {node}" for op, node in before.items() if op not in new.nodes]
    return "\n".join(lines)


def _operators(plan: QueryPlan | None) -> frozenset[str]:
    return frozenset(plan.nodes) if plan else frozenset()
