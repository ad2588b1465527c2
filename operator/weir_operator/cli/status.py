"""`weir status`: a line for each query, then all that there is to say of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from weir_operator.cli.run import DEFAULT_FOLDER, RunFolder
from weir_operator.cli.state import Context, store_of

if TYPE_CHECKING:
    from rich.console import RenderableType

    from weir_operator.cli.query_lines import QueryLine

LEGEND = """FRAGMENTS: ready/all; HEADROOM: how many times the measured rates the plan carries
`weir explain QUERY`: why it is where it is; `weir query QUERY`: its rows"""


def status(run_folder: RunFolder = DEFAULT_FOLDER, context: Context = None) -> int:
    """Show the queries that run, on this machine or in a cluster: a line for each, then what it waits for,
    why it is not ready, or where its results are.

    Exit code 0: shown; 2: nothing has run here, and there is no cluster.

    Examples:

      weir status

      weir status --context kind-weir
    """
    from rich.console import Group
    from rich.text import Text

    from weir_operator.cli.columns import TableColumn, console, table
    from weir_operator.cli.query_lines import query_lines
    from weir_operator.local.overlooked import overlooked, source_streams
    from weir_operator.local.store import RunStore

    store, left, out = store_of(run_folder, context), None, console()
    parts: list[RenderableType] = []
    if isinstance(store, RunStore) and not store.attended():
        left = _states(run_folder)
        text = f"`weir run` has ended in {run_folder}: nothing is moved or restarted"
        parts.append(Text(text, style="yellow"))
    lines = query_lines(store, left)
    if not lines:
        out.print(*parts, "no queries", sep="\n")
        return 0
    columns = (
        TableColumn("QUERY"),
        TableColumn("READY", leaves=2),
        TableColumn("REASON"),
        TableColumn("FRAGMENTS"),
        TableColumn("HEADROOM", number=True, leaves=3),
        TableColumn("REVISION", number=True, leaves=1),
        TableColumn("NODES", wraps=True),
    )
    rows = [(x.query, x.ready, x.reason, x.fragments, x.headroom, x.revision, x.nodes) for x in lines]
    parts.append(table(columns, rows, out.width))
    for query, note in _notes(lines, run_folder if isinstance(store, RunStore) else None):
        parts.append(Text(f"{query}: {note}"))
    if isinstance(store, RunStore):
        for message in overlooked(source_streams(store)):
            parts.append(Text(message, style="yellow"))
    parts.append(Text(LEGEND, style="dim"))
    out.print(Group(*parts))  # at once: a reader that has what it looks for may be gone before the rest
    return 0


def _notes(lines: list[QueryLine], run_folder: Path | None) -> Iterator[tuple[str, str]]:
    """(query, what there is to say of it); `run_folder`: of queries on this machine."""
    from weir_operator.cli.run_report import unreadable
    from weir_operator.local.balances import balances

    counts = balances(run_folder) if run_folder else {}
    failures = unreadable(run_folder) if run_folder else {}
    for line in lines:
        if line.reason == "Finished" and line.query in counts:
            yield from ((line.query, text) for text in counts[line.query].lines())
        failure = failures.get(line.query) if line.reason == "Finished" else None
        yield from ((line.query, note) for note in ([failure] if failure else line.notes))


def _states(run_folder: Path) -> dict[str, str]:
    """By fragment, the state of its last process."""
    from weir_operator.local.processes import Processes

    processes = sorted(Processes(run_folder).observe(), key=lambda process: process.epoch)
    return {process.fragment: process.state for process in processes}
