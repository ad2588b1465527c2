"""The whole path on this machine with real Spark: run, kill, adopt, move, finish, audit, delete."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest
from weir_operator.local.audit import audit

from tests.local.place import MANIFESTS, Place


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    it = Place(tmp_path_factory.mktemp("machine"))
    yield it
    it.end()


def test_run_kill_adopt_move_finish_and_audit(place: Place) -> None:
    place.feed(3)
    place.until(lambda: place.running_on("n1") and place.committed(1), "the query on n1")
    ((fragment, epoch),) = place.states()
    pid = place.pid(fragment, epoch)

    place.machine = place.build()  # the controller is gone, its successor finds the process
    place.feed(3)
    place.until(lambda: place.committed(1), "metrics of the adopted process")
    assert place.pid(fragment, epoch) == pid

    os.killpg(pid, signal.SIGKILL)
    place.feed(3)
    place.until(
        lambda: place.pid(fragment, epoch) != pid and place.running_on("n1"),
        "the fragment in its place again",
    )

    place.say(text=MANIFESTS.format(least="'ten'", cordoned="true").replace("schema:", "shcema:"))
    place.machine.loop.once()
    assert any("shcema" in text for text in place.complaints)
    assert place.running_on("n1")

    place.say(cordoned="true")
    place.until(lambda: place.running_on("n2") and not place.running_on("n1"), "the move to n2")
    assert (fragment, epoch + 1) in place.states()

    place.feed(6, end=True)
    place.until(lambda: any(s == "finished" for _, s in place.states().values()), "the end")
    group = place.group()
    verdict = audit(group.queries["default/sums"], group.problem.streams)
    assert verdict.rows > 0
    assert verdict.good, verdict

    text = (place.folder / "all.yaml").read_text().split("---")
    place.say(text="---".join(part for part in text if "StreamQuery" not in part))
    place.until(lambda: not list(place.machine.cluster.store.placements()), "the Placement's end")
    assert not place.states()
    left = [
        p
        for what in ("leases", "checkpoints", "exchange", "state")
        for p in (place.folder / "run" / what).glob("*/*")
    ]
    assert left == []
