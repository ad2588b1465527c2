"""Two fragments with a store between them; the producer is killed around a publish, and moves."""

from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path

from weir_placement.model.fragment import Input, Output
from weir_placement.model.operators import Operator
from weir_runtime.audit import audit
from weir_runtime.faults import VARIABLE
from weir_runtime.lease import FileLease
from weir_runtime.store import Store

from tests.runtime.queries import verdict
from tests.runtime.replayer import COLUMNS, COUNT, Replayer, rows
from tests.runtime.support import (
    files_output,
    fragment,
    launch,
    sink_rows,
    source,
    state,
    wait_for,
    write_log,
)

FILTER = Operator("f", "filter", ("a",), predicate="a.v > 3", columns=("a.v",))
COUNTED = replace(COUNT, inputs=("f",))


def test_rows_from_objects_to_objects_are_right_through_kills(store: Store, tmp_path: Path) -> None:
    there, out = Store(f"{store.uri}/in", store.options), f"{store.uri}/out"
    for path in sorted(write_log(tmp_path / "a", [rows(number) for number in range(30)]).iterdir()):
        assert there.create(path.name, path.read_bytes())
    item = replace(source("a", tmp_path), source={"files": {"uri": there.uri, "s3": store.options}})
    sink = replace(files_output(tmp_path, *COLUMNS), uri=out, options={"s3": store.options})
    spec = fragment(tmp_path, "f", [item], [COUNT], sink, max_batches=4)
    for point in ("before-publish:2", "after-publish:2"):
        assert launch(spec, **{VARIABLE: point}).wait(300) == -signal.SIGKILL
    assert launch(spec).wait(300) == 0
    found = audit(spec)
    assert found.good, f"{found} {found.examples}"
    assert found.rows > 100


def test_a_flow_over_a_store_is_right_to_the_row_through_kills_and_a_move(
    store: Store, tmp_path: Path
) -> None:
    log = tmp_path / "a"
    item = source("a", log)
    flow = Output("exchange", store.uri, store.options, consumers=("f-g",))
    old = fragment(tmp_path, "f-f", [item], [FILTER], flow)
    new = replace(old, epoch=2, standby=True, state=str(tmp_path / "states" / "f-e2.json"))
    reads = Input("f", "exchange", exchange=store.uri, options=store.options)
    reader = fragment(tmp_path, "f-g", [reads], [COUNTED], files_output(tmp_path / "out", *COLUMNS))
    replayer = Replayer(log)
    replayer.start()

    count = launch(reader)
    for point in (
        "after-temporary:2",
        "after-publish:2",
    ):  # not there yet, and there already
        assert launch(old, **{VARIABLE: point}).wait(300) == -signal.SIGKILL
    first = launch(old)
    wait_for(lambda: len(sink_rows(tmp_path / "out")) > 0, "rows through both fragments", 300)

    second = launch(new)
    wait_for(lambda: state(new)["phase"] == "standby-ready", "the standby is ready", 300)
    FileLease(old.lease).hand_over(2)
    assert first.wait(120) == 0
    assert state(old)["phase"] == "released"
    before = len(sink_rows(tmp_path / "out"))
    wait_for(lambda: len(sink_rows(tmp_path / "out")) > before, "rows of the new process", 300)
    assert store.read_json("producer.json")["port"] == state(new)["port"]

    replayer.finish.set()
    assert second.wait(300) == 0
    assert count.wait(300) == 0
    found = verdict(tmp_path, [item], [FILTER, COUNTED], COLUMNS)
    assert found.good, f"{found} {found.examples}"
    assert found.rows > 10
    assert store.about("END") is not None
    assert store.about("0000000000.arrow") is None, "what the reader had committed is gone"
    assert not any(name.startswith("probe") for name in store.names())
