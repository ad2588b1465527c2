"""Links between zones: what each node sends to another zone's node and pods goes through one bucket."""

from __future__ import annotations

import ipaddress
import json
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from tests.e2e.kubectl import get

DEVICE = "eth0"
ZONE = "topology.kubernetes.io/zone"
QUEUE_SECONDS = 0.1
"""What may wait in front of a link: more would only add delay."""
BURST = 64 * 1024
"""[bytes] A segment that the kernel has not cut yet passes as a whole."""

Link = tuple[str, str]
"""Zones: from, to."""
Run = Callable[[str, Sequence[str]], str]
"""Runs a command in a node; its standard output."""


@dataclass(frozen=True)
class ShapedSite:
    """A zone of one node."""

    zone: str
    node: str
    address: str
    pods: str  # CIDR


def sites(zones: Sequence[str]) -> dict[str, ShapedSite]:
    """The zones' nodes in the cluster under test. Raises SystemExit unless each has exactly one."""
    site_of: dict[str, ShapedSite] = {}
    for node in get("nodes", "-l", ZONE):
        zone = node["metadata"]["labels"][ZONE]
        (address,) = [a["address"] for a in node["status"]["addresses"] if a["type"] == "InternalIP"]
        site = ShapedSite(zone, node["metadata"]["name"], address, node["spec"]["podCIDR"])
        if site_of.setdefault(zone, site) != site:
            raise SystemExit(
                f"zone {zone}: two nodes, {site_of[zone].node} and {site.node}; exactly one is expected"
            )
    missing = [zone for zone in zones if zone not in site_of]
    if missing:
        raise SystemExit(f"no node in the zones {', '.join(missing)}: `make cluster` creates them")
    return {zone: site_of[zone] for zone in zones}


def limit_commands(others: Sequence[ShapedSite], bits: int) -> list[list[str]]:
    """tc commands for one node: a bucket of `bits` [bits/s] for each of the `others`; what goes elsewhere, to
    the control plane above all, is not limited.

    `htb` with one class a destination: it is the same token bucket as `tbf`, and chooses one by address,
    which takes `prio` around `tbf` that not every kernel has.
    """
    rate = f"{bits}bit"
    commands = [["tc", "qdisc", "replace", "dev", DEVICE, "root", "handle", "1:", "htb"]]
    for number, other in enumerate(others, 1):
        of = ["dev", DEVICE, "parent"]
        bucket = ["htb", "rate", rate, "ceil", rate, "burst", str(BURST), "cburst", str(BURST)]
        commands.append(["tc", "class", "add", *of, "1:", "classid", f"1:{number}", *bucket])
        queue = ["bfifo", "limit", str(round(max(BURST * 2, bits / 8 * QUEUE_SECONDS)))]
        commands.append(["tc", "qdisc", "add", *of, f"1:{number}", "handle", f"{number}0:", *queue])
        for target in (str(ipaddress.ip_network(other.address)), other.pods):
            chosen = ["protocol", "ip", "prio", "1", "u32", "match", "ip", "dst", target]
            commands.append(["tc", "filter", "add", *of, "1:", *chosen, "flowid", f"1:{number}"])
    return commands


def in_node(node: str, command: Sequence[str]) -> str:
    """`docker exec`. Raises CalledProcessError with what it said."""
    completed = subprocess.run(
        ["docker", "exec", node, *command], capture_output=True, text=True, check=False
    )
    if completed.returncode:
        raise RuntimeError(f"{node}: {' '.join(command)}: {completed.returncode}: {completed.stderr.strip()}")
    return completed.stdout


def unlimit(places: Mapping[str, ShapedSite], run: Run = in_node) -> None:
    """As if nothing had been limited, also after a run that was killed."""
    for site in places.values():
        if "htb" in run(site.node, ["tc", "qdisc", "show", "dev", DEVICE]):
            run(site.node, ["tc", "qdisc", "del", "dev", DEVICE, "root"])


@contextmanager
def limited(places: Mapping[str, ShapedSite], bits: int, run: Run = in_node) -> Iterator[None]:
    """The links while it lasts; the limits are gone afterwards, whatever happens."""
    unlimit(places, run)
    try:
        for site in places.values():
            for command in limit_commands(others(places, site), bits):
                run(site.node, command)
        yield
    finally:
        unlimit(places, run)


def others(places: Mapping[str, ShapedSite], site: ShapedSite) -> list[ShapedSite]:
    """In a fixed order: it numbers the classes."""
    return [other for other in places.values() if other.zone != site.zone]


def sent(places: Mapping[str, ShapedSite], run: Run = in_node) -> dict[Link, int]:
    """Bytes that have crossed each link since it was limited."""
    return {
        (site.zone, other.zone): count
        for site in places.values()
        for other, count in zip(
            others(places, site),
            queue_bytes(run(site.node, ["tc", "-s", "-j", "qdisc", "show", "dev", DEVICE])),
            strict=True,
        )
    }


def queue_bytes(text: str) -> list[int]:
    """Of the queues of `limit_commands`, in their order, from what `tc -s -j qdisc show` prints."""
    queues = {q["handle"]: int(q["bytes"]) for q in json.loads(text) if q["kind"] == "bfifo"}
    return [queues[handle] for handle in sorted(queues, key=lambda h: int(h.rstrip(":"), 16))]
