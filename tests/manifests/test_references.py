"""Errors between objects: told by object and field, with what there is instead."""

import pytest

from tests.manifests.scene import FILTER, NODES, STREAMS, built, graph, messages, node, obj, stream


def sql(text, name="q", **spec):
    return obj("StreamQuery", name, {"sql": text, **spec})


GOOD = "SELECT a.x FROM a WHERE a.x > 1"


def test_a_good_world_has_no_findings():
    assert messages(*NODES, *STREAMS, sql(GOOD), graph("g", FILTER)) == []


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (sql("SELECT a.x FROM aa"), "spec.sql: line 1, column 17: no stream aa; did you mean a?"),
        (sql("SELECT a.z FROM a"), "spec.sql: line 1, column 8: "),
        (sql(GOOD, policy="fast"), "spec.policy: no PlacementPolicy fast; policies: default"),
        (sql(GOOD, profile="rush"), "spec.profile: no InputProfile rush in namespace default; profiles"),
        (sql(GOOD, deliverTo={"zone": "eastt"}), "deliverTo.zone: no node in zone eastt; did you mean east?"),
        (sql(GOOD, deliverTo={"node": "n11"}), "deliverTo.node: no node n11; did you mean n1?"),
        (sql(GOOD, deliverTo={"selector": {"matchLabels": {"disk": "ssd"}}}), "no node has disk=ssd"),
        (sql("SELECT x.x FROM shop.bids x"), "column 17: stream shop.bids is not shared with namespace"),
        (sql("SELECT x.x FROM shop.opn x"), "column 17: no stream shop.opn; did you mean shop.open?"),
        (graph("q", {**FILTER, "inputs": ["aa"]}), "[0]: no stream aa; did you mean a?"),
        (graph("q", FILTER | {"predicate": "a.z = 0"}), "operators[0].predicate: "),
        (graph("q", FILTER | {"columns": ["a.z"]}), "columns[0]: no column a.z; did you mean a."),
        (graph("q", FILTER | {"nodes": ["n11"]}), "operators[0].nodes[0]: no node n11; did you mean n1?"),
        (graph("q", FILTER, FILTER | {"id": "g"}), "operators[0].id: nothing reads f; only the last"),
        (graph("q", FILTER | {"inputs": ["g"]}, FILTER | {"id": "g"}), "inputs[0]: g is defined later"),
    ],
)  # fmt: skip
def test_wording(query, message):
    shop = [stream("bids", "shop"), stream("open", "shop", sharedWith=["default"])]
    errors = messages(*NODES, *STREAMS, *shop, query)
    assert len(errors) == 1, errors
    assert errors[0].startswith("StreamQuery default/q: ")
    assert message in errors[0]


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ({"serviceAccountName": "lake"}, "policy p sets the service account lake"),
        ({"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}, "policy p has the volume v"),
    ],
)
def test_executors_are_refused_where_their_policy_cannot_hold(template, message):
    policy = obj("PlacementPolicy", "p", {"podTemplate": template}, "")
    alone, with_one = (sql(GOOD, policy="p", resources={"executors": n}) for n in (0, 1))
    assert messages(*NODES, *STREAMS, policy, alone) == []
    (text,) = messages(*NODES, *STREAMS, policy, with_one)
    assert text.startswith(f"StreamQuery default/q: spec.resources.executors: {message}")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": "x WIBBLE"}, "spec.schema: column x: 'WIBBLE' is not a plain type"),
        ({"eventTime": {"column": "tss"}}, "spec.eventTime.column: no column tss; did you mean ts?"),
        (
            {"source": {"files": {"uri": "in", "unixTimes": {"tss": "ms"}}}},
            "spec.source.files.unixTimes.tss: no column tss; did you mean ts?",
        ),
        (
            {"source": {"files": {"uri": "in", "unixTimes": {"x": "ms"}}}},
            "spec.source.files.unixTimes.x: x has type INT; write TIMESTAMP in schema",
        ),
        ({"eventTime": {"column": "x"}}, "spec.eventTime.column: x has type INT; name a TIMESTAMP column"),
        ({"origin": {"zone": "mars"}}, "spec.origin.zone: no node in zone mars; zones: east, west"),
        (
            {"statistics": {"distinct": {"q": 5}}},
            "spec.statistics.distinct.q: no column q; columns: ts, x, y",
        ),
    ],
)
def test_streams_by_themselves(change, message):
    errors = messages(*NODES, stream("a", **change))
    assert any(text.startswith(f"Stream default/a: {message}") for text in errors), errors


