"""What `weir run` says beside its table: what a person should know, rows of results, how it ended."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console

from weir_operator.cli.query_lines import query_lines
from weir_operator.local.bad_rows import bad_rows
from weir_operator.local.machine import Machine
from weir_operator.local.overlooked import overlooked
from weir_operator.local.results import RunResults
from weir_operator.local.run_end import unfinished

MOST_ROWS = 50
"""Of a second that `--console` shows."""


class RunReport:
    """
    Args:
        results: None: no rows are shown.
    """

    def __init__(
        self, machine: Machine, run_folder: Path, console: Console, results: RunResults | None
    ) -> None:
        self._machine, self._run_folder, self._console, self._results = machine, run_folder, console, results
        self._notices = Notices(console)

    def tell_about_sources(self) -> None:
        """Files that are never read, rows that cannot be."""
        self._notices.tell(overlooked(self._machine.objects()))
        self._notices.tell(bad_rows(self._run_folder))

    def show_rows(self) -> None:
        """The new rows, above the table of queries; where there are very many, the first of them."""
        if self._results is None:
            return
        rows = list(self._results.new_rows())
        self._notices.tell(f"{query}: {why}" for query, why in self._results.silent.items())
        for query, row in rows[:MOST_ROWS]:
            self._console.print(f"{query.split('/')[1]} {json.dumps(row)}", markup=False, soft_wrap=True)
        if len(rows) > MOST_ROWS:
            text = f"... and {len(rows) - MOST_ROWS} more rows; `weir query` shows all"
            self._console.print(text, style="dim")

    def unfinished(self) -> dict[str, str] | None:
        """By query, why it will not finish; None while the run is not over."""
        snapshot = self._machine.loop.snapshot
        return None if snapshot is None else unfinished(self._machine.cluster.store, snapshot.processes)

    def tell_the_end(self, failures: dict[str, str]) -> None:
        """How each query ended."""
        self._notices.tell(bad_rows(self._run_folder))
        self.show_rows()
        for line in query_lines(self._machine.cluster.store):
            notes = [f"not finished: {failures[line.query]}"] if line.query in failures else line.notes
            for note in notes:
                self._console.print(f"{line.query}: {note}", markup=False, soft_wrap=True)


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
