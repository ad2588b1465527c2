"""ExchangePort over files: folders of flows and checkpoints."""

from __future__ import annotations

import shutil
from pathlib import Path


class Sweep:
    """Removes what no fragment owns any more; names are those of fragments."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def sweep(self, streams: frozenset[str], checkpoints: frozenset[str]) -> None:
        """Folders below exchange and checkpoints whose name is not among these."""
        for what, kept in (("exchange", streams), ("checkpoints", checkpoints)):
            for folder in self._root.glob(f"{what}/*/*"):
                if folder.name not in kept:
                    shutil.rmtree(folder, ignore_errors=True)
