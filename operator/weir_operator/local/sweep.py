"""ExchangePort over files: what fragments that are gone have left in the run folder."""

from __future__ import annotations

from pathlib import Path

from weir_runtime.sweep import FOLDERS, sweep


class Sweep:
    """Removes what no fragment owns any more; names are those of fragments."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def sweep(self, keep: frozenset[str]) -> None:
        """Folders below exchange, checkpoints and late whose name is not among these."""
        for namespace in {
            folder.parent.name for what in ("exchange", *FOLDERS) for folder in self._root.glob(f"{what}/*/*")
        }:
            sweep(self._root, namespace, keep)
