"""What Spark reports of a query's batches, each report once."""

from __future__ import annotations

import json
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery


class Progress:
    """Looks at the reports that Spark keeps (`numRecentProgressUpdates`) from the newest back to the one it
    has seen. `StreamingQuery.recentProgress` would turn all of them into JSON and parse them at every look.
    """

    def __init__(self, query: StreamingQuery) -> None:
        self._recent = query._jsq.recentProgress
        self._last_time = (
            ""  # the start of its trigger tells a report from all others, also those without rows
        )

    def new(self) -> list[dict[str, Any]]:
        """The reports since the last call, oldest first."""
        reports = self._recent()
        fresh: list[dict[str, Any]] = []
        newest = self._last_time
        for number in reversed(range(len(reports))):
            report = reports[number]
            time = report.timestamp()
            if time == self._last_time:
                break
            newest = newest if fresh else time
            fresh.append(json.loads(report.json()))
        self._last_time = newest
        return fresh[::-1]
