"""Hosts that freeze, thaw, restart, expire and hand over, in every order: the runtime's own leases,
renewals, tenures and publishing, a step at a time. Only Spark is made up: a batch is planned under a name
that can be made once, then published, then committed."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import event, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from weir_placement.model.hosted import HostedHolder
from weir_runtime import (
    durable,
    hosted_tenure,
    incarnations,
    kubernetes_lease,
    lease,
    publish,
    renewal,
    tenure,
)
from weir_runtime.hosted_tenure import HostedTenure
from weir_runtime.incarnations import Incarnations
from weir_runtime.publish import Fenced, put_once
from weir_runtime.renewal import Renewal

from tests.runtime.actors import Actor, TurnCondition, TurnEvent, turn
from tests.runtime.stepped_leases import (
    Keeper,
    LeaseFiles,
    LeaseObjects,
    SteppedFileLease,
    SteppedKubernetesLease,
    SteppedLease,
)

DURATION = 9.0
"""[s] Its thirds are whole, so that no end of a lease is a matter of rounding."""
HOSTS = ("a", "b")


class SteppedRenewal(Renewal):
    """Its thread is an actor of the host's."""

    def start(self, acquired: float) -> None:
        assert isinstance(self._lease, SteppedFileLease | SteppedKubernetesLease)
        self._over, self._tried = TurnEvent(), TurnCondition()
        self._confirmed = acquired
        self._lease.actors.append(Actor(self._run))

    def unconfirmed(self) -> str:
        return "" if self.lost.is_set() or self.holds() else "not confirmed"


class ModelCheckpoint:
    """Of one fragment: who has planned each batch, what was published and what was committed."""

    def __init__(self, folder: Path) -> None:
        self.plans, self.sink, self.commits = folder / "plans", folder / "sink", folder / "commits"
        for place in (self.plans, self.sink, self.commits):
            place.mkdir(parents=True)

    def next(self) -> int:
        return len(list(self.commits.iterdir()))

    def check(self) -> None:
        """Batches without a gap; what was published is what was planned; what is committed was published."""
        plans = {int(path.name): path.read_text() for path in self.plans.iterdir()}
        published = {int(path.name): path.read_text() for path in self.sink.glob("[0-9]*")}
        committed = {int(path.name) for path in self.commits.iterdir()}
        assert published.items() <= plans.items(), "a batch was published with other rows than its own"
        assert committed <= set(published), "a batch is committed that was not published: it is lost"
        assert sorted(committed) == list(range(len(committed)))
        assert sorted(published) == list(range(len(published)))


class ModelHost:
    """A process that runs attempts at fragments."""

    _processes = itertools.count(1)

    def __init__(self, machine: HostsMachine, name: str) -> None:
        self.machine, self.name = machine, name
        self.process = f"machine-{next(ModelHost._processes)}:1:1"
        self.away = False
        location = machine.keeper.location(name)
        self.leases: list[SteppedLease] = []
        self.actors: list[Actor] = []
        self.attempts: dict[int, tuple[Actor, dict[str, bool]]] = {}  # by epoch
        stepped = self._lease(location)
        self.incarnations = Incarnations(stepped, location, DURATION, self.process)
        self.incarnations._over = TurnEvent()
        self.actors.append(Actor(self.incarnations._run))

    def _lease(self, location: str) -> SteppedLease:
        self.leases.append(self.machine.keeper.stepped(location, lambda: self.away, self.actors))
        return self.leases[-1]

    def begin(self, epoch: int) -> None:
        """An attempt, once the one before it has ended."""
        if epoch in self.attempts and not self.attempts[epoch][0].over:
            return
        orders = {"fail": False}
        actor = Actor(lambda: self._attempt(epoch, orders))
        self.attempts[epoch] = (actor, orders)
        self.actors.append(actor)

    def _attempt(self, epoch: int, orders: dict[str, bool]) -> None:
        hold = HostedTenure(self._lease(self.machine.lease), epoch, DURATION, self.incarnations)
        checkpoint = self.machine.checkpoint
        try:
            while not hold.acquire():
                turn()
                if orders["fail"]:
                    return
            while not (orders["fail"] or hold.handed_over()):
                hold.unconfirmed()
                hold.check()
                self._batch(hold, checkpoint, f"{epoch} by {hold._holder}")
        except (Fenced, FileExistsError, OSError):
            turn()  # the query is stopped
        while not hold.end():
            turn()

    def _batch(self, hold: HostedTenure, checkpoint: ModelCheckpoint, rows: str) -> None:
        number = checkpoint.next()
        turn()
        plan = checkpoint.plans / str(number)
        if not plan.exists():
            turn()
            with open(plan, "x") as file:
                file.write(rows)
        turn()
        planned = plan.read_text()
        put_once(
            checkpoint.sink / str(number), lambda path: path.write_text(planned), lambda: self._fence(hold)
        )
        turn()
        (checkpoint.commits / str(number)).touch()
        self.machine.batches += 1

    def _fence(self, hold: HostedTenure) -> None:
        hold.fence()
        self.machine.publishes(hold)
        turn()

    def turn(self, backwards: bool = False) -> None:
        """One step of each of its threads."""
        for actor in self.actors[::-1] if backwards else [*self.actors]:
            actor.step()

    def kill(self) -> None:
        self.machine.gone.add(self.process)
        for actor in [*self.actors]:
            actor.end()
        self.actors.clear()


