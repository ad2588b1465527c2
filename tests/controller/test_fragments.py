"""Cutting a plan into fragments: what each is told, and that names change exactly with what is computed."""

from __future__ import annotations

from dataclasses import replace

from weir_operator.api.policy import Exchange
from weir_placement.fragments import Ends, cut, groups_of
from weir_placement.model.fragment import FragmentSpec, Output
from weir_placement.model.location import Location
from weir_placement.model.operators import Filter, Item, Join, Project, Window
from weir_placement.model.plan import QueryPlan
from weir_placement.model.problem import Query

from tests.controller.scenario import LAYOUT, stream

STREAMS = {"default/a": stream("a", "n1"), "default/b": stream("b", "n2")}
FILTER = Filter("f", ("a",), ("a.k",), "a.k > 1", cost=5.0)
JOIN = Join("j", ("f", "b"), ("a.k", "b.k"), on="a.k = b.k", windows=(Window("a", "b", -5, 5),), cost=7.0)
PROJECT = Project("p", ("j",), ("a.k",), items=(Item("k", "a.k"),))
QUERY = Query("default/q", {"a": "default/a", "b": "default/b"}, (FILTER, JOIN, PROJECT))
ENDS = Ends(
    {"a": {"files": {"uri": "/in/a"}}, "b": {"files": {"uri": "/in/b"}}}, Output("files", "/out/q"), "uid-1"
)


def plan(f: str, j: str, p: str, query: Query = QUERY) -> QueryPlan:
    return QueryPlan(query, {"f": f, "j": j, "p": p}, {"a": "n1", "b": "n2"})


def cut_it(
    placed: QueryPlan, ends: Ends = ENDS, boundaries: frozenset[str] = frozenset()
) -> dict[str, FragmentSpec]:
    return {s.operators[-1].id: s for s in cut(placed, STREAMS, ends, LAYOUT, boundaries)}


def test_operators_on_one_node_are_one_fragment_that_reads_its_sources_itself() -> None:
    (spec,) = cut(plan("n1", "n1", "n1"), STREAMS, ENDS, LAYOUT)
    spec.check()
    assert [op.id for op in spec.operators] == ["f", "j", "p"]
    assert [(i.name, i.kind) for i in spec.inputs] == [("a", "source"), ("b", "source")]
    assert spec.inputs[0].delay == 1_000_000
    assert spec.output == ENDS.sink


def test_a_stream_that_leaves_its_node_is_an_exchange_that_names_its_reader() -> None:
    specs = cut_it(plan("n1", "n2", "n2"))
    assert set(specs) == {"f", "p"}
    assert specs["f"].output.kind == "exchange"
    assert specs["f"].output.consumers == (specs["p"].name,)
    source = next(i for i in specs["p"].inputs if i.name == "f")
    assert (source.kind, source.flow) == ("exchange", specs["f"].output.flow)


def test_a_stream_that_leaves_its_node_is_a_topic_where_the_policy_says_kafka() -> None:
    brokers = {"bootstrapServers": "k:9092", "topicPrefix": "t.", "replication": 3}
    flows = Exchange.model_validate({"kafka": brokers}).flows()
    specs = cut_it(plan("n1", "n2", "n2"), replace(ENDS, flows=flows))
    output, name = specs["f"].output, specs["f"].name
    at = Location("topic", f"t.default.{name}", {"bootstrapServers": "k:9092", "replication": 3})
    assert (output.kind, output.flow) == ("exchange", at)
    source = next(i for i in specs["p"].inputs if i.name == "f")
    assert source.flow == replace(at, options={"bootstrapServers": "k:9092"})
    for spec in specs.values():
        replace(spec, epoch=1, lease="l", state="s").check()


def test_a_stream_that_leaves_its_node_lies_below_the_namespace_of_a_store() -> None:
    reached = {"region": "eu", "secretRef": "login", "caSecretRef": "ca"}
    flows = Exchange.model_validate({"files": {"uri": "s3://weir/prod", "s3": reached}}).flows()
    specs = cut_it(plan("n1", "n2", "n2"), replace(ENDS, flows=flows))
    output, name = specs["f"].output, specs["f"].name
    at = Location("store", f"s3://weir/prod/default/{name}", reached)
    assert (output.kind, output.flow) == ("exchange", at)
    source = next(i for i in specs["p"].inputs if i.name == "f")
    assert source.flow == at
    for spec in specs.values():
        replace(spec, epoch=1, lease="l", state="s").check()


def test_a_move_keeps_name_checkpoint_and_folder() -> None:
    before, after = cut_it(plan("n1", "n2", "n2")), cut_it(plan("n3", "n2", "n2"))
    assert replace(before["f"], node="n3") == after["f"]
    assert before["p"] == after["p"]


def test_a_running_query_keeps_its_fragments_when_they_come_together() -> None:
    apart = cut_it(plan("n1", "n2", "n2"))
    together = cut_it(plan("n2", "n2", "n2"), boundaries=frozenset({"f", "p"}))
    assert {s.name for s in apart.values()} == {s.name for s in together.values()}
    assert list(groups_of(plan("n2", "n2", "n2"))) == ["p"]


def test_costs_and_estimates_change_no_name_but_a_predicate_changes_it_and_all_below() -> None:
    other_cost = replace(QUERY, operators=(replace(FILTER, cost=99.0, selectivity=0.1), JOIN, PROJECT))
    other_rows = replace(QUERY, operators=(replace(FILTER, predicate="a.k > 2"), JOIN, PROJECT))
    names = {k: s.name for k, s in cut_it(plan("n1", "n2", "n2")).items()}
    assert names == {k: s.name for k, s in cut_it(plan("n1", "n2", "n2", other_cost)).items()}
    changed = {k: s.name for k, s in cut_it(plan("n1", "n2", "n2", other_rows)).items()}
    assert not set(names.values()) & set(changed.values())


def test_an_edit_downstream_leaves_the_fragment_upstream_alone() -> None:
    other = replace(QUERY, operators=(FILTER, JOIN, replace(PROJECT, items=(Item("x", "a.k"),))))
    before, after = cut_it(plan("n1", "n2", "n2")), cut_it(plan("n1", "n2", "n2", other))
    assert before["f"].name == after["f"].name
    assert before["p"].name != after["p"].name


def test_a_query_made_again_under_its_old_name_starts_anew() -> None:
    again = cut_it(plan("n1", "n1", "n1"), replace(ENDS, incarnation="uid-2"))
    assert again["p"].name != cut_it(plan("n1", "n1", "n1"))["p"].name


def test_names_fit_a_pod_and_its_epoch() -> None:
    long = replace(QUERY, name="default/" + "x" * 50)
    for spec in cut(plan("n1", "n2", "n3", long), STREAMS, ENDS, LAYOUT):
        assert len(f"{spec.name}-e100000") <= 63
        LAYOUT.stamp(spec, 3, "n1", True).check()


def test_stamp_fills_in_lease_and_state() -> None:
    spec = LAYOUT.stamp(cut_it(plan("n1", "n1", "n1"))["p"], 4, "n9", True)
    assert (spec.epoch, spec.node, spec.standby) == (4, "n9", True)
    assert spec.lease == f"/data/leases/default/{spec.name}.json"
    assert spec.state == f"/data/state/default/{spec.name}-e4.json"
