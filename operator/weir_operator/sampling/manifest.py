"""The manifests of a sample as text: a stream, a first query, and this machine as the node."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import yaml
from sqlglot.tokens import Tokenizer

from weir_operator.sampling import statistics
from weir_operator.sampling.sample import Sample

UNITS = ((86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))


def manifests(sample: Sample, name: str, source: dict[str, Any], sink: str) -> str:
    """YAML documents with comments that say what was guessed.

    Args:
        source: `spec.source` of the stream.
        sink: folder of the query's results.
    """
    rate, origin = statistics.rate(sample)
    spec = {
        "schema": ", ".join(f"{column} {kind}" for column, kind in sample.types.items()),
        "eventTime": {"column": sample.time, "watermark": f"{statistics.disorder(sample)}s"}
        | ({"maxAhead": "0s"} if statistics.is_ahead(sample) else {}),
        "source": source if not sample.unit else _with_unit(source, sample),
        "rate": rate,
        "statistics": {"distinct": statistics.distinct(sample)},
    }
    comments = [
        f"# From {sample.rows.num_rows} rows: eventTime.column is a guess, watermark is how late the",
        f"# latest row came, distinct are counts, rate is {origin}; correct what your stream has.",
    ]
    comments += [f"# Left out: {column!r}: {why}." for column, why in sample.content.columns.omitted.items()]
    query = {"sql": first_query(sample, name), "sink": {"files": {"uri": sink}}}
    node = {"allocatable": {"cpu": str(os.cpu_count() or 1), "memory": f"{_memory_mb()}Mi"}}
    return "\n---\n".join(
        [
            "\n".join([*comments, _document("Stream", name, spec=spec)]),
            _document("StreamQuery", f"{name}-counts", spec=query),
            "# This machine, for `weir run`; on a cluster leave it out.\n"
            + _document("Node", "here", version="v1", status=node),
        ]
    )


def first_query(sample: Sample, name: str) -> str:
    """Rows by time window, and by the column with fewest values where it has few."""
    length = statistics.window(sample)
    number, unit = next((length // seconds, word) for seconds, word in UNITS if length % seconds == 0)
    counts = statistics.distinct(sample)
    few = min((c for c in counts if 1 < counts[c] <= 50), key=lambda c: counts[c], default=None)
    key = f"s.{_quoted(few)}, " if few else ""
    return (
        f"SELECT {key}window.start, count(*) AS n FROM {_quoted(name)} s "
        f"GROUP BY {key}window(s.{_quoted(sample.time)}, '{number} {unit}{'s' if number > 1 else ''}')"
    )


def _quoted(name: str) -> str:
    return name if name.isidentifier() and name.upper() not in Tokenizer.KEYWORDS else f"`{name}`"


def _document(kind: str, name: str, version: str = "weir.dev/v1alpha1", **parts: Any) -> str:
    raw = {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **parts}
    return yaml.safe_dump(raw, sort_keys=False, width=110, allow_unicode=True).rstrip()


def _memory_mb() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20


def _with_unit(source: dict[str, Any], sample: Sample) -> dict[str, Any]:
    return {kind: {**options, "unixTimes": {sample.time: sample.unit}} for kind, options in source.items()}


def folder_source(folder: Path, form: str) -> dict[str, Any]:
    """`spec.source` of numbered files."""
    return {"files": {"uri": str(folder), "format": form}}
