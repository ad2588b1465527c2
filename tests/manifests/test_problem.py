"""Objects become the model: units, capacities, profiles, policies in their order."""

from math import inf

import pytest
from weir_operator.manifests.cluster import NodeUsage
from weir_operator.planning.capacity import subtract
from weir_placement.cost.allowed import allowed_nodes, impossible

from tests.manifests.scene import FILTER, JOIN, NODES, STREAMS, built, graph, node, obj, stream


def only(*raw, **options):
    group = built(*raw, **options)
    assert group.findings == (), [str(f) for f in group.findings]
    return group.groups[0].problem


def test_streams_in_si_units():
    problem = only(
        *NODES,
        stream("a", rate="2k", origin={"zone": "east"}, statistics={"distinct": {"x": 4}}),
        graph("q", FILTER),
    )
    a = problem.streams["default/a"]
    assert (a.rate, a.origins, a.delay, a.event_time) == (2000.0, ("n1",), 1.0, "ts")
    assert a.tuple_bytes == 4 + 4 + 8 + 16  # two INT, one TIMESTAMP, the row id
    assert problem.queries[0].operators[0].selectivity == pytest.approx(1 / 4)


def test_a_stream_without_an_origin_enters_anywhere():
    assert only(*NODES, *STREAMS, graph("q", FILTER)).streams["default/a"].origins == ("n1", "n2")


def test_capacity_is_less_by_the_reserve_and_by_what_others_ask():
    policy = obj("PlacementPolicy", "default", {"reserve": {"cpu": "500m", "memory": "1Gi"}})
    problem = only(
        *NODES, *STREAMS, policy, graph("q", FILTER), usage={"n1": NodeUsage(cpu=1.0, memory=2.0**30)}
    )
    first, second = problem.cluster.nodes
    assert (first.cpu, first.memory) == (2.5, 6 * 2.0**30)
    assert (second.cpu, second.memory) == (3.5, 7 * 2.0**30)


def test_bandwidth_and_speed_of_a_node_are_annotations():
    fast = node("n1")
    fast["metadata"]["annotations"] = {"weir.dev/egress": "100M", "weir.dev/speed": "1500m"}
    (group,) = only(fast, *STREAMS, graph("q", FILTER)).cluster.nodes
    assert (group.egress, group.ingress, group.speed) == (12.5e6, inf, 1.5)
    assert group.cpu_capacity == 6e6


@pytest.mark.parametrize(
    "closed",
    [
        node("n2", unschedulable=True),
        node("n2", taints=[{"key": "k", "effect": "NoSchedule"}]),
        node("n2")
        | {"status": {"allocatable": {"cpu": 1}, "conditions": [{"type": "Ready", "status": "Unknown"}]}},
    ],
)
def test_cordoned_tainted_and_sick_nodes_get_nothing_new(closed):
    problem = only(NODES[0], closed, *STREAMS, graph("q", FILTER))
    assert [n.schedulable for n in problem.cluster.nodes] == [True, False]


@pytest.mark.parametrize("listed", [["n2"], []], ids=["its own list", "every node"])
def test_where_taints_leave_an_operator_no_node_it_is_not_free_to_go_anywhere(listed):
    taint = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
    nodes = [node("n1", taints=[] if listed else [taint]), node("n2", taints=[taint])]
    tolerant = graph("t", FILTER, tolerations=[{"key": "gpu", "operator": "Exists"}])
    problem = only(*nodes, *STREAMS, tolerant, graph("q", {**FILTER, "nodes": listed}))
    (query,) = (q for q in problem.queries if q.name == "default/q")
    assert allowed_nodes(problem, query, query.operators[0]) == ()
    assert "whose taints the query tolerates" in impossible(problem, query)


def test_a_toleration_opens_a_node_for_its_query_alone():
    tainted = node("n2", taints=[{"key": "gpu", "value": "yes", "effect": "NoSchedule"}])
    tolerant = graph("t", FILTER, tolerations=[{"key": "gpu", "operator": "Exists"}])
    problem = only(NODES[0], tainted, *STREAMS, tolerant, graph("q", FILTER))
    nodes = {query.name: query.operators[0].nodes for query in problem.queries}
    assert [n.schedulable for n in problem.cluster.nodes] == [True, True]
    assert nodes == {"default/q": ("n1",), "default/t": ()}


