"""Nodes that do not say what they have: told as a warning, as a plan may then put everything there."""

from __future__ import annotations

from weir_operator.manifests.finding import Finding, Key
from weir_operator.manifests.objects import Objects

_EXAMPLES = {"cpu": 4, "memory": "8Gi"}


def unlimited(objects: Objects) -> list[Finding]:
    """A finding for each resource that a node does not list. Complexity: linear in nodes."""
    findings = []
    for name, node in objects.nodes.items():
        listed = node.status.allocatable or node.status.capacity
        for resource, example in _EXAMPLES.items():
            if getattr(listed, resource, None) is None:
                wrong = f"not listed, so no plan knows a limit of the node's {resource}"
                right = f"write what pods may use, such as `{resource}: {example}`"
                findings.append(
                    Finding(Key("Node", "", name), f"status.allocatable.{resource}", wrong, right)
                )
    return [objects.place(finding) for finding in findings]
