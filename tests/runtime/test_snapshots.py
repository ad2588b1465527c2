"""A snapshot is a cut of a query that runs: whoever goes on from it, elsewhere, loses and doubles no row."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from weir_placement.model.fragment import FragmentSpec, Input
from weir_placement.model.location import Location
from weir_placement.model.operators import Filter
from weir_runtime.snapshots.manifest import SnapshotError, read_manifest
from weir_runtime.snapshots.restore import restore
from weir_runtime.snapshots.take import described, take

from tests.runtime.queries import cut, verdict
from tests.runtime.replayer import COLUMNS, COUNT, Replayer
from tests.runtime.sessions import Run
from tests.runtime.support import launch, source, wait_for

SNAPSHOTS = 4


OPERATORS = [
    Filter("f", ("a",), predicate="a.v % 4 <> 0", selectivity=0.75, cost=1.0),
    replace(COUNT, inputs=("f",)),
]


def query(root: Path, log: Path) -> list[FragmentSpec]:
    """A filter that sends to a windowed count."""
    return cut(root, [source("a", log)], OPERATORS, COLUMNS, ends=("f",))


def moved(specs: Sequence[FragmentSpec], root: Path, sink: Path) -> list[FragmentSpec]:
    """The same query in another namespace, under other names, with all that it has below `root`."""
    result = []
    for spec in specs:
        inputs: list[Input] = []
        for item in spec.inputs:
            flow = Location("folder", str(root / "flows" / item.name)) if item.flow else None
            inputs.append(replace(item, flow=flow) if flow else replace(item, stream="other/a"))
        flow = spec.output.flow and Location("folder", str(root / "flows" / spec.operators[-1].id))
        output = replace(spec.output, flow=flow) if flow else replace(spec.output, uri=str(sink))
        name = f"n-{spec.name}"
        places = {what: str(root / what / name) for what in ("checkpoint", "lease", "state", "sidelog")}
        whose = {"name": name, "namespace": "other", "query": "r"}
        result.append(replace(spec, **whose, **places, inputs=tuple(inputs), output=output))
    return result


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.glob("*.parquet")}


def test_any_cut_of_a_running_query_goes_on_elsewhere(tmp_path: Path, run: Run) -> None:
    """Snapshots while rows come in, each restored under other names beside the rows that were in the sink at
    its cut; the query itself, its checkpoints and flows are gone by then."""
    log, first = tmp_path / "in", tmp_path / "first"
    specs = query(first, log)
    sink = first / "out"
    replayer = Replayer(log)
    processes = [launch(spec) for spec in specs]
    replayer.start()
    kept = {}
    try:
        for number in range(SNAPSHOTS):
            enough = len(files(sink)) + 3
            wait_for(lambda enough=enough: len(files(sink)) >= enough, "more windows", 240)
            about = {"sources": {"a": described(specs[0].inputs[0])}}
            manifest = take(specs, about, tmp_path / f"s{number}")
            kept[number] = manifest
            delivers = manifest.fragments[-1]
            assert delivers.committed >= 0
            assert any("/state/" in path for path in manifest.files), "it has windows that are open"
            assert read_manifest(tmp_path / f"s{number}") == manifest
    finally:
        replayer.finish.set()
        for process in processes:
            process.send_signal(signal.SIGKILL)
            process.wait()
        replayer.join()
    assert [m.fragments[-1].committed for m in kept.values()] == sorted(
        {m.fragments[-1].committed for m in kept.values()}
    )
    shutil.rmtree(first / "checkpoints")
    shutil.rmtree(first / "exchange")

    for number, manifest in kept.items():
        root = tmp_path / f"r{number}"
        again = moved(specs, root, root / "out")
        shutil.copytree(sink, root / "out")
        snapshot, delivers = tmp_path / f"s{number}", manifest.fragments[-1]
        later = [n for n in files(root / "out") if int(n[-18:-8]) > delivers.planned]
        if number < SNAPSHOTS - 1:
            assert later
            with pytest.raises(SnapshotError, match=f"sink .* has {len(later)} files written after it"):
                restore(snapshot, again, "here")
        for name in later:
            (root / "out" / name).unlink()
        restore(snapshot, again, "here")
        restore(snapshot, again, "here")  # as after a kill
        for spec in again:
            run(spec)
        result = verdict(root, [source("a", log)], OPERATORS, COLUMNS)
        print(f"snapshot {number}, batch {delivers.committed}: {result} of {result.rows} rows")
        assert result.good, result.examples
        assert result.rows > 10
