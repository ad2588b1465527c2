"""What a snapshot's folder holds: `manifest.json` names every file with its length and SHA-256, and
`manifest.sha256` is that of the manifest.

| Below the folder | What |
|---|---|
| `fragments/<i>/checkpoint/` | the checkpoint of fragment i, in topological order, up to its cut |
| `fragments/<i>/flow/` | the batches of its flow that its readers have not committed |
| `fragments/<i>/newest` | of the fragment that delivers: the newest event time ever published |
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from weir_runtime.names import write_whole

FORMAT = 1
"""Of a snapshot's folder."""
MANIFEST, CHECKSUM = "manifest.json", "manifest.sha256"


class SnapshotError(ValueError):
    """A snapshot that cannot be taken or used; the message says which, and what would be right."""


@dataclass(frozen=True)
class FragmentCut:
    """One fragment's part of the cut.

    Attributes:
        fragment: its name when the snapshot was taken.
        checkpoint: the checkpoint's name, with which its files in a sink begin.
        numbering: of its batches.
        planned: the last batch whose offsets are in the snapshot: it is run again with the same rows.
        committed: the last batch whose commit and state are.
        places: of each input, the reader's place behind the last committed batch.
        shape: hash of its operators and of how many executors share its state.
    """

    fragment: str
    checkpoint: str
    numbering: str
    planned: int
    committed: int
    places: Mapping[str, Any]
    shape: str


@dataclass(frozen=True)
class SnapshotManifest:
    """
    Attributes:
        about: what whoever took it wants to know again: the query, its plan and statistics.
        taken: [s since 1970].
        fragments: in topological order.
        sink: where the query's rows go: `kind`, `uri`; of a folder `files`: by the prefix of each plan that
            has rows there its highest number, without the plan that is copied. Earlier versions have none.
        files: path below the folder -> length [bytes], SHA-256.
    """

    about: Mapping[str, Any]
    taken: float
    fragments: tuple[FragmentCut, ...]
    sink: Mapping[str, Any]
    files: Mapping[str, tuple[int, str]]

    def write(self, folder: Path) -> None:
        """The manifest, then its checksum: without that a snapshot is not complete."""
        plain = {"format": FORMAT, **vars(self), "fragments": [asdict(cut) for cut in self.fragments]}
        text = json.dumps(plain, indent=1, sort_keys=True)
        write_whole(folder / MANIFEST, text)
        write_whole(folder / CHECKSUM, hashlib.sha256(text.encode()).hexdigest() + "\n")


def read_manifest(folder: Path) -> SnapshotManifest:
    """Raises SnapshotError: there is none, it is damaged, or a newer version wrote it."""
    try:
        text, checksum = (folder / MANIFEST).read_text(), (folder / CHECKSUM).read_text().strip()
    except FileNotFoundError as error:
        raise SnapshotError(f"snapshot {folder}: {error.filename} is missing: it is not complete") from None
    except UnicodeDecodeError:
        raise SnapshotError(f"snapshot {folder}: {MANIFEST} is damaged; use another snapshot") from None
    if hashlib.sha256(text.encode()).hexdigest() != checksum:
        raise SnapshotError(
            f"snapshot {folder}: {MANIFEST} is damaged (its SHA-256 is not the one in {CHECKSUM}); "
            "use another snapshot"
        )
    raw = json.loads(text)
    if raw["format"] > FORMAT:
        raise SnapshotError(
            f"snapshot {folder}: format {raw['format']}, written by a newer Weir; this one reads formats up "
            f"to {FORMAT}"
        )
    return SnapshotManifest(
        raw["about"],
        raw["taken"],
        tuple(FragmentCut(**cut) for cut in raw["fragments"]),
        raw["sink"],
        {path: (entry[0], entry[1]) for path, entry in raw["files"].items()},
    )


def verify(folder: Path, manifest: SnapshotManifest) -> None:
    """Compares every file with the manifest. O(bytes). Raises SnapshotError that names the file."""
    for path, entry in manifest.files.items():
        present = checksum_of(folder / path)
        if present != entry:
            state = f"{present[0]} bytes with SHA-256 {present[1]}" if present else "it is missing"
            raise SnapshotError(
                f"snapshot {folder}: file {path} is damaged ({state}; the manifest says {entry[0]} bytes "
                f"with SHA-256 {entry[1]}); use another snapshot"
            )


def checksums(folder: Path) -> dict[str, tuple[int, str]]:
    """Of all files below a folder, by path."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): entry for path in files if (entry := checksum_of(path))}


def checksum_of(path: Path) -> tuple[int, str] | None:
    """Length [bytes] and SHA-256; None: there is no such file."""
    try:
        with open(path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            return file.tell(), digest
    except FileNotFoundError:
        return None


def is_complete(folder: Path) -> bool:
    """Whether a snapshot was written to its end."""
    return (folder / CHECKSUM).exists()
