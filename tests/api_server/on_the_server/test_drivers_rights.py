"""A driver's lease over HTTP, with the token of the account that the operator has made for it."""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable

import pytest
from weir_operator.kube.access import build_role_binding_spec, build_role_spec, build_service_account_spec
from weir_operator.kube.api import path_of
from weir_operator.kube.lease import build_lease_spec
from weir_operator.kube.owner_references import OwnerReference
from weir_placement.model.change import Change
from weir_runtime.api_server import Server
from weir_runtime.kubernetes_lease import KubernetesLease

from tests.api_server.api_under_test import OnServer
from tests.api_server.server import ApiServer

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
"""A process keeps its connections to its end."""

Make = Callable[[str, str], KubernetesLease]


@pytest.fixture
def lease(target: OnServer) -> Make:
    """The lease of one fragment, with the token of another's account or its own."""
    for fragment in ("f1", "f2"):
        about = (target.namespace, fragment, f"{target.namespace}/q", OwnerReference("q", "0e9a"))
        for build in (build_service_account_spec, build_role_spec, build_role_binding_spec, build_lease_spec):
            target.api.apply(build(*about))
    server = target.server
    context = ssl.create_default_context(cafile=str(server.authority))

    def make(account: str, fragment: str) -> KubernetesLease:
        path = path_of("ServiceAccount", target.namespace, account, "token")
        answer = target.admin.call(
            "POST", path, {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}
        )
        token = str(answer["status"]["token"])
        reached = Server("127.0.0.1", server.port, lambda: token, context)
        return KubernetesLease(reached, target.namespace, fragment)

    return make


def until(condition: Callable[[], object], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_its_own_lease_it_takes_renews_and_releases(lease: Make) -> None:
    old, new, operator = lease("f1", "f1"), lease("f1", "f1"), lease("f1", "f1")
    assert old.acquire(1, "old:1:1", 30.0)
    assert old.renew(1, "old:1:1")
    operator.request_cut(20.0)
    until(lambda: (record := old.read()) is not None and record.change == Change(20.0))
    assert old.answer(1, "old:1:1", Change(20.0, 5))
    operator.hand_over(2)
    until(lambda: (record := old.read()) is not None and record.handover == 2)
    assert not new.acquire(2, "new:1:1", 30.0)
    assert old.release(1, "old:1:1")
    until(lambda: new.acquire(2, "new:1:1", 30.0))
    until(lambda: not old.renew(1, "old:1:1"))


def test_what_changes_is_heard_by_its_watch(lease: Make) -> None:
    """The watch names the one lease that it may see."""
    holder, operator = lease("f1", "f1"), lease("f1", "f1")
    assert holder.acquire(1, "one:1:1", 1000.0)
    until(lambda: holder._watch is not None and holder._version > 0)
    operator.hand_over(2)
    until(lambda: holder._record is not None and holder._record.handover == 2)  # no look has asked


def test_anothers_lease_it_cannot_touch(lease: Make, target: OnServer) -> None:
    assert lease("f2", "f2").acquire(1, "two:1:1", 30.0)
    thief = lease("f1", "f2")
    assert not thief.acquire(9, "thief:1:1", 30.0)
    with pytest.raises(OSError, match=r"answered 403.*cannot get resource"):
        thief.hand_over(9)
    stored = target.api.get("Lease", target.namespace, "f2") or {}
    assert stored["spec"]["holderIdentity"] == "two:1:1"


def renewed(holder: KubernetesLease) -> bool:
    """Whether the API server confirmed one renewal."""
    try:
        return holder.renew(1, "one:1:1")
    except OSError:
        return False


def test_an_api_server_that_is_away_and_comes_back_ends_no_tenure(lease: Make, server: ApiServer) -> None:
    holder = lease("f1", "f1")
    assert holder.acquire(1, "one:1:1", 120.0)
    server.stop_api()
    try:
        with pytest.raises(OSError, match="API server"):  # neither renewed nor lost: nobody knows
            holder.renew(1, "one:1:1")
        assert holder.read() is not None  # what was last heard counts while the lease lasts
    finally:
        server.start_api()
    until(lambda: renewed(holder))
