"""The Secrets that a fragment uses: files of its pod, which change under it when one is rotated."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from pathlib import Path

from weir_placement.model.fragment import FragmentError

FOLDER = Path("/etc/weir/secrets")
"""With a folder for each Secret, and in that a file for each of its keys."""

PERIOD = 10.0
"""[s] between two looks; the kubelet takes a minute or two to bring a change."""


def value(name: str, key: str, field: str) -> str:
    """Of a key of a Secret. Raises FragmentError that names the `field` which refers to it."""
    path = FOLDER / name / key
    if not path.exists():
        raise FragmentError(f"{field}: no key {key} in the secret {name}")
    return path.read_text().rstrip("\n")


def digest(folder: Path) -> str:
    """Of all keys and values. "" while a file is on its way out: look again."""
    hasher = hashlib.sha256()
    try:
        for file in sorted(p for p in folder.glob("*/*") if not p.name.startswith("..")):
            hasher.update(f"{file.relative_to(folder)}\0".encode())
            hasher.update(hashlib.sha256(file.read_bytes()).digest())
    except OSError:
        return ""
    return hasher.hexdigest()


def watch(rotated: Callable[[], None], stop: threading.Event, folder: Path = FOLDER) -> None:
    """Calls `rotated` once, from a daemon thread, when a value is another one than now."""
    if not folder.is_dir():
        return
    digests = {digest(folder)}

    def run() -> None:
        while not stop.wait(PERIOD):
            digests.add(digest(folder))
            if len(digests - {""}) > 1:
                rotated()
                return

    threading.Thread(target=run, daemon=True, name="secrets").start()
