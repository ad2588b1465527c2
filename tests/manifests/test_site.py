"""Files of sources and sinks lie below their namespace's root in a cluster, and nowhere else."""

from typing import Any

import pytest
from weir_operator.controller.desired_state import DesiredState
from weir_operator.controller.desired_state_builder import DesiredStateBuilder
from weir_operator.controller.observed_state import ObservedState
from weir_operator.controller.settings import Settings
from weir_operator.manifests.site import ANYWHERE, HERE, Site
from weir_placement.fragments import Layout

from tests.manifests.scene import NODES, built, obj, stream

CLUSTER = Site(files="/var/lib/weir/files")


def desired_state(source: str, sink: str, site: Site = CLUSTER) -> DesiredState:
    return DesiredStateBuilder(site=site)(
        ObservedState(0.0, (*NODES, clicks(source), query(sink))), Settings(Layout("/d"))
    )


def clicks(uri: str, namespace: str = "default", **spec: Any) -> dict[str, Any]:
    return stream("a", namespace, source={"files": {"uri": uri, "format": "arrow"}}, **spec)


def query(uri: str = "out", sql: str = "SELECT a.x FROM a") -> dict[str, Any]:
    return obj("StreamQuery", "q", {"sql": sql, "sink": {"files": {"uri": uri}}})


def test_where_no_executors_may_be_a_query_with_some_is_refused() -> None:
    wide = obj("StreamQuery", "q", {"sql": "SELECT a.x FROM a", "resources": {"executors": 2}})
    snapshot = ObservedState(0.0, (*NODES, clicks("in/a"), wide))

    def fault(site: Site) -> str:
        state = DesiredStateBuilder(site=site, executors=True)(snapshot, Settings(Layout("/d")))
        return "; ".join(fault.message for fault in state.faults.values())

    assert fault(CLUSTER) == ""
    refusal = "spec.resources.executors: this installation runs no executors; write 0"
    assert fault(Site(files=CLUSTER.files, executors=False)) == refusal


def test_where_no_processes_are_shared_a_query_whose_policy_shares_them_is_refused() -> None:
    policy = obj("PlacementPolicy", "default", {"fragments": {"isolation": "Shared"}})
    edited = query()

    def fault(site: Site) -> str:
        observed = ObservedState(0.0, (*NODES, policy, clicks("in/a"), edited))
        state = DesiredStateBuilder(site=site)(observed, Settings(Layout("/d")))
        return "; ".join(fault.message for fault in state.faults.values())

    assert fault(CLUSTER) == ""
    alone = Site(files=CLUSTER.files, hosts=False)
    assert fault(alone) == (
        "spec.policy: PlacementPolicy default has fragments.isolation: Shared; this installation runs no "
        "hosts; write Dedicated there, or isolation: Dedicated here"
    )
    edited["spec"]["isolation"] = "Dedicated"
    assert fault(alone) == ""


@pytest.mark.parametrize(
    ("site", "source", "sink"),
    [
        (CLUSTER, "/var/lib/weir/files/default/in/a", "/var/lib/weir/files/default/out"),
        (ANYWHERE, "in/a", "out"),
    ],
)
def test_fragments_are_told_where_relative_uris_lie(site: Site, source: str, sink: str) -> None:
    ends = desired_state("in/a", "out", site).groups[0].queries["default/q"].ends
    assert ends.sources["a"] == {"files": {"uri": source, "format": "arrow"}}
    assert (ends.sink.kind, ends.sink.uri, ends.sink.options) == ("files", sink, {"format": "parquet"})


def test_absolute_ones_below_the_root_stay_as_they_are() -> None:
    inside = "/var/lib/weir/files/default/x"
    ends = desired_state(inside, f"{inside}2").groups[0].queries["default/q"].ends
    assert (ends.sources["a"]["files"]["uri"], ends.sink.uri) == (inside, f"{inside}2")


@pytest.mark.parametrize(
    "uri",
    [
        "/data/x",
        "/var/lib/weir/x",
        "/var/lib/weir/files/defaults/x",
        "/var/lib/weir/files/default",
        "//x",
        "/",
    ],
)
def test_absolute_ones_that_leave_it_are_told_and_the_query_is_not_planned(uri: str) -> None:
    right = "is not below /var/lib/weir/files/default, the namespace's root; "
    right += "write it relative to that, for example "
    scene = desired_state("in", uri)
    assert not scene.groups[0].queries
    fault = scene.faults["default/q"]
    assert not fault.missing
    assert fault.message.startswith(f'spec.sink.files.uri: "{uri}" {right}')
    scene = desired_state(uri, "out")
    assert scene.errors["Stream", "default", "a"].startswith(f'spec.source.files.uri: "{uri}" {right}')
    assert "stream a has errors" in scene.faults["default/q"].message
    for source, sink in ((uri, "out"), ("in", uri)):
        queries = desired_state(source, sink, ANYWHERE).groups[0].queries
        assert queries, "a file for `weir run` may name any path"


def objects(secret: str = "") -> dict[str, Any]:
    return {"uri": "s3://lake/in", **({"s3": {"secretRef": secret}} if secret else {})}