class HostsMachine(RuleBasedStateMachine):
    """One fragment, two hosts of its class; leases as files."""

    keeper_type: Callable[[Path], Keeper] = LeaseFiles

    def __init__(self) -> None:
        super().__init__()
        self.time = 1000.0
        self.gone: set[str] = set()
        self.batches = 0
        self.folder = Path(tempfile.mkdtemp(prefix="weir-hosts-"))
        self.keeper = type(self).keeper_type(self.folder)
        self.lease = self.keeper.location("fragment")
        self.checkpoint = ModelCheckpoint(self.folder / "checkpoint")
        self.patches = pytest.MonkeyPatch()
        clock = SimpleNamespace(monotonic=lambda: self.time, time=lambda: self.time)
        for module in (lease, renewal, incarnations, hosted_tenure, kubernetes_lease):
            self.patches.setattr(module, "time", clock)
        for module in (renewal, tenure, incarnations, kubernetes_lease):
            self.patches.setattr(module, "now", lambda: self.time)
        for module in (lease, incarnations, kubernetes_lease):
            self.patches.setattr(module, "holder_is_gone", lambda holder: holder in self.gone)
        self.patches.setattr(incarnations, "Renewal", SteppedRenewal)
        for module in (durable, publish):
            self.patches.setattr(module, "sync", lambda path: None)
        self.hosts: dict[str, ModelHost] = {}
        self.frozen: list[ModelHost] = []
        self.last: HostedTenure | None = None  # whose batch passed last
        self.former: list[HostedTenure | None] = []

    @initialize()
    def begin(self) -> None:
        self.epoch = 1
        for name in HOSTS:
            self.start(name)
        self.hosts["a"].begin(1)
        self.go(("a",), 30)

    def start(self, name: str, before: ModelHost | None = None) -> None:
        """A new process of a host, which is to run what the one before did."""
        host = self.hosts[name] = ModelHost(self, name)
        for epoch in before.attempts if before else ():
            host.begin(epoch)

    def has_begun(self) -> bool:
        """Whether there is a lease to hand over."""
        return self.keeper.record(self.lease) is not None

    def go(self, hosts: tuple[str, ...], turns: int, backwards: bool = False) -> None:
        for _ in range(turns):
            for name in hosts:
                self.hosts[name].turn(backwards)

    def publishes(self, hold: HostedTenure) -> None:
        """At the instant at which a fence lets a batch pass."""
        record = self.keeper.record(self.lease)
        assert record is not None
        assert record.holder == hold._holder, f"{hold._holder} publishes, but the record says {record}"
        hosted = HostedHolder.parse(record.holder)
        assert hosted is not None
        host = self.keeper.record(hosted.lease)
        assert host is not None
        assert host.epoch == hosted.incarnation, "an incarnation that is over publishes"
        assert self.time - host.renewed < DURATION, "an incarnation that was not renewed publishes"
        assert hold not in self.former, "an attempt publishes again after another one has"
        self.former += [self.last] if self.last not in (None, hold) else []
        self.last = hold

    @rule(hosts=st.sampled_from([("a",), ("b",), HOSTS]), turns=st.integers(1, 40), backwards=st.booleans())
    def work(self, hosts: tuple[str, ...], turns: int, backwards: bool) -> None:
        """The others are frozen meanwhile, wherever they stand."""
        self.go(hosts, turns, backwards)

    @rule(name=st.sampled_from(HOSTS), which=st.integers(0, 4), turns=st.integers(1, 12))
    def one(self, name: str, which: int, turns: int) -> None:
        """One thread of a host runs, none of the others."""
        actors = [actor for actor in self.hosts[name].actors if not actor.over]
        for _ in range(turns):
            actors[which % len(actors)].step()

    @rule(hosts=st.sampled_from([(), ("a",), ("b",), HOSTS]), thirds=st.integers(1, 5))
    def pass_time(self, hosts: tuple[str, ...], thirds: int) -> None:
        """During which these hosts work, and the others are frozen."""
        for _ in range(thirds):
            self.time += DURATION / 3
            self.go(hosts, 8)

    @rule(name=st.sampled_from(HOSTS), thirds=st.integers(1, 5))
    def cut_off(self, name: str, thirds: int) -> None:
        """Whoever keeps the leases does not answer this host for a while."""
        self.hosts[name].away = True
        self.pass_time(HOSTS, thirds)
        self.hosts[name].away = False

    @precondition(lambda self: self.has_begun())
    @rule(name=st.sampled_from(HOSTS), thirds=st.integers(0, 5), both=st.booleans())
    def move(self, name: str, thirds: int, both: bool) -> None:
        """To this host, while the other one is frozen, or works."""
        self.epoch += 1
        self.keeper.hand_over(self.lease, self.epoch)
        self.hosts[name].begin(self.epoch)
        self.pass_time(HOSTS if both else (name,), thirds)

    @precondition(lambda self: self.has_begun())
    @rule(
        name=st.sampled_from(HOSTS),
        early=st.integers(0, 2),
        renewal=st.integers(0, 3),
        attempt=st.integers(0, 14),
        thirds=st.integers(1, 5),
        backwards=st.booleans(),
    )
    def freeze_and_move(
        self, name: str, early: int, renewal: int, attempt: int, thirds: int, backwards: bool
    ) -> None:
        """Each of a host's threads stands somewhere else, while the other one waits to take over, and does;
        then it thaws."""
        other = next(other for other in HOSTS if other != name)
        self.move(other, early, both=False)
        attempts = [attempt for attempt, _ in self.hosts[name].attempts.values()]
        for actor in [actor for actor in self.hosts[name].actors if not actor.over]:
            for _ in range(attempt if actor in attempts else renewal):
                actor.step()
        self.pass_time((other,), thirds)
        self.work((name,), 6, backwards)

    @rule(name=st.sampled_from(HOSTS))
    def kill_and_start(self, name: str) -> None:
        self.hosts[name].kill()
        self.start(name, self.hosts[name])

    @rule(name=st.sampled_from(HOSTS), thirds=st.integers(0, 5))
    def replace(self, name: str, thirds: int) -> None:
        """Another process of the host's, while the one before is frozen."""
        self.frozen.append(self.hosts[name])
        self.start(name, self.hosts[name])
        self.pass_time(HOSTS, thirds)

    @precondition(lambda self: self.frozen)
    @rule(turns=st.integers(1, 30))
    def thaw(self, turns: int) -> None:
        """A process that was replaced goes on for a while."""
        for _ in range(turns):
            self.frozen[-1].turn(backwards=True)

    @rule(name=st.sampled_from(HOSTS))
    def fail(self, name: str) -> None:
        """The query ends by an error; the host begins another attempt."""
        for _, orders in self.hosts[name].attempts.values():
            orders["fail"] = True
        self.go((name,), 12)
        for epoch in [*self.hosts[name].attempts]:
            self.hosts[name].begin(epoch)

    @rule(name=st.sampled_from(HOSTS))
    def want(self, name: str) -> None:
        """The present epoch is to run here, whatever else runs."""
        self.hosts[name].begin(self.epoch)

    @invariant()
    def rows(self) -> None:
        self.checkpoint.check()

    def teardown(self) -> None:
        for host in [*self.hosts.values(), *self.frozen]:
            host.kill()
        self.patches.undo()
        event(f"batches: {min(self.batches, 20) // 5 * 5} and more, epochs: {min(self.epoch, 4)}")
        shutil.rmtree(self.folder)


class KubernetesHostsMachine(HostsMachine):
    """Leases as objects: what is known of them may be old, and a write that was not answered may be done."""

    keeper_type = LeaseObjects

    @rule(name=st.sampled_from(HOSTS))
    def hear(self, name: str) -> None:
        """The watches of a host."""
        for client in self.hosts[name].leases:
            assert isinstance(client, SteppedKubernetesLease)
            client.hear()


TestHosts = HostsMachine.TestCase
TestKubernetesHosts = KubernetesHostsMachine.TestCase
TestHosts.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestKubernetesHosts.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