def sized(name, memory):
    """A node that declares so much memory; None: none."""
    status = {"allocatable": {"cpu": 4} | ({"memory": memory} if memory else {})}
    return node(name) | {"status": status}


@pytest.mark.parametrize(
    ("resources", "nodes"),
    [
        ({}, ()),
        ({"memory": "6Gi"}, ()),
        ({"memory": "7Gi"}, ("large", "unknown")),
        ({"executors": 6}, ("large", "unknown")),
        ({"memory": "900Gi"}, ("unknown",)),
    ],
    ids=str,
)
def test_a_fragment_is_planned_only_where_its_memory_fits(resources, nodes):
    """The policy's reserve is not theirs to use; executors run on their driver's node."""
    policy = obj("PlacementPolicy", "default", {"reserve": {"memory": "1Gi"}})
    query = graph("q", FILTER, resources=resources)
    machines = [sized("small", "7Gi"), sized("large", "16Gi"), sized("unknown", None)]
    problem = only(*machines, *STREAMS, policy, query)
    assert problem.queries[0].operators[0].nodes == nodes


@pytest.mark.parametrize("listed", [["small"], []], ids=["its own list", "every node"])
def test_a_request_of_more_memory_than_any_node_has_is_refused_in_words(listed):
    query = graph("q", {**FILTER, "nodes": listed}, resources={"memory": "900Gi"})
    problem = only(sized("small", "7Gi"), sized("large", "16Gi"), *STREAMS, query)
    (query,) = problem.queries
    assert allowed_nodes(problem, query, query.operators[0]) == ()
    why = impossible(problem, query)
    assert "spec.resources.memory" in why
    assert "900Gi" in why
    assert f"at most {'7Gi' if listed else '16Gi'}" in why


def test_the_policy_selects_nodes():
    labelled = node("n1")
    labelled["metadata"]["labels"]["tier"] = "stream"
    policy = obj("PlacementPolicy", "default", {"nodeSelector": {"tier": "stream"}})
    problem = only(labelled, NODES[1], *STREAMS, policy, graph("q", FILTER))
    assert [n.schedulable for n in problem.cluster.nodes] == [True, False]


def test_profile_points_by_full_stream_name():
    points = [{"name": "night", "rates": {"a": 10}}, {"name": "day", "rates": {"a": 500, "shop.c": 7}}]
    problem = only(
        *NODES, *STREAMS, stream("c", "shop"), obj("InputProfile", "p", {"points": points}),
        graph("q", FILTER, profile="p"),
    )  # fmt: skip
    assert problem.profile == ({"default/a": 10.0}, {"default/a": 500.0})


def test_policies_plan_by_priority():
    low, high = (
        obj("PlacementPolicy", "low", {"priority": -1}),
        obj("PlacementPolicy", "high", {"priority": 9}),
    )
    raw = [graph("q1", FILTER, policy="low"), graph("q2", FILTER, policy="high"), graph("q3", FILTER)]
    groups = built(*NODES, *STREAMS, low, high, *raw).groups
    assert [group.policy.metadata.name for group in groups] == ["high", "default", "low"]
    assert [q.name for group in groups for q in group.problem.queries] == [
        "default/q2",
        "default/q3",
        "default/q1",
    ]


def test_a_later_round_sees_what_is_left():
    problem = only(*NODES, *STREAMS, graph("q", FILTER))
    left = subtract(problem, {"n1": NodeUsage(cpu=1.5, memory=10.0)})
    assert [n.cpu for n in left.cluster.nodes] == [2.5, 4.0]


def test_a_suspended_query_is_not_planned():
    group = built(*NODES, *STREAMS, graph("q", FILTER, suspend=True), graph("r", FILTER))
    assert [q.name for q in group.groups[0].problem.queries] == ["default/r"]


def test_the_query_s_limits():
    query = only(
        *NODES, *STREAMS, graph("q", JOIN, maxLatency="2s", order="fixed", deliverTo={"zone": "west"})
    ).queries[0]
    assert (query.max_latency, query.fixed_order, query.deliver_to) == (2.0, True, ("n2",))
    assert query.sources == {"a": "default/a", "b": "default/b"}
