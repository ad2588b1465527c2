"""A query that one version of Spark has begun goes on with a newer one."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyspark
import pytest
from weir_placement.model.fragment import FragmentSpec, Output
from weir_placement.model.location import Location
from weir_placement.model.operators import Filter, Join, Window
from weir_runtime.process import EXIT_TERMINATED

from tests.kafka.broker import start_broker
from tests.runtime.queries import cut, verdict
from tests.runtime.replayer import COUNT, rows
from tests.runtime.support import ROOT, append_batch, launch, sink_rows, source, state, wait_for
from tests.store.server import BUCKET, KEYS, start_server

LEFT = Filter("f", ("a",), predicate="a.v > 3")
JOINED = Join("j", ("f", "b"), on="a.k = b.k", windows=(Window("a", "b", -200_000, 200_000),))
COUNTED = replace(COUNT, inputs=("j",))
COLUMNS = ["window.start", "k", "n"]


@pytest.fixture(scope="module")
def newer() -> dict[str, str]:
    """Variables with which a process has a newer Spark."""
    script = subprocess.run([ROOT / "hack/pyspark-next"], check=True, stdout=subprocess.PIPE, text=True)
    paths = [script.stdout.strip(), str(ROOT / "placement"), str(ROOT / "runtime")]
    return {"PYTHONPATH": os.pathsep.join(paths)}


@pytest.fixture(params=["folder", "topic", "store"])
def flow(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Location]:
    """Between the two fragments."""
    if request.param == "folder":
        yield Location("folder", str(tmp_path / "exchange" / "j"))
    elif request.param == "topic":
        broker = start_broker(tmp_path / "broker")
        yield Location("topic", "weir.default.f-j", broker.options)
        broker.stop()
    else:
        for name, value in KEYS.items():
            monkeypatch.setenv(name, value)
        server = start_server(tmp_path / "s3")
        yield Location("store", f"s3://{BUCKET}/weir/default/f-j", server.options)
        server.stop()


def version(spec: FragmentSpec) -> str:
    """Of the Spark that last wrote the fragment's checkpoint."""
    numbering = Path(spec.checkpoint) / str(state(spec)["hash"]) / "numbering.json"
    return str(json.loads(numbering.read_text())["spark"])


def grow(folder: Path, first: int, beyond: int) -> None:
    for name in "ab":
        for number in range(first, beyond):
            append_batch(folder / name, number, rows(number))


def test_two_fragments_go_on_with_a_newer_spark(
    tmp_path: Path, newer: dict[str, str], flow: Location
) -> None:
    """A join and, over a flow, a count: each with rows and open windows in its state."""
    items = [source("a", tmp_path / "a"), source("b", tmp_path / "b")]
    operators = [LEFT, JOINED, COUNTED]
    first, second = cut(tmp_path, items, operators, COLUMNS, ends=("j",))
    (read,) = second.inputs
    specs = [
        replace(first, output=Output("exchange", flow=flow)),
        replace(second, inputs=(replace(read, flow=flow),)),
    ]
    grow(tmp_path, 0, 20)
    lives = [launch(spec) for spec in specs]
    wait_for(lambda: bool(sink_rows(tmp_path / "out")), "rows of the first version", 300)
    for life in lives:
        life.terminate()
        assert life.wait(120) == EXIT_TERMINATED
    assert {version(spec) for spec in specs} == {pyspark.__version__}

    grow(tmp_path, 20, 40)
    for name in "ab":
        (tmp_path / name / "END").touch()
    lives = [launch(spec, **newer) for spec in specs]
    assert [life.wait(400) for life in lives] == [0, 0]
    later = version(specs[0])
    assert later != pyspark.__version__
    result = verdict(tmp_path, items, operators, COLUMNS)
    print(f"{result} of {result.rows} rows, begun by Spark {pyspark.__version__}, ended by {later}")
    assert result.good, result.examples
