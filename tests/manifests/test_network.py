"""Topologies: what is more exact wins."""

import base64
import gzip

import pytest
import yaml
from weir_operator.manifests.finding import ManifestError
from weir_operator.manifests.load import load

from tests.manifests.scene import FILTER, STREAMS, built, graph, messages, node, obj

NODES = [node("e1", "east"), node("e2", "east"), node("w1", "west")]


def net(spec, **options):
    raw = [*NODES, *STREAMS, obj("NetworkTopology", "default", spec), graph("q", FILTER)]
    scene = built(*raw, **options)
    assert scene.findings == (), [str(f) for f in scene.findings]
    return scene.groups[0].problem.cluster.network


def test_without_a_topology_the_network_costs_nothing():
    network = built(*NODES, *STREAMS, graph("q", FILTER)).groups[0].problem.cluster.network
    assert network.link_latency(0, 2) == 0.0


def test_zones():
    links = [{"from": "east", "to": "west", "latency": "8ms", "bandwidth": "200M"}]
    network = net(
        {"default": {"latency": "30ms", "bandwidth": "1G"}, "within": {"latency": "0.2ms"}, "links": links}
    )
    assert network.link_latency(0, 1) == 0.0002
    assert network.link_latency(0, 2) == 0.008
    assert network.link_latency(2, 0) == 0.03
    assert network.link_bandwidth(0, 2) == 25e6
    assert network.link_bandwidth(2, 0) == 125e6


def test_both_directions():
    network = net({"links": [{"from": "east", "to": "west", "latency": "8ms", "both": True}]})
    assert network.link_latency(2, 1) == network.link_latency(1, 2) == 0.008


def test_a_link_of_nodes_wins_over_one_of_zones_in_any_order():
    links = [
        {"from": "e1", "to": "w1", "latency": "1ms"},
        {"from": "e2", "to": "west", "latency": "2ms"},
        {"from": "east", "to": "west", "latency": "9ms"},
        {"from": "e1", "to": "e2", "latency": "5ms"},
    ]
    network = net({"links": links, "within": {"latency": "100us"}})
    assert network.link_latency(0, 2) == 0.001
    assert network.link_latency(1, 2) == 0.002
    assert network.link_latency(0, 1) == 0.005
    assert network.link_latency(1, 0) == 0.0001


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_matrix_of_round_trips_between_zones(pack):
    spec = {
        "matrix": {"file": "m.txt", "nodes": ["west", "moon", "east"], "roundTrip": True},
        "within": {"latency": "1ms"},
    }
    text = pack(b"0 7 20\n7 0 7\n30 7 0\n")
    network = net(spec, read={"default": lambda matrix: text})
    assert network.link_latency(2, 0) == 0.010
    assert network.link_latency(0, 2) == 0.015
    assert network.link_latency(0, 1) == 0.001


def test_a_matrix_between_nodes_in_seconds():
    spec = {"matrix": {"file": "m", "unit": "s", "nodes": ["e1", "e2", "w1"]}}
    network = net(spec, read={"default": lambda matrix: b"0 1 2 3 0 4 5 6 0"})
    assert [network.link_latency(*pair) for pair in ((0, 1), (1, 0), (0, 2), (2, 1))] == [1, 3, 2, 6]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"1 2 3", "has 3 numbers; 2 nodes need 2 x 2 = 4"),
        (b"0 x 1 0", "is not a matrix"),
        (b"0 -1 1 0", "negative or not a number"),
        (b"0 nan 1 0", "negative or not a number"),
        (b"\x1f\x8bnonsense", "spec.matrix.file"),
    ],
)
def test_a_matrix_that_is_none(text, message):
    spec = {"matrix": {"file": "m", "nodes": ["e1", "w1"]}}
    raw = [*NODES, *STREAMS, obj("NetworkTopology", "default", spec), graph("q", FILTER)]
    scene = built(*raw, read={"default": lambda matrix: text}).findings
    assert message in scene[0].message


def test_links_of_what_is_not_there():
    errors = messages(*NODES, obj("NetworkTopology", "default", {"links": [{"from": "eastt", "to": "e1"}]}))
    assert errors == [
        "NetworkTopology default: spec.links[0].from: no zone or node eastt; did you mean east?"
    ]


def test_a_matrix_in_a_config_map(tmp_path):
    packed = base64.b64encode(gzip.compress(b"0 4 4 0")).decode()
    reference = {"namespace": "weir", "name": "rtt", "key": "matrix.gz"}
    topology = obj(
        "NetworkTopology", "default", {"matrix": {"configMapRef": reference, "nodes": ["e1", "w1"]}}
    )
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "rtt", "namespace": "weir"}}
    objects = [*NODES, *STREAMS, graph("q", FILTER), topology]
    (tmp_path / "all.yaml").write_text("---\n".join(map(yaml.safe_dump, objects)))
    with pytest.raises(ManifestError, match="no ConfigMap weir/rtt"):
        load([str(tmp_path)])
    (tmp_path / "map.yaml").write_text(yaml.safe_dump({**config_map, "binaryData": {"matrix.gz": packed}}))
    network = load([str(tmp_path)]).built.groups[0].problem.cluster.network
    assert network.link_latency(0, 2) == 0.004
