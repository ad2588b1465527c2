"""Fragments with a store between them or as a sink; they are killed around a publish, and at hand-overs."""

from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path

from weir_placement.model.fragment import Output
from weir_placement.model.location import Location
from weir_runtime.audit import audit
from weir_runtime.faults import VARIABLE
from weir_runtime.lease import FileLease
from weir_runtime.store import ObjectStore

from tests.runtime.flows import assert_right_through_kills_and_moves
from tests.runtime.replayer import COLUMNS, COUNT, rows
from tests.runtime.support import files_output, fragment, launch, runs, source, wait_for, write_log


def test_rows_from_objects_to_objects_are_right_through_kills(store: ObjectStore, tmp_path: Path) -> None:
    there, out = ObjectStore(f"{store.uri}/in", store.options), f"{store.uri}/out"
    log = write_log(tmp_path / "a", [rows(number) for number in range(30)], end=False)
    for path in sorted(log.iterdir()):
        assert there.create(path.name, path.read_bytes())
    item = replace(source("a", tmp_path), source={"files": {"uri": there.uri, "s3": store.options}})
    sink = replace(files_output(tmp_path, *COLUMNS), uri=out, options={"s3": store.options})
    spec = fragment(tmp_path, "f", [item], [COUNT], sink, max_batches=4)
    for point in ("before-publish:2", "after-publish:2"):
        assert launch(spec, **{VARIABLE: point}).wait(300) == -signal.SIGKILL
    leaves = launch(spec, **{VARIABLE: "before-release"})
    wait_for(lambda: runs(leaves, spec), "it runs", 300)
    FileLease(spec.lease).hand_over(2)
    assert leaves.wait(120) == -signal.SIGKILL
    assert there.create("END", b"")
    assert launch(replace(spec, epoch=2)).wait(300) == 0
    result = audit(spec)
    assert result.good, f"{result} {result.examples}"
    assert result.rows > 100


def test_a_flow_over_a_store_is_right_to_the_row_through_kills_and_moves(
    store: ObjectStore, tmp_path: Path
) -> None:
    assert_right_through_kills_and_moves(
        tmp_path,
        Output("exchange", flow=Location("store", store.uri, store.options)),
        ["after-temporary:2", "after-publish:2"],  # not there yet, and there already
        lambda: store.read_json("producer.json")["port"],
    )
    assert store.about("END") is not None
    assert store.about("0000000000.arrow") is None, "what the reader had committed is gone"
    assert not any(name.startswith("_probe") for name in store.names())
