"""A snapshot of a query that runs on this machine, taken by the command and restored into a new run folder
and another namespace after everything else of it is gone: no row is missing, doubled or wrong."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from weir_operator.cli import main
from weir_operator.local.audit import audit
from weir_operator.local.snapshots import Snapshots

from tests.local.place import Place
from tests.local.test_deleted_query import QUERY, REST, apply, sink_files

ELSEWHERE = (
    ("name: clicks", "name: clicks, namespace: other"),
    ("name: sums", "name: sums2, namespace: other"),
)
FROM = "  restoreFrom: {snapshot: {name: s1, namespace: default}}\n"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    it = Place(tmp_path)
    yield it
    it.end()


def in_other_namespace(text: str) -> str:
    for old, new in ELSEWHERE:
        text = text.replace(old, new)
    return text


def test_a_query_goes_on_from_its_snapshot(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    run = place.folder / "run"
    apply(place, QUERY)
    place.feed(25)
    place.until(lambda: len(place.states()) == 2 and bool(sink_files(place)), "rows of the query")
    assert main(["snapshot", "sums", "--name", "s0", "--run-folder", str(run)]) == 0
    assert main(["snapshot", "sums", "--name", "s1", "--keep", "1", "--run-folder", str(run)]) == 0
    assert "removed snapshot default/s0" in capsys.readouterr().out
    assert main(["snapshot", "sums", "--name", "s1", "--run-folder", str(run)]) == 2
    assert "there is one already" in capsys.readouterr().err
    ((name, manifest),) = Snapshots(run).of_query("default/sums")
    assert name == "default/s1"
    before = len(sink_files(place))
    place.feed(20)
    place.until(lambda: len(sink_files(place)) > before, "rows of after the snapshot")

    place.end()
    snapshots = place.folder / "snapshots"
    shutil.move(run / "snapshots", snapshots)
    shutil.rmtree(run)
    shutil.copytree(snapshots, run / "snapshots")
    rest = [in_other_namespace(text) for text in REST]
    place.say(text="---".join([*rest, in_other_namespace(QUERY) + FROM]))
    place.machine = place.build()

    def message() -> str:
        present = place.machine.cluster.store.status("StreamQuery", "other", "sums2").get("conditions") or ()
        return next((c["message"] for c in present if c["type"] == "Ready"), "")

    place.until(lambda: "files written after it" in message(), "word of the rows of after the snapshot")
    assert not place.states()
    planned = manifest.fragments[-1].planned
    for path in sink_files(place):
        if int(path.stem.rsplit("-", 1)[1]) > planned:
            path.unlink()
    place.feed(10, end=True)
    place.until(
        lambda: len(place.states()) == 2 and {s for _, s in place.states().values()} == {"finished"},
        "the end of the input",
    )
    query = place.group().queries["other/sums2"]
    verdict = audit(query, place.group().problem.streams)
    print(f"{verdict} of {verdict.rows} rows, after {planned} batches of the first")
    assert verdict.good, verdict.examples
    assert verdict.rows > 0
