"""One object's errors: all at once, each with its field, its value and what would be right."""

import pytest
from pydantic import TypeAdapter
from weir_operator.api.kinds import KINDS
from weir_operator.api.values import DURATION_PATTERN
from weir_operator.manifests.parse import parse
from weir_operator.manifests.pattern_words import PATTERN_WORDS


def query(**spec):
    return {"apiVersion": "weir.dev/v1alpha1", "kind": "StreamQuery", "metadata": {"name": "q"}, "spec": spec}


def messages(raw):
    return [finding.message for finding in parse(raw)[1]]


def test_values_are_in_si_units():
    item, errors = parse(query(sql="SELECT 1", maxLatency="200ms", priority=3))
    assert errors == []
    assert item.spec.max_latency == 0.2
    assert item.metadata.namespace == "default"
    assert item.spec.policy == "default"
    assert item.spec.sink.noop is not None


def test_all_errors_of_an_object_at_once():
    raw = query(
        maxLatency="2 s", priorty=1, deliverTo={"zone": "a", "node": "b"}, sink={"files": {"uri": "../x"}}
    )
    assert sorted(messages(raw)) == [
        "spec.deliverTo: at most one of node, zone, selector may be given",
        'spec.maxLatency: "2 s" is not a duration; write it with its unit, such as 500ms, 10s or 5m',
        "spec.priorty: no such field; did you mean priority?",
        "spec.sink.files.uri: uri must stay below the namespace's root: it may not contain '..'",
        "spec: exactly one of sql, operators must be given",
    ]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({}, "spec: exactly one of sql, operators must be given"),
        ({"sql": "x", "operators": []}, "spec: exactly one of"),
        ({"sql": ""}, 'spec.sql: "" is too short; write at least 1 character'),
        ({"sql": "x" * 16385}, "is too long; write at most 16384 characters"),
        ({"sql": 5}, "spec.sql: 5 is not text; write it in quotes: \"5\""),
        ({"sql": "x", "priority": 1.5}, "spec.priority: 1.5 is not a whole number"),
        ({"sql": "x", "order": "none"}, "spec.order: \"none\" is not allowed; write one of free, fixed"),
        ({"sql": "x", "policy": "No_Good"}, 'spec.policy: "No_Good" is not allowed here; write a name'),
        ({"sql": "x", "tolerations": "all"}, 'spec.tolerations: "all" is not a list; write a list'),
        ({"sql": "x", "resources": {"cpu": "lots"}}, 'spec.resources.cpu: "lots" is not a quantity'),
        ({"sql": "x", "env": [{"name": "PYTHONPATH", "value": "/x"}]}, "spec.env[0].name: names that affect"),
        ({"sql": "x", "env": [{"name": "POD_IP", "value": "x"}]}, "spec.env[0].name: names that affect"),
        (
            {"resources": {"executors": 1}, "env": [{"name": "A", "secretRef": {"name": "s", "key": "k"}}]},
            "spec.env: executors cannot get variables from a Secret: give value instead of secretRef",
        ),
        ({"sql": "x", "sink": {"kafka": {"topic": "t"}}}, "spec.sink.kafka.bootstrapServers: is missing"),
        ({"operators": [{"id": "f", "kind": "filter", "inputs": ["a"]}]}, "operators[0]: predicate must be"),
        (
            {"operators": [{"id": "j", "kind": "join", "inputs": ["a"], "window": "5s"}]},
            "spec.operators[0].inputs: a join has 2 inputs",
        ),
        (
            {"operators": [{"id": "p", "kind": "project", "inputs": ["a"], "colums": ["a.x"]}]},
            "spec.operators[0].colums: no such field; did you mean columns?",
        ),
    ],
)  # fmt: skip
def test_wording(spec, message):
    assert any(message in text for text in messages(query(**spec))), messages(query(**spec))


def test_a_variable_may_come_from_a_secret_where_there_are_no_executors():
    env = [{"name": "A", "secretRef": {"name": "s", "key": "k"}}, {"name": "B", "value": "b"}]
    for resources in ({}, {"executors": 0}):
        assert messages(query(sql="x", env=env, resources=resources)) == []
    assert messages(query(sql="x", env=env[1:], resources={"executors": 1})) == []


