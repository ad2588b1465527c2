"""Which partitions have been silent for so long that the clock need not wait for them."""

from __future__ import annotations

import time
from collections.abc import Mapping

from weir_runtime.logs.log import Place


class Silence:
    """Since when nothing has come in each partition, as this process has seen it; what it decides is kept in
    places (`idle`), so another process goes on from there.

    Args:
        timeout: [us] of silence after which a partition is idle; 0: never.
    """

    def __init__(self, timeout: int) -> None:
        self._timeout = timeout / 1e6
        self._since: dict[str, float] = {}

    def idle(self, start: Place, end: Place, ends: Mapping[str, int]) -> list[str]:
        """The idle partitions behind a step from `start` to `end`, when the topic goes up to `ends`."""
        if not self._timeout:
            return []
        now, idle = time.monotonic(), []
        for key, at in end["next"].items():
            silent = at == start["next"].get(key) and ends.get(key) == at
            if not silent:
                self._since.pop(key, None)
                continue
            since = self._since.setdefault(key, now)
            if key in start.get("idle", ()) or now - since >= self._timeout:
                idle.append(key)
        return idle
