"""To which installation of Weir something on shared storage belongs; each has a name of its own.

Two clusters may share brokers, a store or a volume, and both have a namespace of one name. What a fragment
leaves there therefore has a record of its owner, and a sweep removes only what is recorded as its own.
"""

from __future__ import annotations

import json
import os
import uuid
from dataclasses import dataclass, field
from pathlib import Path

from weir_placement.model.fragment import FragmentError

from weir_runtime.names import read_json, write_whole

VARIABLE = "WEIR_INSTALLATION"
"""Environment variable of a process of a fragment, and of a sweep: in a cluster set by the operator, on one
machine by `weir run`."""

OWNER = "owner.json"
"""A file of this name in a folder: whose it is."""

_RUN = "installation.json"


@dataclass
class Swept:
    """What a sweep has removed, and what it has left, with the reason; addresses."""

    gone: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)

    def sort(self, address: str, owner: str | None, installation: str) -> bool:
        """Whether something that no fragment uses goes, as it does when it is `installation`'s; noted."""
        if owner and owner == installation:
            self.gone.append(address)
            return True
        whose = f"installation {owner} has it" if owner else "nothing says whose it is"
        self.left.append(f"{address}: {whose}")
        return False


def current() -> str:
    """This process's; "" when it is not set: what it writes then has no owner."""
    return os.environ.get(VARIABLE, "")


def of_run(root: Path) -> str:
    """Of the runs of `weir run` in one folder; made by the first of them."""
    file = root / _RUN
    content = read_json(file)
    if content is None:
        content = {"installation": uuid.uuid4().hex}
        write_whole(file, json.dumps(content))
    return str(content["installation"])


def record(installation: str) -> dict[str, str]:
    """What a fragment writes beside what it leaves."""
    return {"installation": installation}


def refuse_another(place: str, owner: str | None) -> None:
    """Raises FragmentError when `place` is another installation's than this process's."""
    own = current()
    if owner and own and owner != own:
        raise FragmentError(
            f"{place}: it belongs to installation {owner}, this is {own}; give one of the two another "
            "prefix, path or namespace. If this one replaces the other, start it with the other's name "
            "(the chart's value `installation`)"
        )


def owner_of(folder: Path) -> str | None:
    """Whose a folder is; None when nothing says so."""
    return (read_json(folder / OWNER) or {}).get("installation")


def take(folder: Path) -> None:
    """Records that the folder belongs to this process's installation, making it if need be. Raises
    FragmentError when it belongs to another."""
    owner = owner_of(folder)
    refuse_another(f"folder {folder}", owner)
    if current() and owner is None:
        write_whole(folder / OWNER, json.dumps(record(current())))
