"""Queries that cannot be planned now, because of an error in them, their policy or a stream: their plan in
force keeps running, moves from nodes that are lost, and stops when they are suspended.

They are like queries whose edit waits: the fragments stay as they were told last, the plan as it is stored.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from weir_placement.fragments import Ends
from weir_placement.model.cluster import Cluster, Network
from weir_placement.model.fragment import Output
from weir_placement.model.plan import QueryPlan
from weir_placement.model.problem import Problem
from weir_placement.model.streams import Column, Stream

from weir_operator.api.policy import PlacementPolicySpec
from weir_operator.controller.desired_state import (
    DesiredQuery,
    DesiredState,
    Group,
    suspended_query,
)
from weir_operator.controller.record import Record

VALUE_BYTES = 8.0  # of a column whose stream is gone


def with_plans_in_force(
    desired: DesiredState, records: Mapping[str, Record], unreadable: Collection[str]
) -> DesiredState:
    """The state with faulty queries among those of their policies; `unreadable` are those whose record does
    not tell what is in force. Where a policy cannot be read, they restart where they are."""
    groups = {group.name: group for group in desired.groups}
    for name, fault in desired.faults.items():
        policy, record = desired.policies.get(name, ""), records.get(name)
        if name in desired.suspended:
            query = suspended_query(name, fault.generation)
        elif record is not None and record.plan and record.specs and name not in unreadable:
            query = DesiredQuery(
                record.plan.query, Ends({}, Output("noop")), "", fault.generation, unplannable=True
            )
        else:
            continue
        group = groups.get(policy) or _unplanned(policy)
        problem = group.problem
        if record and query.unplannable and (missing := dict(_missing_streams(problem.streams, record))):
            problem = replace(problem, streams={**problem.streams, **missing})
        groups[policy] = replace(group, problem=problem, queries={**group.queries, name: query})
    return replace(desired, groups=tuple(groups.values()))


def may_read(desired: DesiredState, plan: QueryPlan | None) -> bool:
    """Whether the namespaces of a plan's streams still share them with its query's."""
    if plan is None:
        return True
    reader = plan.query.name.split("/")[0]
    return all(
        stream.split("/")[0] == reader or bool({"*", reader} & desired.readers.get(stream, {reader}))
        for stream in plan.query.sources.values()
    )


def _unplanned(policy: str) -> Group:
    """A group for queries of a policy that cannot be read: nothing of it is planned."""
    nowhere = Problem(Cluster((), Network.uniform(0)), {}, ())
    return Group(policy, PlacementPolicySpec(), nowhere, {}, planned=False)


def _missing_streams(present: Collection[str], record: Record) -> Iterator[tuple[str, Stream]]:
    """Streams of a plan whose objects are gone or cannot be read, as in the specs of its fragments. Their
    rates are known only where they are measured."""
    assert record.plan is not None
    columns = {i.name: i.columns for spec in record.specs for i in spec.inputs if i.kind == "source"}
    for alias, stream in record.plan.query.sources.items():
        if stream not in present:
            typed = tuple(Column(c.name, c.type, VALUE_BYTES) for c in columns.get(alias, ()))
            entry = record.plan.origins.get(alias, "")
            yield stream, Stream(stream, 0.0, typed, (entry,), VALUE_BYTES * len(typed))
