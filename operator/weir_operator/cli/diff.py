"""`weir diff`: what would move, compared with what runs here or with another version of the manifests."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from weir_operator.cli.exit_codes import DIFFERENT, OK
from weir_operator.cli.inputs import Namespace, Paths, warn
from weir_operator.cli.run import CALIBRATION, DEFAULT_FOLDER, RunFolder


class DiffFormat(StrEnum):
    """Output formats of a difference."""

    text = "text"
    markdown = "markdown"
    json = "json"


def diff(
    filename: Paths,
    base: Annotated[
        list[str] | None, typer.Option("--base", metavar="PATH", help="Manifests to compare with.")
    ] = None,
    output: Annotated[DiffFormat, typer.Option("-o", "--output", help="Output format.")] = DiffFormat.text,
    run_folder: RunFolder = DEFAULT_FOLDER,
    namespace: Namespace = "default",
) -> int:
    """Show what would move, compared with what runs here or, with --base, with other manifests.

    Exit code 0: no difference; 1: something differs; 2: bad input.

    Examples:

      weir diff -f examples/flights

      git worktree add -d base main && weir diff --base base/examples/flights -f examples/flights -o markdown
    """
    if base:
        from weir_operator.cli.review import review, written

        difference = review(base, filename, namespace)
        print(written(difference, output.value))
        return DIFFERENT if difference else OK
    changes = _against_run(filename, run_folder, namespace)
    if output is DiffFormat.json:
        print(json.dumps(changes, indent=1))
        return DIFFERENT if changes else OK
    for name, text in changes.items():
        if output is DiffFormat.markdown:
            print(f"### {name}\n\n```diff\n{text}\n```\n")
        else:
            print(f"{name}\n{text}")
    if not changes:
        print("no difference")
    return DIFFERENT if changes else OK


def _against_run(paths: list[str], run_folder: Path, namespace: str) -> dict[str, str]:
    """The difference that the loop's next decision would make; nothing is applied."""
    import time
    from dataclasses import replace

    from weir_placement.fragments import Knobs

    from weir_operator.controller.decide import decide
    from weir_operator.controller.decision import DeletePlacement
    from weir_operator.controller.group_replan import difference
    from weir_operator.controller.observed_state import ObservedState
    from weir_operator.controller.record import read_record, unpack
    from weir_operator.local.machine import Machine, Options
    from weir_operator.manifests.load import load

    warn(load(paths, namespace))
    options = Options(tuple(paths), run_folder, Path("."), Knobs(), CALIBRATION, trial=True)
    machine = Machine(options, lambda findings: None)
    present = machine.cluster.observe()
    observed = ObservedState(time.time(), present.objects, present.processes, present.leases)
    state = machine.loop.desired_state(observed, machine.loop.settings)
    auto = tuple(replace(g, policy=g.policy.model_copy(update={"mode": "Auto"})) for g in state.groups)
    decision = decide(observed, replace(state, groups=auto), machine.loop.settings)
    before = {r.query: r for o in observed.objects if o["kind"] == "Placement" for r in [read_record(o)]}
    changes = {}
    for placement in decision.placements:
        old = before.get(placement.query)
        plan = old.plan if old else None
        if isinstance(placement, DeletePlacement) or placement.spec.get("retained"):
            changes[placement.query] = "- the query is deleted"
            continue
        new = unpack(placement.spec.get("plan"))[0]
        if new is not None and (text := difference(plan, new)):
            changes[placement.query] = text
    return changes
