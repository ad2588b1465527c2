"""What is well written and yet has no effect: told as a warning, as it may be meant for later."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from weir_placement.model.suggestion import near

from weir_operator.api.topology import NetworkTopology
from weir_operator.manifests.finding import Finding, Key
from weir_operator.manifests.objects import Objects


def unused(objects: Objects) -> list[Finding]:
    """Topologies that no policy names, links in those that no query's policy names (the others' are errors),
    and rows of matrices, whose ends are nowhere. Complexity: linear in nodes, links and rows."""
    named = {policy.spec.topology for policy in objects.policies.values()}
    named |= set() if "default" in objects.policies else {"default"}
    policies = filter(None, map(objects.policy, {query.spec.policy for query in objects.queries.values()}))
    planned = {policy.spec.topology for policy in policies}
    findings: list[Finding] = []
    for name, topology in objects.topologies.items():
        key = Key("NetworkTopology", "", name)
        if name not in named:
            right = f"write `topology: {name}` into the spec of a policy, or call it default"
            wrong = "no PlacementPolicy names it, so no plan knows its links"
            findings.append(Finding(key, "", wrong, right))
        places = _places(objects, topology)
        if name not in planned:
            findings += _links(key, topology, places)
        findings += _rows(key, topology, places)
    return [objects.place(finding) for finding in findings]


def _places(objects: Objects, topology: NetworkTopology) -> set[str]:
    """Names of the nodes and of their zones."""
    zones = {node.metadata.labels.get(topology.spec.zone_label, "") for node in objects.nodes.values()}
    return {*objects.nodes, *zones} - {""}


def _links(key: Key, topology: NetworkTopology, places: Collection[str]) -> Iterator[Finding]:
    for i, link in enumerate(topology.spec.links):
        for field, end in (("from", link.source), ("to", link.target)):
            if end not in places:
                wrong = f"no zone or node {end}, so the link has no effect"
                yield Finding(key, f"spec.links[{i}].{field}", wrong, _meant(end, places))


def _rows(key: Key, topology: NetworkTopology, places: Collection[str]) -> Iterator[Finding]:
    names = topology.spec.matrix.nodes if topology.spec.matrix else []
    if absent := [name for name in names if name not in places]:
        more = f" and {len(absent) - 3} more" if len(absent) > 3 else ""
        wrong = f"no zone or node {', '.join(absent[:3])}{more}, so these rows have no effect"
        yield Finding(key, "spec.matrix.nodes", wrong, _meant(absent[0], places))


def _meant(name: str, places: Collection[str]) -> str:
    meant = near(name, places)
    return f"did you mean {meant}?" if meant else "add its nodes, or leave it out"
