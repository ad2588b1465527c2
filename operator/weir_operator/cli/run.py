"""`weir run`: the main job on this machine, the same controller as in the cluster."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from weir_placement.model.fragment import LEAST_HEAP_MB

from weir_operator.cli.exit_codes import BAD_INPUT, DIFFERENT, OK
from weir_operator.cli.inputs import Paths, below_folders, warn

if TYPE_CHECKING:
    from rich.console import Console

    from weir_operator.cli.run_report import RunReport
    from weir_operator.local.machine import Machine
    from weir_operator.manifests.finding import Finding

LOOK = 10
"""[rounds] between two looks at the names of sources' files."""
RunFolder = Annotated[
    Path,
    typer.Option(
        "--run-folder", metavar="DIR", help="Folder for all state of the run.", callback=below_folders
    ),
]
DEFAULT_FOLDER = Path(".weir/run")
CALIBRATION = Path(".weir/calibration.json")


def run(
    filename: Paths,
    run_folder: RunFolder = DEFAULT_FOLDER,
    until_finished: Annotated[
        bool,
        typer.Option("--until-finished", help="Exit when every query has read its whole (finite) input."),
    ] = False,
    show_rows: Annotated[
        bool, typer.Option("--console", help="Show the rows that queries give; see also `weir query`.")
    ] = False,
    heap: Annotated[
        int, typer.Option("--heap", metavar="MB", min=LEAST_HEAP_MB, help="Heap of each fragment's JVM.")
    ] = 512,
    trigger: Annotated[
        int, typer.Option("--trigger", metavar="MS", min=1, help="Shortest time between two batches.")
    ] = 200,
) -> int:
    """Run the queries on this machine: nodes from the manifests, fragments as local Spark processes.

    Edits to the files (a query added, changed, deleted) take effect while it runs, a deletion after 5 s; an
    edit with errors is reported and changes nothing. On ^C or SIGTERM the fragments stop gracefully. After a
    kill, a new start with the same folder continues where the last one was.

    Exit code 0: stopped, or with --until-finished every query has finished; 1: with --until-finished, one of
    them cannot; 2: bad input.

    Examples:

      weir run -f examples/flights --console

      weir status; weir query by-carrier
    """
    from weir_placement.fragments import Knobs

    from weir_operator.cli import columns
    from weir_operator.cli.interrupts import interruptible
    from weir_operator.cli.progress import live_table, progress
    from weir_operator.cli.run_report import RunReport
    from weir_operator.local.machine import Machine, Options
    from weir_operator.local.results import RunResults
    from weir_operator.local.store import RunStore
    from weir_operator.local.unusable import check_places
    from weir_operator.manifests.load import load
    from weir_operator.manifests.site import HERE

    if RunStore(run_folder).attended():
        raise typer.BadParameter(f"`weir run` is at work in {run_folder} already: name another --run-folder")
    loaded = load(filename, site=HERE)  # every error at once, before anything is started
    check_places(loaded, Path.cwd())
    warn(loaded, HERE)
    if until_finished and not loaded.objects.queries:
        print("no query to finish: give a StreamQuery, or leave out --until-finished", file=sys.stderr)
        return BAD_INPUT
    console = columns.console()
    knobs = Knobs(trigger_ms=trigger, heap_mb=heap)
    options = Options(tuple(filename), run_folder, Path("."), knobs, CALIBRATION)
    machine = Machine(options, partial(_tell_about_edit, console))
    if not machine.files.objects():
        return BAD_INPUT
    machine.cluster.store.attend()
    machine.cluster.on_event(
        lambda e: console.print(f"{e.query}: {e.reason}: {e.message}", markup=False, soft_wrap=True)
    )
    results = RunResults(run_folder)
    report = RunReport(machine, run_folder, console, results if show_rows else None)
    try:
        with interruptible(), live_table(console) as live:

            def draw() -> None:
                live.update(progress(machine.loop, console.width))

            failures = _rounds(machine, report, draw, until_finished)
            report.tell_the_end(failures)
            return DIFFERENT if failures else OK
    except KeyboardInterrupt as signal:
        console.print("stopping the fragments; their state is kept")
        return getattr(signal, "exit_code", 130) if until_finished else OK
    finally:
        machine.stop()
        results.close()


def _tell_about_edit(console: Console, findings: list[Finding]) -> None:
    """Of an edit with errors."""
    for finding in findings:
        console.print(str(finding), style="red", markup=False, soft_wrap=True)
    console.print("nothing changes until this is fixed", style="red")


def _rounds(
    machine: Machine, report: RunReport, draw: Callable[[], None], until_finished: bool
) -> dict[str, str]:
    """One after the other; with `until_finished` until nothing is left to do. By query, why not."""
    number = 0
    while True:
        failures = None
        try:
            if number % LOOK == 0:
                report.tell_about_sources(until_finished)
            machine.loop.once()
            draw()
            report.show_rows()
            failures = report.unfinished() if until_finished else None
        except Exception as error:  # of any kind: the fragments go on, and the next round comes
            report.tell_about_failed_round(error)
        if failures is not None:
            return failures
        number += 1
        time.sleep(machine.options.period)