def test_objects_stay_where_they_are_and_their_keys_are_told() -> None:
    raw = [*NODES, stream("a", source={"files": objects("login")}), query("s3://lake/out")]
    raw[-1]["spec"]["sink"]["files"]["s3"] = {"secretRef": "login"}
    build = DesiredStateBuilder(site=CLUSTER)
    ends = build(ObservedState(0.0, tuple(raw)), Settings(Layout("/d"))).groups[0].queries
    query_ends = ends["default/q"].ends
    assert query_ends.sources["a"] == {"files": objects("login")}
    assert query_ends.sink.uri == "s3://lake/out"
    assert query_ends.sink.options == {"format": "parquet", "s3": {"secretRef": "login"}}


def test_keys_of_an_object_store_are_a_secret_in_a_cluster_and_variables_on_this_machine() -> None:
    def found(secret: str, site: Site) -> list[str]:
        raw = [*NODES, stream("a", source={"files": objects(secret)}), query()]
        return [f.message for f in built(*raw, site=site).findings if f.object and f.object.kind == "Stream"]

    assert found("", CLUSTER) == [
        "spec.source.files.s3.secretRef: pods have no keys for an object store; "
        "name a Secret in their namespace"
    ]
    assert found("login", HERE) == [
        "spec.source.files.s3.secretRef: `weir run` does not read Secrets; leave it out, and set "
        "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
    ]
    assert found("login", CLUSTER) == found("", HERE) == found("", ANYWHERE) == found("login", ANYWHERE) == []


@pytest.mark.parametrize("field", ["secretRef", "caSecretRef"])
def test_a_login_to_brokers_is_refused_on_this_machine_alone(field: str) -> None:
    security = {"protocol": "SASL_SSL", "mechanism": "PLAIN", "secretRef": "login"}
    security = security if field == "secretRef" else {"protocol": "SSL", field: "login"}
    topic = {"bootstrapServers": "k:9092", "topic": "t", "security": security}
    letters = {"kafka": topic, "deadLetter": {"kafka": topic}}
    raw = [*NODES, stream("a", source=letters), query()]
    raw[-1]["spec"]["sink"] = {"kafka": topic}
    messages = sorted(finding.message for finding in built(*raw, site=HERE).findings)
    assert [message for message in messages if "has errors" not in message] == [
        f"spec.{connector}.security.{field}: `weir run` does not read Secrets; "
        "name brokers that want none, or run it in a cluster"
        for connector in ("sink.kafka", "source.deadLetter.kafka", "source.kafka")
    ]
    assert built(*raw).findings == ()


@pytest.mark.parametrize("kind", ["kafka", "files"])
def test_a_login_for_flows_is_refused_on_this_machine_alone(kind: str) -> None:
    security = {"protocol": "SASL_SSL", "mechanism": "PLAIN", "secretRef": "login"}
    exchange = {
        "kafka": {"bootstrapServers": "k:9092", "security": security},
        "files": {"uri": "s3://lake/flows", "s3": {"secretRef": "login"}},
    }
    raw = [
        *NODES,
        clicks("in"),
        query(),
        obj("PlacementPolicy", "default", {"exchange": {kind: exchange[kind]}}),
    ]
    assert built(*raw).findings == ()
    place = {"kafka": "kafka.security", "files": "files.s3"}[kind]
    (finding,) = (
        f for f in built(*raw, site=HERE).findings if f.object and f.object.kind == "PlacementPolicy"
    )
    assert finding.message.startswith(f"spec.exchange.{place}.secretRef: `weir run` does not read Secrets; ")


def test_objects_of_another_namespace_are_read_with_the_readers_own_keys() -> None:
    shared = stream("a", "shop", source={"files": objects("login")}, sharedWith=["default"])
    assert built(*NODES, shared, query(sql="SELECT a.x FROM shop.a a"), site=CLUSTER).findings == ()


def test_a_variable_from_a_secret_is_refused_on_this_machine_alone() -> None:
    manifest = query()
    manifest["spec"]["env"] = [{"name": "KEY", "secretRef": {"name": "login", "key": "k"}}]
    raw = [*NODES, clicks("in"), manifest]
    (finding,) = built(*raw, site=HERE).findings
    assert finding.message == (
        "spec.env[0].secretRef: `weir run` does not read Secrets; write `value` to run it on this machine"
    )
    assert built(*raw).findings == built(*raw, site=CLUSTER).findings == ()


def test_files_on_the_claim_of_another_namespace_cannot_be_read() -> None:
    raw = [*NODES, clicks("in", "shop", sharedWith=["default"]), query(sql="SELECT a.x FROM shop.a a")]
    (finding,) = built(*raw, site=CLUSTER).findings
    assert finding.message == (
        "spec.sql: line 1, column 17: stream shop.a is in files on the volume of namespace shop; "
        "pods of default do not mount it: run the query there, or read a topic"
    )
    assert built(*raw).findings == ()


def test_what_pods_copy_is_refused_on_this_machine_alone() -> None:
    manifest = query()
    manifest["spec"]["snapshots"] = {"schedule": "0 3 * * *"}
    snapshot = {
        "apiVersion": "weir.dev/v1alpha1",
        "kind": "QuerySnapshot",
        "metadata": {"name": "s"},
        "spec": {"query": "q"},
    }
    raw = [*NODES, clicks("in"), manifest, snapshot]
    assert [finding.message for finding in built(*raw, site=HERE).findings] == [
        "spec.snapshots: the operator of a cluster makes them; leave it out, and run `weir snapshot q "
        "--keep 7` from a timer",
        "kind: QuerySnapshots exist only in a cluster; leave it out, and run `weir snapshot` while "
        "the query runs",
    ]
    assert built(*raw).findings == built(*raw, site=CLUSTER).findings == ()
