"""A query's rows in a topic, whenever its process is killed: as a reader sees them, and what readers drop."""

from __future__ import annotations

import json
import re
import signal
from dataclasses import replace
from pathlib import Path

import pytest
from weir_placement.model.fragment import FragmentSpec
from weir_runtime.audit import audit
from weir_runtime.audit_topics import messages
from weir_runtime.faults import AT_A_HAND_OVER, VARIABLE
from weir_runtime.lease import FileLease

from tests.kafka.broker import Broker
from tests.kafka.topics import Topic
from tests.runtime.replayer import COLUMNS, COUNT, rows
from tests.runtime.support import append_batch, files_output, fragment, launch, runs, source, wait_for

AROUND_A_PUBLISH = ("before-temporary", "after-temporary", "before-publish", "after-publish", "before-commit")


class SinkQuery:
    """A windowed count of a log that grows, into a topic."""

    def __init__(self, broker: Broker, root: Path, name: str, **options: bool) -> None:
        topic = Topic(broker, name, partitions=2)
        self.log = root / "a"
        output = replace(
            files_output(root, *COLUMNS), kind="kafka", uri="", options={**topic.options, **options}
        )
        self.spec: FragmentSpec = fragment(root, "g", [source("a", self.log)], [COUNT], output)
        self.number = 0

    def grow(self) -> None:
        append_batch(self.log, self.number, rows(self.number))
        self.number += 1

    def dies(self, point: str) -> None:
        """A life that begins with a batch more, and the kill that ends it."""
        self.grow()
        assert launch(self.spec, **{VARIABLE: point}).wait(300) == -signal.SIGKILL, point

    def dies_as_it_moves(self, point: str) -> None:
        self.grow()
        process = launch(self.spec, **{VARIABLE: point})
        wait_for(lambda: runs(process, self.spec), "it runs", 300)
        epoch = self.spec.epoch + 1
        FileLease(self.spec.lease).hand_over(epoch)
        assert process.wait(120) == -signal.SIGKILL, point
        self.spec = replace(self.spec, epoch=epoch)

    def ends(self) -> None:
        self.grow()
        (self.log / "END").touch()
        assert launch(self.spec).wait(300) == 0


def test_a_transactional_topic_has_each_row_once_wherever_its_process_is_killed(
    broker: Broker, tmp_path: Path
) -> None:
    query = SinkQuery(broker, tmp_path, "counts-once", transactional=True)
    query.dies("before-plan")  # no rows yet: the second batch has those that the first one closes
    for point in AROUND_A_PUBLISH:
        query.dies(point)
    for point in AT_A_HAND_OVER:
        query.dies_as_it_moves(point)
    query.ends()
    verdict = audit(query.spec)
    print(f"{verdict} of {verdict.rows} rows")
    assert verdict.good, verdict.examples
    assert verdict.rows > 30
    assert verdict.repeated == 0


@pytest.mark.parametrize("point", ["after-publish"])
def test_a_topic_has_rows_again_after_a_kill_which_readers_know_by_their_id(
    broker: Broker, tmp_path: Path, point: str
) -> None:
    query = SinkQuery(broker, tmp_path, "counts-again")
    query.dies("before-plan")
    query.dies(point)
    query.ends()
    verdict = audit(query.spec)
    assert verdict.good, verdict.examples
    assert verdict.repeated
    assert str(verdict).endswith(f"wrong 0, written again {verdict.repeated}")


@pytest.mark.parametrize(("name", "form"), [("own", rb"[0-9a-f]{12}-[0-9a-f]+"), ("plain", rb"[0-9a-f]+")])
def test_rows_keep_the_ids_with_which_their_query_was_begun(
    broker: Broker, tmp_path: Path, name: str, form: bytes
) -> None:
    """Those of an earlier version do not say whose they are, also when this version writes them."""
    query = SinkQuery(broker, tmp_path, f"ids-{name}")
    query.dies("before-plan")
    (file,) = tmp_path.glob("checkpoints/g/*/numbering.json")
    record = json.loads(file.read_text())
    assert record.pop("ids") == "own"
    if name == "plain":
        file.write_text(json.dumps(record))
    query.dies("after-publish")
    query.ends()
    headers = [dict(message.headers() or []) for message in messages(query.spec.output.options)]
    assert headers
    assert all(re.fullmatch(form, header["weir-row"]) for header in headers)
    verdict = audit(query.spec)
    assert verdict.good, verdict.examples
    assert verdict.repeated > 0