def test_the_other_queries_go_on():
    scene = built(*NODES, *STREAMS, sql(GOOD, "good"), sql("SELECT z.x FROM zzz z", "bad"))
    assert [query.name for query in scene.groups[0].problem.queries] == ["default/good"]
    assert [finding.object.name for finding in scene.findings] == ["bad"]
    assert scene.findings[0].reason == "ReferenceNotFound"


def test_a_policy_that_does_not_admit_the_namespace():
    policy = obj("PlacementPolicy", "p", {"allowedNamespaces": ["shop"]})
    scene = built(*NODES, *STREAMS, policy, sql(GOOD, policy="p")).findings
    assert scene[0].reason == "NotAllowed"
    assert "does not admit namespace default" in scene[0].message


def test_a_policy_with_an_unknown_strategy_and_topology():
    policy = obj("PlacementPolicy", "p", {"strategy": {"name": "magick"}, "topology": "moon"})
    errors = messages(*NODES, policy)
    assert "spec.strategy.name: no strategy magick" in errors[0]
    assert "spec.topology: no NetworkTopology moon; topologies: default" in errors[1]


def test_a_profile_with_an_unknown_stream():
    profile = obj("InputProfile", "p", {"points": [{"name": "rush", "rates": {"bb": 5}}]})
    assert messages(*NODES, *STREAMS, profile) == [
        "InputProfile default/p: spec.points[0].rates.bb: no stream bb; did you mean b?"
    ]


def test_nodes_say_what_they_lack():
    poor = node("poor") | {"status": {}}
    fast = node("fast")
    fast["metadata"]["annotations"] = {"weir.dev/egress": "much"}
    assert messages(poor, fast) == [
        "Node poor: status.allocatable.cpu: is missing; write the node's cores",
        'Node fast: metadata.annotations.weir.dev/egress: "much" is not a bandwidth in bits/s; '
        "write a quantity such as 100M or 1G",
    ]


def test_a_namespace_gets_no_more_queries_than_its_limit():
    policy = obj("PlacementPolicy", "p", {"limits": [{"namespace": "default", "queries": 1}]})
    queries = [sql(GOOD, "first", policy="p", priority=1), sql(GOOD, "second", policy="p")]
    scene = built(*NODES, *STREAMS, policy, *queries)
    assert [query.name for query in scene.groups[0].problem.queries] == ["default/first"]
    assert "allows only 1 of the 2 queries in namespace default" in scene.findings[0].message


def test_nothing_is_planned_before_the_last_object_that_it_depends_on():
    """Objects come in the worst order; over another network the first plan would be another one."""
    topology = obj("NetworkTopology", "t", {"links": [{"from": "east", "to": "west", "latency": "40ms"}]})
    policy = obj("PlacementPolicy", "p", {"topology": "t"})
    query = sql(GOOD, policy="p", profile="f")
    profile = obj("InputProfile", "f", {"points": [{"name": "rush", "rates": {"a": 5}}]})
    came = [query, *STREAMS, policy, profile]
    for last in range(1, len(came) + 1):
        assert not [q for group in built(*NODES, *came[:last]).groups for q in group.problem.queries]
    (group,) = built(*NODES, *came, topology).groups
    assert [q.name for q in group.problem.queries] == ["default/q"]


def test_a_stream_of_another_namespace_is_named_where_it_may_be_known():
    shop = [stream("bids", "shop"), stream("asks", "shop", sharedWith=["default"])]
    (message,) = messages(*NODES, *shop, sql("SELECT b.x FROM bids b"))
    assert message.endswith("no stream bids; streams: shop.asks")  # another tenant's: nothing is said of it
    (message,) = messages(*NODES, *shop, sql("SELECT b.x FROM asks b"))
    assert message.endswith("no stream asks; write shop.asks: it is in namespace shop")


def test_a_selector_that_no_node_has_keeps_no_query_from_its_plan_in_force():
    """Nodes may come back; until then the queries are planned, as where a zone has no node."""
    policy = obj("PlacementPolicy", "ssd", {"nodeSelector": {"disk": "ssd"}}, namespace="")
    problems = built(*NODES, *STREAMS, policy, sql(GOOD, policy="ssd"))
    (finding,) = problems.findings
    assert finding.message == "spec.nodeSelector: no node has disk=ssd; label a node, or select by another"
    assert finding.reason == "ReferenceNotFound"
    assert [query.name for query in problems.groups[0].problem.queries] == ["default/q"]
