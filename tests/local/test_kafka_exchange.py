"""Flows in Kafka: as the policy says, begun anew where they lie elsewhere, swept where policies have them."""

from __future__ import annotations

from pathlib import Path

from weir_operator.api.policy import flows_of
from weir_operator.controller.desired_state import DesiredQuery
from weir_operator.controller.observed_state import ObservedState
from weir_operator.local.machine import Machine, Options
from weir_placement.fragments import Knobs
from weir_placement.model.location import Flows, Location

FLIGHTS = Path(__file__).parents[2] / "examples" / "flights"
BROKERS = "{bootstrapServers: 'k:9092'}"


def flights(folder: Path, exchange: str, kind: str = "kafka") -> DesiredQuery:
    """A query of the example under a policy with this `exchange.kafka`, or of another kind; "" for none."""
    folder.mkdir()
    policy = (FLIGHTS / "policy.yaml").read_text()
    text = f"  exchange: {{{kind}: {exchange}}}\n" if exchange else ""
    (folder / "policy.yaml").write_text(policy + text)
    paths = tuple(str(FLIGHTS / f"{name}.yaml") for name in ("streams", "queries", "cluster"))
    options = Options((*paths, str(folder / "policy.yaml")), folder, FLIGHTS, Knobs())
    machine = Machine(options, lambda findings: None)
    # the same uid in each folder: it is part of what a query's rows depend on
    objects = tuple(
        {**o, "metadata": {**o["metadata"], "uid": "u"}} for o in machine.cluster.observe().objects
    )
    (group,) = machine.loop.desired_state(ObservedState(1000.0, objects), machine.loop.settings).groups
    return group.queries[min(group.queries)]


def test_the_policy_says_where_flows_lie(tmp_path: Path) -> None:
    assert flights(tmp_path / "a", "").ends.flows == Flows()
    flows = flights(tmp_path / "b", "{bootstrapServers: 'k:9092', replication: 3}").ends.flows
    assert flows.written("/data", "a", "f") == Location(
        "topic", "weir.a.f", {"bootstrapServers": "k:9092", "replication": 3}
    )


def test_flows_that_come_to_lie_elsewhere_are_a_change_of_the_query(tmp_path: Path) -> None:
    files, kafka = flights(tmp_path / "a", ""), flights(tmp_path / "b", BROKERS)
    other = flights(tmp_path / "c", "{bootstrapServers: 'k:9092', topicPrefix: mine.}")
    assert len({files.source, kafka.source, other.source}) == 3
    log_in = "{bootstrapServers: 'k:9092', security: {protocol: SSL}}"
    assert flights(tmp_path / "d", log_in).source == kafka.source


def test_what_a_query_leaves_is_looked_for_at_the_brokers_of_policies_alone() -> None:
    policy = {"kind": "PlacementPolicy", "spec": {"exchange": {"kafka": {"bootstrapServers": "k:1"}}}}
    assert flows_of(policy).below("/data", "a") == "weir.a."
    assert flows_of(policy).options["bootstrapServers"] == "k:1"
    assert flows_of({"kind": "PlacementPolicy", "spec": {"exchange": {"retention": "5m"}}}) == Flows()
    assert flows_of({"kind": "PlacementPolicy", "spec": {"exchange": {"kafka": {"brokers": 1}}}}) == Flows()
