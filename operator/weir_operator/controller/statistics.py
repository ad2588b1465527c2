"""What the fragments measured, put into the model: rates, selectivities, groups and CPU costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from weir_placement.cost.flows import flows_of
from weir_placement.cost.load import Load
from weir_placement.cost.rules import RULES
from weir_placement.fragments import groups_of
from weir_placement.model.operators import Aggregate, Filter, Join, Operator
from weir_placement.model.plan import QueryPlan
from weir_placement.model.problem import Overheads, Problem

from weir_operator.controller.observed_state import FragmentMetrics

MIN_ROWS = 200.0
"""A selectivity estimated from fewer input rows than this is mostly chance."""
COST_SCALE = (0.02, 50.0)
"""Measured CPU scales a cost by no more than these factors: a reading may cover start-up alone."""


@dataclass(frozen=True)
class Measurement:
    """Between two readings of a fragment: rows/s in and out by operator or input, CPU-us/s, batches/s."""

    rows_in: Mapping[str, float]
    rows_out: Mapping[str, float]
    samples: Mapping[str, float]  # total rows in
    cpu: float
    seconds: float
    batches: float = 0.0


def between(before: FragmentMetrics, after: FragmentMetrics) -> Measurement | None:
    """None when the two do not belong together (another epoch, or no time between them)."""
    seconds = after.at - before.at
    if before.epoch != after.epoch or seconds <= 0 or after.batches <= before.batches:
        return None
    rows_in, rows_out, samples = {}, {}, {}
    for name, total in after.operators.items():
        first = before.operators.get(name)
        rows = total.rows_in - (first.rows_in if first else 0.0)
        samples[name] = rows
        rows_in[name] = rows / seconds
        rows_out[name] = (total.rows_out - (first.rows_out if first else 0.0)) / seconds
    cpu = 1e6 * (after.cpu_seconds - before.cpu_seconds) / seconds
    batches = (after.batches - before.batches) / seconds
    return Measurement(rows_in, rows_out, samples, cpu, seconds, batches)


def measured_by_fragment(
    before: Mapping[str, FragmentMetrics], after: Mapping[str, FragmentMetrics]
) -> dict[str, Measurement]:
    """Measurements of all fragments with two readings of the same epoch."""
    pairs = {name: between(before[name], reading) for name, reading in after.items() if name in before}
    return {name: measured for name, measured in pairs.items() if measured}


def measured_rates(
    plans: Mapping[str, QueryPlan], measurements: Mapping[str, Mapping[str, Measurement]]
) -> dict[str, float]:
    """Rows/s of each source stream: the median over the fragments that read it.

    `measurements` is query -> last operator of a fragment -> its measurement.
    """
    rates_of: dict[str, list[float]] = {}
    for query, plan in plans.items():
        for measured in measurements.get(query, {}).values():
            for alias, stream in plan.query.sources.items():
                if alias in measured.rows_in:
                    rates_of.setdefault(stream, []).append(measured.rows_in[alias])
    return {stream: median(rates) for stream, rates in rates_of.items()}


def with_measured(
    problem: Problem, plan: QueryPlan, boundaries: frozenset[str], measurements: Mapping[str, Measurement]
) -> QueryPlan:
    """The plan with measured selectivities and costs in place of the declared ones.

    A fragment's CPU, less what it and its batches cost without rows, is divided among its operators as the
    model divides it: one factor for all of them.
    """
    operators = {op.id: op for op in plan.query.operators}
    for last, members in groups_of(plan, boundaries).items():
        measured = measurements.get(last)
        if measured:
            for op in members:
                operators[op.id] = _estimated(op, measured)
    query = replace(plan.query, operators=tuple(operators.values()))
    rates = {name: Load.of(0.0, stream.rate) for name, stream in problem.streams.items()}
    flows = flows_of(query, problem.streams, rates)
    for last, members in groups_of(plan, boundaries).items():
        measured = measurements.get(last)
        if not measured:
            continue
        current = [operators[op.id] for op in members]
        modelled = sum(
            RULES[op.kind].cpu(op, [flows[i] for i in op.inputs], flows[op.id].rate)(1.0) for op in current
        )
        excess = measured.cpu - _standing(problem.overheads, plan, current, measured.batches)
        if modelled <= 0:
            continue
        factor = min(max(excess / modelled, COST_SCALE[0]), COST_SCALE[1])
        for op in current:
            operators[op.id] = op.costing(factor)
    return replace(plan, query=replace(query, operators=tuple(operators.values())))


def _standing(overheads: Overheads, plan: QueryPlan, members: Sequence[Operator], batches: float) -> float:
    """[CPU-us/s] of a fragment without rows, at so many batches a second."""
    inside = {op.id for op in members}
    inputs = sum(name not in inside for op in members for name in op.inputs)
    stateful = sum(len(op.inputs) for op in members if op.stateful)
    batch = overheads.input_batch_cost * inputs + overheads.state_batch_cost * stateful
    batch += overheads.batch_cost * plan.query.processes
    return overheads.fragment_cpu * plan.query.processes + batch * batches


def _estimated(op: Operator, measured: Measurement) -> Operator:
    out, rows = measured.rows_out.get(op.id), measured.samples.get(op.id, 0.0)
    if out is None or rows < MIN_ROWS or op.kind not in _ESTIMATED:
        return op
    return _ESTIMATED[op.kind](op, measured, out)


def _filter(op: Filter, measured: Measurement, out: float) -> Filter:
    return replace(op, selectivity=out / measured.rows_in[op.id])


def _join(op: Join, measured: Measurement, out: float) -> Join:
    left, right = (measured.rows_out.get(name) for name in op.inputs)
    if not left or not right or op.half_width <= 0:
        return op
    return replace(op, selectivity=out / (2.0 * op.half_width * left * right))


def _aggregate(op: Aggregate, _: Measurement, out: float) -> Aggregate:
    return replace(op, groups=max(out * op.slide, 1.0)) if out > 0 else op


_ESTIMATED: Mapping[str, Callable[[Any, Measurement, float], Operator]] = {
    "filter": _filter,
    "join": _join,
    "aggregate": _aggregate,
}
"""By kind, for kinds whose output rate is estimated: the operator that fits a measured output [rows/s]."""
