"""Removes what fragments that are gone have left on the shared volume.

    python -m weir_runtime.sweep ROOT NAMESPACE [FRAGMENT TO KEEP]...

The operator mounts no volume of a namespace: it runs this there, and starts no fragment in the
namespace before it has ended.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

FOLDERS = ("exchange", "checkpoints", "late")


def sweep(root: Path, namespace: str, keep: frozenset[str]) -> list[Path]:
    """Folders of fragments that are not in `keep`; they are gone afterwards. Raises OSError."""
    gone = [
        folder
        for what in FOLDERS
        for folder in sorted((root / what / namespace).glob("*"))
        if folder.name not in keep
    ]
    for folder in gone:
        shutil.rmtree(folder)
    return gone


def main(arguments: list[str]) -> int:
    """Prints what was removed."""
    if len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    for folder in sweep(Path(arguments[0]), arguments[1], frozenset(arguments[2:])):
        print(f"removed {folder}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
