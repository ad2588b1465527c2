"""Queries that could not be planned are not planned again in every round: on the same ground the search would
end in the same way."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from weir_operator.controller.group_replan import GroupReplan
from weir_operator.controller.refusal_memory import Outcome, RefusalMemory


def to_search(planning: GroupReplan, memory: RefusalMemory, ground: str, names: Iterable[str]) -> list[str]:
    """Those of the queries that are to be planned; the refusals of the others are put into `planning`."""
    result = []
    for name in names:
        before = memory.recall(name, _own_ground(planning, name, ground), planning.now)
        record = planning.records[name]
        approved = record.approval is not None or record.approved is not None  # it may be let through now
        if before is None or (approved and not before.refusal and before.error is None):
            result.append(name)
        elif before.error is not None:
            planning.errors[name] = before.error
        elif before.refusal:
            planning.refusals[name] = before.refusal
    return result


def keep_outcomes(planning: GroupReplan, memory: RefusalMemory, ground: str, names: Iterable[str]) -> None:
    """Of the queries that were planned on the ground, those that have no plan in force now."""
    for name in names:
        memory.outcomes.pop(name, None)
        record, source = planning.records[name], planning.group.queries[name].source
        refusal, error = planning.refusals.get(name, ""), planning.errors.get(name)
        if refusal or error or (record.source != source and record.status.get("proposed")):
            own = _own_ground(planning, name, ground)
            memory.outcomes[name] = Outcome(own, planning.now, refusal, error)


def ground_of(planning: GroupReplan) -> str:
    """A digest of what every query of the group is planned on: free capacity, network, streams, quotas, the
    policy, and the plans in force."""
    group, ledger = planning.group, planning.ledger
    problem, network = group.problem, group.problem.cluster.network
    digest = hashlib.sha256(network.group.tobytes())
    digest.update(network.latency.tobytes())
    digest.update(network.bandwidth.tobytes())
    present = [
        (name, record.revision, record.source, group.queries[name].suspended)
        for name, record in planning.records.items()
        if record.plan is not None
    ]
    budgets = ledger.remaining(group.queries) if ledger else ()
    parts = (problem.cluster.nodes, problem.streams, problem.profile, problem.overheads, budgets, present)
    digest.update(repr((parts, group.policy.model_dump_json())).encode())
    return digest.hexdigest()


def _own_ground(planning: GroupReplan, name: str, ground: str) -> str:
    query = planning.group.queries[name]
    return hashlib.sha256(f"{ground} {query.source} {query.model!r}".encode()).hexdigest()
