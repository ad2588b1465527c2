"""Whoever keeps the leases does not answer: a process publishes nothing without a confirmed lease that has
not expired, keeps its state, and goes on when it is confirmed again, unless another has taken it."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weir_runtime import renewal
from weir_runtime.api_server import Server
from weir_runtime.kubernetes_lease import KubernetesLease
from weir_runtime.lease import FileLease, LeaseRecord
from weir_runtime.publish import Fenced
from weir_runtime.renewal import Renewal
from weir_runtime.status import STUCK, ProcessStatus
from weir_runtime.tenure import Tenure

from tests.runtime.lease_server import Store, serve
from tests.runtime.queries import verdict
from tests.runtime.replayer import COLUMNS, COUNT, rows
from tests.runtime.support import (
    append_batch,
    files_output,
    fragment,
    launch,
    sink_rows,
    source,
    state,
    wait_for,
)

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
"""A process keeps its connections to its end."""

SHORT = 1.0
"""[s] of a lease; the API knows whole seconds."""


class Away(FileLease):
    """On a file system that answers while `answers`."""

    answers = True

    def renew(self, epoch: int, holder: str) -> bool:
        if not self.answers:
            raise OSError("stale file handle")
        return super().renew(epoch, holder)


@dataclass
class Publisher:
    """A thread that passes the fence again and again, as batches do."""

    tenure: Tenure
    published: list[float] = field(default_factory=list)
    fenced: threading.Event = field(default_factory=threading.Event)

    def start(self) -> threading.Thread:
        thread = threading.Thread(target=self._run, daemon=True)
        thread.start()
        return thread

    def _run(self) -> None:
        try:
            while True:
                self.tenure.fence()
                self.published.append(renewal.now())
        except Fenced:
            self.fenced.set()


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def tenure(store: Store) -> Iterator[Tenure]:
    """One that is acquired."""
    with serve(store) as port:
        result = Tenure(client(port), 1, SHORT)
        wait_for(result.acquire, "the lease")
        yield result
        result.stop()


def client(port: int) -> KubernetesLease:
    return KubernetesLease(Server("127.0.0.1", port, lambda: "token", None), "ns", "f")


def take_over(store: Store) -> None:
    spec = {**store.lease["spec"], "holderIdentity": "another:1:1", "leaseTransitions": 2}
    assert store.put({**store.lease, "spec": spec})


def test_nothing_is_published_between_the_end_of_the_lease_and_its_renewal(
    tenure: Tenure, store: Store
) -> None:
    publisher = Publisher(tenure)
    publisher.start()
    wait_for(lambda: bool(publisher.published), "publishing")
    store.answers = False
    away = renewal.now()
    wait_for(lambda: bool(tenure.unconfirmed()), "the end of the lease")
    paused = renewal.now()
    wait_for(lambda: renewal.now() > away + 3 * SHORT, "a long outage")
    assert not tenure.lost
    assert not [at for at in publisher.published if at > paused]
    assert "lease f" in tenure.unconfirmed()
    store.answers = True
    back = renewal.now()
    wait_for(lambda: publisher.published[-1] > back, "publishing again")
    assert not [at for at in publisher.published if paused < at < back]
    assert tenure.unconfirmed() == ""


def test_a_lease_that_was_taken_meanwhile_ends_the_process(tenure: Tenure, store: Store) -> None:
    publisher = Publisher(tenure)
    publisher.start()
    store.answers = False
    wait_for(lambda: bool(tenure.unconfirmed()), "the end of the lease")
    count = len(publisher.published)
    take_over(store)
    store.answers = True
    assert publisher.fenced.wait(30)
    wait_for(lambda: tenure.lost, "the loss")
    assert len(publisher.published) == count, "and published nothing after the outage"
    with pytest.raises(Fenced, match="epoch=2"):
        tenure.check()


def test_who_waits_for_the_lease_ends_with_the_process(tenure: Tenure, store: Store) -> None:
    store.answers = False
    wait_for(lambda: bool(tenure.unconfirmed()), "the end of the lease")
    publisher = Publisher(tenure)
    thread = publisher.start()
    tenure.stop()
    thread.join(30)
    assert publisher.fenced.is_set()
    assert publisher.published == []


def test_a_lease_that_ends_while_the_fence_is_passed_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever look at the clock is the first one after the end: nothing is lost by it."""
    for look in range(1, 6):
        lease = FileLease(tmp_path / f"{look}.json")
        tenure = Tenure(lease, 1, 60.0)
        assert tenure.acquire()
        looks, real = [0], renewal.now

        def ends(look: int = look, looks: list[int] = looks, real: Callable[[], float] = real) -> float:
            looks[0] += 1
            return real() + (3600.0 if looks[0] >= look else 0.0)

        monkeypatch.setattr(renewal, "now", ends)
        publisher = Publisher(tenure)
        publisher.start()
        wait_for(lambda looks=looks, look=look: looks[0] >= look, "the end of the lease")  # type: ignore[misc]
        assert not publisher.fenced.is_set()
        monkeypatch.setattr(renewal, "now", real)
        tenure._renewal.renew()
        with tenure._renewal._tried:
            tenure._renewal._tried.notify_all()
        count = len(publisher.published)
        wait_for(lambda p=publisher, count=count: len(p.published) > count, "publishing again")  # type: ignore[misc]
        tenure.stop()
        assert publisher.fenced.wait(30)


