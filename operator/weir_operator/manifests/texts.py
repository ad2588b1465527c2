"""The texts of files, folders and standard input, and what is wrong with those that cannot be read."""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterable, Iterator
from os.path import abspath
from pathlib import Path
from typing import TextIO

from weir_operator.manifests.finding import Finding

SUFFIXES = (".yaml", ".yml", ".json")
MOST_BYTES = 256 * 2**20
"""Of one file: the Nodes of a cluster of 5,000 take about a third of it."""


def texts(
    paths: Iterable[str], findings: list[Finding], stdin: TextIO | None = None
) -> Iterator[tuple[str, str]]:
    """(file, text) of everything below `paths`: files, folders without their subfolders, `-`. What is named
    again, alone or by its folder, is read once."""
    named: set[str] = set()
    for path in dict.fromkeys(paths):
        if path == "-":
            yield from _read_from(stdin or sys.stdin, findings)
            continue
        for file in _files_of(path, findings):
            if (place := abspath(file)) in named:
                continue
            named.add(place)
            text = _text_of(file, findings)
            if text is not None:
                yield file, text


def _read_from(stdin: TextIO, findings: list[Finding]) -> Iterator[tuple[str, str]]:
    try:
        text = stdin.read()
    except UnicodeDecodeError as error:
        findings.append(_not_text(error, "<stdin>"))
        return
    if text.strip():
        yield "<stdin>", text
    else:
        findings.append(
            _about("<stdin>", "is empty", "pipe objects into it, as `kubectl get nodes -o yaml` does")
        )


def _files_of(path: str, findings: list[Finding]) -> list[str]:
    """The path itself, or the manifests in a folder."""
    if not Path(path).is_dir():
        return [path]
    try:
        entries = sorted(Path(path).iterdir())
    except OSError as error:
        findings.append(_about(path, f"cannot be read: {error.strerror}", "give a folder that can be read"))
        return []
    files = [str(f) for f in entries if f.suffix in SUFFIXES and f.name[0] != "." and not f.is_dir()]
    if not files:
        folders = sum(entry.is_dir() for entry in entries)
        wrong = f"has no {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]} file"
        below = "; the folders in it are not read: give each with its own -f" if folders else ""
        findings.append(_about(path, wrong, f"give a folder with manifests{below}"))
    return files


def _text_of(file: str, findings: list[Finding]) -> str | None:
    try:
        size = Path(file).stat().st_size
        if size > MOST_BYTES:
            wrong = f"is {size / 2**20:.0f} MiB large; files of at most {MOST_BYTES // 2**20} MiB are read"
            findings.append(_about(file, wrong, "split it, or remove what is not a manifest"))
            return None
        text = Path(file).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        findings.append(_not_text(error, file))
        return None
    except OSError as error:
        findings.append(_unopened(file, error))
        return None
    if not text.strip():
        findings.append(_about(file, "is empty", "write objects into it, or delete it"))
        return None
    return text


def _unopened(file: str, error: OSError) -> Finding:
    if error.errno == errno.ELOOP:
        return _about(file, "is a link that leads back to itself", "link it to a file, or delete it")
    if error.errno == errno.ENOENT and Path(file).is_symlink():
        wrong = f"is a link to {Path(file).readlink()}, which does not exist"
        return _about(file, wrong, "link it to a file, or delete it")
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        right = "download it first, or pipe it into `-f -`" if "://" in file else ""
        return _about(file, "no such file or folder", right)
    return _about(file, f"cannot be read: {error.strerror}", "give a file that can be read")


def _not_text(error: UnicodeDecodeError, file: str) -> Finding:
    line = error.object.count(b"\n", 0, error.start) + 1
    wrong = f"is not UTF-8 text: byte 0x{error.object[error.start]:02x} at offset {error.start}"
    return Finding(None, "", wrong, "save it as UTF-8", file=file, line=line)


def _about(file: str, wrong: str, right: str) -> Finding:
    return Finding(None, "", wrong, right, file=file)
