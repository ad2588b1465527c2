"""From a NetworkTopology and the nodes' zones to the model's Network."""

from __future__ import annotations

import base64
import gzip
import io
from collections.abc import Callable, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from weir_placement.model.cluster import Network, Node
from weir_placement.model.suggestion import suggestion

from weir_operator.api.topology import LinkValues, Matrix, NetworkTopology, NetworkTopologySpec
from weir_operator.manifests.finding import Finding, Key

Read = Callable[[Matrix], bytes]
"""The bytes of a matrix, from its file or ConfigMap; OSError or KeyError when there are none."""

_UNIT = {"s": 1.0, "ms": 1e3, "us": 1e6}
_MAX_BYTES = 512 * 2**20


def network(topology: NetworkTopology, nodes: Sequence[Node], read: Read) -> tuple[Network, list[Finding]]:
    """Latency and bandwidth between groups: zones, and single nodes that the topology names.

    The most specific value wins: that of a link between two nodes, then between a node and a zone, then
    between two zones, then of the matrix, then `within` and `default`.
    """
    key = Key("NetworkTopology", "", topology.metadata.name)
    spec = topology.spec
    matrix, findings = _matrix(spec, key, read)
    single = {end for link in spec.links for end in (link.source, link.target)}
    single |= set(spec.matrix.nodes) if spec.matrix else set()
    groups: dict[str, int] = {}
    of_node = [
        groups.setdefault(f"n:{n.name}" if n.name in single else f"z:{n.zone}", len(groups)) for n in nodes
    ]
    zones = _zones(nodes, of_node, len(groups))
    latency, bandwidth = _base(spec, zones)
    members = _members(nodes, of_node)
    if matrix is not None and spec.matrix:
        _apply_matrix(latency, spec.matrix.nodes, matrix, members)
    node_names = {node.name for node in nodes}
    for i, link in enumerate(spec.links):
        for field, end in (("from", link.source), ("to", link.target)):
            if end not in members:
                right = suggestion(end, members, "zones and nodes")
                path = f"spec.links[{i}].{field}"
                findings.append(
                    Finding.not_found(key, path, f"no zone or node {end}", right, Key("Node", "", end))
                )
    for link in sorted(spec.links, key=lambda k: (k.source in node_names) + (k.target in node_names)):
        ends = [(link.source, link.target)] + [(link.target, link.source)] * link.both
        for source, target in ends:
            _set(latency, bandwidth, np.ix_(members.get(source, []), members.get(target, [])), link)
    return Network(np.array(of_node, dtype=np.intp), latency, bandwidth), findings


def _zones(nodes: Sequence[Node], of_node: Sequence[int], groups: int) -> NDArray[np.str_]:
    zones = [""] * groups
    for node, group in zip(nodes, of_node, strict=True):
        zones[group] = node.zone
    return np.array(zones)


def _members(nodes: Sequence[Node], of_node: Sequence[int]) -> dict[str, list[int]]:
    """Groups by the name of a zone or node; a zone is all groups of its nodes."""
    members: dict[str, set[int]] = {}
    for node, group in zip(nodes, of_node, strict=True):
        if node.zone:
            members.setdefault(node.zone, set()).add(group)
    for node, group in zip(nodes, of_node, strict=True):
        members[node.name] = {group}
    return {name: sorted(groups_of) for name, groups_of in members.items()}