@pytest.mark.parametrize(
    ("kind", "spec", "message"),
    [
        ("Stream", {"files": {"uri": "s3://b"}}, "spec.source.files.uri: uri must be a path, such as in"),
        ("Stream", {"files": {"uri": "file:/in"}}, "spec.source.files.uri: uri must be a path"),
        ("Stream", {"files": {"uri": "in", "s3": {}}}, "spec.source.files.s3: s3 describes the store"),
        ("Stream", {"files": {"uri": "in", "claim": "c"}}, "spec.source.files.claim: no such field"),
        ("StreamQuery", {"files": {"uri": "S3A://b/out"}}, "spec.sink.files.uri: uri must be a path"),
        ("StreamQuery", {"files": {"uri": "out", "claim": "c"}}, "spec.sink.files.claim: no such field"),
        ("StreamQuery", {"files": {"uri": "out", "format": "csv"}}, 'spec.sink.files.format: "csv" is not'),
        ("PlacementPolicy", {"files": {"uri": "out"}}, "spec.exchange.files.uri: uri must be s3://BUCKET"),
        ("PlacementPolicy", {"files": {"uri": "s3://"}}, "spec.exchange.files.uri: uri must be s3://BUCKET"),
        ("PlacementPolicy", {"files": {"uri": "s3://b/"}}, "spec.exchange.files.uri: uri must be s3://BUCKET"),
        ("PlacementPolicy", {"files": {"uri": "s3://b/../c"}}, "spec.exchange.files.uri: uri must be s3://"),
        ("PlacementPolicy", {"files": {"s3": {}}}, "spec.exchange.files.s3: s3 describes the store"),
        ("PlacementPolicy", {"checkpoints": {"uri": "x"}}, "spec.exchange.checkpoints: checkpoints is not"),
        ("InputProfile", {"window": "7d"}, "spec.learn: learn is not supported yet"),
    ],
)  # fmt: skip
def test_what_would_change_nothing_is_refused(kind, spec, message):
    around = {
        "Stream": {"schema": "ts TIMESTAMP", "eventTime": {"column": "ts"}, "source": spec},
        "StreamQuery": {"sql": "SELECT a.x FROM a", "sink": spec},
        "PlacementPolicy": {"exchange": spec},
        "InputProfile": {"learn": spec},
    }
    raw = {"apiVersion": "weir.dev/v1alpha1", "kind": kind, "metadata": {"name": "o"}, "spec": around[kind]}
    (texts,) = messages(raw)
    assert texts.startswith(message)


@pytest.mark.parametrize(
    "files",
    [
        {"claim": "fast"},
        {"uri": "s3://weir"},
        {"uri": "s3://weir/prod/a_b=c", "claim": "fast"},
        {"uri": "s3://weir/prod", "s3": {}},
        {
            "uri": "s3://weir/prod",
            "s3": {"endpoint": "https://s3:9000", "secretRef": "login"},
        },
    ],
)
def test_a_claim_or_an_object_store_for_flows_may_be_named(files):
    raw = {"apiVersion": "weir.dev/v1alpha1", "kind": "PlacementPolicy", "metadata": {"name": "p"}}
    assert messages({**raw, "spec": {"exchange": {"files": files}}}) == []


@pytest.mark.parametrize("s3", [None, {}, {"endpoint": "https://s3:9000", "secretRef": "login"}])
def test_rows_may_come_from_objects_and_go_to_them(s3):
    files = {"uri": "s3://lake/in/clicks", **({} if s3 is None else {"s3": s3})}
    kinds = {
        "Stream": {"schema": "ts TIMESTAMP", "eventTime": {"column": "ts"}, "source": {"files": files}},
        "StreamQuery": {"sql": "SELECT a.x FROM a", "sink": {"files": files}},
    }
    for kind, spec in kinds.items():
        raw = {"apiVersion": "weir.dev/v1alpha1", "kind": kind, "metadata": {"name": "o"}, "spec": spec}
        assert messages(raw) == []


