"""What is put into the cluster: Weir takes its objects, and each thing is in its zone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from weir_operator.manifests.objects import from_raw
from weir_operator.manifests.problem import build
from weir_placement.strategies import STRATEGIES

from tests.bench.links import cluster
from tests.bench.links.queries import PLAIN, ZONES, weir_objects
from tests.bench.links.rows import STREAMS
from tests.bench.links.shaping import ZONE


def nodes() -> list[dict[str, object]]:
    return [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": f"n-{zone}", "labels": {ZONE: zone}},
            "status": {"allocatable": {"cpu": "2", "memory": "20Gi"}},
        }
        for zone in ZONES
    ]


@pytest.mark.parametrize("chosen", list(PLAIN))
@pytest.mark.parametrize("strategy", ["auto", "round-robin"])
def test_weir_plans_the_queries(chosen: str, strategy: str, tmp_path: Path) -> None:
    manifests = weir_objects("links", chosen, "p-", 4000, 20_000_000, strategy)
    objects, findings = from_raw([*nodes(), *manifests])
    assert not findings
    built = build(objects)
    assert not built.findings
    (group,) = built.groups
    result = STRATEGIES[strategy].plan(
        group.problem, objective="headroom", seed=0, time_limit=2.0, options={}
    )
    assert not result.plan.rejected
    assert {q.query.name for q in result.plan.queries} == {f"links/{name}" for name in PLAIN[chosen]}
    used = {node for q in result.plan.queries for node in q.nodes.values()}
    assert len(used) == len(ZONES) or strategy == "auto"


def test_weirs_plan_carries_more_than_round_robin() -> None:
    value = {}
    for strategy in ("auto", "round-robin"):
        objects, _ = from_raw([*nodes(), *weir_objects("links", "flights", "p-", 4000, 20_000_000, strategy)])
        (group,) = build(objects).groups
        plan = STRATEGIES[strategy].plan
        value[strategy] = plan(group.problem, objective="headroom", seed=0, time_limit=2.0, options={}).value
    assert value["auto"] > value["round-robin"]


def test_brokers_lie_in_their_zones_and_agree_on_one_controller() -> None:
    pods = [o for o in cluster.brokers() if o["kind"] == "Pod"]
    assert [p["spec"]["nodeSelector"][ZONE] for p in pods] == list(ZONES)
    env = [{e["name"]: e.get("value") for e in p["spec"]["containers"][0]["env"]} for p in pods]
    assert len({e["KAFKA_VOTERS"] for e in env}) == 1
    assert len({e["KAFKA_NODE"] for e in env}) == len(ZONES)
    (controller,) = [e for e in env if "controller" in e["KAFKA_ROLES"]]
    assert controller["KAFKA_VOTERS"] == f"{controller['KAFKA_NODE']}@{controller['KAFKA_HOST']}:9093"


def test_feeders_are_beside_the_brokers_they_feed() -> None:
    for chosen in PLAIN:
        for zone in {s.origin for s in STREAMS[chosen]}:
            assert cluster.feeder(zone)["spec"]["nodeSelector"] == {ZONE: zone}


def test_nothing_says_where_sparks_default_runs() -> None:
    (driver,) = [o for o in cluster.spark_application() if o["kind"] == "Pod"]
    for pod in (driver, cluster.executor_template()):
        assert not {"nodeSelector", "affinity", "nodeName"} & set(pod["spec"])
    json.dumps(cluster.executor_template())


def test_every_pod_is_restricted() -> None:
    items = [*cluster.brokers(), *cluster.spark_application(), cluster.plain_job(), cluster.feeder("west")]
    for pod in [o for o in items if o["kind"] == "Pod"] + [cluster.executor_template()]:
        assert pod["spec"]["securityContext"]["runAsNonRoot"]
        for container in pod["spec"]["containers"]:
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
            assert not container["securityContext"]["allowPrivilegeEscalation"]