def _base(
    spec: NetworkTopologySpec, zones: NDArray[np.str_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    same = zones[:, None] == zones[None, :]
    values = []
    for within, between, absent in (
        (spec.within.latency, spec.default.latency, 0.0),
        (spec.within.bandwidth, spec.default.bandwidth, inf),
    ):
        inside = absent if within is None else within
        outside = absent if between is None else between
        values.append(np.where(same, inside, outside).astype(float))
    return values[0], values[1]


def _set(
    latency: NDArray[np.float64],
    bandwidth: NDArray[np.float64],
    where: tuple[NDArray[np.intp], ...],
    link: LinkValues,
) -> None:
    if link.latency is not None:
        latency[where] = link.latency
    if link.bandwidth is not None:
        bandwidth[where] = link.bandwidth


def _apply_matrix(
    latency: NDArray[np.float64],
    names: Sequence[str],
    matrix: NDArray[np.float64],
    members: dict[str, list[int]],
) -> None:
    rows = [i for i, name in enumerate(names) if name in members]
    # Each group gets the row of the last name that covers it; a node's own name comes after its zone's.
    order = sorted(rows, key=lambda i: -len(members[names[i]]))
    of_group = {group: i for i in order for group in members[names[i]]}
    groups = np.array(sorted(of_group), dtype=np.intp)
    index = np.array([of_group[g] for g in groups], dtype=np.intp)
    values = matrix[np.ix_(index, index)]
    apart = index[:, None] != index[None, :]  # within one row the matrix has no latency
    target = latency[np.ix_(groups, groups)]
    latency[np.ix_(groups, groups)] = np.where(apart, values, target)


def _matrix(
    spec: NetworkTopologySpec, key: Key, read: Read
) -> tuple[NDArray[np.float64] | None, list[Finding]]:
    """Shape (K, K) [s] for the K names of the matrix."""
    if spec.matrix is None:
        return None, []
    count = len(spec.matrix.nodes)
    path = "spec.matrix.file" if spec.matrix.file else "spec.matrix.configMapRef"
    try:
        raw = read(spec.matrix)
        if raw[:2] == b"\x1f\x8b":
            raw = _unpacked(raw)
        values = np.array(raw.split(), dtype=float)
    except (OSError, KeyError, EOFError) as error:
        reason = error.args[0] if isinstance(error, KeyError) else str(error)
        wrong = f"the matrix cannot be read: {reason}"
        right = "give a file beside the manifest, or apply the ConfigMap"
        return None, [Finding(key, path, wrong, right, "ReferenceNotFound")]
    except ValueError as error:
        return None, [Finding(key, path, f"is not a matrix: {error}", "write only numbers")]
    if values.size != count * count:
        wrong = f"has {values.size} numbers"
        right = f"{count} nodes need {count} x {count} = {count * count}"
        return None, [Finding(key, path, wrong, right)]
    if not np.all(np.isfinite(values)) or np.any(values < 0):
        row, column = divmod(int(np.argmax(~np.isfinite(values) | (values < 0))), count)
        wrong = (
            f"row {row + 1}, column {column + 1} has {values[row * count + column]:g}, which is "
            "negative or not a number"
        )
        return None, [Finding(key, path, wrong, "write latencies of at least 0, as 12.5")]
    return values.reshape(count, count) / (
        _UNIT[spec.matrix.unit] * (2.0 if spec.matrix.round_trip else 1.0)
    ), []


def _unpacked(raw: bytes) -> bytes:
    with gzip.open(io.BytesIO(raw)) as packed:
        text = packed.read(_MAX_BYTES + 1)
    if len(text) > _MAX_BYTES:
        raise ValueError(f"more than {_MAX_BYTES} bytes")
    return text


def reader(manifest: str, config_maps: Mapping[str, Mapping[str, Any]]) -> Read:
    """Reads a matrix's file relative to the manifest that names it, or a key of a ConfigMap."""

    def read(matrix: Matrix) -> bytes:
        if matrix.file is not None:
            return (Path(manifest).parent / matrix.file).read_bytes()
        reference = matrix.config_map_ref
        assert reference is not None
        config_map = config_maps.get(f"{reference.namespace}/{reference.name}")
        if config_map is None:
            raise KeyError(f"no ConfigMap {reference.namespace}/{reference.name}")
        if reference.key in (config_map.get("binaryData") or {}):
            return base64.b64decode(config_map["binaryData"][reference.key])
        if reference.key in (config_map.get("data") or {}):
            return str(config_map["data"][reference.key]).encode()
        raise KeyError(f"ConfigMap {reference.namespace}/{reference.name} has no key {reference.key}")

    return read
