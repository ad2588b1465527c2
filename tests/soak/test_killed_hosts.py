"""A host with several fragments killed at every point of their lives; nothing is lost or doubled."""

from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path

from weir_placement.model.fragment import Input, Output
from weir_placement.model.location import Location
from weir_placement.model.operators import Filter
from weir_runtime.faults import AT_THE_END, IN_A_LIFE, VARIABLE

from tests.runtime.queries import verdict
from tests.runtime.replayer import COLUMNS, COUNT, rows
from tests.runtime.support import append_batch, files_output, fragment, source, state, wait_for
from tests.runtime.told_hosts import HostProcess

LIFE = 600.0
"""[s] A life that has not ended by then never ends."""


def test_a_host_with_three_fragments_killed_at_every_point(tmp_path: Path) -> None:
    """One host after the other, each killed when the next point is reached for the second time, by one or
    another of its fragments: the others are anywhere. The last host ends in peace."""
    log = tmp_path / "a"
    item = source("a", log)
    flow = Output("exchange", flow=Location("folder", str(tmp_path / "exchange" / "f")), consumers=("f-g",))
    kept = Filter("f", ("a",), predicate="a.v > 3", columns=("a.v",))
    count = replace(COUNT, inputs=("f",))
    specs = {
        "kept": fragment(tmp_path, "f-f", [item], [kept], flow),
        "of-kept": fragment(
            tmp_path,
            "f-g",
            [Input("f", "exchange", flow=flow.flow)],
            [count],
            files_output(tmp_path / "out", *COLUMNS),
        ),
        "of-all": fragment(tmp_path, "h", [item], [COUNT], files_output(tmp_path / "h" / "out", *COLUMNS)),
    }
    host = HostProcess(tmp_path, "one", heap_mb=512)
    host.want(**specs)
    for number, point in enumerate(IN_A_LIFE):
        append_batch(log, number, rows(number))
        process = host.start(**{VARIABLE: f"{point}:2"})
        states = {key: state(spec) for key, spec in specs.items()}
        assert process.wait(LIFE) == -signal.SIGKILL, f"not killed {point}: {states}"
    append_batch(log, number + 1, rows(number + 1))
    (log / "END").touch()
    for point in AT_THE_END:
        assert host.start(**{VARIABLE: point}).wait(LIFE) == -signal.SIGKILL, point
    host.start()
    for key, spec in specs.items():
        wait_for(lambda spec=spec: state(spec)["phase"] == "finished", key, LIFE)
    host.end()
    for root, operators in ((tmp_path, [kept, count]), (tmp_path / "h", [COUNT])):
        result = verdict(root, [item], operators, COLUMNS)
        assert result.good, f"{result} {result.examples}"
        assert result.rows > 10
