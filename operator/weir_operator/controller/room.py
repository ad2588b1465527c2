"""What the budgets of namespaces (quotas) leave beside the fragments that are wanted.

A plan that is in force is not taken back for a quota: what runs goes on, as Kubernetes has it. But nothing is
planned, started anew or warmed up for a move whose pods the API server would refuse.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from weir_placement.budget.admission import too_many
from weir_placement.cost.budget import fits
from weir_placement.fragments import groups_of
from weir_placement.model.problem import Budget

from weir_operator.controller.record import Record
from weir_operator.controller.snapshot import Process
from weir_operator.controller.work import Work
from weir_operator.controller.world import Asked, Group


class Room:
    """Budgets of all groups by name, less what has been taken of them."""

    def __init__(self, groups: Iterable[Group]) -> None:
        self._budgets: dict[str, Budget] = {}
        self._of: dict[str, dict[str, float]] = {}  # query -> budget -> what one of its fragments asks for
        for group in groups:
            for budget in group.problem.budgets:
                self._budgets.setdefault(budget.name, budget)
                for query, each in budget.each.items():
                    self._of.setdefault(query, {})[budget.name] = each
        self.held: dict[str, str] = {}  # queries with a plan in force that must not start, and why

    def __bool__(self) -> bool:
        return bool(self._budgets)

    def take(self, query: str, fragments: int = 1) -> None:
        """So many fragments of a query are there, or will be."""
        for name, each in self._of.get(query, {}).items():
            budget = self._budgets[name]
            self._budgets[name] = replace(budget, left=budget.left - fragments * each)

    def fits(self, query: str, fragments: int = 1) -> bool:
        """Whether so many more would be admitted."""
        asked = self._of.get(query, {})
        return all(fits(self._budgets[name], fragments * each) for name, each in asked.items())

    def refusal(self, query: str, fragments: int) -> str:
        """Why so many more would not be; empty when they would."""
        return too_many(self.left_for([query]), query, fragments)

    def left_for(self, queries: Collection[str]) -> tuple[Budget, ...]:
        """The budgets as they are left, for these queries."""
        found: dict[str, dict[str, float]] = {}
        for query in queries:
            for name, each in self._of.get(query, {}).items():
                found.setdefault(name, {})[query] = each
        return tuple(replace(self._budgets[name], each=each) for name, each in found.items())


def stand(work: Work) -> Room:
    """The room beside the plans in force. Of those of which nothing runs (a query that was suspended, or that
    has lost all pods) only the ones that fit come back, by priority; the others are held, with the reason."""
    room, idle = Room(work.world.groups), []
    for group in work.world.groups if room else ():
        for name, asked in group.queries.items():
            record = work.records[name]
            if asked.suspended or record.plan is None:
                continue
            count = _fragments(record, asked)
            known = {*(record.status.get("owned") or ()), *(s.name for s in (*record.told, *record.leaving))}
            if any(work.processes.get(fragment) for fragment in known):
                room.take(name, count)
            elif count:
                idle.append((-asked.query.priority, name, count))
    for _, name, count in sorted(idle):
        if reason := room.refusal(name, count):
            room.held[name] = reason
        else:
            room.take(name, count)
    return room


def _fragments(record: Record, asked: Asked) -> int:
    """Of the plan in force, and of the one before it that still publishes; of an edit that waits, as told."""
    if record.source != asked.source:
        return len(record.told)
    return len(groups_of(record.plan, record.boundaries) if record.plan else ()) + len(record.leaving)


def beside(work: Work, wanted: Mapping[str, str]) -> Room:
    """The room beside the wanted fragments (each with its query) and all that runs of them beyond one process
    each: what is left is for the standbys of moves."""
    room = Room(work.world.groups)
    for fragment, query in wanted.items() if room else ():
        room.take(query, max(1, len(counted(work.processes.get(fragment, ())))))
    return room


def counted(processes: Iterable[Process]) -> list[Process]:
    """Those that a quota counts: not what was told to end on a node that does not answer (the API server
    counts its pod until its grace is over, and refuses the next one until then)."""
    return [p for p in processes if not (p.terminating and p.state == "lost")]
