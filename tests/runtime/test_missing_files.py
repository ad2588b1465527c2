"""A files source whose next file is not there: not written yet, not seen yet, or gone. It is said, and
nothing is lost in silence."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from weir_placement.model.fragment import FOREVER, FragmentError
from weir_placement.model.location import Location
from weir_runtime import mounts
from weir_runtime.logs.folder import LocalFolder
from weir_runtime.logs.log import Advance
from weir_runtime.logs.losses import DataLoss, Losses
from weir_runtime.logs.missing_files import LOOK, PATIENCE
from weir_runtime.metrics import Metrics
from weir_runtime.names import END, batch_name
from weir_runtime.source import Control, WeirStreamReader
from weir_runtime.source_waits import SourceWaits
from weir_runtime.sources import source_log
from weir_runtime.sources.files import FileLog
from weir_runtime.status import ProcessStatus

from tests.runtime.support import ORIGIN, append_batch, files_output, fragment, launch, source
from tests.runtime.test_findings import SECOND

ROWS = pa.schema([("k", pa.int64()), ("v", pa.int64()), ("ts", pa.timestamp("us", tz="UTC"))])


class Seconds:
    """A clock for the reader."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class SweptStream:
    """A folder, its reader, and where that is."""

    def __init__(self, folder: Path, policy: str = "Fail", files: int = 4) -> None:
        self.folder = folder
        for number in range(files):
            self.write(number)
        self.clock = Seconds()
        self.log = FileLog(
            Location("folder", str(folder)),
            "parquet",
            ROWS,
            "ts",
            0,
            "",
            losses=Losses("files", str(folder), policy),
            clock=self.clock,
        )
        self.at = Advance(self.log.start(), 0, False)
        self.rows: list[int] = []

    def write(self, number: int) -> None:
        append_batch(self.folder, number, [(1, number, number * SECOND)])

    def delete(self, *numbers: int) -> None:
        for number in numbers:
            (self.folder / batch_name(number, "parquet")).unlink()

    def step(self, seconds: float = 0.0) -> Advance:
        """What the reader does when it looks again after so long."""
        self.clock.now += seconds
        before, self.at = self.at, self.log.advance(self.at.place, self.at.clock, 64)
        batches = self.log.read(before.place, self.at.place)
        self.rows += [v for batch in batches for v in batch.column("v").to_pylist()]
        return self.at

    def wait(self, seconds: float, holds: Callable[[Advance], bool]) -> Advance:
        for _ in range(int(seconds)):
            if holds(self.step(1.0)):
                break
        return self.at


def test_a_missing_file_is_said_and_waited_for(tmp_path: Path) -> None:
    stream = SweptStream(tmp_path)
    stream.step()
    for number in (5, 6):
        stream.write(number)
    assert stream.wait(LOOK, lambda at: at.missing is not None).missing == 4
    assert stream.at.waits == f"{tmp_path}/0000000004.parquet is missing, and 0000000005.parquet is there"
    assert stream.wait(10 * PATIENCE, lambda at: at.missing is None).missing == 4, (
        "nothing says that it is gone"
    )
    stream.write(4)
    assert (stream.step().waits, stream.step().waits) == ("", "")
    assert stream.rows == [*range(7)]


def test_what_a_source_waits_for_is_in_the_state_file_and_in_a_metric(tmp_path: Path) -> None:
    stream = SweptStream(tmp_path / "a")
    spec = fragment(tmp_path, "f", [source("a", tmp_path / "a")], [], files_output(tmp_path / "o"))
    metrics, status = Metrics(spec), ProcessStatus(spec.state, "f", 1)
    control = Control(tmp_path)
    reader = WeirStreamReader(stream.log, "a", control, 64)
    waits = SourceWaits(["a"], control, status, metrics)

    def shown(seconds: float) -> tuple[str, float | None]:
        nonlocal offset
        stream.clock.now += seconds
        offset = reader.latestOffset(offset, None)
        waits.look()
        return status.fields["waits"], metrics.registry.get_sample_value("weir_missing_file", metrics.of("a"))

    offset = reader.initialOffset()
    assert shown(0) == ("", None)
    stream.write(5)
    assert shown(0) == ("", None)
    words, number = shown(LOOK)
    assert words == f"a: {tmp_path}/a/0000000004.parquet is missing, and 0000000005.parquet is there"
    assert number == 4
    stream.write(4)
    assert shown(0) == ("", None)


