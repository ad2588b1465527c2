"""What happens to a cluster, one thing after the other, while the same queries run and rows flow: after each
one the results are right to the row."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from weir_operator.controller.record import read_record
from weir_operator.kube.leader import LEADER_LEASE

from tests.e2e import flights, operators
from tests.e2e.conftest import (
    OPERATOR_NAMESPACE,
    OPERATORS,
    RELEASE,
    SHARED,
    ensure_installed,
    fresh_namespace,
    install,
    weir,
)
from tests.e2e.faults import (
    budgets,
    cordoned,
    cut_off,
    drain,
    frozen,
    is_ready,
    refused_eviction,
    running_drivers,
    tainted,
)
from tests.e2e.kubectl import WORKERS, Manifest, apply, condition, get, kubectl, run, wait_until
from tests.e2e.reference import CUTS, judge_so_far
from tests.e2e.verdicts import assert_all_current

HOURS, SPEED = 700, 0.2  # rows for longer than the tests take
LEFT = "pods,leases,poddisruptionbudgets,serviceaccounts,roles,rolebindings"


@pytest.fixture(scope="module")
def running(release: None, request: pytest.FixtureRequest) -> Iterator[str]:
    """A namespace in which the flights run as long as the tests of this file. Their manifests come in reverse
    order: each object before those that it names."""
    ensure_installed()
    with fresh_namespace(request.session) as namespace:
        flights.run(namespace, manifests(namespace)[::-1], force=False)
        yield namespace


def manifests(namespace: str) -> list[Manifest]:
    """The flights, with moves for what happens to them and for nothing else: once a node is back, the plan of
    before is the better one again, and would be moved to in the middle of the next test."""
    objects = flights.manifests(namespace, HOURS, SPEED)
    (policy,) = [m for m in objects if m["kind"] == "PlacementPolicy"]
    policy["spec"]["drift"] |= {"minHeadroom": 1.0, "minGain": 0}
    (user,) = [m for m in objects if m["metadata"]["name"] == "made-up-time"]
    user["spec"]["env"] = [{"name": "TOKEN", "secretRef": {"name": "token", "key": "value"}}]
    return [*objects, secret(namespace, "first")]


def secret(namespace: str, value: str) -> Manifest:
    """The Secret that one of the queries has a variable from."""
    metadata = {"name": "token", "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"value": value}}


@pytest.fixture
def namespace(running: str) -> str:
    """That namespace, every query Ready where it is planned, and none on its way elsewhere."""
    flights.wait_ready(running, 240)
    wait_until(240, "no move is under way", lambda: not flights.moving(running))
    assert not flights.off_their_pin(running)
    return running


def fragments_off(namespace: str, node: str) -> set[str]:
    """Fragments that have a ready driver on another node."""
    return {
        p["metadata"]["labels"]["weir.dev/fragment"]
        for p in flights.drivers(namespace)
        if condition(p, "Ready").get("status") == "True" and p["spec"]["nodeName"] != node
    }


def fragments(namespace: str, placed: bool = False) -> set[str]:
    """All that have a driver, in the middle of a move two; or only those with one on a node."""
    drivers = [p for p in flights.drivers(namespace) if p["spec"].get("nodeName") or not placed]
    return {p["metadata"]["labels"]["weir.dev/fragment"] for p in drivers}


def of_query(namespace: str, query: str) -> list[str]:
    """Names of the objects that the operator made for a query."""
    return [
        f"{o['kind']}/{o['metadata']['name']}"
        for o in get(LEFT, "-n", namespace, "-l", f"weir.dev/query={query}")
    ]


def ready_reason(namespace: str, query: str) -> str:
    """Reason of Ready, for the object's present generation."""
    (streamquery,) = get("wsq", query, "-n", namespace)
    ready = condition(streamquery, "Ready")
    same = ready.get("observedGeneration") == streamquery["metadata"]["generation"]
    return ready.get("reason", "") if same and ready.get("status") == "True" else ""


def cut_passed(namespace: str, query: str, last: int) -> int:
    """[us] Where an edited query's plan begins, once the one before is left; later than `last`."""

    def cut() -> int:
        (placement,) = get("placements", query, "-n", namespace)
        record = read_record(placement)
        passed = record.since is not None and record.since > last and not record.leaving
        return record.since or 0 if passed else 0

    return int(wait_until(200, "the cut is passed", cut, every=1))


def patch(namespace: str, query: str, spec: dict[str, object]) -> None:
    text = json.dumps({"spec": spec})
    kubectl("patch", "wsq", query, "-n", namespace, "--type=merge", "-p", text)


def on_command(command: str, *arguments: str) -> str:
    """A command about what runs in the cluster under test."""
    return weir(command, *arguments, "--context", kubectl("config", "current-context").strip())


