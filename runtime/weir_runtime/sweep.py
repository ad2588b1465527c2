"""Removes what fragments that are gone have left on the shared volume, and in exchanges elsewhere.

    python -m weir_runtime.sweep ROOT NAMESPACE [FRAGMENT TO KEEP]...

The operator mounts no volume of a namespace: it runs this there, and starts no fragment in the
namespace before it has ended. WEIR_FLOWS is a JSON list of where else flows of the namespace lie (kind,
address, options of `weir_placement.model.location.Flows`); what does not answer keeps its flows until the
next sweep. WEIR_INSTALLATION says whose sweep it is: what is not recorded as that installation's stays, and
is told, also to the kubelet (`TERMINATION`), from which the operator has it.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

from weir_placement.model.location import Flows

from weir_runtime.exchanges import backend
from weir_runtime.installation import VARIABLE, Swept, current, owner_of
from weir_runtime.names import TIMES
from weir_runtime.side_log import drop_late_rows, query_lives

FLOWS = "WEIR_FLOWS"
"""Environment variable."""

SIDE_LOGS = "late"
FOLDERS = ("checkpoints", SIDE_LOGS)
"""What fragments leave on the volume beside their flows."""

TERMINATION = Path("/dev/termination-log")
"""What a container writes there is in its pod's status, up to `MESSAGE` bytes."""
MESSAGE = 4096


def sweep(root: Path, namespace: str, keep: frozenset[str], installation: str) -> Swept:
    """Folders of fragments that are not in `keep`, as far as they are `installation`'s, but for the dead
    letters of queries that live; without any fragment left, also what they share. Raises OSError."""
    volume = Flows()
    swept = backend(volume.kind).remove(
        volume, str(root), namespace, lambda name: name not in keep, installation
    )
    for what in FOLDERS:
        below = root / what / namespace
        for folder in sorted(below.glob("[!.]*")):
            if folder.name in keep or (what == SIDE_LOGS and _letters_stay(folder, keep, installation)):
                continue
            if swept.sort(str(folder), owner_of(folder), installation):
                shutil.rmtree(folder)
        if (below / TIMES).exists() and not keep and not any(below.glob("[!.]*")):
            shutil.rmtree(below / TIMES)
    return swept


def _letters_stay(folder: Path, keep: frozenset[str], installation: str) -> bool:
    """Whether a side log has dead letters of a query that lives; then they alone are left in it."""
    return owner_of(folder) == installation and query_lives(folder, keep) and drop_late_rows(folder)


def sweep_flows(flows: Flows, root: Path, namespace: str, keep: frozenset[str], installation: str) -> Swept:
    """The same of flows elsewhere; where these do not answer, why they stay."""
    try:
        return backend(flows.kind).remove(
            flows, str(root), namespace, lambda name: name not in keep, installation
        )
    except OSError as error:
        return Swept(left=[str(error)])


def main(arguments: list[str]) -> int:
    """Prints what was removed, and what stays."""
    if len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    if not current():
        print(f"{VARIABLE}: missing; nothing is removed: it says whose leftovers may go", file=sys.stderr)
        return 2
    root, namespace, keep = Path(arguments[0]), arguments[1], frozenset(arguments[2:])
    swept = sweep(root, namespace, keep, current())
    for flows in json.loads(os.environ.get(FLOWS, "[]")):
        more = sweep_flows(Flows(**flows), root, namespace, keep, current())
        swept = Swept(swept.gone + more.gone, swept.left + more.left)
    for address in swept.gone:
        print(f"removed {address}")
    for line in swept.left:
        print(f"left {line}")
    if TERMINATION.exists():
        TERMINATION.write_text("\n".join(swept.left)[:MESSAGE])
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
