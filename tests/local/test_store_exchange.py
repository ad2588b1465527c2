"""Flows on an object store: as the policy says, and begun anew where they lie elsewhere."""

from __future__ import annotations

from pathlib import Path

from weir_operator.api.policy import flows_of
from weir_placement.model.location import Flows

from tests.local.test_kafka_exchange import BROKERS, flights

URI = "s3://weir/prod"
OTHER = "{uri: 's3://weir/test'}"


def test_the_policy_says_where_flows_lie(tmp_path: Path) -> None:
    alone = flights(tmp_path / "a", f"{{uri: '{URI}'}}", "files").ends.flows
    assert (alone.kind, alone.address, alone.options) == ("store", f"{URI}/{{namespace}}/{{fragment}}", {})
    reached = f"{{uri: '{URI}', s3: {{endpoint: 'http://s3:9000', region: eu}}}}"
    flows = flights(tmp_path / "b", reached, "files").ends.flows
    assert flows.options == {"endpoint": "http://s3:9000", "region": "eu"}
    assert flights(tmp_path / "c", "{claim: fast}", "files").ends.flows == Flows()


def test_flows_that_come_to_lie_elsewhere_are_a_change_of_the_query(tmp_path: Path) -> None:
    at = {
        "claim": flights(tmp_path / "a", ""),
        "topics": flights(tmp_path / "b", BROKERS),
        "store": flights(tmp_path / "c", f"{{uri: '{URI}'}}", "files"),
        "prefix": flights(tmp_path / "d", OTHER, "files"),
        "endpoint": flights(tmp_path / "e", f"{{uri: '{URI}', s3: {{endpoint: 'http://s3:9000'}}}}", "files"),
    }
    assert len({client.source for client in at.values()}) == len(at)
    other_claim = flights(tmp_path / "g", f"{{uri: '{URI}', claim: fast}}", "files")
    assert other_claim.source == at["store"].source


def test_what_a_query_leaves_is_looked_for_where_policies_have_flows() -> None:
    files = {"uri": URI, "s3": {"secretRef": "login"}}
    policy = {"kind": "PlacementPolicy", "spec": {"exchange": {"files": files}}}
    assert flows_of(policy).below("/data", "a") == f"{URI}/a/"
    assert flows_of(policy).options == {"secretRef": "login"}
    assert flows_of({"kind": "PlacementPolicy", "spec": {"exchange": {"files": {"claim": "x"}}}}) == Flows()
    assert flows_of({"kind": "PlacementPolicy", "metadata": {"name": "p"}}) == Flows()
