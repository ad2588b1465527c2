"""A host's lease and those of its fragments over HTTP, with the runtime's own code."""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Iterator

import pytest
from weir_operator.kube.lease import build_lease_spec
from weir_operator.kube.owner_references import OwnerReference
from weir_runtime.api_server import Server
from weir_runtime.hosted_tenure import HostedTenure
from weir_runtime.incarnations import Incarnations
from weir_runtime.kubernetes_lease import SCHEME, KubernetesLease
from weir_runtime.publish import Fenced

from tests.api_server.api_under_test import OnServer
from tests.api_server.on_the_server.test_drivers_rights import until

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
"""A process keeps its connections to its end."""

DURATION = 5.0
"""[s] of a lease: short, so that its end can be waited for, and much longer than one request."""

Make = Callable[[str], KubernetesLease]
Start = Callable[[str], Incarnations]


@pytest.fixture
def lease(target: OnServer) -> Iterator[Make]:
    """A client of its own for one lease."""
    for name in ("host-a", "host-b", "f"):
        target.api.apply(
            build_lease_spec(target.namespace, name, f"{target.namespace}/q", OwnerReference("q", "1"))
        )
    context = ssl.create_default_context(cafile=str(target.server.authority))
    server = Server("127.0.0.1", target.server.port, lambda: "admin", context)
    clients = []

    def make(name: str) -> KubernetesLease:
        clients.append(KubernetesLease(server, target.namespace, name))
        return clients[-1]

    yield make
    for one in clients:
        one.close()


@pytest.fixture
def start(lease: Make, target: OnServer) -> Iterator[Start]:
    """A host that has its lease."""
    started = []

    def begin(name: str) -> Incarnations:
        location = f"{SCHEME}{target.namespace}/{name}"
        host = Incarnations(lease(name), location, DURATION, f"{name}-{len(started)}:1:1")
        started.append(host)
        host.start()
        until(lambda: host.present() is not None)
        return host

    yield begin
    for host in started:
        host.stop()


def test_one_renewal_serves_a_fragment_that_goes_from_host_to_host(lease: Make, start: Start) -> None:
    a, b = start("host-a"), start("host-b")
    here, there = (HostedTenure(lease("f"), epoch, DURATION, host) for epoch, host in ((1, a), (2, b)))
    until(here.acquire)
    here.fence()
    record, watched = lease("f").read(), lease("host-a")
    since = renewed(watched)
    until(lambda: renewed(watched) > since + DURATION)
    here.fence()
    assert lease("f").read() == record, "the fragment's lease is not renewed"
    assert not there.acquire(), "and not taken either: its host's is"
    lease("f").hand_over(2)
    until(here.handed_over)
    assert not there.acquire()
    assert here.end()
    until(there.acquire)
    there.fence()
    with pytest.raises(Fenced):
        here.fence()


def test_the_fragments_of_a_host_that_is_gone_are_taken_after_its_lease_and_not_before(
    lease: Make, start: Start
) -> None:
    a, b = start("host-a"), start("host-b")
    here, there = (HostedTenure(lease("f"), epoch, DURATION, host) for epoch, host in ((1, a), (2, b)))
    until(here.acquire)
    lease("f").hand_over(2)
    a.stop()  # as a node that is lost: nothing is renewed, nothing is released
    gone = time.monotonic()
    until(there.acquire)
    assert time.monotonic() - gone > DURATION / 2, "its last renewal was at most a third of that old"
    there.fence()


def test_a_host_that_is_started_again_goes_on_with_its_fragments(lease: Make, start: Start) -> None:
    first = start("host-a")
    before = HostedTenure(lease("f"), 1, DURATION, first)
    until(before.acquire)
    number = first.present()
    first.release()
    second = start("host-a")
    assert number is not None
    assert second.present() == number + 1
    after = HostedTenure(lease("f"), 1, DURATION, second)
    until(after.acquire)
    after.fence()
    with pytest.raises(Fenced):
        before.fence()


def test_a_fragments_lease_that_is_deleted_is_lost(lease: Make, start: Start, target: OnServer) -> None:
    hold = HostedTenure(lease("f"), 1, DURATION, start("host-a"))
    until(hold.acquire)
    target.admin.delete("Lease", target.namespace, "f")
    until(lambda: not _may_publish(hold))
    assert hold.lost
    assert hold.end()


def renewed(lease: KubernetesLease) -> float:
    """[s since 1970]"""
    record = lease.read()
    return record.renewed if record is not None else 0.0


def _may_publish(hold: HostedTenure) -> bool:
    try:
        hold.fence()
    except Fenced:
        return False
    return True
