"""`weir snapshot`: a consistent copy of a running query, on this machine or in a cluster."""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weir_operator.cli.exit_codes import BAD_INPUT, OK
from weir_operator.cli.run import DEFAULT_FOLDER, RunFolder
from weir_operator.cli.state import Context, QueryName, full_name, placement_of, store_of

if TYPE_CHECKING:
    from weir_operator.local.store import RunStore


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
    timeout: Annotated[
        float,
        typer.Option(
            "--timeout",
            metavar="SECONDS",
            min=1,
            help="In a cluster: longest time to wait for it.",
        ),
    ] = 600,
    run_folder: RunFolder = DEFAULT_FOLDER,
    context: Context = None,
) -> int:
    """Take a snapshot of a query that runs: checkpoints, flows, positions in sources and sink, plan.

    The query is not stopped. With `weir run` the snapshot is the folder snapshots/NAMESPACE/NAME of the run
    folder; in a cluster it is a QuerySnapshot, which lies where the query's spec.snapshots.place says. There
    is a checksum of every file. A new query begins from it with spec.restoreFrom.snapshot. For one a day on
    one machine, run it from a timer with --keep.

    Exit code 0: it is complete; 1: not within --timeout, and the operator goes on; 2: it is not taken.

    Examples:

      weir snapshot by-carrier

      weir snapshot by-carrier --name before-the-edit --keep 5

      weir snapshot flights/by-carrier --context kind-weir
    """
    from weir_operator.api.base import NAME_PATTERN
    from weir_operator.local.store import RunStore

    full = full_name(query)
    title = name or f"{full.split('/')[1]}-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}"
    if not re.match(NAME_PATTERN, title) or len(title) > 63:
        print(
            f"--name: {title!r} is not allowed; write at most 63 letters a-z, digits and -", file=sys.stderr
        )
        return BAD_INPUT
    store = store_of(run_folder, context)
    if isinstance(store, RunStore):
        return _take_here(store, run_folder, full, title, keep)
    from weir_operator.cli.cluster_snapshot import take_in_cluster

    return take_in_cluster(store.api, full, title, keep, timeout)


def _take_here(store: RunStore, run_folder: Path, full: str, title: str, keep: int | None) -> int:
    """Of a query (namespace/name) of the run folder."""
    from weir_runtime.snapshots.manifest import SnapshotError

    from weir_operator.local.snapshots import Snapshots

    snapshots = Snapshots(run_folder.resolve())
    placement = placement_of(store.placements(), full)
    if placement is None:
        print(f"{full}: no such query in {run_folder}; see `weir status`", file=sys.stderr)
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
