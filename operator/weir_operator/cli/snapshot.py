"""`weir snapshot`: a consistent copy of a running query, on this machine."""

from __future__ import annotations

import re
import sys
import time
from typing import Annotated

import typer

from weir_operator.cli.exit_codes import BAD_INPUT, OK
from weir_operator.cli.run import DEFAULT_FOLDER, RunFolder
from weir_operator.cli.state import QueryName, full_name, placement_of


def snapshot(
    query: QueryName,
    name: Annotated[
        str | None,
        typer.Option("--name", help="Name of the snapshot; by default the query's name and the time."),
    ] = None,
    keep: Annotated[
        int | None,
        typer.Option(
            "--keep",
            metavar="N",
            min=1,
            help="Keep the query's N newest snapshots, and remove the older ones.",
        ),
    ] = None,
    run_folder: RunFolder = DEFAULT_FOLDER,
) -> int:
    """Take a snapshot of a query that runs here: checkpoints, flows, positions in sources and sink, plan.

    The query is not stopped. The snapshot is the folder snapshots/NAMESPACE/NAME of the run folder, with a
    checksum of every file; a new query begins from it with spec.restoreFrom.snapshot. For one a day, run it
    from a timer with --keep.

    Examples:

      weir snapshot by-carrier

      weir snapshot by-carrier --name before-the-edit --keep 5
    """
    from weir_runtime.snapshots.manifest import SnapshotError

    from weir_operator.api.base import NAME_PATTERN
    from weir_operator.local.snapshots import Snapshots
    from weir_operator.local.store import RunStore

    full = full_name(query)
    title = name or f"{full.split('/')[1]}-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}"
    if not re.match(NAME_PATTERN, title) or len(title) > 63:
        print(
            f"--name: {title!r} is not allowed; write at most 63 letters a-z, digits and -", file=sys.stderr
        )
        return BAD_INPUT
    snapshots = Snapshots(run_folder.resolve())
    placement = placement_of(RunStore(run_folder).placements(), full)
    if placement is None:
        print(f"{query}: no such query in {run_folder}; see `weir status`", file=sys.stderr)
        return BAD_INPUT
    try:
        manifest = snapshots.take(placement, title)
        snapshots_of_query = [entry for entry, _ in snapshots.of_query(full)]
    except SnapshotError as error:
        print(error, file=sys.stderr)
        return BAD_INPUT
    size = sum(length for length, _ in manifest.files.values())
    print(f"{full}: snapshot {full.split('/')[0]}/{title}: {len(manifest.files)} files, {size} bytes")
    for old in snapshots_of_query[:-keep] if keep else ():
        snapshots.remove(old)
        print(f"{full}: removed snapshot {old}")
    return OK
