"""Files that no query ever reads are said, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest
from weir_operator.local.overlooked import endless, overlooked


def messages(folder: Path, *names: str) -> list[str]:
    folder.mkdir()
    for name in names:
        (folder / name).touch()
    files = {"uri": str(folder), "format": "csv"}
    manifest = {"kind": "Stream", "metadata": {"name": "s"}, "spec": {"source": {"files": files}}}
    return [message.removeprefix(f"Stream default/s: {folder}: ") for message in overlooked([manifest])]


@pytest.mark.parametrize(
    ("names", "beginnings"),
    [
        ((), []),
        (("0000000000.csv", "0000000001.csv", "END", ".0000000002.csv", "_tmp"), []),
        (("0000000007.csv", "0000000008.csv"), []),  # those before were deleted
        (
            ("data.csv",),
            ["data.csv is never read: files are named 0000000000.csv, 0000000001.csv, ..., and at last END"],
        ),
        (("1.csv", "2.csv", "a.csv", "b.csv"), ["1.csv, 2.csv, a.csv and 1 more are never read: "]),
        (("0000000000.parquet",), ["0000000000.parquet is never read: source.files.format is csv"]),
        (
            ("0000000000.csv", "0000000002.csv", "0000000003.csv"),
            ["0000000002.csv, 0000000003.csv are not read before 0000000001.csv is there"],
        ),
        (
            ("0000000000.csv", "0000000002.csv", "END"),
            [
                "0000000002.csv is not read before 0000000001.csv is there",
                "END says that 0000000001.csv does not come: a query ends where it is missing",
            ],
        ),
    ],
)
def test_names_that_are_not_read(tmp_path: Path, names: tuple[str, ...], beginnings: list[str]) -> None:
    output = messages(tmp_path / "in", *names)
    assert len(output) == len(beginnings)
    for message, beginning in zip(output, beginnings, strict=True):
        assert message.startswith(beginning)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    manifest = {
        "kind": "Stream",
        "metadata": {"name": "s", "namespace": "shop"},
        "spec": {"source": {"files": {"uri": str(tmp_path / "in")}}},
    }
    (message,) = overlooked([manifest])
    assert message == f"Stream shop/s: {tmp_path}/in: no such folder; it waits for 0000000000.parquet there"


def test_other_sources_have_no_folder() -> None:
    store = {"files": {"uri": "s3://bucket/in"}}
    for source in (store, {"rate": {}}, {"kafka": {"bootstrapServers": "k:9092", "topic": "t"}}, None):
        manifest = {"kind": "Stream", "metadata": {"name": "s"}, "spec": {"source": source}}
        assert list(overlooked([manifest])) == []


def test_a_source_for_whose_end_a_run_would_wait(tmp_path: Path) -> None:
    files = {"files": {"uri": str(tmp_path)}}
    sources = [files, {"kafka": {"topic": "t"}}, {"rate": {}}, {"files": {"uri": "s3://bucket/in"}}, None]
    manifests = [{"kind": "Stream", "metadata": {"name": "s"}, "spec": {"source": s}} for s in sources]
    manifests.append({"kind": "Node", "metadata": {"name": "n"}})
    assert list(endless(manifests)) == [
        f"Stream default/s: {tmp_path} has no file END, so more rows may come: --until-finished waits",
        "Stream default/s: kafka has no end: --until-finished would wait forever",
        "Stream default/s: rate has no end: --until-finished would wait forever",
    ]
    (tmp_path / "END").touch()
    assert list(endless(manifests[:1])) == []
