"""`weir run`: the main job on this machine, the same controller as in the cluster."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Annotated

import typer
from weir_placement.model.fragment import LEAST_HEAP_MB

from weir_operator.cli import BAD_INPUT
from weir_operator.cli.inputs import Paths

log = logging.getLogger("weir.run")
RunFolder = Annotated[
    Path, typer.Option("--run-folder", metavar="DIR", help="Where all state of the run is kept.")
]
DEFAULT_FOLDER = Path(".weir/run")
CALIBRATION = Path(".weir/calibration.json")


def run(
    filename: Paths,
    run_folder: RunFolder = DEFAULT_FOLDER,
    until_finished: Annotated[
        bool, typer.Option("--until-finished", help="End when every (finite) input has been processed.")
    ] = False,
    heap: Annotated[
        int, typer.Option("--heap", metavar="MB", min=LEAST_HEAP_MB, help="Heap of each fragment's JVM.")
    ] = 512,
    trigger: Annotated[
        int, typer.Option("--trigger", metavar="MS", help="Shortest time between two batches.")
    ] = 200,
) -> int:
    """Run the queries on this machine: nodes from the manifests, fragments as local Spark processes.

    Edits to the files (a query added, changed, deleted) are picked up while it runs; a wrong edit is told
    and changes nothing. Ended by ^C the fragments stop gracefully; killed and started again with the same
    folder it goes on where it was.

    Examples:

      weir run -f examples/flights

      weir status
    """
    from rich.console import Console
    from rich.live import Live
    from weir_placement.fragments import Knobs

    from weir_operator.local.machine import Machine, Options
    from weir_operator.local.progress import progress
    from weir_operator.manifests.load import load
    from weir_operator.manifests.site import HERE

    load(filename, site=HERE)  # every error at once, before anything is started
    console = Console()
    knobs = Knobs(trigger_ms=trigger, heap_mb=heap)
    options = Options(tuple(filename), run_folder, Path("."), knobs, CALIBRATION)

    def tell(findings: list) -> None:  # type: ignore[type-arg]
        for finding in findings:
            console.print(str(finding), style="red", markup=False)
        console.print("nothing is changed until this is mended", style="red")

    machine = Machine(options, tell)
    if not machine.files.objects():
        return BAD_INPUT
    machine.cluster.on_event(lambda e: console.print(f"{e.query}: {e.reason}: {e.message}", markup=False))
    try:
        with Live(console=console, refresh_per_second=2) as live:
            while True:
                try:
                    machine.loop.once()
                    live.update(progress(machine.loop))
                except Exception as error:  # whatever it is: the fragments go on, and so does the next round
                    console.print(f"a round failed and is tried again: {error!r}", style="red", markup=False)
                    log.debug("a round failed", exc_info=True)
                snapshot = machine.loop.snapshot
                if (
                    until_finished
                    and snapshot
                    and snapshot.processes
                    and all(p.state == "finished" for p in snapshot.processes)
                ):
                    return 0
                time.sleep(options.period)
    except KeyboardInterrupt:
        console.print("stopping the fragments; their state stays")
        return 0
    finally:
        machine.stop()
