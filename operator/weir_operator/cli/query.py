"""`weir query`: the rows that a query gives."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weir_operator.cli.exit_codes import BAD_INPUT, OK
from weir_operator.cli.run import DEFAULT_FOLDER, RunFolder
from weir_operator.cli.state import full_name

if TYPE_CHECKING:
    from weir_operator.local.results import RunResults

PERIOD = 0.3
"""[s] between two looks at the sink."""
PATIENCE = 60.0
"""[s] for a run that was just started."""


def query(
    name: Annotated[str, typer.Argument(metavar="QUERY", help="A query, as name or namespace/name.")],
    follow: Annotated[
        bool, typer.Option("--follow/--no-follow", help="Wait for rows until the query ends, or ^C.")
    ] = True,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", min=1, help="Stop after N rows.")
    ] = None,
    run_folder: RunFolder = DEFAULT_FOLDER,
) -> int:
    """Show the rows that a query of `weir run` gives, as they come: a JSON object a line.

    They are read from the query's sink (files, a topic, the console), from its beginning.

    Exit code 0: shown; 2: no such query runs here, or its sink keeps no rows.

    Examples:

      weir query by-carrier

      weir query by-carrier --no-follow | head

      weir query by-carrier --limit 10
    """
    from weir_operator.local.processes import Processes
    from weir_operator.local.results import RunResults

    full = full_name(name)
    results, processes, shown = RunResults(run_folder, full), Processes(run_folder), 0
    try:
        if not _has_begun(results, PATIENCE if follow else 0.0):
            print(f"{run_folder}: no query {full}; {_those_of(run_folder)}", file=sys.stderr)
            return BAD_INPUT
        while True:
            alive = any(p.state in ("starting", "standby", "running") for p in processes.observe())
            for _, row in results.new_rows():
                print(json.dumps(row), flush=True)
                shown += 1
                if shown == limit:
                    return OK
            if full in results.silent:
                print(f"{full}: {results.silent[full]}", file=sys.stderr)
                return BAD_INPUT
            if not (follow and alive):  # looked at before the rows: none can have come since
                return OK
            time.sleep(PERIOD)
    except KeyboardInterrupt:
        return OK
    finally:
        results.close()


def _has_begun(results: RunResults, seconds: float) -> bool:
    """Whether the query has a process that delivers, now or soon: `weir run` may just have been started."""
    limit, waits = time.monotonic() + seconds, False
    while not results.last_fragments():
        if time.monotonic() >= limit:
            return False
        if not waits:
            print("waiting for `weir run` to start the query", file=sys.stderr)
            waits = True
        time.sleep(PERIOD)
    return True


def _those_of(run_folder: Path) -> str:
    from weir_operator.controller.record import name_of
    from weir_operator.local.store import RunStore

    names = [name_of(placement) for placement in RunStore(run_folder).placements()]
    return f"there are {', '.join(names)}" if names else "start `weir run` first"
