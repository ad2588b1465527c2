"""What `weir run` says beside its table: what a person should know, rows of results, how it ended."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console

from weir_operator.cli.query_lines import query_lines
from weir_operator.local.bad_rows import bad_rows
from weir_operator.local.balances import balances
from weir_operator.local.machine import Machine
from weir_operator.local.overlooked import endless, overlooked
from weir_operator.local.results import RunResults
from weir_operator.local.run_end import unfinished

log = logging.getLogger("weir.run")
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

    def tell_about_sources(self, until_finished: bool) -> None:
        """Files that are never read, rows that cannot be, inputs for whose end a run would wait."""
        self._notices.tell(overlooked(self._machine.objects()))
        self._notices.tell(endless(self._machine.objects()) if until_finished else ())
        self._notices.tell(bad_rows(self._run_folder))

    def tell_about_failed_round(self, error: Exception) -> None:
        """The fragments go on, and the next round comes."""
        self._console.print(f"a round failed; trying again: {error!r}", style="red", markup=False)
        log.debug("a round failed", exc_info=error)

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
        """By query, why it will not finish, or has finished without a row of an input; None while the run is
        not over."""
        observed = self._machine.loop.observed
        failures = unfinished(self._machine.cluster.store, observed.processes) if observed else None
        if failures is None:
            return None
        return unreadable(self._run_folder) | {
            query: f"not finished: {why}" for query, why in failures.items()
        }

    def tell_the_end(self, failures: dict[str, str]) -> None:
        """How each query ended."""
        self._notices.tell(bad_rows(self._run_folder))
        self.show_rows()
        counted = balances(self._run_folder)
        for line in query_lines(self._machine.cluster.store):
            balance = counted.get(line.query)
            counts = [*balance.lines()] if balance else []
            notes = [failures[line.query]] if line.query in failures else line.notes
            for note in (*counts, *notes):
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


def unreadable(run_folder: Path) -> dict[str, str]:
    """By finished query, the input of which no row could be read."""
    return {
        query: f"no row of stream {source.stream} could be read; bad: {source.bad}"
        for query, balance in balances(run_folder).items()
        for source in balance.sources
        if source.is_unreadable
    }
