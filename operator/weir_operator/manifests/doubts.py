"""What is well written and hardly meant: told as warnings, a line each; it is planned and runs."""

from __future__ import annotations

from weir_operator.manifests.amounts import doubtful_amounts
from weir_operator.manifests.brokers import without_port
from weir_operator.manifests.finding import Finding
from weir_operator.manifests.ineffective import ineffective
from weir_operator.manifests.load import Loaded
from weir_operator.manifests.never_true import never_true
from weir_operator.manifests.overlaps import overlaps
from weir_operator.manifests.site import ANYWHERE, Site
from weir_operator.manifests.unused import unused


def doubts(loaded: Loaded, site: Site = ANYWHERE) -> list[Finding]:
    """Each with its place: what has no effect, what has no limit, what is hardly meant."""
    objects, groups = loaded.objects, loaded.built.groups
    more = (
        *ineffective(objects, groups),
        *doubtful_amounts(objects),
        *without_port(objects),
        *overlaps(objects, groups, site),
    )
    return [*unused(objects), *never_true(objects), *map(objects.place, more)]
