"""The folder in which a fragment puts the rows that it does not use, and whose query's it is: late rows go
with the fragment, dead letters with the query."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from pathlib import Path

from weir_placement.model.fragment import FragmentSpec

from weir_runtime.installation import take
from weir_runtime.names import read_json, write_whole

BAD = "bad"
"""Folder of an input's side log: its dead letters, where the stream names no other place."""

QUERY = "query.json"
"""A file of this name in a fragment's side log: whose it is. Versions before have not written it."""


def take_folders(spec: FragmentSpec) -> None:
    """Records whose a fragment's folders are, before anything is written there. Raises FragmentError when
    another installation has them."""
    for folder in filter(None, (spec.checkpoint, spec.sidelog)):
        take(Path(folder))
    if spec.sidelog:
        side_log_of(Path(spec.sidelog), f"{spec.namespace}/{spec.query}")


def side_log_of(folder: Path, query: str) -> None:
    """Records that the side log in a folder is of a query (namespace/name)."""
    if query_of(folder) != query:
        write_whole(folder / QUERY, json.dumps({"query": query}))


def query_of(folder: Path) -> str | None:
    """Of a side log; None when nothing says so."""
    return (read_json(folder / QUERY) or {}).get("query")


def query_lives(folder: Path, fragments: Iterable[str]) -> bool:
    """Whether one of these fragments, beside whose side logs the folder is, may be of its query: one that has
    not started yet has not said of which it is."""
    query = query_of(folder)
    return query is not None and any(query_of(folder.with_name(name)) in (query, None) for name in fragments)


def drop_late_rows(folder: Path) -> bool:
    """Removes all of a side log but its dead letters; whether there are any. Raises OSError."""
    letters = [path for path in folder.glob(f"*/{BAD}") if any(path.iterdir())]
    for below in folder.iterdir() if letters else ():
        for path in below.iterdir() if below.is_dir() else ():
            if path.is_dir() and path not in letters:
                shutil.rmtree(path)
            elif path.is_file():
                path.unlink()
    return bool(letters)
