"""The tc commands that make links, and what is taken away again."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from tests.bench.links.shaping import ShapedSite, limit_commands, limited, queue_bytes, sent

PLACES = {
    zone: ShapedSite(zone, f"n{i}", f"172.18.0.{i}", f"10.244.{i}.0/24")
    for i, zone in enumerate(("a", "b", "c"), 1)
}


class Nodes:
    """Stands for `docker exec`: what each node was told, and whether it has a limit."""

    def __init__(self, fails_at: str = "") -> None:
        self.told: list[tuple[str, str]] = []
        self.limited: set[str] = set()
        self.fails_at = fails_at

    def __call__(self, node: str, command: Sequence[str]) -> str:
        text = " ".join(command)
        self.told.append((node, text))
        if text.startswith("tc qdisc replace"):
            self.limited.add(node)
        if text.startswith("tc qdisc del"):
            self.limited.remove(node)
        if self.fails_at and self.fails_at in text and node == "n2":
            raise RuntimeError(text)
        if "-j" in command:
            number = int(node[1:])
            queues = [{"kind": "bfifo", "handle": f"{k}0:", "bytes": 100 * number + k} for k in (2, 1)]
            return json.dumps([{"kind": "htb", "handle": "1:", "bytes": 7}, *queues])
        return "qdisc htb 1: root" if node in self.limited else "qdisc noqueue 0: root"


def test_each_destination_has_a_bucket_for_its_node_and_its_pods() -> None:
    commands = [" ".join(c) for c in limit_commands([PLACES["b"], PLACES["c"]], 20_000_000)]
    assert commands[0] == "tc qdisc replace dev eth0 root handle 1: htb"
    buckets = [c for c in commands if c.startswith("tc class")]
    assert len(buckets) == 2
    assert all("rate 20000000bit ceil 20000000bit" in c for c in buckets)
    to = {c.split(" dst ")[1] for c in commands if " filter " in c}
    assert to == {
        "172.18.0.2/32 flowid 1:1",
        "10.244.2.0/24 flowid 1:1",
        "172.18.0.3/32 flowid 1:2",
        "10.244.3.0/24 flowid 1:2",
    }


def test_what_goes_to_no_other_zone_has_no_bucket() -> None:
    """htb without a default class sends what no filter takes as if it were not there."""
    assert not any("default" in c for c in limit_commands([PLACES["b"]], 1_000_000))


def test_limits_are_gone_afterwards() -> None:
    nodes = Nodes()
    with limited(PLACES, 20_000_000, nodes):
        assert nodes.limited == {"n1", "n2", "n3"}
    assert not nodes.limited


def test_limits_are_gone_when_the_run_ends_early_or_half_of_them_could_be_made() -> None:
    nodes = Nodes()
    with pytest.raises(KeyboardInterrupt), limited(PLACES, 20_000_000, nodes):
        raise KeyboardInterrupt
    assert not nodes.limited
    nodes = Nodes(fails_at="class add")
    with pytest.raises(RuntimeError, match="class add"), limited(PLACES, 20_000_000, nodes):
        pass
    assert not nodes.limited


def test_limits_of_a_run_that_was_killed_are_replaced() -> None:
    nodes = Nodes()
    nodes.limited.add("n3")
    with limited(PLACES, 20_000_000, nodes):
        removed = nodes.told.index(("n3", "tc qdisc del dev eth0 root"))
        assert removed < nodes.told.index(("n3", "tc qdisc replace dev eth0 root handle 1: htb"))


def test_bytes_are_counted_for_each_link() -> None:
    assert sent(PLACES, Nodes()) == {
        ("a", "b"): 101,
        ("a", "c"): 102,
        ("b", "a"): 201,
        ("b", "c"): 202,
        ("c", "a"): 301,
        ("c", "b"): 302,
    }


def test_queues_are_read_in_the_order_of_their_classes() -> None:
    shown = [{"kind": "bfifo", "handle": "20:", "bytes": 5}, {"kind": "bfifo", "handle": "10:", "bytes": 9}]
    assert queue_bytes(json.dumps(shown)) == [9, 5]
