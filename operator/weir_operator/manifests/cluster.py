"""Nodes for planning: their allocatable resources, less what other pods request and the policy's reserve."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import inf

from pydantic_core import PydanticCustomError
from weir_placement.model.cluster import Node as ModelNode
from weir_placement.model.suggestion import suggestion

from weir_operator.api.base import NodeChoice
from weir_operator.api.node import EGRESS, INGRESS, SPEED, Allocatable, Node, Taint
from weir_operator.api.policy import PlacementPolicySpec
from weir_operator.api.query_pods import Toleration
from weir_operator.api.topology import ZONE_LABEL
from weir_operator.api.values import parse_bits, parse_quantity
from weir_operator.manifests.finding import Finding, Key, shown

NODE_BANDWIDTHS = (EGRESS, INGRESS)
UNREACHABLE = ("node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready")


@dataclass(frozen=True)
class NodeUsage:
    """What is used on a node before planning: other pods' requests, or an earlier policy's plan."""

    cpu: float = 0.0  # [cores]
    memory: float = 0.0  # [bytes]
    egress: float = 0.0  # [bytes/s]
    ingress: float = 0.0  # [bytes/s]

    def __add__(self, other: NodeUsage) -> NodeUsage:
        return NodeUsage(
            self.cpu + other.cpu,
            self.memory + other.memory,
            self.egress + other.egress,
            self.ingress + other.ingress,
        )


def tolerates(tolerations: Iterable[Toleration], taint: Taint) -> bool:
    """Kubernetes' rule: an empty key with Exists matches every taint, an empty effect every effect."""
    for t in tolerations:
        if t.effect not in (None, taint.effect):
            continue
        if t.key is None:
            if t.operator == "Exists":
                return True
        elif t.key == taint.key and (t.operator == "Exists" or (t.value or "") == taint.value):
            return True
    return False


def open_to(node: Node, tolerations: Iterable[Toleration]) -> bool:
    """Whether new work with these tolerations may be put there: not cordoned, ready, no other taint."""
    ready = all(c.status == "True" for c in node.status.conditions if c.type == "Ready")
    tolerated = list(tolerations)
    return (
        ready
        and not node.spec.unschedulable
        and all(t.effect == "PreferNoSchedule" or tolerates(tolerated, t) for t in node.spec.taints)
    )


def shut_out(node: Node, tolerations: Iterable[Toleration]) -> bool:
    """Whether the node's taints keep away pods with these tolerations. The taints of a node that does not
    answer do not count: it may be back before its processes are considered lost."""
    tolerated = list(tolerations)
    return any(keeps_away(taint, tolerated) for taint in node.spec.taints)


def keeps_away(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    """Whether the taint keeps away pods with these tolerations; not if its node only does not answer."""
    counts = taint.effect != "PreferNoSchedule" and taint.key not in UNREACHABLE
    return counts and not tolerates(tolerations, taint)


def _declared(node: Node) -> Allocatable | None:
    """What a node has for pods."""
    return node.status.allocatable or node.status.capacity


def declared_memory(node: Node) -> float:
    """[bytes] That a node has for pods; infinite where it declares none."""
    resources = _declared(node)
    return resources.memory if resources and resources.memory is not None else inf


def declared_cpu(node: Node) -> float:
    """Cores that a node has for pods; none where it declares none."""
    resources = _declared(node)
    return resources.cpu if resources and resources.cpu is not None else 0.0


def selects(policy: PlacementPolicySpec, node: Node) -> bool:
    """Whether the node has the labels that a policy selects by."""
    return all(node.metadata.labels.get(k) == v for k, v in policy.node_selector.items())


def model_node(
    node: Node, policy: PlacementPolicySpec, usage: NodeUsage, zone_label: str, schedulable: bool
) -> ModelNode:
    """The node of the model; `node_findings` reports what cannot be read."""
    annotations = node.metadata.annotations
    return ModelNode(
        name=node.metadata.name,
        cpu=max(0.0, declared_cpu(node) - policy.reserve.cpu - usage.cpu),
        memory=max(0.0, declared_memory(node) - policy.reserve.memory - usage.memory),
        egress=max(0.0, _annotated(annotations, EGRESS, parse_bits, inf) - usage.egress),
        ingress=max(0.0, _annotated(annotations, INGRESS, parse_bits, inf) - usage.ingress),
        speed=_annotated(annotations, SPEED, parse_quantity, 1.0),
        zone=node.metadata.labels.get(zone_label, ""),
        labels=node.metadata.labels,
        schedulable=schedulable and selects(policy, node),
    )


def _annotated(texts: Mapping[str, str], name: str, parse: Callable[[str], float], absent: float) -> float:
    try:
        return parse(texts[name]) if name in texts else absent
    except PydanticCustomError:
        return absent


def node_findings(node: Node) -> list[Finding]:
    """What is wrong with a node for planning."""
    key = Key("Node", "", node.metadata.name)
    findings = []
    resources = _declared(node)
    if resources is None or resources.cpu is None:
        findings.append(Finding(key, "status.allocatable.cpu", "is missing", "write the node's cores"))
    for name, parse in ((EGRESS, parse_bits), (INGRESS, parse_bits), (SPEED, parse_quantity)):
        text = node.metadata.annotations.get(name)
        try:
            if text is not None and parse(text) <= 0:
                wrong, right = f"{shown(text)} is not above 0", "write a value above 0"
                findings.append(Finding(key, f"metadata.annotations.{name}", wrong, right))
        except PydanticCustomError as error:
            context = error.context or {}
            wrong, right = f"{shown(text)} {context.get('wrong')}", str(context.get("right"))
            findings.append(Finding(key, f"metadata.annotations.{name}", wrong, right))
    return findings


def resolve(
    place: NodeChoice, nodes: Iterable[ModelNode], key: Key, path: str
) -> tuple[tuple[str, ...], list[Finding]]:
    """Names of the nodes in a place (all nodes for an empty one), or why there are none."""
    everything = list(nodes)
    if place.node is not None:
        if any(node.name == place.node for node in everything):
            return (place.node,), []
        right = suggestion(place.node, (node.name for node in everything), "nodes")
        return (), [
            Finding.not_found(
                key, f"{path}.node", f"no node {place.node}", right, Key("Node", "", place.node)
            )
        ]
    if place.zone is not None:
        names = tuple(node.name for node in everything if node.zone == place.zone)
        right = _zone_meant(place.zone, everything)
        wrong = f"no node in zone {place.zone}"
        missing = Key("Node", "", place.zone)  # one of them
        return names, [] if names else [Finding.not_found(key, f"{path}.zone", wrong, right, missing)]
    if place.selector is not None:
        labels = place.selector.match_labels
        names = tuple(n.name for n in everything if all(n.labels.get(k) == v for k, v in labels.items()))
        wrong = f"no node has {', '.join(f'{k}={v}' for k, v in labels.items())}"
        right = "label a node, or name one"
        missing = Key("Node", "", "")
        return names, [] if names else [Finding.not_found(key, f"{path}.selector", wrong, right, missing)]
    return tuple(node.name for node in everything), []


def _zone_meant(zone: str, nodes: list[ModelNode]) -> str:
    """What would be right for a zone that no node is in."""
    label = next((k for node in nodes for k, value in node.labels.items() if value == zone), "")
    zones = {node.zone for node in nodes if node.zone}
    if label or not zones:
        have = f", not {label}" if label else ""
        return f"a node's zone is its label {ZONE_LABEL}{have}"
    return suggestion(zone, zones, "zones")
