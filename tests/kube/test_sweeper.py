"""When files are swept: after a fragment has gone, once, and never while one might be starting."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, cast

import pytest
from weir_operator.kube import names
from weir_operator.kube.api import Api, ApiError, ObjectGone
from weir_operator.kube.settings import OperatorSettings
from weir_operator.kube.sweeper import PENDING_SECONDS, RETRY_SECONDS, Sweeper

NOBODY: frozenset[str] = frozenset()
F1, F2 = frozenset({"f1"}), frozenset({"f1", "f2"})
AT = "2026-01-01T00:00:00Z"
NOW = 1767225600.0
TOPICS = {"kind": "topic", "address": "weir.{namespace}.{fragment}"}
SECURITY = {"protocol": "SASL_SSL", "mechanism": "PLAIN", "secretRef": "s"}


class Claims:
    """The part of the API that a sweep uses."""

    def __init__(self, *namespaces: str) -> None:
        self.namespaces = namespaces
        self.made: list[dict[str, Any]] = []
        self.deleted: list[str] = []
        self.refuses: ApiError | None = None
        self.requests = 0

    def list(self, kind: str, namespace: str, fields: str) -> Iterator[dict[str, Any]]:
        assert (kind, fields) == ("PersistentVolumeClaim", "metadata.name=weir-exchange")
        yield from ({"metadata": {"namespace": name}} for name in self.namespaces)

    def create(self, manifest: dict[str, Any]) -> bool:
        self.requests += 1
        if self.refuses:
            raise self.refuses
        self.made.append(manifest)
        return True

    def get(self, kind: str, namespace: str, name: str) -> dict[str, Any] | None:
        return pod(namespace, "Running")

    def delete(self, kind: str, namespace: str, name: str, uid: str) -> bool:
        self.deleted.append(namespace)
        return True

    def kept(self) -> dict[str, Sequence[str]]:
        """Fragments to keep, by namespace, of every sweep that was made."""
        return {m["metadata"]["namespace"]: m["spec"]["containers"][0]["args"][5:] for m in self.made}


def sweeper(api: Claims, now: float = NOW) -> Sweeper:
    return Sweeper(cast(Api, api), OperatorSettings(installation="east"), lambda: now)


def environment(pod: dict[str, Any]) -> dict[str, str]:
    return {entry["name"]: entry["value"] for entry in pod["spec"]["containers"][0]["env"]}


def pod(namespace: str, phase: str) -> dict[str, Any]:
    meta: dict[str, Any] = {"namespace": namespace, "name": "weir-sweep", "uid": "u", "creationTimestamp": AT}
    meta |= {"labels": {names.MANAGED_BY: "weir", names.ROLE: "sweep"}}
    return {"metadata": meta, "status": {"phase": phase}}


def test_a_fragment_that_goes_brings_a_sweep_that_keeps_the_others() -> None:
    api = Claims()
    it = sweeper(api)
    it.observe({"a": F2}, NOBODY, [])
    assert api.made == []
    it.observe({"a": F1}, NOBODY, [])
    assert api.kept() == {"a": ["f1"]}
    assert environment(api.made[0]) == {"WEIR_INSTALLATION": "east"}
    assert it.busy == {"a"}
    it.observe({"a": F1}, NOBODY, [])
    assert len(api.made) == 1


def test_what_a_sweep_has_left_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    """The container says it at its end."""
    it = sweeper(Claims())
    message = "weir.a.x: nothing says whose it is\nweir.a.f: installation west has it"
    ended = pod("a", "Succeeded")
    ended["status"]["containerStatuses"] = [{"state": {"terminated": {"message": message}}}]
    for _ in range(2):
        it.observe({}, NOBODY, [ended])
    assert sorted(record.message for record in caplog.records) == [
        "the sweep of a has left weir.a.f: installation west has it",
        "the sweep of a has left weir.a.x: nothing says whose it is",
    ]


def test_it_waits_for_drivers_that_are_ending() -> None:
    api = Claims()
    it = sweeper(api)
    it.observe({"a": F1}, NOBODY, [])
    it.observe({}, frozenset({"a"}), [])
    assert api.made == []
    it.observe({}, NOBODY, [])
    assert api.kept() == {"a": []}


def test_what_a_restart_forgot_is_found_by_the_claims_without_a_query() -> None:
    api = Claims("a", "b")
    sweeper(api).observe({"b": F1}, NOBODY, [])
    assert api.kept() == {"a": []}


def test_a_sweep_that_ended_is_cleared_away_and_one_that_works_is_left() -> None:
    api = Claims()
    it = sweeper(api)
    it.observe({}, NOBODY, [pod("a", "Succeeded"), pod("b", "Running"), pod("c", "Pending")])
    assert api.deleted == ["a"]
    assert it.busy == {"a", "b", "c"}
    it.observe({}, NOBODY, [])
    assert it.busy == NOBODY


def test_a_sweep_that_cannot_begin_does_not_block_the_namespace() -> None:
    api = Claims()
    sweeper(api, NOW + PENDING_SECONDS + 1).observe({}, NOBODY, [pod("a", "Pending"), pod("b", "Running")])
    assert api.deleted == ["a"]


def test_a_sweep_ends_for_a_fragment_that_is_not_on_its_list() -> None:
    """What is on it starts at once; the sweep comes again when its pod is gone."""
    api = Claims()
    it = sweeper(api)
    it.observe({"a": F2}, NOBODY, [])
    it.observe({"a": F1}, NOBODY, [])
    (own,) = api.made
    it.observe({"a": F1}, NOBODY, [{**pod("a", "Running"), "spec": own["spec"]}])
    assert not it.in_the_way("a", "f1")
    assert not it.in_the_way("b", "new")
    assert api.deleted == []
    assert it.in_the_way("a", "new")
    assert api.deleted == ["a"]
    it.observe({"a": F1 | {"new"}}, NOBODY, [])
    assert api.kept() == {"a": ["f1", "new"]}, "made again, with what has been started meanwhile"


def test_a_sweep_on_a_lost_node_does_not_block_its_namespace_for_ever() -> None:
    it = sweeper(Claims(), NOW + 1000.0)
    ending = pod("a", "Running")
    ending["metadata"]["deletionTimestamp"] = AT
    it.observe({}, NOBODY, [ending])
    assert not it.in_the_way("a", "new")


def test_a_namespace_that_ends_needs_no_sweep() -> None:
    api = Claims()
    it = sweeper(api)
    it.observe({"a": F1}, NOBODY, [])
    api.refuses = ObjectGone(403, "the namespace is being terminated")
    it.observe({}, NOBODY, [])
    api.refuses = None
    it.observe({}, NOBODY, [])
    assert api.made == []


def test_a_sweep_that_a_quota_refuses_is_asked_for_again_after_a_while() -> None:
    api, now = Claims(), [NOW]
    it = Sweeper(cast(Api, api), OperatorSettings(), lambda: now[0])
    it.observe({"a": F1}, NOBODY, [])
    api.refuses = ApiError(403, "exceeded quota")
    for _ in range(3):
        it.observe({}, NOBODY, [])
    assert (api.requests, it.busy) == (1, NOBODY)
    api.refuses, now[0] = None, NOW + RETRY_SECONDS
    it.observe({}, NOBODY, [])
    assert api.kept() == {"a": []}


def test_topics_go_with_their_fragments_also_where_the_policy_was_edited() -> None:
    api = Claims()
    it = sweeper(api)
    policies = [
        {"spec": {"exchange": {"kafka": {"bootstrapServers": "k:1"}}}},
        {
            "spec": {
                "exchange": {"kafka": {"bootstrapServers": "l:1", "security": SECURITY}},
                "allowedNamespaces": ["b"],
            }
        },
        {"spec": {}},
    ]
    it.observe({"a": F1, "b": F1}, NOBODY, [], policies)
    it.observe({}, NOBODY, [])
    for manifest in api.made:
        container = manifest["spec"]["containers"][0]
        variables = json.loads(environment(manifest)["WEIR_FLOWS"])
        one = {"bootstrapServers": "k:1", "replication": 1}
        if manifest["metadata"]["namespace"] == "a":
            assert variables == [{**TOPICS, "options": one}]
            assert len(container["volumeMounts"]) == 1
        else:
            two = {"bootstrapServers": "l:1", "replication": 1, "security": SECURITY}
            assert variables == [{**TOPICS, "options": one}, {**TOPICS, "options": two}]
            assert container["volumeMounts"][1]["mountPath"] == "/etc/weir/secrets/s"
            secret = {"secretName": "s", "defaultMode": 0o440, "optional": True}
            assert manifest["spec"]["volumes"][1]["secret"] == secret
    assert set(api.kept()) == {"a", "b"}


def test_flows_on_a_store_go_with_their_fragments_under_the_account_that_it_knows() -> None:
    api = Claims()
    it = sweeper(api)
    login = {"uri": "s3://weir/prod", "s3": {"endpoint": "http://s3:9000", "secretRef": "login"}}
    policies = [
        {"spec": {"exchange": {"files": login}, "allowedNamespaces": ["a"]}},
        {
            "spec": {
                "exchange": {"files": {"uri": "s3://other"}},
                "allowedNamespaces": ["b"],
                "podTemplate": {"serviceAccountName": "known"},
            }
        },
        {"spec": {"exchange": {"files": {"claim": "fast"}}, "podTemplate": {"serviceAccountName": "no"}}},
    ]
    it.observe({"a": F1, "b": F1}, NOBODY, [], policies)
    it.observe({}, NOBODY, [], [{"spec": {}}])
    variables = {m["metadata"]["namespace"]: json.loads(environment(m)["WEIR_FLOWS"]) for m in api.made}
    reached = {"endpoint": "http://s3:9000", "secretRef": "login"}
    one = {"kind": "store", "address": "s3://weir/prod/{namespace}/{fragment}", "options": reached}
    two = {"kind": "store", "address": "s3://other/{namespace}/{fragment}", "options": {}}
    assert variables == {"a": [one], "b": [two]}
    accounts = {m["metadata"]["namespace"]: m["spec"].get("serviceAccountName") for m in api.made}
    assert accounts == {"a": None, "b": "known"}
    mounted = {
        m["metadata"]["namespace"]: [v["mountPath"] for v in m["spec"]["containers"][0]["volumeMounts"]]
        for m in api.made
    }
    assert mounted == {"a": ["/var/lib/weir", "/etc/weir/secrets/login"], "b": ["/var/lib/weir"]}
    assert not any(m["spec"]["automountServiceAccountToken"] for m in api.made)
