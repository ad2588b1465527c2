"""What the budgets of namespaces (quotas) leave beside the desired fragments.

A plan in force is not revoked for a quota: what runs goes on, as in Kubernetes itself. But nothing is
planned, started anew or warmed up for a move if the API server would refuse its pods.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from weir_placement.budget.admission import too_many
from weir_placement.cost.budget import fits
from weir_placement.fragments import groups_of
from weir_placement.model.problem import Budget

from weir_operator.controller.desired_state import DesiredQuery, Group
from weir_operator.controller.observed_state import Process
from weir_operator.controller.record import Record
from weir_operator.controller.round_state import RoundState


class QuotaLedger:
    """Budgets of all groups by name, less what is reserved."""

    def __init__(self, groups: Iterable[Group]) -> None:
        self._budgets: dict[str, Budget] = {}
        self._initial: dict[
            str, dict[str, Budget]
        ] = {}  # query -> the budgets that it is in, with nothing reserved
        for group in groups:
            for budget in group.problem.budgets:
                self._budgets.setdefault(budget.name, budget)
                for query in budget.each:
                    self._initial.setdefault(query, {})[budget.name] = budget
        self.blocked: dict[str, str] = {}  # queries with a plan in force that must not start, and why

    def __bool__(self) -> bool:
        return bool(self._budgets)

    def copy(self) -> QuotaLedger:
        """An independent copy: what is reserved there is not reserved here."""
        result = QuotaLedger(())
        result._budgets, result._initial = dict(self._budgets), self._initial
        result.blocked = self.blocked
        return result

    def reserve(self, query: str, fragments: int = 1) -> None:
        """Subtracts from the budgets what this many fragments of a query, running or starting, request."""
        for name, initial in self._initial.get(query, {}).items():
            budget = self._budgets[name]
            self._budgets[name] = replace(budget, left=budget.left - initial.of(query, fragments))

    def fits(self, query: str, fragments: int = 1) -> bool:
        """Whether this many more would be admitted."""
        initial = self._initial.get(query, {})
        return all(fits(self._budgets[name], each.of(query, fragments)) for name, each in initial.items())

    def refusal(self, query: str, fragments: int) -> str:
        """Why this many more would not be admitted; empty when they would."""
        return too_many(self.remaining([query]), query, fragments)

    def remaining(self, queries: Collection[str]) -> tuple[Budget, ...]:
        """What remains of the budgets that these queries are in."""
        each: dict[str, dict[str, float]] = {}
        state: dict[str, dict[str, float]] = {}
        for query in queries:
            for name, initial in self._initial.get(query, {}).items():
                each.setdefault(name, {})[query] = initial.each[query]
                state.setdefault(name, {}).update({q: s for q, s in initial.state.items() if q == query})
        return tuple(replace(self._budgets[name], each=each[name], state=state[name]) for name in each)


def beside_plans_in_force(state: RoundState) -> QuotaLedger:
    """The ledger with the plans in force reserved. A plan of which nothing runs (its query was suspended, or
    has lost all pods) comes back only if it fits, by priority; the others are `blocked`."""
    ledger, idle = QuotaLedger(state.desired.groups), []
    for group in state.desired.groups if ledger else ():
        for name, desired in group.queries.items():
            record = state.records[name]
            if desired.suspended or record.plan is None:
                continue
            with state.guard(name):
                count = _fragments(record, desired)
                owned = {*record.owned, *(s.name for s in record.all_specs)}
                if any(state.processes.get(fragment) for fragment in owned):
                    ledger.reserve(name, count)
                elif count:
                    idle.append((-desired.model.priority, name, count))
    for _, name, count in sorted(idle):
        if reason := ledger.refusal(name, count):
            ledger.blocked[name] = reason
        else:
            ledger.reserve(name, count)
    return ledger


def _fragments(record: Record, desired: DesiredQuery) -> int:
    """The number of fragments of the plan in force and of the previous one, which may still publish; while an
    edit waits, of those that were written last."""
    if record.source != desired.source:
        return len(record.specs)
    return len(groups_of(record.plan, record.boundaries) if record.plan else ()) + len(record.leaving)


def beside_running(state: RoundState, fragments: Mapping[str, str]) -> QuotaLedger:
    """The ledger with one process of each desired fragment (which maps to its query) reserved, and all of its
    further processes: what remains is for the standbys of moves."""
    ledger = QuotaLedger(state.desired.groups)
    counts: dict[str, int] = {}
    for fragment, query in fragments.items() if ledger else ():
        processes = max(1, len(counted_by_quota(state.processes.get(fragment, ()))))
        counts[query] = counts.get(query, 0) + processes
    for query, count in counts.items():
        ledger.reserve(query, count)
    return ledger


def counted_by_quota(processes: Iterable[Process]) -> list[Process]:
    """The processes that a quota counts: not one that was stopped on a node that does not answer (the API
    server counts its pod until its grace is over, and refuses the next one until then)."""
    return [p for p in processes if not (p.terminating and p.state == "lost")]
