"""Streams inside a plan: their rates, who reads them, where fragments end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from weir_placement.cost.load import Load
from weir_placement.cost.rules import Flow, apply
from weir_placement.model.operators import Operator
from weir_placement.model.plan import QueryPlan
from weir_placement.model.problem import Query
from weir_placement.model.streams import Stream


def source_flow(alias: str, stream: Stream, rate: Load) -> Flow:
    """A stream as the query's operators see it: columns qualified by the alias."""
    columns = {f"{alias}.{c.name}": c.bytes for c in stream.columns}
    return Flow(rate, columns, stream.tuple_bytes)


def flows_of(query: Query, streams: Mapping[str, Stream], rates: Mapping[str, Load]) -> dict[str, Flow]:
    """The flow that leaves each source alias and each operator; `rates` by stream name."""
    flows = {a: source_flow(a, streams[s], rates[s]) for a, s in query.sources.items()}
    for op in query.operators:
        flows[op.id] = apply(op, [flows[i] for i in op.inputs])
    return flows


def scaled(point: Mapping[str, float], only: frozenset[str] | None = None) -> dict[str, Load]:
    """Rates r = x p of every stream [tuples/s]; with `only`, other streams stay at the profile."""
    return {
        name: Load.of(0.0, rate) if only is None or name in only else Load.of(rate)
        for name, rate in point.items()
    }


def readers(query: Query) -> dict[str, list[Operator]]:
    """The operators that read each source alias and each operator, one entry an input."""
    result: dict[str, list[Operator]] = {name: [] for name in query.sources}
    for op in query.operators:
        result[op.id] = []
        for name in op.inputs:
            result[name].append(op)
    return result


def output(query: Query) -> str:
    """What is delivered: the last operator, or the source of a query that has none."""
    return query.operators[-1].id if query.operators else next(iter(query.sources))


@dataclass(frozen=True, slots=True)
class Hop:
    """A stream read by something on a node; `exchange`: it is written and read between fragments."""

    producer: str  # source alias or operator id
    source: str  # node name
    target: str  # node name
    consumer: str  # operator id, "" the sink
    exchange: bool


def hops(plan: QueryPlan) -> list[Hop]:
    """Every reading of a stream in the plan, deliveries among them, also those that stay on a node."""
    result = []
    for producer, consumers in readers(plan.query).items():
        is_source = producer in plan.query.sources
        source = plan.origins[producer] if is_source else plan.nodes[producer]
        ends = len(consumers) > 1
        for op in consumers:
            target = plan.nodes[op.id]
            leaves = ends or target != source or leaves_sharing(plan, producer, op.id)
            result.append(Hop(producer, source, target, op.id, not is_source and leaves))
    if plan.sink:
        last = output(plan.query)
        source = plan.origins[last] if last in plan.query.sources else plan.nodes[last]
        result.append(Hop(last, source, plan.sink, "", False))
    return result


def leaves_sharing(plan: QueryPlan, producer: str, consumer: str) -> bool:
    """Whether an operator shared with other queries is read here by one that is not."""
    return producer in plan.shared and consumer not in plan.shared


def fragment_ends(plan: QueryPlan) -> list[str]:
    """Operators whose output ends a fragment: it is delivered, has several readers (of this query or of
    those it is shared with) or leaves the node."""
    consumers = readers(plan.query)
    last = plan.query.operators[-1].id if plan.query.operators else ""
    return [
        op.id
        for op in plan.query.operators
        if op.id == last
        or len(consumers[op.id]) > 1
        or any(plan.nodes[c.id] != plan.nodes[op.id] for c in consumers[op.id])
        or any(leaves_sharing(plan, op.id, c.id) for c in consumers[op.id])
    ]
