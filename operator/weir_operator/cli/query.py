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
READING = 5.0
"""[s] for a run to read its files again, which may have come just now."""


def query(
    name: Annotated[str, typer.Argument(metavar="QUERY", help="A query, as name or namespace/name.")],
    follow: Annotated[
        bool, typer.Option("--follow/--no-follow", help="Wait for rows until the query ends, or ^C.")
    ] = True,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", min=1, help="Stop after N rows.")
    ] = None,
    bad: Annotated[
        bool, typer.Option("--bad", help="Show the rows of its streams that cannot be read, and why.")
    ] = False,
    run_folder: RunFolder = DEFAULT_FOLDER,
) -> int:
    """Show the rows that a query of `weir run` gives, as they come: a JSON object a line.

    They are read from the query's sink (files, a topic, the console), from its beginning.

    Exit code 0: shown; 2: no such query runs here, or its sink keeps no rows; with --bad, a
    stream's `deadLetter` is a topic or an object store.

    Examples:

      weir query by-carrier

      weir query by-carrier --no-follow | head

      weir query by-carrier --limit 10

      weir query by-carrier --bad --no-follow
    """
    from weir_operator.local.bad_rows import BadRowReader
    from weir_operator.local.processes import Processes
    from weir_operator.local.results import RunResults

    full = full_name(name)
    results, processes, shown = RunResults(run_folder, full), Processes(run_folder), 0
    unreadable = BadRowReader(results)
    try:
        if not _has_begun(results, run_folder, full, PATIENCE if follow else 0.0):
            print(f"{run_folder}: no query {full}; {_those_of(run_folder)}", file=sys.stderr)
            return BAD_INPUT
        while True:
            alive = any(p.state in ("starting", "standby", "running") for p in processes.observe())
            for row in unreadable.new_rows() if bad else (row for _, row in results.new_rows()):
                print(json.dumps(row), flush=True)
                shown += 1
                if shown == limit:
                    return OK
            if unreadable.elsewhere:
                for stream, place in unreadable.elsewhere.items():
                    print(
                        f"{full}: bad rows of stream {stream} go to {place}: read them there", file=sys.stderr
                    )
                return BAD_INPUT
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


def _has_begun(results: RunResults, run_folder: Path, name: str, seconds: float) -> bool:
    """Whether the query has a process that delivers, now or soon: `weir run` may just have been started. No
    run is waited for that does not have the query."""
    from weir_operator.local.store import RunStore

    store, begin, waits = RunStore(run_folder), time.monotonic(), False
    while not results.last_fragments():
        attended, passed = store.attended(), time.monotonic() - begin
        unknown = attended and name not in dict(store.queries())
        if passed >= min(seconds, READING) if unknown else passed >= seconds:
            return False
        if not waits:
            where = f"no `weir run` is at work in {run_folder.resolve()}: waiting {seconds:.0f} s for one"
            there = f"waiting for `weir run` to start {name}"
            print(there if attended else f"{where}; --run-folder names another folder", file=sys.stderr)
            waits = True
        time.sleep(PERIOD)
    return True


def _those_of(run_folder: Path) -> str:
    from weir_operator.controller.record import name_of
    from weir_operator.local.store import RunStore

    store = RunStore(run_folder)
    names = sorted({*map(name_of, store.placements()), *dict(store.queries())})
    return f"there are {', '.join(names)}" if names else "start `weir run` first"
