"""Whole queries over files sources, cut into fragments in any way, run and audited."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from weir_placement.model.fragment import FragmentSpec, Input, Output
from weir_placement.model.location import Location
from weir_placement.model.operators import Operator
from weir_runtime.audit import Verdict, audit

from tests.runtime.support import files_output, fragment


def cut(
    root: Path,
    sources: Sequence[Input],
    operators: Sequence[Operator],
    columns: Sequence[str],
    ends: Collection[str] = (),
    **settings: Any,
) -> list[FragmentSpec]:
    """Fragments in topological order: each operator of `ends` ends one, and the last operator."""
    by_id = {operator.id: operator for operator in operators}
    inputs = {item.name: item for item in sources}
    specs = []
    for operator in operators:
        last = operator is operators[-1]
        if operator.id not in ends and not last:
            continue
        inside: list[Operator] = []
        reads: dict[str, Input] = {}
        _collect(operator.id, by_id, inputs, inside, reads)
        inputs[operator.id] = Input(
            operator.id, "exchange", flow=Location("folder", str(root / "exchange" / operator.id))
        )
        output = files_output(root / "out", *columns)
        if not last:
            output = Output("exchange", flow=Location("folder", str(root / "exchange" / operator.id)))
        specs.append(fragment(root, f"f-{operator.id}", list(reads.values()), inside, output, **settings))
    return specs


def _collect(
    name: str,
    operators: dict[str, Operator],
    inputs: dict[str, Input],
    inside: list[Operator],
    reads: dict[str, Input],
) -> None:
    if name in inputs:
        reads[name] = inputs[name]
        return
    for below in operators[name].inputs:
        _collect(below, operators, inputs, inside, reads)
    inside.append(operators[name])


def verdict(
    root: Path, sources: Sequence[Input], operators: Sequence[Operator], columns: Sequence[str]
) -> Verdict:
    """The sink's rows against one batch query on another engine."""
    return audit(fragment(root, "audit", sources, operators, files_output(root / "out", *columns)))


def check(
    run: Callable[[FragmentSpec], object],
    root: Path,
    sources: Sequence[Input],
    operators: Sequence[Operator],
    columns: Sequence[str],
    ends: Collection[str] = (),
    **settings: Any,
) -> Verdict:
    """Runs every fragment to its end and asserts that the sink is right."""
    for spec in cut(root, sources, operators, columns, ends, **settings):
        run(spec)
    result = verdict(root, sources, operators, columns)
    assert result.good, f"{result}\n{result.examples}"
    return result
