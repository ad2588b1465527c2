"""Cut a plan into fragments, and write down the spec of each (runtime.md, "Fragments").

A fragment is a connected set of operators on one node with one output stream. A stream with another
reader, or one that is delivered, ends a fragment; so does one that leaves the node. Its name contains a
hash of all that its rows depend on, so that a fragment keeps name, checkpoint and output folder exactly
as long as it computes the same thing: a move changes the node alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from weir_placement.cost.flows import flows_of, fragment_ends, scaled
from weir_placement.cost.heap import heap_mb
from weir_placement.model.fragment import FragmentSpec, Input, Output, TypedColumn
from weir_placement.model.identity import digest, identity_fields, identity_source
from weir_placement.model.location import Flows
from weir_placement.model.operator_form import semantics
from weir_placement.model.operators import Operator
from weir_placement.model.plan import QueryPlan
from weir_placement.model.problem import Query
from weir_placement.model.streams import Stream
from weir_placement.model.waits import waits

_NAME_LENGTH = 52  # a pod is `<fragment>-e<epoch>`, and at most 63 letters long


@dataclass(frozen=True)
class Layout:
    """Where things lie. `lease` and `state` may hold {root}, {namespace}, {fragment} and {epoch}."""

    root: str
    lease: str = "{root}/leases/{namespace}/{fragment}.json"
    state: str = "{root}/state/{namespace}/{fragment}-e{epoch}.json"

    def folder(self, what: str, namespace: str, name: str) -> str:
        """`what` is checkpoints or late."""
        return f"{self.root}/{what}/{namespace}/{name}"

    def stamp(self, spec: FragmentSpec, epoch: int, node: str, standby: bool) -> FragmentSpec:
        """`spec` for one process."""
        where = {"root": self.root, "namespace": spec.namespace, "fragment": spec.name, "epoch": epoch}
        return replace(
            spec,
            epoch=epoch,
            node=node,
            standby=standby,
            lease=self.lease.format(**where),
            state=self.state.format(**where),
        )


@dataclass(frozen=True)
class Knobs:
    """How the processes of a query run; none of it changes the rows. `executors` and `cores` as in
    `FragmentSpec`; `heap_mb` is the least."""

    trigger_ms: int = 200
    max_batches: int = 64
    cores: int = 1
    heap_mb: int = 512
    lease_seconds: float = 10.0
    executors: int = 0


@dataclass(frozen=True)
class Ends:
    """What a query's fragments touch outside: sources as in their Stream objects, by alias, and the sink.

    Attributes:
        incarnation: uid of the query, so that one deleted and made again starts anew, and the generation of
            its operators: fragments of two generations never share a name.
        keep: event time [us] that flows between fragments keep behind their slowest reader.
        since: event time [us] after which the rows are this plan's; sources are read from as far back as
            that needs (`horizon`). 0: from the beginning.
        flows: where the flows between fragments lie.
        bad_rows: what sources do with rows that cannot be read, by alias, as in `Input`.
    """

    sources: Mapping[str, Mapping[str, Any]]
    sink: Output
    incarnation: str = ""
    knobs: Knobs = field(default_factory=Knobs)
    keep: int = 0
    since: int = 0
    flows: Flows = field(default_factory=Flows)
    bad_rows: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def cut(
    plan: QueryPlan,
    streams: Mapping[str, Stream],
    ends: Ends,
    layout: Layout,
    boundaries: frozenset[str] = frozenset(),
) -> tuple[FragmentSpec, ...]:
    """The fragments of one query in topological order, before `Layout.stamp` gives them an epoch.

    Args:
        plan: the query after rewriting, each operator with its node.
        streams: by full name, for the columns and delays of the sources.
        ends: sources and sink; URIs must be absolute or relative to what the processes see.
        layout: where checkpoints, flows, leases and state files lie.
        boundaries: operators that end a fragment also when the next one is on the same node: a query
            that runs keeps its fragments when two of them come together.

    Complexity: linear in operators and inputs.
    """
    groups = groups_of(plan, boundaries)
    names: dict[str, str] = {}
    for last, members in groups.items():
        names[last] = _name(plan, last, members, names, streams, ends)
    readers: dict[str, list[str]] = {last: [] for last in groups}
    for last, members in groups.items():
        for upstream in _outside(members):
            if upstream in readers:
                readers[upstream].append(names[last])
    namespace, query = plan.query.name.split("/", 1)
    rates = {name: streams[name].rate for name in plan.query.sources.values()}
    flows = flows_of(plan.query, streams, scaled(rates))
    specs = []
    for last, members in groups.items():
        name = names[last]
        output = replace(ends.sink, after=ends.since)
        if last != plan.query.operators[-1].id:
            flow = ends.flows.written(layout.root, namespace, name)
            output = Output("exchange", consumers=tuple(sorted(readers[last])), keep=ends.keep, flow=flow)
        specs.append(
            FragmentSpec(
                name=name,
                namespace=namespace,
                query=query,
                node=plan.nodes[last],
                epoch=0,
                inputs=tuple(
                    _input(plan, outside, names, streams, ends, layout) for outside in _outside(members)
                ),
                operators=members,
                output=output,
                checkpoint=layout.folder("checkpoints", namespace, name),
                lease="",
                state="",
                sidelog=layout.folder("late", namespace, name),
                trigger_ms=ends.knobs.trigger_ms,
                max_batches=ends.knobs.max_batches,
                cores=ends.knobs.cores,
                heap_mb=heap_mb(members, flows, ends.knobs.heap_mb, ends.knobs.executors),
                lease_seconds=ends.knobs.lease_seconds,
                executors=ends.knobs.executors,
            )
        )
    return tuple(specs)


def groups_of(plan: QueryPlan, boundaries: frozenset[str] = frozenset()) -> dict[str, tuple[Operator, ...]]:
    """Last operator of each fragment -> its operators, both in topological order."""
    end_of: dict[str, str] = {}
    ends = boundaries | set(fragment_ends(plan))
    consumer = {name: op.id for op in plan.query.operators for name in op.inputs}
    for op in reversed(plan.query.operators):
        end_of[op.id] = op.id if op.id in ends else end_of[consumer[op.id]]
    return {
        last.id: tuple(op for op in plan.query.operators if end_of[op.id] == last.id)
        for last in plan.query.operators
        if last.id in ends
    }


def horizon(query: Query) -> int:
    """H [us]: a row of the output with event time t depends on rows of the sources later than t - H alone.

    The greatest sum over a path from a source to the sink of the reaches of join windows and the lengths of
    aggregates' windows (NOS: how far back a changed plan must be replayed). Where both sides of a join are
    joins, the earliest source of the one and the latest of the other are apart by both sums.
    """
    longest: dict[str, int] = {}
    for op in query.operators:
        below = [longest.get(name, 0) for name in op.inputs]
        longest[op.id] = round(op.reach * 1e6) + (sum(below) if op.kind == "join" else max(below))
    return longest[query.operators[-1].id] if query.operators else 0


def overhang(operators: Iterable[Operator]) -> int:
    """[us]: a row of the output with event time t depends on no row of the sources later than t and this.

    At most, and 0 but where windows group by a time that is older than its row's: one of a join's sources, or
    `window.start`. The greatest sum over a path. `operators` in topological order.
    """
    behind: dict[str, int] = {}  # how far a time in a row may be behind the row's own, by stream
    later: dict[str, int] = {}
    for op in operators:
        below = sum(behind.get(name, 0) for name in op.inputs)
        grouped = bool(op.grouped_time)
        later[op.id] = max(later.get(name, 0) for name in op.inputs) + (below if grouped else 0)
        behind[op.id] = round(op.reach * 1e6) + (0 if grouped else below)
    return max(later.values(), default=0)


def _outside(members: tuple[Operator, ...]) -> tuple[str, ...]:
    """Source aliases and upstream operators that a fragment reads, each once."""
    own = {op.id for op in members}
    return tuple(dict.fromkeys(name for op in members for name in op.inputs if name not in own))


def _input(
    plan: QueryPlan,
    name: str,
    names: Mapping[str, str],
    streams: Mapping[str, Stream],
    ends: Ends,
    layout: Layout,
) -> Input:
    if name not in plan.query.sources:
        namespace = plan.query.name.split("/", 1)[0]
        return Input(name, "exchange", flow=ends.flows.read(layout.root, namespace, names[name]))
    stream = streams[plan.query.sources[name]]
    return Input(
        name,
        "source",
        stream=stream.name,
        source=ends.sources[name],
        columns=tuple(TypedColumn(c.name, c.type) for c in stream.columns),
        event_time=stream.event_time,
        delay=round(stream.delay * 1e6),
        after=max(0, ends.since - horizon(plan.query)),
        idle=round(stream.idle * 1e6),
        bad_rows=ends.bad_rows.get(name, {}),
        max_ahead=None if stream.max_ahead is None else round(stream.max_ahead * 1e6),
    )


def _name(
    plan: QueryPlan,
    last: str,
    members: tuple[Operator, ...],
    names: Mapping[str, str],
    streams: Mapping[str, Stream],
    ends: Ends,
) -> str:
    """`<query>-<last operator>-<hash>`; the hash covers whatever the rows depend on, upstream included."""
    inputs: list[Any] = []
    for outside in _outside(members):
        if outside in plan.query.sources:
            stream = streams[plan.query.sources[outside]]
            columns = [[c.name, c.type] for c in stream.columns]
            inputs.append(
                [
                    outside,
                    stream.name,
                    columns,
                    stream.event_time,
                    stream.delay,
                    identity_source(ends.sources[outside]),
                ]
            )
        else:
            inputs.append([outside, names[outside]])
    delivered = identity_fields(ends.sink.stored()) if last == plan.query.operators[-1].id else None
    parts: list[Any] = [ends.incarnation, [semantics(op) for op in members], inputs, delivered]
    if any(
        waiting := waits(members).values()
    ):  # before they waited, rows were lost: such a state must not be taken up
        parts.append(list(waiting))
    readable = re.sub(r"[^a-z0-9]+", "-", f"{plan.query.name.split('/', 1)[1]}-{last}".lower())
    return f"{readable[: _NAME_LENGTH - 9].strip('-')}-{digest(parts, 8)}"