def test_operators_drivers_and_broker_are_killed(namespace: str, operator: str) -> None:
    before, generations = flights.uids(namespace), flights.generations(namespace)
    apply(manifests(namespace), force=False)  # once more, and in the other order
    operators.kill_all()
    (broker,) = get("pods", "-n", namespace, "-l", "app=kafka")
    name = broker["metadata"]["name"]
    flights.kill(namespace, name)
    wait_until(90, "the broker is back", lambda: flights.restarted_and_ready(namespace, name))
    for pod in before:
        flights.kill(namespace, pod)
    wait_until(90, "operators back", lambda: all(operators.restarts(p) for p in operators.replicas()))
    leader = wait_until(60, "one leads", operators.leader)
    kubectl("delete", "pod", leader, "-n", operator, "--wait=false")
    wait_until(60, f"another than {leader} leads", lambda: operators.another_leads(leader), every=1)

    flights.wait_ready(namespace, 240)
    judge_so_far(namespace, 300)
    # whoever comes back goes on with what is there: no query was moved or made anew
    assert flights.uids(namespace) == before
    assert flights.generations(namespace) == generations
    kubectl("rollout", "status", "deployment/weir", "-n", operator, "--timeout=120s")


def test_a_drain_with_room_elsewhere_moves_first(namespace: str, kstatus: Path) -> None:
    wait_until(30, "a budget for each", lambda: set(budgets(namespace)) == fragments(namespace))
    for spec in budgets(namespace).values():
        assert (spec["minAvailable"], spec["unhealthyPodEvictionPolicy"]) == (1, "AlwaysAllow")
    assert_all_current(kstatus, namespace)
    before, revisions = flights.nodes_of(namespace), flights.revisions(namespace)
    fragment, node = next(iter(before.items()))
    query = next(q for q in flights.QUERIES if fragment.startswith(f"{q}-"))
    homes = flights.homes(namespace, query)

    with tainted(node):
        wait_until(120, "a move is under way", lambda: set(flights.nodes_of(namespace)) - set(before))
        assert "TooManyRequests" in refused_eviction(namespace, fragment)  # nobody could take over yet
        wait_until(30, "it says so", lambda: flights.moving(namespace), every=1)
        assert_all_current(kstatus, namespace)
        operators.kill_all()  # whoever leads next goes on with the move
        drain(node)
        flights.wait_ready(namespace, 120)
        assert node not in flights.nodes_of(namespace).values()

    roll_back(namespace, query, revisions[query])
    wait_until(240, f"{query} is where it was", lambda: flights.homes(namespace, query) == homes)
    flights.wait_ready(namespace, 120)
    judge_so_far(namespace, 300)
    on_command("unpin", f"{namespace}/{query}")
    assert "pinned" not in get("wpl", query, "-n", namespace)[0]["spec"]


def roll_back(namespace: str, query: str, revision: int) -> None:
    """Brings an earlier plan back, and looks at what the command line tells of it."""
    name = f"{namespace}/{query}"
    on_command("rollback", name, str(revision))
    why = f"rollback to revision {revision}"
    wait_until(60, why, lambda: why in on_command("explain", name))
    (row,) = [line for line in on_command("status").splitlines() if line.split()[:1] == [name]]
    assert "True" in row
    assert str(flights.revisions(namespace)[query]) in row
    wait_until(30, "an event says so", lambda: flights.events(namespace, "RolledBack"), every=1)


def test_a_drain_without_room_ends_and_rows_wait(namespace: str) -> None:
    every, node = fragments(namespace), next(iter(flights.nodes_of(namespace).values()))
    with cordoned(*(other for other in WORKERS if other != node)):
        drain(node)
    wait_until(240, "every fragment has a place", lambda: fragments(namespace, placed=True) == every)
    flights.wait_ready(namespace, 240)
    judge_so_far(namespace, 300)


def test_a_frozen_worker_is_left_and_its_return_changes_nothing(namespace: str) -> None:
    every, node = fragments(namespace), next(iter(flights.nodes_of(namespace).values()))
    leader = wait_until(60, "one leads", operators.leader)
    restarts = operators.restarts(leader)
    operators.stop(leader)  # another one leads, until the kubelet has noticed
    with frozen(node):
        wait_until(300, f"all run without {node}", lambda: fragments_off(namespace, node) == every)
        assert operators.another_leads(leader)
    wait_until(120, f"{node} is back", lambda: is_ready(node))
    flights.wait_ready(namespace, 180)
    judge_so_far(namespace, 300)
    wait_until(150, f"{leader} is started again", lambda: operators.restarts(leader) > restarts)


def test_a_worker_without_its_way_to_the_api_server_publishes_nothing_and_ends(namespace: str) -> None:
    every, before = fragments(namespace), flights.nodes_of(namespace)
    node = next(iter(before.values()))
    there = {pod for pod, where in before.items() if where == node}
    containers = running_drivers(node)
    assert containers
    with cut_off(node):
        # Its drivers cannot renew their leases: they wait, though storage and Kafka answer.
        wait_until(300, f"all run without {node}", lambda: fragments_off(namespace, node) == every)
    wait_until(120, f"{node} is back", lambda: is_ready(node))
    wait_until(120, "no old driver goes on", lambda: not running_drivers(node) & containers)
    wait_until(180, "the old pods are gone", lambda: not there & set(flights.nodes_of(namespace)))
    flights.wait_ready(namespace, 180)
    judge_so_far(namespace, 300)


