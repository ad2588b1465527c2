"""Stored text and hashes of fragments whose flows are folders, objects or topics: an upgrade must give them
as the first version did, or it would start every process again, and read streams from their start."""

from __future__ import annotations

import hashlib
import json
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from weir_operator.api.policy import Exchange
from weir_operator.controller.actions import _build
from weir_operator.controller.record import _built, _plain
from weir_operator.controller.source_hash import source_hash
from weir_placement.fragments import Ends, Layout, cut
from weir_placement.model.fragment import FragmentSpec
from weir_placement.model.plan import QueryPlan
from weir_placement.model.problem import Query
from weir_runtime.plan import plan_hash

from tests.runtime.test_identity import OPERATORS, SINK, SOURCE, STREAM, untagged

QUERY = Query("a/q", {"c": "a/clicks"}, OPERATORS)
PLAN = QueryPlan(QUERY, {"f": "n1", "g": "n2"}, {"c": "n1"})

POLICIES: dict[str, dict[str, Any]] = {
    "folder": {"files": {"claim": "fast"}},
    "store": {
        "files": {
            "uri": "s3://weir/prod",
            "s3": {"endpoint": "http://s3:9000", "region": "eu", "secretRef": "login", "caSecretRef": "ca"},
        }
    },
    "store by its defaults": {"files": {"uri": "s3://weir"}},
    "topic": {"kafka": {"bootstrapServers": "k:9092"}},
    "topic with a log-in": {
        "kafka": {
            "bootstrapServers": "k:9092,l:9092",
            "topicPrefix": "mine.",
            "replication": 3,
            "security": {"protocol": "SASL_SSL", "mechanism": "PLAIN", "secretRef": "k", "caSecretRef": "ca"},
        }
    },
}


def ends(policy: str) -> Ends:
    exchange = Exchange.model_validate(POLICIES[policy])
    return Ends({"c": SOURCE}, SINK, "uid", keep=600_000_000, flows=exchange.flows())


def fragments(policy: str) -> tuple[FragmentSpec, ...]:
    return cut(PLAN, {"a/clicks": STREAM}, ends(policy), Layout("/data"))


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def checkpoint(spec: FragmentSpec) -> str:
    log, clocking = SimpleNamespace(schema=pa.schema([("c.k", pa.int64())])), SimpleNamespace(to_json=dict)
    opened: list[Any] = [SimpleNamespace(spec=item, log=log, clocking=clocking) for item in spec.inputs]
    return plan_hash(spec, opened, "4.2.0")


def identity(policy: str) -> dict[str, Any]:
    specs = fragments(policy)
    problem = SimpleNamespace(problem=SimpleNamespace(streams={"a/clicks": STREAM}))
    return {
        "texts": [digest(spec.identity_text()) for spec in specs],
        "builds": [_build(spec, "here", "") for spec in specs],
        "checkpoints": [checkpoint(spec) for spec in specs],
        "placements": [digest(json.dumps(untagged(_plain(spec)))) for spec in specs],
        "query": source_hash(QUERY, ends(policy), problem),  # type: ignore[arg-type]
    }


GOLDEN: dict[str, dict[str, Any]] = {
    "folder": {
        "texts": ["0a3c686cd61a", "26153969467c"],
        "builds": ["2f83ac222d94", "a2009354a3ce"],
        "checkpoints": ["4c179c434a7c", "831f1f9e5173"],
        "placements": ["7cf80b932d0c", "1fc31fcb2133"],
        "query": "e8d2b64f15b8bde7",
    },
    "store": {
        "texts": ["1260459c3960", "2ae96eb734db"],
        "builds": ["7f07f3a3e93a", "cc61ae795519"],
        "checkpoints": ["c3d99be0f0cf", "4eb5a60c71a2"],
        "placements": ["27507ce104b0", "979e224f69b0"],
        "query": "987f5b162a72f1c7",
    },
    "store by its defaults": {
        "texts": ["3936c998bb1d", "3b0bba628647"],
        "builds": ["47700b86cd26", "1c37b8510b5c"],
        "checkpoints": ["031b5886d131", "902ad647675f"],
        "placements": ["b6be8b56f718", "918059ab7054"],
        "query": "56f8fa47c246f6f8",
    },
    "topic": {
        "texts": ["1d50ae787731", "5b51a0f58a03"],
        "builds": ["8b5ac51a8897", "2c3273c1eb6b"],
        "checkpoints": ["809662aa92d7", "f889eaeb5fac"],
        "placements": ["ea7e49aa5a6f", "cf30c8ab0ed3"],
        "query": "a7fc2f15553cd605",
    },
    "topic with a log-in": {
        "texts": ["ac6dade68b94", "3c5a2a42a138"],
        "builds": ["8474ac880ade", "a45678b0fd24"],
        "checkpoints": ["036341e8de94", "3ec91bf3c249"],
        "placements": ["ac5c3ba4d334", "894c6126c53e"],
        "query": "b03865508913706b",
    },
}


@pytest.mark.parametrize("policy", POLICIES)
def test_what_is_stored_and_hashed_stays_as_it_was(policy: str) -> None:
    assert identity(policy) == GOLDEN[policy]


@pytest.mark.parametrize("policy", POLICIES)
def test_where_flows_lie_is_no_part_of_a_name(policy: str) -> None:
    assert [spec.name for spec in fragments(policy)] == ["q-f-07d50519", "q-g-fe8996f9"]


@pytest.mark.parametrize("policy", POLICIES)
def test_a_stored_fragment_is_read_as_it_was_written(policy: str) -> None:
    """By this version, and by one that stored no tags."""
    for spec in fragments(policy):
        assert FragmentSpec.from_json(spec.identity_text()) == spec
        assert FragmentSpec.from_json(spec.to_json()) == spec
        assert _built(FragmentSpec, json.dumps(_plain(spec))) == spec
