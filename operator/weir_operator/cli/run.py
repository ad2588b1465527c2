"""`weir run`: the main job on this machine, the same controller as in the cluster."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from weir_placement.model.fragment import LEAST_HEAP_MB

from weir_operator.cli.exit_codes import BAD_INPUT
from weir_operator.cli.inputs import Paths, below_folders

if TYPE_CHECKING:
    from rich.console import Console

    from weir_operator.controller.snapshot import Snapshot
    from weir_operator.local.results import RunResults

log = logging.getLogger("weir.run")
MOST_ROWS = 50
"""Of a second that `--console` shows."""
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
        bool, typer.Option("--until-finished", help="Exit when every (finite) input has been processed.")
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

    Edits to the files (a query added, changed, deleted) take effect while it runs; an edit with errors is
    reported and changes nothing. On ^C the fragments stop gracefully. After a kill, a new start with the same
    folder continues where the last one was.

    Examples:

      weir run -f examples/flights --console

      weir status; weir query by-carrier
    """
    from rich.live import Live
    from weir_placement.fragments import Knobs

    from weir_operator.cli import columns
    from weir_operator.cli.progress import progress
    from weir_operator.cli.query_lines import query_lines
    from weir_operator.local.bad_rows import bad_rows
    from weir_operator.local.machine import Machine, Options
    from weir_operator.local.overlooked import overlooked
    from weir_operator.local.results import RunResults
    from weir_operator.local.store import RunStore
    from weir_operator.manifests.load import load
    from weir_operator.manifests.site import HERE

    if RunStore(run_folder).attended():
        raise typer.BadParameter(f"`weir run` is at work in {run_folder} already: name another --run-folder")
    load(filename, site=HERE)  # every error at once, before anything is started
    console = columns.console()
    knobs = Knobs(trigger_ms=trigger, heap_mb=heap)
    options = Options(tuple(filename), run_folder, Path("."), knobs, CALIBRATION)

    def tell(findings: list) -> None:  # type: ignore[type-arg]
        for finding in findings:
            console.print(str(finding), style="red", markup=False, soft_wrap=True)
        console.print("nothing changes until this is fixed", style="red")

    machine = Machine(options, tell)
    if not machine.files.objects():
        return BAD_INPUT
    machine.cluster.store.attend()
    machine.cluster.on_event(
        lambda e: console.print(f"{e.query}: {e.reason}: {e.message}", markup=False, soft_wrap=True)
    )
    results, notices = RunResults(run_folder), Notices(console)
    try:
        with Live(console=console, refresh_per_second=2) as live:
            number = 0
            while True:
                try:
                    if number % LOOK == 0:
                        notices.tell(overlooked(machine.objects()))
                        notices.tell(bad_rows(run_folder))
                    machine.loop.once()
                    live.update(progress(machine.loop, console.width))
                    if show_rows:
                        _show(results, console, notices)
                except Exception as error:  # of any kind: the fragments go on, and the next round comes
                    console.print(f"a round failed; trying again: {error!r}", style="red", markup=False)
                    log.debug("a round failed", exc_info=True)
                if until_finished and _finished(machine.loop.snapshot):
                    notices.tell(bad_rows(run_folder))
                    if show_rows:
                        _show(results, console, notices)
                    for line in query_lines(machine.cluster.store):
                        for note in line.notes:
                            console.print(f"{line.query}: {note}", markup=False, soft_wrap=True)
                    return 0
                number += 1
                time.sleep(options.period)
    except KeyboardInterrupt:
        console.print("stopping the fragments; their state is kept")
        return 0
    finally:
        machine.stop()
        results.close()


def _finished(snapshot: Snapshot | None) -> bool:
    return bool(snapshot and snapshot.processes and all(p.state == "finished" for p in snapshot.processes))


class Notices:
    """What a person should know, each said once."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._messages: set[str] = set()

    def tell(self, messages: Iterable[str]) -> None:
        """Prints those that are new."""
        for message in messages:
            if message not in self._messages:
                self._messages.add(message)
                self._console.print(message, style="yellow", markup=False, soft_wrap=True)


def _show(results: RunResults, console: Console, notices: Notices) -> None:
    """The new rows, above the table of queries; where there are very many, the first of them."""
    rows = list(results.new_rows())
    notices.tell(f"{query}: {why}" for query, why in results.silent.items())
    for query, row in rows[:MOST_ROWS]:
        console.print(f"{query.split('/')[1]} {json.dumps(row)}", markup=False, soft_wrap=True)
    if len(rows) > MOST_ROWS:
        console.print(f"... and {len(rows) - MOST_ROWS} more rows; `weir query` shows all", style="dim")
