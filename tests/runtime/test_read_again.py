"""A task whose server is silent asks again: the end of the query would cost a start of Spark."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from kafka.errors import KafkaTimeoutError, TopicAuthorizationFailedError
from weir_runtime import unreachable
from weir_runtime.logs.log import ROOM, Advance, Log, Place, Room

from tests.runtime.support import rows_of

SCHEMA = pa.schema([("k", pa.int64())])
SILENT = KafkaTimeoutError("no broker answers")


class SilentFlow(Log):
    """Two batches of rows. Its first readings raise an error each, when it has given some batches."""

    schema = SCHEMA

    def __init__(self, *errors: Exception, given: int = 0) -> None:
        self.errors = list(errors)
        self.given = given

    def start(self) -> Place:
        return {"next": 0}

    def advance(self, place: Place, clock: int, most: int, room: Room = ROOM) -> Advance:
        return Advance(place, clock, True)

    def read(self, start: Place, end: Place) -> Iterator[pa.RecordBatch]:
        for number in range(2):
            if self.errors and number == self.given:
                raise self.errors.pop(0)
            yield pa.RecordBatch.from_pydict({"k": [number]}, schema=SCHEMA)


def read(flow: SilentFlow) -> list[int]:
    return [row["k"] for batch in rows_of(flow, {"next": 0}, {"next": 2}) for row in batch.to_pylist()]


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unreachable, "LOOK", 0.001)


def test_silence_before_the_first_row_is_waited_for() -> None:
    assert read(SilentFlow(SILENT, TimeoutError("still none"), SILENT)) == [0, 1]


def test_silence_for_long_ends_the_query(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next start waits for as long as it must, and says so."""
    monkeypatch.setattr(unreachable, "PATIENCE", 0.0)
    with pytest.raises(KafkaTimeoutError, match="no broker"):
        read(SilentFlow(SILENT, SILENT))


def test_no_row_comes_twice_where_silence_follows_some() -> None:
    """Rows of several partitions may come in another order when they are read again."""
    flow = SilentFlow(SILENT, given=1)
    with pytest.raises(KafkaTimeoutError, match="no broker"):
        read(flow)
    assert flow.errors == []


def test_what_is_refused_is_no_silence() -> None:
    refused = TopicAuthorizationFailedError("not yours")
    with pytest.raises(TopicAuthorizationFailedError):
        read(SilentFlow(refused, refused))