def test_a_file_system_that_is_away_is_waited_for_too(tmp_path: Path) -> None:
    lease = Away(tmp_path / "lease.json")
    tenure = Tenure(lease, 1, 0.3)
    assert tenure.acquire()
    lease.answers = False
    wait_for(lambda: bool(tenure.unconfirmed()), "the end of the lease")
    assert tenure.unconfirmed() == "stale file handle"
    lease.answers = True
    tenure.fence()
    tenure.stop()


@dataclass
class SimulatedLease:
    """A lease whose server may be away, on a clock of the test; `take` is what another one may do by the
    rules: when it has seen no renewal for the lease's duration."""

    now: float = 1000.0
    owner: str = "me"
    answers: bool = True
    renewed: float = 1000.0

    def read(self) -> LeaseRecord:
        if not self.answers:
            raise OSError("no answer")
        return LeaseRecord(1, self.owner, 0.0, 10.0)

    def renew(self, epoch: int, holder: str) -> bool:
        if not self.answers:
            raise OSError("no answer")
        if self.owner == holder:
            self.renewed = self.now
        return self.owner == holder

    def take(self) -> None:
        if self.now - self.renewed >= 10.0:
            self.owner = "another"


STEPS = ["away", "back", "wait", "take", "renew"]


@settings(deadline=None)
@given(st.lists(st.sampled_from(STEPS), max_size=20))
def test_whatever_happens_a_lease_that_is_held_is_nobody_elses(steps: list[str]) -> None:
    lease = SimulatedLease()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(renewal, "now", lambda: lease.now)
        holder = Renewal(lease, 1, "me", 10.0)  # type: ignore[arg-type]
        holder._confirmed = lease.now
        for step in steps:
            if step in ("away", "back"):
                lease.answers = step == "back"
            elif step == "wait":
                lease.now += 4.0
            elif step == "take":
                lease.take()
            else:
                holder.renew()
            assert lease.owner == "me" or not holder.holds()
        if lease.owner == "me" and not holder.lost.is_set():
            lease.answers = True
            holder.renew()
            assert holder.holds(), "it goes on, however long nobody answered"


def test_a_process_that_is_paused_is_healthy_and_its_batch_is_not_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [1000.0]
    monkeypatch.setattr("weir_runtime.status.time.monotonic", lambda: clock[0])
    status = ProcessStatus(str(tmp_path / "state.json"), "f", 1)
    status.say(phase="running")
    status.begin(7)
    status.pause(True)
    clock[0] += 2 * STUCK
    assert status.hangs() == ""
    status.pause(False)
    assert status.hangs() == "", "it begins anew"
    clock[0] += STUCK + 1
    assert "batch 7" in status.hangs()


def test_what_a_process_waits_for_is_said_of_each_cause(tmp_path: Path) -> None:
    status = ProcessStatus(str(tmp_path / "state.json"), "f", 1)
    status.wait_for("reader", "a reader is away")
    status.wait_for("lease", "its lease is not confirmed")
    assert status.fields["waits"] == "a reader is away; its lease is not confirmed"
    status.wait_for("reader", "")
    assert status.fields["waits"] == "its lease is not confirmed"


PROGRAM = """
import os, sys
from pathlib import Path
from weir_placement.model.fragment import FragmentSpec
from weir_runtime.api_server import Server
from weir_runtime.kubernetes_lease import KubernetesLease
from weir_runtime.process import FragmentProcess

spec = FragmentSpec.from_json(Path(sys.argv[1]).read_text())
server = Server("127.0.0.1", int(os.environ["LEASE_PORT"]), lambda: "token", None)
sys.exit(FragmentProcess(spec, KubernetesLease(server, "ns", "f")).run())
"""


def test_a_spark_process_goes_on_after_an_outage_and_loses_and_doubles_nothing(
    tmp_path: Path, store: Store
) -> None:
    spec = fragment(
        tmp_path,
        "g",
        [source("a", tmp_path / "a")],
        [COUNT],
        files_output(tmp_path / "out", *COLUMNS),
        lease_seconds=2.0,
    )
    numbers = iter(range(1000))

    def grow(count: int = 2) -> None:
        for _ in range(count):
            append_batch(tmp_path / "a", number := next(numbers), rows(number))

    def waits() -> str:
        return str(state(spec).get("waits", ""))

    def published() -> int:
        return len(list((tmp_path / "out").glob("*.parquet")))

    def outage(process: subprocess.Popen[bytes]) -> None:
        store.answers = False
        wait_for(lambda: "not confirmed" in waits(), "the pause")
        before, start = published(), time.monotonic()
        grow()
        wait_for(lambda: time.monotonic() > start + 3 * spec.lease_seconds, "a long outage")
        assert published() == before, "nothing is published without a lease"
        assert process.poll() is None
        store.answers = True
        wait_for(lambda: published() > before and waits() == "", "rows after the outage")

    grow(3)
    program = tmp_path / "leased.py"
    program.write_text(PROGRAM)
    with serve(store) as port, launch(spec, program=(str(program),), LEASE_PORT=str(port)) as process:
        try:
            wait_for(lambda: published() > 0 and len(sink_rows(tmp_path / "out")) > 0, "rows", 180)
            holder = store.lease["spec"]["holderIdentity"]
            outage(process)
            outage(process)
            assert store.lease["spec"]["holderIdentity"] == holder
            (tmp_path / "a" / "END").touch()
            assert process.wait(120) == 0
        finally:
            process.kill()
    assert state(spec)["phase"] == "finished"
    assert state(spec)["pid"] == int(holder.split(":")[1])
    result = verdict(tmp_path, spec.inputs, spec.operators, COLUMNS)
    assert result.good, result