def test_a_stream_that_is_only_slow_waits_for_nothing(tmp_path: Path) -> None:
    stream = SweptStream(tmp_path)
    stream.step()
    stream.delete(*range(4))
    assert stream.wait(3 * PATIENCE, lambda at: bool(at.waits)).waits == ""
    stream.write(4)
    stream.step()
    assert stream.rows == [*range(5)]


def swept(folder: Path, policy: str) -> SweptStream:
    """Of ten files the reader has seen the first four; then a cleaner comes, which leaves the last two."""
    stream = SweptStream(folder, policy)
    stream.step()
    for number in range(4, 10):
        stream.write(number)
    stream.delete(*range(8))
    return stream


def test_files_that_were_cleaned_away_before_they_were_read_end_the_query(tmp_path: Path) -> None:
    stream = swept(tmp_path, "Fail")
    with pytest.raises(
        DataLoss, match=r"4\.parquet was deleted before it was read, like all before .*8\.parquet"
    ):
        stream.wait(LOOK + 2 * PATIENCE, lambda at: False)
    assert stream.at.missing == 4, "and that was said before"


def test_or_it_goes_on_behind_them_and_counts_them(tmp_path: Path) -> None:
    stream = swept(tmp_path, "Continue")
    begin = stream.at.place
    at = stream.wait(LOOK + 2 * PATIENCE, lambda at: "jump" in at.place)
    assert at.place == {"next": 8, "max": ORIGIN + 3 * SECOND, "jump": True, "lost_files": 4}
    assert stream.log.lost_files(begin, at.place) == 4
    end = stream.step().place
    assert (stream.rows, stream.log.lost_files(at.place, end)) == ([0, 1, 2, 3, 8, 9], 0)


def test_an_end_behind_missing_files_is_no_end(tmp_path: Path) -> None:
    """They were taken for the files that nobody had written: the query finished without them."""
    for policy in ("Fail", "Continue"):
        stream = swept(tmp_path / policy, policy)
        (stream.folder / END).touch()
        if policy == "Fail":
            with pytest.raises(DataLoss, match=r"onDataLoss: Continue. in source\.files"):
                stream.step()
        else:
            stream.step()
            assert stream.step().ended
            assert (stream.rows, stream.at.clock) == ([0, 1, 2, 3, 8, 9], FOREVER)


@pytest.mark.parametrize(("later", "others"), [(5, "; "), (7, ", like all before 0000000007.parquet; ")])
def test_a_file_that_may_never_have_been_written_is_not_said_to_be_deleted(
    tmp_path: Path, later: int, others: str
) -> None:
    """Its neighbours are there: END alone says that it does not come."""
    stream = SweptStream(tmp_path)
    stream.write(later)
    (tmp_path / END).touch()
    stream.step()
    missing = f"0000000004.parquet is missing, though 000000000{later}.parquet and END are there{others}"
    with pytest.raises(DataLoss, match=re.escape(missing)):
        stream.step()


def test_what_is_missing_before_the_end_refuses_the_fragment(tmp_path: Path) -> None:
    """It failed, and was started again, until a deadline that said nothing of it."""
    for number in (0, 2):
        append_batch(tmp_path / "in", number, [(1, number, number * SECOND)])
    (tmp_path / "in" / END).touch()
    spec = fragment(tmp_path, "f", [source("a", tmp_path / "in")], [], files_output(tmp_path / "o", "a.k"))
    assert launch(spec).wait(120) == 2
    state = json.loads(Path(spec.state).read_text())
    assert state["refused"]
    assert "0000000001.parquet is missing, though 0000000002.parquet and END are there" in state["error"]


def test_an_end_after_which_everything_was_cleaned_away_is_one(tmp_path: Path) -> None:
    stream = SweptStream(tmp_path)
    stream.step()
    stream.delete(*range(4))
    (tmp_path / END).touch()
    assert stream.step().ended


