"""From paths to planning problems: the first step of every command."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from weir_operator.manifests.consequences import without_consequences
from weir_operator.manifests.finding import Finding, ManifestError
from weir_operator.manifests.network import Read, reader
from weir_operator.manifests.objects import Objects, from_documents
from weir_operator.manifests.problem import Built, build
from weir_operator.manifests.read import Document, read
from weir_operator.manifests.site import ANYWHERE, Site


@dataclass(frozen=True)
class Loaded:
    """All objects below some paths, and their problems."""

    objects: Objects
    built: Built


def load(
    paths: Sequence[str], namespace: str = "default", site: Site = ANYWHERE, robust: bool = False
) -> Loaded:
    """Objects and problems of files, folders and `-`; `site` is where they are to run, if that is known.
    `robust`: as if every policy had a `robustness`.

    Raises:
        ManifestError: with every error of every file, in the order of files and lines.
    """
    documents, unreadable = read(paths)
    if not documents and not unreadable:
        right = "give files with Weir's objects and Nodes; those of other API groups are passed over"
        raise ManifestError([Finding(None, "", "no objects found", right, file=", ".join(paths))])
    loaded, findings = check(documents, unreadable, namespace, site, robust)
    if findings:
        raise ManifestError(findings)
    return loaded


def check(
    documents: Sequence[Document],
    unreadable: Sequence[Finding] = (),
    namespace: str = "default",
    site: Site = ANYWHERE,
    robust: bool = False,
) -> tuple[Loaded, list[Finding]]:
    """What documents make, and every error of them, beside those (`unreadable`) of what is no document."""
    objects, findings = from_documents(documents, namespace)
    built = build(objects, read=matrix_readers(objects), site=site, robust=robust)
    findings = without_consequences([*unreadable, *findings, *map(objects.place, built.findings)])
    return Loaded(objects, built), _in_order(findings)


def _in_order(findings: Iterable[Finding]) -> list[Finding]:
    return sorted(dict.fromkeys(findings), key=lambda f: (f.file, f.line, f.column, str(f.object), f.path))


def matrix_readers(objects: Objects) -> dict[str, Read]:
    """How the matrix of each topology that came from a file is read."""
    return {
        key.name: reader(document.file, objects.config_maps)
        for key, document in objects.documents.items()
        if key.kind == "NetworkTopology"
    }
