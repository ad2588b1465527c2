"""Changing the operators of a running query: rows up to a cut T come from the previous plan, later ones from
the new one (docs/runtime.md, "Change of operators").

The fragments of the previous plan stay in force, as they were started, until they have published everything
up to T. The fragment that delivers sets T in its lease, and the loop copies it into the Placement before
anything of the new plan starts. Each step is read from lease, processes and Placement: a controller that is
killed continues from there.
"""

from __future__ import annotations

from dataclasses import replace

from weir_placement.fragments import cut, overhang
from weir_placement.model.fragment import FOREVER, FragmentSpec
from weir_placement.model.hosted import NOBODY
from weir_placement.model.identity import is_same_place

from weir_operator.controller.decision import RequestCut
from weir_operator.controller.desired_state import DesiredQuery, Group
from weir_operator.controller.record import Record
from weir_operator.controller.round_state import RoundState

WORKED = ("running", "stopped", "finished")
"""States of a process that may have had its fragment's lease, also where that is gone."""


def leave(before: Record, after: Record, anew: bool = False) -> Record:
    """`after` is the record with a new plan in force: if its operators differ, the previous ones leave. With
    `anew` nothing is left of them to come, and all rows are the new plan's."""
    if before.plan is None or before.source == after.source:
        return after
    after = replace(after, generation=after.revision, specs=())
    if anew or not before.specs:
        return replace(after, since=0)
    return replace(after, since=None, leaving=before.specs)


def advance(state: RoundState) -> None:
    """Copies the cuts from the leases; previous plans that have published all of their rows are dropped."""
    for group in state.desired.groups:
        for name, desired in group.queries.items():
            record = state.records[name]
            if record.leaving and not desired.suspended:
                with state.guard(name):
                    state.records[name] = _advanced(state, record)


def _advanced(state: RoundState, record: Record) -> Record:
    last = record.leaving[-1]
    processes = state.processes.get(last.name, [])
    # of a query that was deleted, the lease comes back
    lease = state.observed.leases.get(last.name) or record.owner.leases.get(last.name)
    change = lease.change if lease else None
    since, passed = record.since, bool(change and change.passed)
    if lease is None and not processes:  # it never ran: all of its rows are the new plan's
        since, passed = last.output.after if since is None else since, True
    elif any(p.state == "finished" for p in processes):  # its input has ended: all is published
        since, passed = FOREVER if since is None else since, True
    if since is None and change is not None:
        since = change.time
    if since is not None and record.since is None:
        text = f"edited: rows up to event time {since / 1e6:.6f} s come from the previous plan"
        if since == last.output.after:
            text = "edited: the previous plan has published nothing"
        record = replace(record, since=since).with_decision(state.observed.now, text)
    return replace(record, leaving=()) if passed and since is not None else record


def specs_in_force(
    state: RoundState, group: Group, desired: DesiredQuery, record: Record
) -> tuple[FragmentSpec, ...]:
    """The fragments of a query's plan in force; none before the cut at which it begins is agreed.

    While an edit waits (for a change under way, an approval, room) they are the fragments written last.
    """
    if record.plan is None or record.since is None:
        return ()
    if record.source != desired.source:
        nodes = record.plan.nodes
        return tuple(replace(spec, node=nodes[spec.operators[-1].id]) for spec in record.specs)
    cut_before, specs = state.cuts.get(record.query, (None, ()))
    if cut_before is not record:
        generation = f"/{record.generation}" if record.generation else ""
        ends = replace(desired.ends, incarnation=desired.ends.incarnation + generation, since=record.since)
        specs = cut(record.plan, group.problem.streams, ends, state.settings.layout, record.boundaries)
        specs = tuple(_as_begun(spec, record) for spec in specs)
        state.cuts[record.query] = record, specs
    return specs


def _as_begun(spec: FragmentSpec, record: Record) -> FragmentSpec:
    """With the beginning that its inputs were told first: it is part of the checkpoint's name, and another
    version may count it otherwise."""
    before = next((item.inputs for item in record.specs if item.name == spec.name), ())
    after = {item.name: item.after for item in before}
    inputs = tuple(replace(item, after=after.get(item.name, item.after)) for item in spec.inputs)
    return replace(spec, inputs=inputs)


def leaving_specs(state: RoundState, group: Group, record: Record) -> tuple[FragmentSpec, ...]:
    """Those of the previous plan, on a node of the new plan where their own can no longer be used, and with
    the logins of the query as it is now: it may have been edited because the previous ones are refused."""
    unusable = state.desired.unusable_nodes(record.query)
    usable = set(group.problem.cluster.index) - unusable
    other = next((n for n in (record.plan.nodes.values() if record.plan else ()) if n in usable), "")
    desired = group.queries[record.query]
    placed = (s if s.node in usable or not other else replace(s, node=other) for s in record.leaving)
    return tuple(_let_in(spec, desired) for spec in placed)


def _let_in(spec: FragmentSpec, desired: DesiredQuery) -> FragmentSpec:
    """A fragment that reads and writes the same places as before, as whom the query says now; of a stream
    also with what it says now of rows that are lost or cannot be read."""
    ends, aliases = desired.ends, {stream: alias for alias, stream in desired.model.sources.items()}
    inputs = []
    for item in spec.inputs:
        alias = aliases.get(item.stream, "")
        present = ends.sources.get(alias, {})
        if item.kind == "source" and present and is_same_place(item.source, present):
            access = {} if present == item.source else present
            item = replace(item, access=access, bad_rows=ends.bad_rows.get(alias, {}))
        inputs.append(item)
    output, sink = spec.output, ends.sink
    same_kind = (output.kind, output.uri) == (sink.kind, sink.uri)
    if same_kind and is_same_place({"sink": output.options}, {"sink": sink.options}):
        output = replace(output, options=sink.options)
    return replace(spec, inputs=tuple(inputs), output=output)


def cut_requests(state: RoundState, record: Record) -> tuple[RequestCut, ...]:
    """The request for the cut, while the lease of the delivering fragment does not have one. Where nobody has
    ever had it nothing was published, so the request has the answer with it. Once it is agreed, the others
    are told which rows are still needed."""
    if not record.leaving:
        return ()
    if record.since is not None:
        return _limits(state, record, record.since)
    last = record.leaving[-1]
    lease = state.observed.leases.get(last.name)
    began = last.output.after if _never_worked(state, record, last.name) else None
    if (lease is None and began is None) or (lease is not None and lease.change is not None):
        return ()
    return (RequestCut(last.name, state.settings.change_lead, record.query, began),)


def _limits(state: RoundState, record: Record, since: int) -> tuple[RequestCut, ...]:
    """Of the fragments that do not deliver: one that fails at rows later than the cut comes to it without
    them in its next life."""
    time = since + overhang(op for spec in record.leaving for op in spec.operators)
    leases = ((spec.name, state.observed.leases.get(spec.name)) for spec in record.leaving[:-1])
    return tuple(
        RequestCut(name, state.settings.change_lead, record.query, time=time)
        for name, lease in leases
        if lease is not None and lease.change is None and since < FOREVER
    )


def _never_worked(state: RoundState, record: Record, fragment: str) -> bool:
    """Whether, as far as one can see, nobody has ever had a fragment's lease; who writes looks again. Of a
    query that was deleted the lease comes back, and one that a person has deleted was had by who runs."""
    lease = state.observed.leases.get(fragment)
    has_holder = lease is not None and lease.holder not in ("", NOBODY)
    worked = any(p.state in WORKED for p in state.processes.get(fragment, ()))
    return not (has_holder or worked or fragment in record.owner.leases)
