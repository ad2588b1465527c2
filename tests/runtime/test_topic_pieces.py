"""A batch is cut into pieces as it is written, and read as they come; with real brokers in tests/kafka."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pytest
from weir_runtime.exchanges.topic import pieces as under_test
from weir_runtime.exchanges.topic.log import TopicLog
from weir_runtime.exchanges.topic.pieces import write_pieces
from weir_runtime.exchanges.topic.topic import ENDS, ROWS, Topic

from tests.runtime.flows import SCHEMA, batch

TABLE = batch(*((v * 2654435761) % 2**40 for v in range(2_000)))
START = {"next": 0, "offset": 0, "epoch": 0}


class HeldRecord:
    """Of kafka-python."""

    def __init__(self, offset: int, key: str, value: bytes) -> None:
        self.offset, self.key, self.value = offset, key.encode(), value


class HeldTopic(Topic):
    """One whose messages lie here. `taken`: how many rows' messages a reader has asked for."""

    def __init__(self, messages: Sequence[tuple[str, bytes]], ends: Sequence[dict[str, Any]]) -> None:
        super().__init__("weir.default.f", {})
        self.taken = 0
        self._records = {
            ROWS: [HeldRecord(at, key, value) for at, (key, value) in enumerate(messages)],
            ENDS: [HeldRecord(at, "", json.dumps(end).encode()) for at, end in enumerate(ends)],
        }

    def beyond(self, number: int) -> int:
        return len(self._records[number])

    def records(self, number: int, first: int, beyond: int) -> Iterator[Any]:
        for record in self._records[number][first:beyond]:
            self.taken += number == ROWS
            yield record


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(under_test, "PIECE", 1_000)
    monkeypatch.setattr(under_test, "PART", 4_000)


def cut(table: pa.Table) -> list[bytes]:
    pieces: list[bytes] = []
    write_pieces(table, pieces.append)
    return pieces


def end(number: int, copy: str, first: int, last: int, pieces: int, rows: int) -> dict[str, Any]:
    place = {"epoch": 1, "batch": number, "copy": copy, "first": first, "last": last, "pieces": pieces}
    return {**place, "rows": rows, "clock": 0, "newest": 0}


def one_batch(order: Sequence[int], rows: int = TABLE.num_rows) -> HeldTopic:
    """Of TABLE's pieces in an order of arrival, beside those of a copy that never ended."""
    pieces = cut(TABLE)
    lines = [line for i in order for line in ((f"c {i}", pieces[i]), (f"dead {i}", b"x"))]
    return HeldTopic(lines, [end(0, "c", 0, len(lines) - 1, len(pieces), rows)])


def read(topic: Topic) -> pa.Table:
    log = TopicLog(topic, SCHEMA, "r")
    return pa.Table.from_batches(log.read(START, log.advance(START, 0, 64).place), SCHEMA)


def test_pieces_are_one_compressed_stream() -> None:
    """As every version has written and read them."""
    pieces = cut(TABLE)
    assert len(pieces) > 10
    assert {len(piece) for piece in pieces[:-1]} == {1_000}
    with pa.ipc.open_stream(b"".join(pieces)) as reader:
        assert reader.read_all() == TABLE
    assert cut(TABLE.slice(0, 0)) == []


def test_a_piece_goes_before_the_next_rows_are_looked_at() -> None:
    class PieceRefused(Exception):
        pass

    taken: list[bytes] = []

    def refuse(piece: bytes) -> None:
        taken.append(piece)
        raise PieceRefused

    with pytest.raises(PieceRefused):
        write_pieces(TABLE, refuse)
    assert len(taken) == 1, "nothing is sent behind a piece that was not"


@pytest.mark.parametrize(
    "order",
    [
        lambda n: [*range(n)],
        lambda n: [0, 2, 1, *range(3, n)],
        lambda n: [n - 1, *range(n - 1)],
        lambda n: [0, 0, 1, 2, 1, 0, *range(3, n), n - 1],
    ],
    ids=["in order", "one late", "the last first", "some twice"],
)
def test_a_batch_is_read_however_its_pieces_have_come(order: Callable[[int], list[int]]) -> None:
    """An earlier version's producer had several on their way, and sent again what was not confirmed."""
    assert read(one_batch(order(len(cut(TABLE))))) == TABLE


def test_rows_are_given_as_pieces_come() -> None:
    topic = one_batch(range(len(cut(TABLE))))
    log = TopicLog(topic, SCHEMA, "r")
    rows = log.read(START, log.advance(START, 0, 64).place)
    assert next(rows).num_rows
    assert topic.taken < topic.beyond(ROWS) / 2


def test_a_batch_with_pieces_or_rows_missing_is_an_error() -> None:
    count = len(cut(TABLE))
    for gone in (0, count // 2, count - 1):
        with pytest.raises(ValueError, match="rows of batch 0 are gone"):
            read(one_batch([i for i in range(count) if i != gone]))
    with pytest.raises(ValueError, match="batch 0 has 2000 of 2001 rows"):
        read(one_batch(range(count), rows=2_001))


def test_batches_between_places_come_in_their_order() -> None:
    """An older writer's batch may lie among the pieces of a later one."""
    tables = [TABLE.slice(0, 500), TABLE.slice(500)]
    (first, second) = map(cut, tables)
    lines = [*[(f"b {i}", piece) for i, piece in enumerate(second)]]
    middle = len(lines) // 2
    lines[middle:middle] = [(f"a {i}", piece) for i, piece in enumerate(first)]
    ends = [
        end(0, "a", middle, middle + len(first) - 1, len(first), 500),
        end(1, "b", 0, len(lines) - 1, len(second), 1_500),
    ]
    assert read(HeldTopic(lines, ends)) == TABLE
