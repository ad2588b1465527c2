"""The heap of a fragment's JVM: what Spark needs at least, and the state that the plan reckons with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil

from weir_placement.cost.flows import flows_of, scaled
from weir_placement.cost.rules import RULES, Flow
from weir_placement.model.operators import Operator
from weir_placement.model.problem import Problem, Query

BESIDE_MB = 384
"""[MiB] Spark itself and the rows of one batch."""
ROOM = 1.5
"""Heap for each byte of state: the collector needs some to work in."""
STEP_MB = 128
"""[MiB] Heaps are multiples of it, so that an estimate that changes a little starts no process again."""


def heap_mb(operators: Sequence[Operator], flows: Mapping[str, Flow], least: int, executors: int) -> int:
    """[MiB] Of each JVM that works for a fragment, `least` or more, at the streams' rates.

    O(operators).
    """
    stateful = (op for op in operators if op.stateful)
    state = sum(RULES[op.kind].memory(op, [flows[name] for name in op.inputs])(1.0) for op in stateful)
    heap = BESIDE_MB + ROOM * state / max(1, executors) / 2**20
    return max(least, ceil(heap / STEP_MB) * STEP_MB)


def state_heap_mb(problem: Problem, query: Query, least: int, executors: int) -> int:
    """[MiB] `least`, and a bound on what the heaps of a query's fragments are beyond it, together: as of one
    fragment with all its operators, and a step for the rounding where its state may be in several."""
    heap = heap_mb(query.operators, _flows(problem, query), least, executors)
    several = sum(op.stateful for op in query.operators) > 1
    return heap + STEP_MB if several and heap > least else heap


def largest_heap_mb(problem: Problem, query: Query, least: int, executors: int) -> int:
    """[MiB] Of a fragment of the one operator that needs the most."""
    flows = _flows(problem, query)
    return max((heap_mb([op], flows, least, executors) for op in query.operators), default=least)


def _flows(problem: Problem, query: Query) -> dict[str, Flow]:
    rates = {name: problem.streams[name].rate for name in query.sources.values()}
    return flows_of(query, problem.streams, scaled(rates))
