"""A folder of results is of one query, and no stream's."""

import pytest
from weir_operator.manifests.objects import from_raw
from weir_operator.manifests.problem import build
from weir_operator.manifests.site import ANYWHERE, HERE, Site

from tests.manifests.scene import FILTER, NODES, graph, stream

CLUSTER = Site(files="/weir/files")
SHARED = [stream("a"), stream("a", "shop")]


def writer(name, uri, namespace="default", created="", **files):
    query = graph(name, FILTER, namespace=namespace, sink={"files": {"uri": uri, **files}})
    query["metadata"]["creationTimestamp"] = created
    return query


def told(*raw, site=ANYWHERE, **options):
    objects, findings = from_raw([*NODES, *SHARED, *raw])
    assert findings == []
    return [f"{f.object}: {f.message}" for f in build(objects, site=site, **options).findings]


@pytest.mark.parametrize("site", [ANYWHERE, HERE, CLUSTER])
@pytest.mark.parametrize("other", ["out/same", "out//same/", "./out/same"])
def test_the_later_of_two_queries_with_one_folder_is_wrong(site, other):
    text = f'spec.sink.files.uri: sink "{other}" is also that of default/s1; give each query its own'
    assert told(writer("s1", "out/same"), writer("s2", other), site=site) == [
        f"StreamQuery default/s2: {text}"
    ]
    assert told(writer("s1", "out/same"), writer("s2", "out/same2"), site=site) == []
    assert told(writer("s1", "out/same"), writer("s2", "out/same/more"), site=site) == []


def test_the_oldest_has_the_folder_and_one_that_is_not_there_yet_comes_last():
    new, old = (
        writer("b", "out", created="2026-02-01T00:00:00Z"),
        writer("c", "out", created="2026-01-01T00:00:00Z"),
    )
    messages = told(writer("a", "out"), new, old)
    assert sorted(message.split(":")[0] for message in messages) == [
        "StreamQuery default/a",
        "StreamQuery default/b",
    ]
    assert all("is also that of default/c;" in message for message in messages)


def test_who_writes_a_folder_already_keeps_it():
    places = {"default/s2": CLUSTER.place(_location("out/same"), "default")}
    (message,) = told(writer("s1", "out/same"), writer("s2", "out/same"), site=CLUSTER, in_force=places.get)
    assert message.startswith("StreamQuery default/s1: ")


def _location(uri):
    from weir_placement.model.location import files_location

    return files_location({"uri": uri})


def test_folders_of_two_namespaces_are_two_in_a_cluster_and_one_on_a_machine():
    two = writer("s1", "out"), writer("s2", "out", "shop")
    assert told(*two) == told(*two, site=CLUSTER) == []
    assert len(told(*two, site=HERE)) == 1


def test_an_object_store_is_one_for_all_namespaces_and_names_no_query_of_another():
    two = writer("s1", "s3://b/out"), writer("s2", "s3://b/out", "shop")
    (message,) = told(*two)
    assert message.startswith("StreamQuery shop/s2: ")
    assert "is also that of a query in another namespace;" in message
    elsewhere = writer("s2", "s3://b/out", "shop", s3={"endpoint": "http://minio:9000"})
    assert told(two[0], elsewhere) == []


def test_a_topic_may_be_shared():
    sink = {"kafka": {"bootstrapServers": "k:9092", "topic": "t"}}
    assert told(*(graph(name, FILTER, sink=sink) for name in ("s1", "s2"))) == []


@pytest.mark.parametrize(
    ("uri", "wrong"), [("in/x", True), ("in/x/out", True), ("in/xy", False), ("in", False)]
)
@pytest.mark.parametrize("base", ["", "s3://b/"])
def test_a_sink_lies_in_no_source(base, uri, wrong):
    source = stream("x", source={"files": {"uri": f"{base}in/x"}})
    text = f'spec.sink.files.uri: sink "{base}{uri}" lies in the source of Stream default/x; '
    messages = told(source, writer("q", f"{base}{uri}"))
    assert messages == (
        [f"StreamQuery default/q: {text}give the query a folder outside of it"] if wrong else []
    )
    assert told(source, writer("q", f"{base}{uri}", "shop")) == []
