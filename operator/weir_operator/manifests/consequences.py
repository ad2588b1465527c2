"""One fault is told once: what only follows from a fault elsewhere is counted there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from weir_placement.model.suggestion import near

from weir_operator.manifests.finding import Finding, Key

HOW_TO_ADD = (
    "add one with what it has, as `weir init` writes it for this machine (apiVersion: v1, kind: Node, "
    'status.allocatable: {cpu: "2", memory: 4Gi}), or those of a cluster, as `kubectl get nodes -o yaml` '
    "prints them"
)
NO_NODE = Finding(None, "", "there is no Node", HOW_TO_ADD)


def without_consequences(findings: Iterable[Finding]) -> list[Finding]:
    """The findings without those about references to an object that has errors of its own, or that may be in
    a file that cannot be read. The first finding about the cause has the number of objects that wait for it.
    """
    causes = _Causes(list(dict.fromkeys(findings)))
    waiting: dict[Finding, set[Key]] = {}
    for finding in causes.findings:
        cause = causes.of(finding)
        if finding.object and cause.object != finding.object:
            waiting.setdefault(cause, set()).add(finding.object)
    roots = [finding for finding in causes.findings if causes.of(finding) is finding]
    return [replace(finding, waiting=len(waiting.get(finding, ()))) for finding in roots]


class _Causes:
    """What the findings of one input follow from."""

    def __init__(self, findings: list[Finding]) -> None:
        self.findings = findings
        self._of_object: dict[Key, Finding] = {}  # a fault of its own, if there is one
        self._of_name: dict[str, Finding] = {}  # of objects whose kind is not known
        self._misnamed: dict[str, Finding] = {}  # by kind: one without a name, or with a wrong one
        for finding in sorted(findings, key=lambda each: each.missing is not None):
            if finding.object:
                self._of_object.setdefault(finding.object, finding)
                if finding.path == "kind":
                    self._of_name.setdefault(finding.object.full_name, finding)
                if finding.path.startswith("metadata"):
                    self._misnamed.setdefault(finding.object.kind, finding)
        self._node = next(
            (each for key, each in self._of_object.items() if near(key.kind, ["Node"], 0.8)), None
        )
        self._file = next((each for each in findings if each.object is None and each.file), None)

    def of(self, finding: Finding) -> Finding:
        """The finding from which this one follows, or itself."""
        if finding == NO_NODE:
            return self._node or self._file or finding
        missing = finding.missing
        if missing is None:
            return finding
        if missing in self._of_object:
            return self.of(self._of_object[missing])
        if missing.full_name in self._of_name:
            return self._of_name[missing.full_name]
        if missing.kind in self._misnamed:
            return self._misnamed[missing.kind]
        if missing.kind == "Node" and (self._node or NO_NODE in self.findings):
            return self._node or self.of(NO_NODE)  # a Node with errors may be the one, or in the zone
        return self._file or finding
