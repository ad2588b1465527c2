"""Amounts that can be read and are hardly meant, or that nobody has written: told as a warning."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from weir_placement.rewrite.grouping import LONGEST_WINDOW

from weir_operator.api.topology import LinkValues
from weir_operator.api.values import format_bits, parse_bits
from weir_operator.manifests.cluster import NODE_BANDWIDTHS, declared_cpu, declared_memory
from weir_operator.manifests.finding import Finding, Key
from weir_operator.manifests.limits import shown
from weir_operator.manifests.objects import Objects
from weir_operator.manifests.queries import key_of

LEAST_MEMORY = 2.0**20
"""[bytes] Less of it is an amount without its unit."""
LEAST_BITS = 1.0
"""[bits/s] Less of it is `m`, a thousandth, for `M`, a million."""


def doubtful_amounts(objects: Objects) -> Iterator[Finding]:
    """A finding for each. Complexity: linear in objects."""
    yield from _nodes(objects)
    yield from _topologies(objects)
    yield from _policies(objects)
    for stream in objects.streams.values():
        key, spec = Key("Stream", stream.metadata.namespace, stream.metadata.name), stream.spec
        if spec.event_time and spec.event_time.watermark > LONGEST_WINDOW:
            days = f"{spec.event_time.watermark / 86_400:.0f}d"
            wrong = f"{days}: windows and joins wait for so long before they give a row"
            yield Finding(key, "spec.eventTime.watermark", wrong, "write how late rows may be, such as 10s")
        if spec.tuple_bytes == 0:
            wrong, right = "0: no plan counts its bytes on a network", "leave it out to have it estimated"
            yield Finding(key, "spec.tupleBytes", wrong, right)
        if spec.source and spec.source.rate and spec.source.rate.rows_per_second == 0:
            wrong, right = "0: the generator gives no row", "write a rate, or leave it out for the stream's"
            yield Finding(key, "spec.source.rate.rowsPerSecond", wrong, right)
    for query in objects.queries.values():
        key, resources = key_of(query), query.spec.resources
        if resources.memory is not None and resources.memory < LEAST_MEMORY:
            yield _bytes(key, "spec.resources.memory", resources.memory, "2Gi")
        if resources.cpu == 0:
            wrong = "0: nothing is kept free for the fragments"
            yield Finding(key, "spec.resources.cpu", wrong, "write cores, or leave it out for 0.1 a pod")


def _bytes(key: Key, path: str, amount: float, example: str) -> Finding:
    right = f"write it with its unit, such as {example}"
    return Finding(key, path, f"{shown(amount)} is {amount:.3g} bytes", right)


def _bits(key: Key, path: str, bandwidth: float | None) -> Iterator[Finding]:
    """`bandwidth` [bytes/s]"""
    if bandwidth and bandwidth * 8 < LEAST_BITS:
        text = str(format_bits(bandwidth))
        right = f"did you mean {text.rstrip('num')}M?"
        yield Finding(key, path, f"{text} is {bandwidth * 8:g} bit/s: m is a thousandth", right)


def _nodes(objects: Objects) -> Iterator[Finding]:
    for name, node in objects.nodes.items():
        key, status = Key("Node", "", name), node.status
        if declared_memory(node) == inf:
            wrong = "not listed, so no plan knows a limit of the node's memory"
            right = "write what pods may use, such as `memory: 8Gi`"
            yield Finding(key, "status.allocatable.memory", wrong, right)
        if declared_memory(node) < LEAST_MEMORY:
            field = "allocatable" if status.allocatable else "capacity"
            yield _bytes(key, f"status.{field}.memory", declared_memory(node), "4Gi")
        for annotation in NODE_BANDWIDTHS:
            if text := node.metadata.annotations.get(annotation):
                yield from _bits(key, f"metadata.annotations.{annotation}", parse_bits(text))


def _topologies(objects: Objects) -> Iterator[Finding]:
    for name, topology in objects.topologies.items():
        spec = topology.spec
        links: list[tuple[str, LinkValues]] = [("spec.default", spec.default), ("spec.within", spec.within)]
        links += [(f"spec.links[{i}]", link) for i, link in enumerate(spec.links)]
        for path, link in links:
            yield from _bits(Key("NetworkTopology", "", name), f"{path}.bandwidth", link.bandwidth)


def _policies(objects: Objects) -> Iterator[Finding]:
    """A `reserve` of all that there is."""
    most = {
        "cpu": max(map(declared_cpu, objects.nodes.values()), default=0.0),
        "memory": max(map(declared_memory, objects.nodes.values()), default=0.0),
    }
    for name, policy in objects.policies.items():
        for resource, largest in most.items():
            reserved = getattr(policy.spec.reserve, resource)
            if largest and reserved >= largest:
                wrong = f"{shown(reserved)} leaves nothing of any node: the largest has {shown(largest)}"
                key = Key("PlacementPolicy", "", name)
                yield Finding(key, f"spec.reserve.{resource}", wrong, f"write less than {shown(largest)}")
