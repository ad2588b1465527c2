"""What holds of a flow on every object store: in memory (`make test`) and on a server (`make test-store`)."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from weir_operator.controller.decision import CleanUp
from weir_operator.local.cluster import LocalCluster
from weir_placement.fragments import Layout
from weir_placement.model.fragment import FragmentError
from weir_runtime import store as store_module
from weir_runtime.exchanges.store import StoreReader
from weir_runtime.exchanges.store.log import StoreLog
from weir_runtime.exchanges.store.writer import StoreWriter
from weir_runtime.installation import VARIABLE, of_run
from weir_runtime.logs.log import Place
from weir_runtime.publish import Fenced, OlderCheckpoint, OtherNumbering
from weir_runtime.status import STUCK, ProcessStatus
from weir_runtime.store import Denied, ObjectStore
from weir_runtime.sweep import FLOWS, main

from tests.runtime.flows import DESCRIPTION, SCHEMA, Died, batch, dies, fenced, free

START: Place = {"next": 0}


def writer(store: ObjectStore, epoch: int = 1, consumers: tuple[str, ...] = (), keep: int = 0) -> StoreWriter:
    """Of a process that has started."""
    new_writer = StoreWriter(store, epoch, consumers, keep, every=0)
    new_writer.describe(DESCRIPTION)
    return new_writer


def log(store: ObjectStore, consumer: str = "r") -> StoreLog:
    """That tells each position."""
    return StoreLog(store, SCHEMA, consumer, every=0)


def values(reader: StoreLog, start: Place, end: Place) -> list[int]:
    """Of the column `v`."""
    return [v for part in reader.read(start, end) for v in part.column(0).to_pylist()]


def whole(store: ObjectStore, start: Place = START) -> list[int]:
    """All that a reader takes from `start` on."""
    reader = log(store)
    return values(reader, start, reader.advance(start, 0, 1000).place)


class StoreCases:
    """`store` is an empty place for one flow."""

    def test_a_flow_belongs_to_one_numbering(self, store: ObjectStore) -> None:
        first = writer(store, consumers=("r",))
        first.claim("one", fresh=True)
        first.write(batch(1), 0, 5, free)
        writer(store).claim("one", fresh=False)
        ahead = log(store).advance(START, 0, 64)
        assert ahead.place == {"next": 1, "of": "one"}
        again = writer(store)
        with pytest.raises(OtherNumbering, match="numbering one, this one's is two"):
            again.claim("two", fresh=True)
        again.numbering = "two"
        with pytest.raises(OtherNumbering):
            again.write(batch(9), 0, 5, free)
        with pytest.raises(OtherNumbering):
            log(store).advance({"next": 1, "of": "two"}, 5, 64)

    @pytest.mark.parametrize("deleted", [False, True])
    def test_a_flow_with_batches_that_the_checkpoint_has_not_planned_is_refused(
        self, store: ObjectStore, deleted: bool
    ) -> None:
        """Also where its readers have read them all, and they are deleted."""
        first = writer(store, consumers=("r",))
        first.take_over("one", -1)
        for number in range(4):
            first.write(batch(number + 1), number, 5, free)
        if deleted:
            log(store).committed({"next": 4})
            assert first.delete_consumed() == 4
        writer(store).take_over("one", 3)
        with pytest.raises(OlderCheckpoint, match=r"batch [23] is there, but .* up to 1 only"):
            writer(store).take_over("one", 1)

    def test_a_flow_that_nobody_has_written_to_may_be_claimed_again(self, store: ObjectStore) -> None:
        writer(store).claim("one", fresh=True)
        writer(store).claim("two", fresh=True)
        log(store).committed({"next": 3})
        with pytest.raises(OtherNumbering):
            writer(store).claim("three", fresh=True)

    def test_batches_are_read_as_they_were_written_and_empty_ones_carry_the_clock(
        self, store: ObjectStore
    ) -> None:
        out, reader = writer(store), log(store)
        assert out.write(batch(5, 3), 0, 1, free) > 0
        out.write(batch(), 1, 4, free)
        out.write(batch(9), 2, 6, free)
        one = reader.advance(START, 0, 1)
        assert (one.place, one.clock, one.ended) == ({"next": 1}, 1, False)
        assert values(reader, START, one.place) == [5, 3]
        two = reader.advance(one.place, one.clock, 1)
        assert (two.place, two.clock) == ({"next": 2}, 4)
        assert values(reader, one.place, two.place) == []
        assert reader.backlog(two.place) == 1
        three = reader.advance(two.place, two.clock, 64)
        assert (three.place, three.clock, three.ended) == ({"next": 3}, 6, False)
        assert reader.advance(three.place, three.clock, 64) == three, "nothing new"
        out.end(3, free)
        four = reader.advance(three.place, three.clock, 64)
        assert (four.place, four.clock, four.ended) == ({"next": 3}, 6, True)
        assert values(pickle.loads(pickle.dumps(reader)), START, four.place) == [5, 3, 9], "a worker's copy"
        assert StoreWriter(store, 2).ended()

    def test_a_backlog_is_taken_a_part_at_a_time(self, store: ObjectStore) -> None:
        out, reader = writer(store), log(store)
        for number in range(11):
            out.write(batch(number + 1), number, number, free)
        assert reader.backlog(START) == 11
        first = reader.advance(START, 0, 7)
        assert (first.place, first.clock) == ({"next": 7}, 6)
        rest = reader.advance(first.place, first.clock, 7)
        assert (rest.place, rest.clock) == ({"next": 11}, 10)
        assert values(reader, START, rest.place) == list(range(1, 12))

    def test_a_name_that_is_taken_is_never_written_again(self, store: ObjectStore) -> None:
        old, new = writer(store, 1), writer(store, 2)
        old.write(batch(1), 0, 7, free)
        new.write(batch(100), 0, 70, free)  # as a replay does; other rows here, to tell them apart
        new.write(batch(2), 1, 8, free)
        old.write(batch(200), 1, 80, free)  # it asked for its lease before it was frozen
        reader = log(store)
        assert reader.advance(START, 0, 64).clock == 8
        assert whole(store) == [1, 2]
        metadata = store.about("0000000000.arrow")
        assert metadata is not None
        assert {key: metadata[key] for key in ("epoch", "rows", "clock", "min", "max")} == {
            "epoch": "1",
            "rows": "1",
            "clock": "7",
            "min": "1",
            "max": "1",
        }

    def test_an_epoch_that_is_over_publishes_nothing(self, store: ObjectStore) -> None:
        out = writer(store)
        with pytest.raises(Fenced):
            out.write(batch(1), 0, 0, fenced)
        with pytest.raises(Fenced):
            out.end(0, fenced)
        reader = log(store)
        assert reader.advance(START, 0, 64).place == START
        assert not reader.advance(START, 0, 64).ended

    def test_a_writer_that_died_begins_again(self, store: ObjectStore) -> None:
        with pytest.raises(Died):
            writer(store).write(batch(1, 2), 0, 0, dies)
        assert log(store).advance(START, 0, 64).place == START, "nothing was published"
        writer(store).write(batch(1, 2), 0, 0, free)  # and dies before Spark's commit
        again = writer(store)
        again.write(batch(1, 2), 0, 0, free)
        again.write(batch(3), 1, 0, free)
        assert whole(store) == [1, 2, 3]

    def test_readers_hold_back_deletion(self, store: ObjectStore) -> None:
        out = writer(store, consumers=("r1", "r2"))
        for number in range(6):
            out.write(batch(number + 1), number, number, free)
        assert out.delete_consumed() == 0, "no reader has said anything yet"
        log(store, "r1").committed({"next": 4})
        assert out.delete_consumed() == 0, "the other reader has not"
        log(store, "r2").committed({"next": 5})
        assert out.delete_consumed() == 4
        assert whole(store, {"next": 4}) == [5, 6]
        with pytest.raises(ValueError, match="batch 3 is gone"):
            values(log(store), {"next": 3}, {"next": 6})
        log(store, "r1").committed({"next": 6})
        again = writer(store, 2, ("r1", "r2"))
        assert again.delete_consumed() == 1, "one that comes later finds the oldest"
        assert again.delete_consumed() == 0
        again.write(batch(7), 6, 6, free)
        assert whole(store, {"next": 5}) == [6, 7]

    def test_without_retention_a_producer_starts_again_where_all_was_consumed(
        self, store: ObjectStore
    ) -> None:
        out = writer(store, consumers=("r",))
        for number in range(70):  # more than go at one look
            out.write(batch(number + 1), number, number, free)
        log(store).committed({"next": 70})
        assert [out.delete_consumed(), out.delete_consumed()] == [64, 6]
        again = writer(store, 2, ("r",))
        assert again.delete_consumed() == 0
        again.write(batch(9), 70, 70, free)
        log(store).committed({"next": 71})
        assert again.delete_consumed() == 1, "it goes on where there is something, not at 0"

    def test_without_readers_nothing_is_deleted(self, store: ObjectStore) -> None:
        out = writer(store)
        out.write(batch(1), 0, 0, free)
        log(store).committed({"next": 1})
        assert out.delete_consumed() == 0
        assert whole(store) == [1]

    def test_a_replay_keeps_what_it_needs_in_every_life_of_the_producer(self, store: ObjectStore) -> None:
        out = writer(store, consumers=("r",), keep=3)
        for number in range(10):
            out.write(batch(number + 1), number, number, free)
        log(store).committed({"next": 8})
        assert out.delete_consumed() == 3, "the clock is 7, so rows from 4 on stay"
        again = writer(store, 2, ("r",), keep=3)
        log(store).committed({"next": 10})
        assert again.delete_consumed() == 2
        assert whole(store, {"next": 5}) == [6, 7, 8, 9, 10]

    def test_a_deletion_that_was_cut_short_goes_on(self, store: ObjectStore) -> None:
        out = writer(store, consumers=("r",), keep=1)
        for number in range(6):
            out.write(batch(number + 1), number, number, free)
        store.delete(["0000000001.arrow", "0000000002.arrow"])  # of 0 to 3, the producer died meanwhile
        log(store).committed({"next": 6})
        assert writer(store, 2, ("r",), keep=1).delete_consumed() == 3
        assert next(store.names()) == "0000000003.arrow"

    def test_it_says_what_it_is_and_where_its_producer_is_now(self, store: ObjectStore) -> None:
        exchange = StoreReader(store)
        assert exchange.description() is None
        assert exchange.producer() is None
        assert not StoreWriter(store, 1).ended()
        writer(store, 1).announce({"host": "a", "port": 1})
        writer(store, 2).announce({"host": "b", "port": 2})
        assert exchange.description() == DESCRIPTION
        assert exchange.producer() == {"host": "b", "port": 2}
        assert whole(store) == []

    def test_nobody_goes_on_in_what_another_installation_has(
        self, store: ObjectStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        writer(store)  # of an earlier version, which says nothing
        for own in ("east", "east"):
            monkeypatch.setenv(VARIABLE, own)
            assert writer(store).owner() == own
        monkeypatch.setenv(VARIABLE, "west")
        with pytest.raises(FragmentError, match=f"exchange {store.uri}: it belongs to installation east"):
            writer(store)

    def test_a_probe_leaves_nothing(self, store: ObjectStore) -> None:
        store.probe()
        assert list(store.names()) == []

    def test_flows_of_fragments_that_are_gone_are_removed(
        self,
        store: ObjectStore,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        address = f"{store.uri}/{{namespace}}/{{fragment}}"
        where = {"kind": "store", "address": address, "options": store.options}
        monkeypatch.setenv(FLOWS, json.dumps([where]))
        ObjectStore(store.uri, store.options).put("a/mine/0.arrow", "the user's own")
        others = {"a/f0": "west", "b/f1": of_run(tmp_path)}
        for place in ("a/f0", "a/f1", "a/f2", "b/f1", "ab/f1"):
            monkeypatch.setenv(VARIABLE, others.get(place, "east"))
            out = writer(ObjectStore(f"{store.uri}/{place}", store.options))
            for number in range(3):
                out.write(batch(1), number, 0, free)
            log(ObjectStore(f"{store.uri}/{place}", store.options)).committed({"next": 1})
        monkeypatch.setenv(VARIABLE, "east")
        assert main([str(tmp_path), "a", "f2"]) == 0
        assert capsys.readouterr().out.splitlines() == [
            f"removed {store.uri}/a/f1",
            f"left {store.uri}/a/f0: installation west has it",
            f"left {store.uri}/a/mine: nothing says whose it is",
        ]
        assert {name.rsplit("/", 1)[0] for name in store.names() if "consumers" not in name} == {
            "a/f0",
            "a/f2",
            "a/mine",
            "ab/f1",
            "b/f1",
        }
        assert main([str(tmp_path), "a", "f2"]) == 0
        assert "removed" not in capsys.readouterr().out
        policy = {"kind": "PlacementPolicy", "spec": {"exchange": {"files": self.files(store)}}}
        cluster = LocalCluster(tmp_path, Layout(str(tmp_path)), lambda: [policy])
        cluster.apply(CleanUp("f", "b/q"))
        assert list(store.names("b")) != []
        cluster.apply(CleanUp("f1", "b/q"))
        assert list(store.names("b")) == []

    @staticmethod
    def files(store: ObjectStore) -> dict[str, Any]:
        """As a policy has it."""
        return {"uri": store.uri, "s3": store.options}

    def test_a_body_comes_in_parts(
        self, store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(store_module, "PART", 4)
        for text in ("", "012", "0123", "01234567", "0123456789"):
            store.put("name", text)
            body = store.read("name")
            assert body is not None
            assert bytes(body).decode() == text
            store.fetch("name", tmp_path / "name")
            assert (tmp_path / "name").read_text() == text
        assert store.read("other") is None
        with pytest.raises(Denied):
            store.fetch("other", tmp_path / "other")

    def test_a_put_has_time_by_its_size_beyond_that_of_a_batch(
        self, store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert [store.longest(size).total_seconds() for size in (0, 3 * 2**20, 2**22, 2**30, 5 * 2**30)] == [
            30,
            30,
            60,
            15_360,
            61_440,
        ]
        clock, out = [1_000.0], writer(store)
        monkeypatch.setattr(store_module, "SLOWEST", 1)
        monkeypatch.setattr("weir_runtime.status.time.monotonic", lambda: clock[0])
        status = ProcessStatus(str(tmp_path / "state.json"), "f", 1)
        status.say(phase="running")
        status.begin(0, out.allowance)
        answers: list[str] = []

        def create(self: ObjectStore, name: str, body: bytes, about: object) -> bool:
            """Takes all of its time."""
            clock[0] += STUCK + self.longest(len(body)).total_seconds() - 1
            answers.append(status.hangs())
            return True

        monkeypatch.setattr(ObjectStore, "create", create)
        out.write(batch(*range(100)), 0, 0, free)
        assert answers == [""]
        assert not status.hangs(), "the put is over, and its batch is being committed"
        clock[0] += 2
        assert "batch 0" in status.hangs()

    def test_names_are_below_the_flow_alone(self, store: ObjectStore) -> None:
        longer = ObjectStore(f"{store.uri}x", store.options)
        store.put("stream.json", "{}")
        longer.put("stream.json", "{}")
        store.put("consumers/r.json", "{}")
        assert list(store.names()) == ["consumers/r.json", "stream.json"]
        assert list(store.names("consumers")) == ["consumers/r.json"]