def test_keys_are_never_part_of_a_policy():
    s3 = {"endpoint": "s3.example.com", "accessKeyId": "AKIA"}
    raw = {"apiVersion": "weir.dev/v1alpha1", "kind": "PlacementPolicy", "metadata": {"name": "p"}}
    texts = messages({**raw, "spec": {"exchange": {"files": {"uri": "s3://weir/prod", "s3": s3}}}})
    fields = ("spec.exchange.files.s3.endpoint", "spec.exchange.files.s3.accessKeyId")
    assert [message.split(":")[0] for message in texts] == list(fields)


def test_rows_may_go_to_a_path():
    for uri in ("out", "out/x-1.d", "/data/out"):
        assert messages(query(sql="x", sink={"files": {"uri": uri}})) == []


def test_an_unknown_kind_is_told_with_the_nearest_one():
    raw = {"apiVersion": "weir.dev/v1alpha1", "kind": "StreamQery", "metadata": {"name": "x"}}
    assert messages(raw) == ['kind: "StreamQery" is not known; did you mean StreamQuery?']


def test_another_version_is_told():
    raw = {"apiVersion": "weir.dev/v1", "kind": "Stream", "metadata": {"name": "x"}}
    assert messages(raw) == ['apiVersion: "weir.dev/v1" is not known; write weir.dev/v1alpha1']


def test_a_name_too_long_for_pods_is_refused():
    raw = query(sql="x")
    raw["metadata"]["name"] = "x" * 51
    assert "at most 50 characters" in messages(raw)[0]


def test_what_kubernetes_adds_to_metadata_and_status_is_no_error():
    raw = query(sql="x")
    raw["metadata"] |= {"managedFields": [], "uid": "1", "selfLink": "x", "generation": 2}
    raw["status"] = {"observedGeneration": 2, "conditions": [], "fromTheFuture": 1}
    item, errors = parse(raw)
    assert errors == []
    assert item.metadata.generation == 2


def test_a_node_as_kubectl_prints_it():
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "w-1.example", "labels": {"kubernetes.io/os": "linux"}},
        "spec": {"podCIDR": "x", "taints": [{"key": "a", "effect": "NoSchedule"}], "unschedulable": True},
        "status": {
            "allocatable": {"cpu": "1930m", "memory": "7Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "x"}],
            "nodeInfo": {"architecture": "amd64"},
        },
    }  # fmt: skip
    item, errors = parse(node)
    assert errors == []
    assert item.status.allocatable.cpu == 1.93
    assert item.spec.unschedulable


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_no_rule_crashes_on_nonsense(kind):
    for nonsense in (None, 5, "x", [], {}, [[]], {"spec": 5}):
        raw = {
            "apiVersion": "weir.dev/v1alpha1",
            "kind": kind.name,
            "metadata": {"name": "x"},
            "spec": nonsense,
        }
        parse(raw)
        parse({**raw, "metadata": nonsense})


@pytest.mark.parametrize(("limit", "fits"), [("10m", True), ("600s", True), ("10m1s", False), ("1d", False)])
def test_a_time_limit_is_capped(limit, fits):
    policy = {"apiVersion": "weir.dev/v1alpha1", "kind": "PlacementPolicy", "metadata": {"name": "p"}}
    errors = messages({**policy, "spec": {"strategy": {"timeLimit": limit}}})
    assert bool(errors) != fits
    assert all("spec.strategy.timeLimit: timeLimit may be at most 10m" in one for one in errors)


def test_every_pattern_has_words():
    """A text that does not match says what to write, not the regular expression."""

    def patterns(schema):
        if isinstance(schema, dict):
            if schema.get("type") == "string" and "pattern" in schema:
                yield schema["pattern"]
            schema = list(schema.values())
        for part in schema if isinstance(schema, list) else ():
            yield from patterns(part)

    written = [kind.model for kind in KINDS if kind.name != "Placement"]
    used = {
        pattern
        for model in written
        for field in ("metadata", "spec")
        for pattern in patterns(TypeAdapter(model.model_fields[field].annotation).json_schema())
    }
    assert used - {DURATION_PATTERN} <= PATTERN_WORDS.keys()
