"""What each finished query of a run has read and written, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weir_placement.model.amounts import count
from weir_runtime.names import read_json

from weir_operator.controller.record import name_of
from weir_operator.local.store import RunStore

FATES = {
    "late": "late",
    "bad": "bad (`weir query --bad` shows them)",
    "lost": "deleted before they were read",
}


@dataclass(frozen=True)
class SourceBalance:
    """Rows of one source; `least`: an earlier process has read more of them."""

    stream: str
    used: int
    late: int
    bad: int
    lost: int
    least: bool

    def __str__(self) -> str:
        """
        >>> print(SourceBalance("default/s", 595, 3, 2, 0, False))
        stream default/s: 600 rows read; in no result: 3 late, 2 bad (`weir query --bad` shows them)
        """
        read = f"{'at least ' if self.least else ''}{count(self.used + self.late + self.bad, 'row')} read"
        omitted = [f"{getattr(self, fate)} {word}" for fate, word in FATES.items() if getattr(self, fate)]
        return f"stream {self.stream}: {read}" + (f"; in no result: {', '.join(omitted)}" if omitted else "")

    @property
    def is_unreadable(self) -> bool:
        """Whether there was something to read, and no row of it could be."""
        return self.bad > 0 and not (self.used or self.late or self.least)


@dataclass(frozen=True)
class QueryBalance:
    """Of one query: `least` as of a source."""

    sources: tuple[SourceBalance, ...]
    written: int
    least: bool

    def lines(self) -> Iterator[str]:
        """What there is to say of it."""
        yield from map(str, self.sources)
        yield f"{'at least ' if self.least else ''}{count(self.written, 'row')} written"


def balances(run_folder: Path) -> dict[str, QueryBalance]:
    """By query, of those whose fragments have all finished and left one."""
    reports = dict(_reports(run_folder))
    result = {}
    for placement in RunStore(run_folder).placements():
        names = [fragment["name"] for fragment in placement["spec"]["fragments"]]
        own = [reports[name] for name in names if name in reports]
        if own and len(own) == len(names):
            result[name_of(placement)] = _of_query(own)
    return result


def _of_query(reports: list[Mapping[str, Any]]) -> QueryBalance:
    """Fragments are in topological order: the last one delivers."""
    sources = [
        SourceBalance(**source, least=not report["complete"])
        for report in reports
        for source in report["sources"]
    ]
    return QueryBalance(tuple(sources), reports[-1]["written"], not reports[-1]["complete"])


def _reports(run_folder: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(fragment, balance), of each fragment's newest process last."""
    paths = (run_folder / "processes").glob("*.json")
    entries = [entry for path in paths if not path.name.endswith(".spec.json") and (entry := read_json(path))]
    for entry in sorted(entries, key=lambda entry: entry["epoch"]):
        report = read_json(Path(entry["state"])) or {}
        if "balance" in report:
            yield entry["fragment"], report["balance"]
