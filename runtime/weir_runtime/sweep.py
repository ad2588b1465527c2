"""Removes what fragments that are gone have left on the shared volume, and in exchanges elsewhere.

    python -m weir_runtime.sweep ROOT NAMESPACE [FRAGMENT TO KEEP]...

The operator mounts no volume of a namespace: it runs this there, and starts no fragment in the
namespace before it has ended. WEIR_FLOWS is a JSON list of where else flows of the namespace lie (kind,
address, options of `weir_placement.model.location.Flows`); what does not answer keeps its flows until the
next sweep.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

from weir_placement.model.location import Flows

from weir_runtime.exchanges import backend
from weir_runtime.names import TIMES

FLOWS = "WEIR_FLOWS"
"""Environment variable."""

FOLDERS = ("checkpoints", "late")
"""What fragments leave on the volume beside their flows."""


def sweep(root: Path, namespace: str, keep: frozenset[str]) -> list[Path]:
    """Folders of fragments that are not in `keep`; they are gone afterwards; without any in it, also what
    they share. Raises OSError."""
    volume = Flows()
    flows = backend(volume.kind).remove(volume, str(root), namespace, lambda name: name not in keep)
    folders = [
        folder
        for what in FOLDERS
        for folder in sorted((root / what / namespace).glob("*"))
        if folder.name not in keep and not (keep and folder.name == TIMES)
    ]
    for folder in folders:
        shutil.rmtree(folder)
    return [*map(Path, flows), *folders]


def sweep_flows(flows: Flows, root: Path, namespace: str, keep: frozenset[str]) -> list[str]:
    """What became of the flows of fragments that are not in `keep`: removed, or why they stay."""
    try:
        gone = backend(flows.kind).remove(flows, str(root), namespace, lambda name: name not in keep)
    except OSError as error:
        return [str(error)]
    return [f"removed {address}" for address in gone]


def main(arguments: list[str]) -> int:
    """Prints what was removed."""
    if len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    root, namespace, keep = Path(arguments[0]), arguments[1], frozenset(arguments[2:])
    for folder in sweep(root, namespace, keep):
        print(f"removed {folder}")
    for flows in json.loads(os.environ.get(FLOWS, "[]")):
        for line in sweep_flows(Flows(**flows), root, namespace, keep):
            print(line)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
