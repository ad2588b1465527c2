"""What a query's rows depend on, as hashes: when they change, its operators do, and its state begins anew."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from weir_placement.fragments import Ends
from weir_placement.model.identity import digest, identity_fields, identity_source
from weir_placement.model.operator_form import semantics
from weir_placement.model.problem import Query

from weir_operator.manifests.problem import PolicyProblem

OPERATORS, EXECUTORS = "spec.sql (or spec.operators)", "spec.resources.executors"
LETTERS = 16


def source_hash(query: Query, ends: Ends, source: PolicyProblem) -> str:
    """Of all that the query's rows depend on, and of its number of executors, which partitions the state
    differently and adds processes to the plan; not of rates, costs or nodes."""
    parts = [
        [semantics(op) for op in query.operators],
        list(_streams(query, ends, source)),
        identity_fields(ends.sink.stored()),
        ends.incarnation,
    ]
    if ends.knobs.executors:
        parts.append(ends.knobs.executors)
    if ends.flows.identity:  # flows in another place begin anew, as after a change of operators
        parts.append(ends.flows.identity)
    return digest(parts, LETTERS)


def source_parts(query: Query, ends: Ends, source: PolicyProblem) -> dict[str, str]:
    """Hashes of what `source_hash` is made of, by what a user calls it; not of the incarnation."""
    parts: dict[str, Any] = {
        OPERATORS: [semantics(op) for op in query.operators],
        "spec.sink": identity_fields(ends.sink.stored()),
        EXECUTORS: ends.knobs.executors,
        "the policy's exchange": ends.flows.identity,
    }
    parts |= {f"Stream {stream[1]}": stream for stream in _streams(query, ends, source)}
    return {name: digest(value, LETTERS) for name, value in parts.items()}


def _streams(query: Query, ends: Ends, source: PolicyProblem) -> Iterator[list[Any]]:
    """Of each input, what rows depend on."""
    for alias, name in sorted(query.sources.items()):
        stream = source.problem.streams[name]
        shape = [stream.columns, stream.event_time, stream.delay]
        yield [alias, name, *shape, identity_source(ends.sources[alias])]