def test_a_planned_batch_whose_file_is_gone(tmp_path: Path) -> None:
    for policy in ("Fail", "Continue"):
        stream = SweptStream(tmp_path / policy, policy)
        begin, end = stream.log.start(), stream.log.advance(stream.log.start(), 0, 64).place
        stream.delete(1)
        if policy == "Fail":
            with pytest.raises(DataLoss, match=r"1\.parquet of a batch that was not committed is gone"):
                list(stream.log.read(begin, end))
        else:
            assert [v for part in stream.log.read(begin, end) for v in part.column("v").to_pylist()] == [
                0,
                2,
                3,
            ]


def test_a_changed_plan_does_not_miss_what_was_deleted_before_a_file_without_rows(tmp_path: Path) -> None:
    """Nothing says how far event time was before it, so what is gone may be needed."""
    for number in range(5, 8):
        append_batch(tmp_path, number, [(1, 1, number * SECOND)] if number > 5 else [])
    item = replace(source("a", tmp_path), after=ORIGIN + 3 * SECOND)
    with pytest.raises(
        DataLoss, match=r"0000000000.parquet is gone, like all files before 0000000005.parquet"
    ):
        source_log(item, "").start()
    patient = replace(item, source={"files": {**item.source["files"], "onDataLoss": "Continue"}})
    assert source_log(patient, "").start() == {"next": 6, "max": None}


def test_a_policy_is_one_of_two(tmp_path: Path) -> None:
    item = source("a", tmp_path)
    item = replace(item, source={"files": {**item.source["files"], "onDataLoss": "Ignore"}})
    with pytest.raises(
        FragmentError, match=r"source.files.onDataLoss: 'Ignore' is not one of Fail, Continue"
    ):
        source_log(item, "")


def cached(monkeypatch: pytest.MonkeyPatch, clock: Seconds, seconds: float) -> None:
    """Names that were not there are taken for absent for so long, as a client of NFS does."""
    absent: dict[str, float] = {}
    has, size = LocalFolder.has, LocalFolder.size

    def hidden(self: LocalFolder, name: str) -> bool:
        if clock.now - absent.get(name, -seconds) < seconds:
            return True
        if not has(self, name):
            absent[name] = clock.now
            return True
        return False

    monkeypatch.setattr(LocalFolder, "has", lambda self, name: not hidden(self, name))
    monkeypatch.setattr(
        LocalFolder, "size", lambda self, name: None if hidden(self, name) else size(self, name)
    )
    monkeypatch.setattr(LocalFolder, "first", lambda self, form, start: None)  # an old listing
    monkeypatch.setattr(LocalFolder, "stale", lambda self: 2 * seconds)


def test_an_end_that_is_seen_before_the_last_file_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = SweptStream(tmp_path)
    cached(monkeypatch, stream.clock, 60.0)
    assert stream.log._folder.has(END) is False, "so it is asked for anew a little before the file"
    stream.clock.now += 30
    stream.step()
    stream.write(4)
    (tmp_path / END).touch()
    assert "files before it may not be seen" in stream.wait(60, lambda at: bool(at.waits)).waits
    stream.wait(500, lambda at: at.ended)
    assert stream.rows == [*range(5)]
    assert stream.at.ended


MOUNTINFO = """\
21 1 254:0 / / rw,relatime shared:1 - ext4 /dev/root rw
30 21 0:40 / /data rw shared:2 - nfs4 server:/vol rw,vers=4.2
31 30 0:41 / /data/here rw - tmpfs tmpfs rw
32 21 0:42 / /with\\040blank rw - fuse.sshfs host: rw
33 21 0:43 / /twice rw - nfs server:/vol rw
34 33 0:44 / /twice rw - xfs /dev/sdb rw
"""


def test_what_is_on_a_network(tmp_path: Path) -> None:
    info = tmp_path / "mountinfo"
    info.write_text(MOUNTINFO)
    paths = ["/in", "/data/in", "/data", "/data/here/in", "/with blank/in", "/twice/in", "/database"]
    assert [mounts.on_a_network(Path(path), info) for path in paths] == [
        *(False, True, True, False, True, False, False)
    ]
    assert not mounts.on_a_network(Path("/"), tmp_path / "none")
    assert not mounts.on_a_network(Path("/proc/../"))
