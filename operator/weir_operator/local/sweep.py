"""ExchangePort over files: removes what former fragments have left in the run folder."""

from __future__ import annotations

import logging
from pathlib import Path

from weir_runtime import installation
from weir_runtime.sweep import FOLDERS, sweep

log = logging.getLogger("weir")


class Sweep:
    """Removes folders that no fragment owns any more; they are named after fragments."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._reported: set[str] = set()  # lines about what was left

    def sweep(self, keep: frozenset[str]) -> None:
        """Folders below exchange, checkpoints and late whose name is not among these, and which are this
        run folder's."""
        own = installation.of_run(self._root)
        for namespace in {
            folder.parent.name for what in ("exchange", *FOLDERS) for folder in self._root.glob(f"{what}/*/*")
        }:
            left = sweep(self._root, namespace, keep, own).left
            for line in sorted({*left} - self._reported):
                log.warning("left: %s", line)
            self._reported |= {*left}