def test_a_query_is_edited_suspended_and_resumed_and_the_others_do_not_notice(namespace: str) -> None:
    others = {name: uid for name, uid in flights.uids(namespace).items() if not name.startswith("by-carrier")}
    lives = restarts(namespace)
    apply([secret(namespace, "second")])  # meanwhile its users, and nobody else, begin again with it
    users = {name for name in others if name.startswith("made-up-time")}

    (query,) = get("wsq", "by-carrier", "-n", namespace)
    sql, was = query["spec"]["sql"], of_query(namespace, "by-carrier")
    patch(namespace, "by-carrier", {"sql": sql.replace("GROUP BY", "WHERE d.dep_delay >= 15 GROUP BY")})
    wait_until(200, "other fragments", lambda: not set(of_query(namespace, "by-carrier")) & set(was))
    CUTS[namespace] = [cut_passed(namespace, "by-carrier", 0)]
    judge_so_far(namespace, 300)
    patch(namespace, "by-carrier", {"sql": sql})
    wait_until(150, "back again", lambda: ready_reason(namespace, "by-carrier") == "Running", every=1)
    CUTS[namespace].append(cut_passed(namespace, "by-carrier", CUTS[namespace][0]))
    judge_so_far(namespace, 300)

    patch(namespace, "by-carrier", {"suspend": True})
    wait_until(60, "suspended", lambda: ready_reason(namespace, "by-carrier") == "Suspended", every=1)
    pods = ["pods", "-n", namespace, "-l", "weir.dev/query=by-carrier"]
    wait_until(90, "its pods are gone", lambda: not get(*pods), every=1)
    patch(namespace, "by-carrier", {"suspend": None})
    wait_until(150, "resumed", lambda: ready_reason(namespace, "by-carrier") == "Running", every=1)

    wait_until(180, "its users have begun again", lambda: begun_again(namespace, lives) >= users)
    assert begun_again(namespace, lives) == users
    for pod in users:
        token = ("exec", "-n", namespace, pod, "--", "bash", "-c", "echo $TOKEN")
        assert kubectl(*token).strip() == "second"
    flights.wait_ready(namespace, 120)
    judge_so_far(namespace, 300)
    assert others.items() <= flights.uids(namespace).items()  # the same pods as at the beginning


def restarts(namespace: str) -> dict[str, int]:
    """Of each driver's container, by its pod's name."""
    pods = flights.drivers(namespace)
    return {p["metadata"]["name"]: p["status"]["containerStatuses"][0]["restartCount"] for p in pods}


def begun_again(namespace: str, lives: dict[str, int]) -> set[str]:
    """The drivers of before whose containers were started again since."""
    return {pod for pod, count in restarts(namespace).items() if pod in lives and count > lives[pod]}


def test_queries_run_on_without_the_chart(namespace: str) -> None:
    pods = flights.uids(namespace)
    run("helm", "uninstall", RELEASE, "-n", OPERATOR_NAMESPACE, "--wait", timeout=240)
    gone = ("pods", "-n", OPERATOR_NAMESPACE, *OPERATORS)
    wait_until(90, "the operators are gone", lambda: not get(*gone))
    assert not budgets(namespace)  # nobody could lift them: each drain of a node would hang
    kinds = [k for k in get("customresourcedefinitions") if k["spec"]["group"] == "weir.dev"]
    assert len(kinds) == 7
    assert {q["metadata"]["name"] for q in get("wsq", "-n", namespace)} == set(flights.QUERIES)
    assert flights.uids(namespace) == pods

    # the removal has taken the lead for two minutes, so that no replica makes budgets again
    kubectl("delete", "lease", LEADER_LEASE, "-n", OPERATOR_NAMESPACE)
    install()
    wait_until(120, "a budget for each", lambda: set(budgets(namespace)) == fragments(namespace))
    flights.wait_ready(namespace, 60)
    assert flights.uids(namespace) == pods
    judge_so_far(namespace, 300)


def kept(placement: Mapping[str, Any]) -> bool:
    """Whether its state stays when its query goes."""
    return bool((placement["spec"].get("owner") or {}).get("retain"))


def test_deleted_queries_leave_nothing(namespace: str) -> None:
    folders = [SHARED / namespace / what / namespace for what in ("exchange", "checkpoints", "late")]
    for query in flights.QUERIES:
        patch = '{"spec": {"deletionPolicy": "Delete"}}'
        kubectl("patch", "wsq", query, "-n", namespace, "--type=merge", "-p", patch)
    wait_until(60, "nothing is to be kept", lambda: not any(map(kept, get("wpl", "-n", namespace))))
    for query in flights.QUERIES:
        kubectl("delete", "wsq", query, "-n", namespace)
    wait_until(
        120,
        "nothing of the queries is left",
        lambda: (
            not get(LEFT, "-n", namespace, "-l", "app.kubernetes.io/managed-by=weir")
            and not any(list(f.iterdir()) for f in folders if f.exists())
        ),
        every=1,
    )
    assert not get("wpl", "-n", namespace)
