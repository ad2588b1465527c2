"""The flights in hosts, several fragments in one pod: right to the row through kills, a drain, and edits to
processes of their own and back."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.e2e import flights
from tests.e2e.conftest import ensure_installed, fresh_namespace, install
from tests.e2e.faults import drain, tainted
from tests.e2e.kubectl import apply, get, kubectl, wait_until
from tests.e2e.reference import judge_so_far
from tests.e2e.test_rights import granted

HOURS, SPEED = 700, 0.2  # rows for longer than the tests take
HOSTS = ("-l", "weir.dev/role=host")


@pytest.fixture(scope="module")
def running(release: None, request: pytest.FixtureRequest) -> Iterator[str]:
    """A namespace in which the flights run in hosts as long as the tests of this file."""
    ensure_installed()
    install("fragments.hosts=true")
    with fresh_namespace(request.session) as namespace:
        objects = flights.manifests(namespace, HOURS, SPEED)
        flights.policy_of(objects)["spec"] |= {"fragments": {"isolation": "Shared"}}
        apply([o for o in objects if o["kind"] != "Job"], force=True)
        kubectl("wait", "-n", namespace, "--for=condition=Available", "deployment/kafka", "--timeout=120s")
        apply([o for o in objects if o["kind"] == "Job"])
        flights.wait_ready(namespace, 400)
        yield namespace
    install("fragments.hosts=false")


@pytest.fixture
def namespace(running: str) -> str:
    """That namespace, every query Ready and none on its way elsewhere."""
    flights.wait_ready(running, 240)
    wait_until(240, "no move is under way", lambda: not flights.moving(running))
    return running


def hosts(namespace: str) -> dict[str, str]:
    """Node of each host that is not on its way out."""
    pods = [p for p in get("pods", "-n", namespace, *HOSTS) if "deletionTimestamp" not in p["metadata"]]
    return {p["metadata"]["name"]: p["spec"].get("nodeName", "") for p in pods}


def ordered(namespace: str) -> dict[str, str]:
    """Host of each epoch of a fragment that is to run."""
    maps = get("configmaps", "-n", namespace, "-l", "weir.dev/role=host-orders")
    return {
        key: m["metadata"]["name"]
        for m in maps
        for key, text in (m.get("data") or {}).items()
        if not json.loads(text).get("stopping")
    }


def test_every_fragment_runs_in_a_host_and_each_node_has_one(namespace: str) -> None:
    assert not flights.drivers(namespace)
    nodes = hosts(namespace)
    assert len(set(nodes.values())) == len(nodes)
    planned = {f["name"] for o in get("wpl", "-n", namespace) for f in o["spec"]["fragments"]}
    assert len(ordered(namespace)) == len(planned) > len(nodes)
    assert set(ordered(namespace).values()) == set(nodes)
    judge_so_far(namespace, 300)


def test_a_host_may_keep_its_own_and_its_fragments_leases_and_nothing_else(namespace: str) -> None:
    leases, everybody = "leases.coordination.k8s.io", set(hosts(namespace))
    for host in everybody:
        fragments = {key.rpartition("-e")[0] for key, owner in ordered(namespace).items() if owner == host}
        assert granted(f"system:serviceaccount:{namespace}:{host}", namespace) == {
            **{(leases, other): {"get"} for other in everybody},
            **{(leases, fragment): {"get", "update", "watch"} for fragment in {host, *fragments}},
            ("configmaps", host): {"get", "watch"},
            ("configmaps", f"{host}-state"): {"get", "update"},
        }


def test_every_host_is_killed(namespace: str) -> None:
    before = ordered(namespace)
    for pod in hosts(namespace):
        flights.kill(namespace, pod)
    for pod in hosts(namespace):
        wait_until(300, f"{pod} runs again", lambda pod=pod: flights.restarted_and_ready(namespace, pod))
    flights.wait_ready(namespace, 240)
    judge_so_far(namespace, 300)
    assert ordered(namespace) == before, "nothing was moved or made anew"


def homes(namespace: str) -> dict[str, str]:
    """Node of each fragment, "" while its host is not there."""
    nodes = hosts(namespace)
    return {key.rpartition("-e")[0]: nodes.get(host, "") for key, host in ordered(namespace).items()}


def test_what_ran_in_a_host_that_is_deleted_runs_on_its_node_again(namespace: str) -> None:
    before = homes(namespace)
    kubectl("delete", "pod", next(iter(hosts(namespace))), "-n", namespace, "--timeout=120s")
    wait_until(240, "all is back", lambda: homes(namespace) == before)
    flights.wait_ready(namespace, 240)
    judge_so_far(namespace, 300)
    assert homes(namespace) == before, "no plan had to change"


def test_a_drained_node_is_left_by_hosts(namespace: str) -> None:
    node = next(iter(hosts(namespace).values()))
    with tainted(node):
        wait_until(240, f"no fragment is on {node}", lambda: node not in nodes_in_use(namespace))
        drain(node)
        flights.wait_ready(namespace, 240)
    judge_so_far(namespace, 300)


def nodes_in_use(namespace: str) -> set[str]:
    """Of hosts that have something to run."""
    nodes = hosts(namespace)
    return {nodes.get(host, "") for host in ordered(namespace).values()}


def test_a_query_that_asks_for_processes_of_its_own_gets_them_while_rows_flow(namespace: str) -> None:
    patch = json.dumps({"spec": {"isolation": "Dedicated"}})
    kubectl("patch", "wsq", "by-carrier", "-n", namespace, "--type=merge", "-p", patch)
    wait_until(240, "it has drivers", lambda: flights.drivers(namespace))
    flights.wait_ready(namespace, 240)
    wait_until(240, "no move is under way", lambda: not flights.moving(namespace))
    judge_so_far(namespace, 300)
    kubectl(
        "patch", "wsq", "by-carrier", "-n", namespace, "--type=merge", "-p", '{"spec": {"isolation": null}}'
    )
    wait_until(240, "its drivers are gone", lambda: not flights.drivers(namespace))
    flights.wait_ready(namespace, 240)
    judge_so_far(namespace, 300)


def test_a_policy_that_shares_no_more_takes_all_out_of_hosts(namespace: str) -> None:
    objects = flights.manifests(namespace, HOURS, SPEED)
    policy = flights.policy_of(objects)
    policy["spec"] |= {"fragments": {"isolation": "Dedicated"}}
    apply([policy], force=True)
    wait_until(400, "no host has anything to run", lambda: not ordered(namespace))
    flights.wait_ready(namespace, 240)
    judge_so_far(namespace, 300)
    wait_until(240, "hosts that run nothing go", lambda: not hosts(namespace))
