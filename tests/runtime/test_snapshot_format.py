"""The manifest of snapshots as versions before wrote it: it must be read for ever. Never change the text."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from weir_runtime.snapshots.manifest import (
    FragmentCut,
    SnapshotError,
    SnapshotManifest,
    read_manifest,
    verify,
)

FORMAT_1 = """{
 "about": {
  "query": "default/q"
 },
 "files": {
  "fragments/0/checkpoint/offsets/3": [
   4,
   "747f93c1a611ef623a2af5c4600bdcd78cb1f4985f11996d6413a0f338380777"
  ]
 },
 "format": 1,
 "fragments": [
  {
   "checkpoint": "c13a7405f163",
   "committed": 2,
   "fragment": "q-g-fe8996f9",
   "numbering": "0123456789abcdef",
   "places": {
    "c": {
     "next": 7
    }
   },
   "planned": 3,
   "shape": "5e9d3c2b1a0f4e5d"
  }
 ],
 "sink": {
  "kind": "files",
  "uri": "/out"
 },
 "taken": 1767225600.0
}"""
FILE = "fragments/0/checkpoint/offsets/3"


def laid(folder: Path, text: str) -> Path:
    (folder / "manifest.json").write_text(text)
    (folder / "manifest.sha256").write_text(hashlib.sha256(text.encode()).hexdigest() + "\n")
    return folder


def test_format_1_is_read_and_written_as_it_was(tmp_path: Path) -> None:
    cut = FragmentCut(
        "q-g-fe8996f9", "c13a7405f163", "0123456789abcdef", 3, 2, {"c": {"next": 7}}, "5e9d3c2b1a0f4e5d"
    )
    digest = "747f93c1a611ef623a2af5c4600bdcd78cb1f4985f11996d6413a0f338380777"
    manifest = SnapshotManifest(
        {"query": "default/q"},
        1_767_225_600.0,
        (cut,),
        {"kind": "files", "uri": "/out"},
        {FILE: (4, digest)},
    )
    assert read_manifest(laid(tmp_path, FORMAT_1)) == manifest
    other = tmp_path / "other"
    other.mkdir()
    manifest.write(other)
    assert (other / "manifest.json").read_text() == FORMAT_1
    assert read_manifest(other) == manifest


def test_a_file_is_judged_by_its_length_and_its_checksum(tmp_path: Path) -> None:
    manifest = read_manifest(laid(tmp_path, FORMAT_1))
    with pytest.raises(SnapshotError, match=r"offsets/3 is damaged .it is missing"):
        verify(tmp_path, manifest)
    file = tmp_path / FILE
    file.parent.mkdir(parents=True)
    file.write_text("1234")
    with pytest.raises(SnapshotError, match=r"offsets/3 is damaged .4 bytes with SHA-256 03ac"):
        verify(tmp_path, manifest)
    file.write_text("v1\n{")
    verify(tmp_path, manifest)


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    newer = FORMAT_1.replace('"format": 1', '"format": 2')
    with pytest.raises(SnapshotError, match="format 2, written by a newer Weir"):
        read_manifest(laid(tmp_path, newer))
