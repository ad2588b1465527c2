"""The operator's replicas: who leads, and what a test does to them."""

from __future__ import annotations

from weir_operator.kube.leader import LEADER_LEASE

from tests.e2e import flights
from tests.e2e.conftest import OPERATOR_NAMESPACE, OPERATORS
from tests.e2e.kubectl import get, kubectl


def replicas() -> list[str]:
    """Names of the replicas' pods that are not on their way out."""
    pods = get("pods", "-n", OPERATOR_NAMESPACE, *OPERATORS)
    return [pod["metadata"]["name"] for pod in pods if "deletionTimestamp" not in pod["metadata"]]


def leader() -> str:
    """The pod that leads; empty while none does."""
    leases = get("lease", LEADER_LEASE, "-n", OPERATOR_NAMESPACE)
    return next((lease["spec"].get("holderIdentity", "") for lease in leases), "")


def another_leads(before: str) -> bool:
    """Whether the lead has gone to another pod."""
    return leader() not in ("", before)


def kill_all() -> None:
    """SIGKILL for every replica."""
    for pod in replicas():
        flights.kill(OPERATOR_NAMESPACE, pod)


def stop(pod: str) -> None:
    """SIGSTOP: the replica is there, and does nothing."""
    kubectl("exec", "-n", OPERATOR_NAMESPACE, pod, "--", "bash", "-c", "kill -STOP -1")


def restarts(pod: str) -> int:
    """How often a replica was started again."""
    return flights.restarts(OPERATOR_NAMESPACE, pod)
