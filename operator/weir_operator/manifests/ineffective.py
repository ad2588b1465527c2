"""Fields that are well written and have no effect beside the others: told as a warning, as what is stored
with them runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from weir_placement.model.suggestion import near

from weir_operator.api.connectors import KafkaSecurity
from weir_operator.api.node import EGRESS, INGRESS, SPEED
from weir_operator.api.query import OperatorSpec
from weir_operator.manifests.connections import topics
from weir_operator.manifests.finding import Finding, Key
from weir_operator.manifests.objects import Objects
from weir_operator.manifests.problem import PolicyProblem
from weir_operator.manifests.queries import full_stream_name, key_of

_OF_KIND: Mapping[str, frozenset[str]] = {
    "filter": frozenset({"predicate", "columns", "selectivity"}),
    "project": frozenset({"columns"}),
    "join": frozenset({"on", "window", "selectivity", "cost_pair", "cost_out"}),
    "aggregate": frozenset({"window", "time", "slide", "group_by", "aggregates", "groups"}),
    "union": frozenset(),
}
"""Fields that only some kinds of operators have, by kind."""
_OF_SOME = frozenset().union(*_OF_KIND.values())
_NODE_SPEC = (
    "configSource", "externalID", "podCIDR", "podCIDRs", "providerID", "taints", "unschedulable",
)  # fmt: skip
"""What Kubernetes has in `spec` of a Node."""


def ineffective(objects: Objects, groups: Sequence[PolicyProblem]) -> Iterator[Finding]:
    """A finding for each. Complexity: linear in objects; in links for those of both directions."""
    for query in objects.queries.values():
        key = key_of(query)
        for i, operator in enumerate(query.spec.operators or ()):
            yield from _operator(key, f"spec.operators[{i}]", operator)
    for key, path, topic in topics(objects):
        if topic.security is not None:
            yield from _security(key, f"{path}.security", topic.security)
    yield from _links(objects)
    yield from _profiles(objects, groups)
    yield from _nodes(objects)


def _operator(key: Key, path: str, operator: OperatorSpec) -> Iterator[Finding]:
    """Fields of other kinds of operators."""
    effective = _OF_KIND.get(operator.kind, _OF_SOME)
    fields = type(operator).model_fields
    for name in sorted(operator.model_fields_set & (_OF_SOME - effective)):
        of = " and ".join(f"{kind}s" for kind, names in _OF_KIND.items() if name in names)
        wrong = f"has no effect on operators of kind {operator.kind}, only on {of}"
        yield Finding(key, f"{path}.{fields[name].alias or name}", wrong, "leave it out")


def _security(key: Key, path: str, security: KafkaSecurity) -> Iterator[Finding]:
    """What the protocol has no use for."""
    protocol = security.protocol
    wrong = f"has no effect with protocol {protocol}"
    if not protocol.startswith("SASL_"):
        given = {"mechanism": security.mechanism, "secretRef": security.secret_ref}
        for field in (name for name, value in given.items() if value is not None):
            yield Finding(key, f"{path}.{field}", wrong, f"write protocol: SASL_{protocol}, or leave it out")
    if security.ca_secret_ref is not None and not protocol.endswith("SSL"):
        right = f"write protocol: {protocol.replace('PLAINTEXT', 'SSL')}, or leave it out"
        yield Finding(key, f"{path}.caSecretRef", wrong, right)


def _links(objects: Objects) -> Iterator[Finding]:
    """Directions that an earlier or later link with `both` gives too: the later one counts."""
    for name, topology in objects.topologies.items():
        first: dict[tuple[str, str], int] = {}
        for i, link in enumerate(topology.spec.links):
            ends = [(link.source, link.target)] + [(link.target, link.source)] * link.both
            for source, target in ends:
                other = first.setdefault((source, target), i)
                if other != i:
                    wrong = (
                        f"{source} -> {target} is given twice, first by spec.links[{other}]; this one counts"
                    )
                    right = "leave out `both`, or one of the two"
                    yield Finding(Key("NetworkTopology", "", name), f"spec.links[{i}]", wrong, right)


def _profiles(objects: Objects, groups: Sequence[PolicyProblem]) -> Iterator[Finding]:
    """Profiles that say nothing of the streams that their query reads."""
    read = {query.name: set(query.sources.values()) for group in groups for query in group.problem.queries}
    for name, query in objects.queries.items():
        namespace = query.metadata.namespace
        profile = objects.profiles.get(f"{namespace}/{query.spec.profile}") if query.spec.profile else None
        if profile is None or name not in read:
            continue
        rated = {full_stream_name(n, namespace) for point in profile.spec.points or () for n in point.rates}
        if not rated & read[name]:
            short = sorted(n.removeprefix(f"{namespace}/").replace("/", ".") for n in read[name])
            wrong = f"InputProfile {query.spec.profile} has no rate of a stream that the query reads"
            right = f"add {', '.join(short)} to its points: until then nominal rates count"
            yield Finding(Key("StreamQuery", *name.split("/", 1)), "spec.profile", wrong, right)


def _nodes(objects: Objects) -> Iterator[Finding]:
    """Names of annotations and fields that are no more than like those which count."""
    for name, node in objects.nodes.items():
        key = Key("Node", "", name)
        for annotation in node.metadata.annotations:
            meant = near(annotation, (EGRESS, INGRESS, SPEED), 0.8)
            if meant and meant != annotation:
                yield Finding(key, f"metadata.annotations.{annotation}", "is not known", f"write {meant}")
        document = objects.documents.get(key)
        spec: Any = document.raw.get("spec") if document else None
        for field in spec if isinstance(spec, Mapping) else ():
            meant = near(str(field), _NODE_SPEC, 0.8)
            if meant and field not in _NODE_SPEC:
                yield Finding(key, f"spec.{field}", "is no field of a Node", f"did you mean {meant}?")
