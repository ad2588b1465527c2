"""What a snapshot is laid down for: the query that it is of, whole, and beside no row of after it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from weir_placement.model.fragment import FragmentSpec, Output
from weir_placement.model.location import Location
from weir_placement.model.operators import Filter
from weir_runtime.checkpoint import RESTORED, Checkpoint, restored_name
from weir_runtime.snapshots.manifest import SnapshotError, read_manifest
from weir_runtime.snapshots.restore import restore
from weir_runtime.snapshots.take import described, take

from tests.runtime.snapshot_model import Running
from tests.runtime.support import fragment

Query = tuple[Path, list[FragmentSpec]]
NAME = "0123456789ab"
"""Of the checkpoints."""


@pytest.fixture
def query(tmp_path: Path) -> Query:
    """A snapshot of two fragments, and the specs of a query that is to begin from it."""
    first = Running(tmp_path / "first", "f0", None)
    running = [first, Running(tmp_path / "first", "f1", first, tmp_path / "out")]
    for _ in range(40):
        for one in running:
            one.step()
    running[1].step()
    (tmp_path / "first" / "checkpoints" / "f1" / f"{NAME}.newest").write_text("7")
    specs = [one.spec for one in running]
    take(specs, {"sources": {"a": described(specs[0].inputs[0])}}, tmp_path / "s")
    flow = Location("folder", str(tmp_path / "second" / "flow"))
    read = replace(specs[1].inputs[0], flow=flow)
    new = [
        fragment(tmp_path / "second", "n0", specs[0].inputs, [], Output("exchange", flow=flow)),
        fragment(tmp_path / "second", "n1", [read], [], specs[1].output),
    ]
    return tmp_path / "s", new


def content(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_it_is_laid_below_the_new_fragments_folders(query: Query, tmp_path: Path) -> None:
    snapshot, specs = query
    restore(snapshot, specs, "here")
    for i, spec in enumerate(specs):
        folder = Path(spec.checkpoint)
        assert content(folder / NAME) == content(snapshot / "fragments" / str(i) / "checkpoint")
        assert json.loads((folder / "owner.json").read_text()) == {"installation": "here"}
        assert Checkpoint(folder / NAME).committed() == 9
    assert (Path(specs[1].checkpoint) / f"{NAME}.newest").read_text() == "7"
    assert Checkpoint(Path(specs[1].checkpoint) / NAME).planned() == 10, "it is run again as it was"
    flow = content(tmp_path / "second" / "flow")
    assert {name for name in flow if name.endswith("arrow")} <= {f"{n:010d}.arrow" for n in range(11)}
    assert json.loads(flow["owner.json"]) == {"installation": "here"}


def test_its_name_is_that_of_the_first_plan_alone(query: Query) -> None:
    """A plan that has another hash later on, such as of another schema, does not open its state."""
    snapshot, specs = query
    folder = Path(specs[0].checkpoint)
    assert restored_name(folder, "aaaaaaaaaaaa") is None
    restore(snapshot, specs, "here")
    assert [restored_name(folder, plan) for plan in ("aaaaaaaaaaaa", "bbbbbbbbbbbb", "aaaaaaaaaaaa")] == [
        NAME,
        None,
        NAME,
    ]


@pytest.mark.parametrize("kept", [0, 1])
def test_a_kill_between_two_fragments_is_made_good(query: Query, kept: int) -> None:
    snapshot, specs = query
    restore(snapshot, specs, "here")
    whole = content(Path(specs[0].checkpoint).parent)
    shutil.rmtree(specs[1 - kept].checkpoint)
    restore(snapshot, specs, "here")
    assert content(Path(specs[0].checkpoint).parent) == whole


def test_any_damaged_or_missing_file_is_named_and_nothing_is_written(query: Query, tmp_path: Path) -> None:
    good, specs = query
    for path in content(good):
        damaged = tmp_path / "damaged"
        shutil.copytree(good, damaged)
        bytes_of = bytearray((damaged / path).read_bytes())
        bytes_of[len(bytes_of) // 2] ^= 1
        (damaged / path).write_bytes(bytes_of)
        with pytest.raises(SnapshotError, match=r"damaged.*use another snapshot"):
            restore(damaged, specs, "here")
        (damaged / path).unlink()
        with pytest.raises(SnapshotError, match="missing"):
            restore(damaged, specs, "here")
        shutil.rmtree(damaged)
    assert not (tmp_path / "second").exists()


def other_operators(specs: list[FragmentSpec]) -> list[FragmentSpec]:
    one = Filter("f", ("a",), predicate="a.v > 1", selectivity=0.5, cost=1.0)
    return [replace(specs[0], operators=(one,)), specs[1]]


def other_source(specs: list[FragmentSpec]) -> list[FragmentSpec]:
    source = replace(specs[0].inputs[0], source={"files": {"uri": "/b", "format": "arrow"}})
    return [replace(specs[0], inputs=(source,)), specs[1]]


def topics(specs: list[FragmentSpec]) -> list[FragmentSpec]:
    flow = Location("topic", "weir.a.n0", {"bootstrapServers": "b:9092"})
    return [replace(specs[0], output=Output("exchange", flow=flow)), specs[1]]


def a_topic_for_users(specs: list[FragmentSpec]) -> list[FragmentSpec]:
    return [specs[0], replace(specs[1], output=Output("kafka", "", {"topic": "t"}))]


REFUSALS: dict[str, Callable[[list[FragmentSpec]], list[FragmentSpec]]] = {
    "the operators of n0 are not those of f0": other_operators,
    "has 2 fragments, the query 1": lambda specs: specs[:1],
    "has another source, schema or event time": other_source,
    "the flow of n0 would be in weir.a.n0": topics,
    "the sink .kafka. may have rows written after it": a_topic_for_users,
}


@pytest.mark.parametrize("why", REFUSALS)
def test_what_does_not_fit_is_named(query: Query, tmp_path: Path, why: str) -> None:
    snapshot, specs = query
    with pytest.raises(SnapshotError, match=why):
        restore(snapshot, REFUSALS[why](specs), "here")
    assert not (tmp_path / "second").exists()


@pytest.mark.parametrize(
    ("uri", "fits"), [("files/two/in/a", True), ("files/two/in/b", False), ("files/one/in/a", False)]
)
def test_files_of_another_namespace_are_compared_below_its_root(
    query: Query, tmp_path: Path, uri: str, fits: bool
) -> None:
    """The claim of namespace `two` has a copy of what lies on that of `one`."""
    _, specs = query
    root = tmp_path / "second"
    files = {"uri": str(root / "files/one/in/a"), "format": "parquet"}
    there = replace(specs[0].inputs[0], source={"files": files})
    flow = Location("folder", str(tmp_path / "first/exchange/f0"))
    read = replace(specs[1].inputs[0], flow=flow)
    running = [
        fragment(tmp_path / "first", "f0", [there], [], Output("exchange", flow=flow)),
        fragment(tmp_path / "first", "f1", [read], [], specs[1].output),
    ]
    take(running, {"query": "one/q"}, tmp_path / "s2")
    here = replace(there, source={"files": {**files, "uri": str(root / uri)}})
    moved = [
        replace(spec, namespace="two", checkpoint=str(root / "checkpoints/two" / spec.name)) for spec in specs
    ]
    moved[0] = replace(moved[0], inputs=(here,))
    if fits:
        restore(tmp_path / "s2", moved, "here")
        assert Checkpoint(Path(moved[0].checkpoint) / NAME).committed() == 9
    else:
        with pytest.raises(SnapshotError, match="has another source"):
            restore(tmp_path / "s2", moved, "here")


def test_rows_of_after_it_must_not_be_in_the_sink(query: Query, tmp_path: Path) -> None:
    """The batch that is run again may be there: it is known by its name. A plan that came into force after
    the snapshot has rows under names of its own."""
    snapshot, specs = query
    out = tmp_path / "out"
    out.mkdir()
    for number in (9, 10, 11):
        (out / f"{NAME}-{number:010d}.parquet").touch()
    (out / "ffffffffffff-0000000099.parquet").touch()
    with pytest.raises(SnapshotError, match=rf"has 2 files .*, {NAME}-0000000011\.parquet to ffffffffffff-0"):
        restore(snapshot, specs, "here")
    (out / f"{NAME}-0000000011.parquet").unlink()
    with pytest.raises(SnapshotError, match=r"has 1 files .*, ffffffffffff-0000000099\.parquet"):
        restore(snapshot, specs, "here")
    assert not (tmp_path / "second").exists()
    (out / "ffffffffffff-0000000099.parquet").unlink()
    restore(snapshot, specs, "here")


def test_rows_of_plans_before_it_stay_in_the_sink(query: Query, tmp_path: Path) -> None:
    """The query was edited, then copied: what the plan before has written is no part of what comes again."""
    _, specs = query
    out = tmp_path / "out"
    out.mkdir()
    (out / "ffffffffffff-0000000099.parquet").touch()
    running = [
        replace(new, name=f"f{i}", checkpoint=str(tmp_path / "first" / "checkpoints" / f"f{i}"))
        for i, new in enumerate(specs)
    ]
    flow = Location("folder", str(tmp_path / "first" / "exchange" / "f0"))
    running[0] = replace(running[0], output=replace(running[0].output, flow=flow))
    running[1] = replace(running[1], inputs=(replace(running[1].inputs[0], flow=flow),))
    take(running, {"sources": {"a": described(specs[0].inputs[0])}}, tmp_path / "s2")
    (out / "ffffffffffff-0000000100.parquet").touch()
    with pytest.raises(SnapshotError, match=r"has 1 files .*, ffffffffffff-0000000100\.parquet"):
        restore(tmp_path / "s2", specs, "here")
    (out / "ffffffffffff-0000000100.parquet").unlink()
    restore(tmp_path / "s2", specs, "here")


def test_a_snapshot_that_does_not_say_what_was_in_the_sink_needs_another_one(
    query: Query, tmp_path: Path
) -> None:
    """As of an earlier version, of which nobody knows whether a plan's rows are from before it."""
    snapshot, specs = query
    manifest = read_manifest(snapshot)
    replace(manifest, sink={key: manifest.sink[key] for key in ("kind", "uri")}).write(snapshot)
    (tmp_path / "out").mkdir()
    restored = [replace(spec, checkpoint=spec.checkpoint.replace("second", "third")) for spec in specs]
    restore(snapshot, restored, "here")
    (tmp_path / "out" / "ffffffffffff-0000000099.parquet").touch()
    with pytest.raises(SnapshotError, match="give the query another sink"):
        restore(snapshot, specs, "here")


def test_a_checkpoint_that_is_there_is_not_replaced(query: Query) -> None:
    snapshot, specs = query
    restore(snapshot, specs, "here")
    (Path(specs[1].checkpoint) / RESTORED).unlink()
    before = content(Path(specs[1].checkpoint))
    with pytest.raises(SnapshotError, match="a checkpoint already"):
        restore(snapshot, specs, "here")
    assert content(Path(specs[1].checkpoint)) == before
