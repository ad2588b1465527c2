"""What is well written and hardly meant: told as warnings, a line each; it is planned and runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from weir_operator.manifests.amounts import doubtful_amounts
from weir_operator.manifests.brokers import without_port
from weir_operator.manifests.finding import Finding, Key
from weir_operator.manifests.ineffective import ineffective
from weir_operator.manifests.load import Loaded
from weir_operator.manifests.never_true import never_true
from weir_operator.manifests.objects import Objects
from weir_operator.manifests.overlaps import overlaps
from weir_operator.manifests.problem import PolicyProblem
from weir_operator.manifests.queries import key_of
from weir_operator.manifests.site import ANYWHERE, Site
from weir_operator.manifests.unused import unused


def doubts(loaded: Loaded, site: Site = ANYWHERE) -> list[Finding]:
    """Each with its place: what has no effect, what has no limit, what is hardly meant."""
    objects, groups = loaded.objects, loaded.built.groups
    return [*unused(objects), *never_true(objects), *_beside(objects, groups, site)]


def doubts_about(key: Key, objects: Objects, groups: Sequence[PolicyProblem], site: Site) -> list[Finding]:
    """Those about one object that no other one can allay which comes later. SQL is read of it alone."""
    query = {name: item for name, item in objects.queries.items() if key_of(item) == key}
    findings = [*never_true(replace(objects, queries=query)), *_beside(objects, groups, site)]
    return [finding for finding in findings if finding.object == key]


def _beside(objects: Objects, groups: Sequence[PolicyProblem], site: Site) -> list[Finding]:
    more = (
        *ineffective(objects, groups),
        *doubtful_amounts(objects),
        *without_port(objects),
        *overlaps(objects, groups, site),
    )
    return [objects.place(finding) for finding in more]
