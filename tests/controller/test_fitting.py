"""No status or Placement that the loop writes is refused by our own schema, whatever others say in it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from weir_operator.api.fit import clip, fit
from weir_operator.api.kinds import KINDS
from weir_operator.api.policy import PlacementPolicySpec
from weir_operator.controller.decision import DeletePlacement, WritePlacement, WriteStatus
from weir_operator.controller.desired_state import Fault
from weir_operator.controller.record import Record
from weir_placement.model.cluster import Node
from weir_placement.model.operators import Filter
from weir_placement.model.problem import Query

from tests.api.structural import LARGEST, schema_of, violations
from tests.controller.fake_cluster import FakeCluster
from tests.controller.scenario import Scenario, desired, loop, one_query, settle


@dataclass
class StrictCluster(FakeCluster):
    """Refuses what the API server would refuse, as an error of the test."""

    def write_placement(self, placement: WritePlacement | DeletePlacement) -> None:
        if isinstance(placement, WritePlacement):
            assert not list(violations(schema_of("Placement", "spec"), placement.spec, "spec"))
            assert not list(violations(schema_of("Placement", "status"), placement.status, "status"))
        super().write_placement(placement)

    def write_status(self, status: WriteStatus) -> None:
        assert not list(violations(schema_of(status.kind, "status"), status.status, status.kind))
        super().write_status(status)


def long_chain(count: int) -> Scenario:
    """A query whose operators each need a node of their own, with names as long as clouds give."""
    names = [f"ip-10-0-{i}-17.eu-central-1.compute.internal" for i in range(count)]
    operators, before = [], "s"
    for i, name in enumerate(names):
        operators.append(
            Filter(f"f{i}", (before,), ("s.k",), f"s.k > {i}", selectivity=1.0, cost=1.0, nodes=(name,))
        )
        before = f"f{i}"
    q = Query("default/q", {"s": "default/s"}, tuple(operators))
    return Scenario({q.name: desired(q)}, nodes=tuple(Node(name, cpu=1.0) for name in ("n1", *names)))


def test_many_long_names_of_nodes_are_cut_at_a_name_and_the_status_says_so() -> None:
    names = ", ".join(f"ip-10-0-{i}-17.eu-central-1.compute.internal" for i in range(40))
    written = fit("StreamQuery", "status", {"nodes": names})["nodes"]
    assert len(written) <= 1024
    assert written.endswith(f".internal, … ({len(names)} characters in all)")


texts = st.text(max_size=9000) | st.integers(1, 9000).map(lambda n: "wörd " * n)


@given(text=texts, most=st.integers(1, 5000))
def test_what_is_cut_has_the_length_it_may_have_and_stays_so(text: str, most: int) -> None:
    cut = clip(text, most)
    assert len(cut) <= most
    assert clip(cut, most) == cut
    assert cut == text or "…" in cut


def of_schema(schema: Any) -> st.SearchStrategy[Any]:
    """Values of the right types, and of any length; no empty map, which is left out."""
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        return st.just({"any": ["thing"]})
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "additionalProperties" in schema:
        return st.dictionaries(st.sampled_from("ab"), of_schema(schema["additionalProperties"]), min_size=1)
    if schema["type"] == "object":
        required = schema.get("required", [])
        fields = {name: of_schema(child) for name, child in schema["properties"].items()}
        needed = {name: fields[name] for name in required}
        return st.fixed_dictionaries(needed, optional={k: v for k, v in fields.items() if k not in needed})
    if schema["type"] == "array":
        keyed = schema["x-kubernetes-list-type"] != "atomic"
        most = min(schema["maxItems"], 3) if keyed else schema["maxItems"] + 2
        size = st.integers(0, 3) | st.integers(0, most)
        item = of_schema(schema["items"])
        several = st.tuples(size, item).map(lambda drawn: [drawn[1]] * drawn[0])
        return several.map(lambda items: items[:1]) if keyed else several
    if schema["type"] == "string":
        size = st.integers(0, schema["maxLength"] + 50)
        return st.tuples(size, st.sampled_from(["a", "ab ", "é, "])).map(lambda d: (d[1] * d[0])[: d[0]])
    bounds = {"min_value": schema.get("minimum"), "max_value": schema.get("maximum")}
    return {
        "integer": st.integers(schema.get("minimum", -LARGEST), schema.get("maximum", LARGEST - 1)),
        "number": st.floats(**bounds),
        "boolean": st.booleans(),
    }[schema["type"]]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@given(data=st.data())
@settings(max_examples=40, suppress_health_check=list(HealthCheck), deadline=None)
def test_whatever_a_status_says_it_fits_and_fitting_it_again_changes_nothing(kind: Any, data: Any) -> None:
    schema = schema_of(kind.name, "status")
    status = data.draw(of_schema(schema))
    fitted = fit(kind.name, "status", status)
    assert list(violations(schema, fitted, kind.name)) == []
    assert fit(kind.name, "status", fitted) == fitted


words = st.sampled_from(["", "x", "no room ", "x" * 5000, "word " * 2000, "ü" * 700, "\x00\n" * 600])


@given(
    messages=st.lists(words, min_size=1, max_size=4),
    fault=words,
    state=st.sampled_from(["failed", "pending"]),
)
@settings(max_examples=25, deadline=None)
def test_every_writer_fits_whatever_pods_and_people_say(messages: list[str], fault: str, state: Any) -> None:
    scenario, cluster = one_query(), StrictCluster()
    the_loop = loop(scenario, cluster)
    for message in messages:
        for _ in range(3):
            the_loop.once()
        for key, process in list(cluster.processes.items()):
            cluster.processes[key] = replace(process, state=state, message=message)
    scenario.faults = {"default/r": Fault(fault)}
    scenario.cordoned = frozenset({"n1"})
    for _ in range(4):
        the_loop.once()


def test_a_query_over_many_nodes_with_long_names_starts() -> None:
    scenario, cluster = long_chain(30), StrictCluster()
    the_loop = loop(scenario, cluster)
    settle(the_loop)  # what was cut is not written again and again
    assert len(cluster.running()) == 30
    assert "… (" in cluster.statuses["default/q"]["nodes"]


def test_numbers_that_json_does_not_have_are_left_out() -> None:
    assert fit("StreamQuery", "status", {"headroom": float("nan"), "latencySeconds": float("inf")}) == {}


def test_a_first_proposal_has_no_gain_over_a_plan_that_is_not_there() -> None:
    """It would be a null, which the API server refuses: a query of mode Manual could never be approved."""
    scenario, cluster = one_query(), StrictCluster()
    scenario.policy = PlacementPolicySpec(mode="Manual")
    loop(scenario, cluster).once()
    proposed = cluster.placements["default/q"].status["proposed"]
    assert proposed["hash"]
    assert "gain" not in proposed


def test_what_is_read_back_is_never_cut() -> None:
    owned = [f"f{i}" for i in range(1200)]
    assert fit("Placement", "status", {"owned": owned})["owned"] == owned


def test_a_proposal_and_a_decision_that_were_cut_are_no_news_at_the_next_look() -> None:
    record = Record("d/q").with_status(proposed={"revision": 1, "diff": "+ f on n\n" * 2000, "gain": 1.0})
    assert len(record.status["proposed"]["diff"]) <= 8192
    again = record.with_status(proposed={"revision": 1, "diff": "+ f on n\n" * 2000, "gain": 1.0})
    assert again.status == record.status
