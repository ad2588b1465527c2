"""A driver's lease against a server that keeps it as the API server does: versions, conflicts, watches."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from weir_placement.model.change import Change
from weir_runtime.api_server import Server
from weir_runtime.kubernetes_lease import KubernetesLease
from weir_runtime.kubernetes_record import CHANGE, HANDOVER

from tests.runtime.lease_server import Store, serve

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
"""A process keeps its connections to its end."""


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def lease(store: Store) -> Iterator[Callable[[], KubernetesLease]]:
    """Makes one client after another."""
    with serve(store) as port:
        yield lambda: KubernetesLease(Server("127.0.0.1", port, lambda: "token", None), "ns", "f")


Make = Callable[[], KubernetesLease]


def until(condition: Callable[[], bool], seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_the_first_takes_it_the_second_waits_and_others_fields_stay(lease: Make, store: Store) -> None:
    one, two = lease(), lease()
    assert one.read() is None
    assert one.acquire(1, "one:1:1", 10.0)
    assert not two.acquire(1, "two:1:1", 10.0)
    assert store.lease["spec"]["holderIdentity"] == "one:1:1"
    assert store.lease["spec"]["leaseTransitions"] == 1
    assert store.lease["metadata"]["labels"] == {"kept": "yes"}


def test_a_move_hand_over_release_and_the_next_epoch(lease: Make) -> None:
    old, new, controller = lease(), lease(), lease()
    assert old.acquire(1, "one:1:1", 10.0)
    controller.hand_over(2)
    until(lambda: (record := old.read()) is not None and record.handover == 2)
    assert not new.acquire(2, "two:1:1", 10.0)
    assert old.release(1, "one:1:1")
    until(lambda: new.acquire(2, "two:1:1", 10.0))
    until(lambda: (record := old.read()) is not None and record.epoch == 2)
    assert not old.renew(1, "one:1:1")
    record = new.read()
    assert record is not None
    assert (record.handover, record.released) == (None, False)


def test_an_epoch_that_was_not_invited_never_gets_it(lease: Make, store: Store) -> None:
    store.annotate(**{HANDOVER: "5"})
    assert not lease().acquire(4, "four:1:1", 10.0)
    assert lease().acquire(5, "five:1:1", 10.0)


def test_a_hand_over_written_between_read_and_write_is_kept(lease: Make, store: Store) -> None:
    holder = lease()
    assert holder.acquire(1, "one:1:1", 10.0)
    original, crossed = store.put, []

    def crossing(manifest: dict[str, Any]) -> bool:
        if not crossed:
            crossed.append(True)
            meta = store.lease["metadata"]
            original({**store.lease, "metadata": {**meta, "annotations": {HANDOVER: "2"}}})
        return original(manifest)

    store.put = crossing  # type: ignore[method-assign]
    assert holder.renew(1, "one:1:1")
    assert store.lease["metadata"]["annotations"] == {HANDOVER: "2"}


def test_many_looks_are_answered_by_the_watch(lease: Make, store: Store) -> None:
    holder = lease()
    assert holder.acquire(1, "one:1:1", 30.0)
    holder.read()
    until(lambda: len(store.watchers) == 1)
    before = store.gets
    for _ in range(200):
        assert holder.read() is not None
    assert store.gets == before


@pytest.mark.parametrize("watched", [True, False])
def test_who_waits_asks_seldom_and_on_a_kept_connection(lease: Make, store: Store, watched: bool) -> None:
    """50 times a second it looks; what it looks at is the watch's, or, where that is silent, an answer's."""
    store.watches = watched
    old, new = lease(), lease()
    assert old.acquire(1, "one:1:1", 30.0)
    assert not new.acquire(2, "two:1:1", 30.0)
    until(lambda: len(store.watchers) == 2 * watched)
    gets, connections = store.gets, store.connections
    for _ in range(300):
        assert not new.acquire(2, "two:1:1", 30.0)
        assert new.read() is not None
    assert store.gets - gets <= 1
    assert store.connections - connections <= 1 + 2 * (not watched), "a watch is tried again once a second"


def test_an_api_server_that_does_not_answer_is_not_beset(lease: Make, store: Store) -> None:
    store.answers = False
    new, began = lease(), time.monotonic()
    for _ in range(300):
        assert not new.acquire(2, "two:1:1", 30.0)
        assert unknown(new)
    most = 2 + 3 * (time.monotonic() - began)
    assert store.connections <= most, "two questions a second, and a watch"


def test_a_bookmark_says_that_nothing_has_changed(lease: Make, store: Store) -> None:
    holder = lease()
    assert holder.acquire(1, "one:1:1", 1.0)
    until(lambda: len(store.watchers) == 1 and holder._heard > float("-inf"))
    holder._heard = float("-inf")  # as after a while in silence
    store.bookmark()
    until(lambda: holder._heard > float("-inf"))
    gets = store.gets
    assert holder.read() is not None
    assert store.gets == gets


def test_a_connection_that_the_server_has_closed_is_made_anew(lease: Make, store: Store) -> None:
    holder = lease()
    assert holder.acquire(1, "one:1:1", 10.0)
    store.closes = True
    assert holder.renew(1, "one:1:1")
    store.closes = False
    for _ in range(3):
        assert holder.renew(1, "one:1:1")


def test_without_an_answer_the_lease_lasts_its_duration_and_no_longer(lease: Make, store: Store) -> None:
    holder = lease()
    began = time.monotonic()
    assert holder.acquire(1, "one:1:1", 1.0)
    store.answers = False
    assert holder.read() is not None
    until(lambda: unknown(holder))
    assert time.monotonic() - began >= 1.0
    with pytest.raises(OSError, match="does not confirm"):
        holder.renew(1, "one:1:1")
    store.answers = True
    assert holder.renew(1, "one:1:1"), "no process has acquired it meanwhile"
    assert holder.read() is not None


def unknown(lease: KubernetesLease) -> bool:
    try:
        lease.read()
    except OSError:
        return True
    return False


def test_a_lease_that_was_deleted_is_lost_at_once(lease: Make, store: Store) -> None:
    """A new one of its name may be taken by anybody."""
    holder = lease()
    assert holder.acquire(1, "one:1:1", 10.0)
    store.deleted = True
    assert not holder.renew(1, "one:1:1")


def test_annotations_that_nobody_of_ours_wrote_are_none(lease: Make, store: Store) -> None:
    holder = lease()
    assert holder.acquire(1, "one:1:1", 10.0)
    store.annotate(**{HANDOVER: "soon", CHANGE: "[" * 100_000})
    assert holder.renew(1, "one:1:1")
    record = holder.read()
    assert record is not None
    assert (record.handover, record.change) == (None, None)


def test_an_expired_lease_is_taken_only_after_its_whole_duration_was_watched(lease: Make) -> None:
    old, new, controller = lease(), lease(), lease()
    assert old.acquire(1, "one:1:1", 1.0)
    controller.hand_over(2)
    start = time.monotonic()
    until(lambda: new.acquire(2, "two:1:1", 1.0))
    assert time.monotonic() - start >= 1.0


def test_a_cut_is_asked_once_agreed_by_the_holder_alone_and_stays_with_the_next_one(lease: Make) -> None:
    controller, old = lease(), lease()
    with pytest.raises(OSError, match="no process has acquired it"):
        controller.request_cut(20.0)
    assert old.acquire(1, "one:1:1", 10.0)
    controller.request_cut(20.0)
    controller.request_cut(99.0)
    until(lambda: (record := old.read()) is not None and record.change == Change(20.0))
    assert not lease().answer(1, "two:1:1", Change(20.0, 5)), "not the holder"
    assert old.answer(1, "one:1:1", Change(20.0, 1_700_000_000_000_001))
    controller.request_cut(99.0)
    assert old.renew(1, "one:1:1")
    controller.hand_over(2)
    assert old.release(1, "one:1:1")
    new = lease()
    until(lambda: new.acquire(2, "two:1:1", 10.0))
    record = new.read()
    assert record is not None
    assert record.change == Change(20.0, 1_700_000_000_000_001)


def test_a_cut_that_was_agreed_to_is_never_another_one(lease: Make) -> None:
    one, other_view = lease(), lease()
    assert one.acquire(1, "one:1:1", 10.0)
    one.request_cut(1.0)
    assert one.answer(1, "one:1:1", Change(1.0, time=100))
    assert not other_view.answer(1, "one:1:1", Change(1.0, time=200)), "as after an answer that was lost"
    record = lease().read()
    assert record is not None
    assert record.change is not None
    assert record.change.time == 100
