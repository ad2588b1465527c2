"""What is wrong with an object, in one wording for the command line and for conditions."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

from weir_placement.model.expression_parser import ExpressionError

Isolated = TypeVar("Isolated")
log = logging.getLogger("weir.manifests")

FindingReason = Literal["Invalid", "ReferenceNotFound", "NotAllowed"]
"""Invalid: the object itself must change. ReferenceNotFound: may be resolved when another object is
applied. NotAllowed: somebody else must permit it."""


@dataclass(frozen=True)
class Key:
    """An object's identity; `namespace` is "" for cluster-wide kinds."""

    kind: str
    namespace: str
    name: str

    @property
    def full_name(self) -> str:
        """`namespace/name`, or the name alone."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    def __str__(self) -> str:
        return f"{self.kind} {self.full_name}".strip()


@dataclass(frozen=True)
class Finding:
    """One error: where, what is wrong (with the value), what would be right."""

    object: Key | None
    path: str  # spec.operators[2].on
    wrong: str
    right: str
    reason: FindingReason = "Invalid"
    file: str = ""
    line: int = 0
    column: int = 0  # in the file; 0: unknown
    missing: Key | None = None  # the object that a reference does not find
    within: tuple[int, int] | None = None  # line and column in the field's text, from 1
    waiting: int = 0  # other objects with findings that are only a consequence of this one

    @property
    def message(self) -> str:
        """The text for a condition: without file and object."""
        within = "line {}, column {}".format(*self.within) if self.within and not self.column else ""
        what = "; ".join(filter(None, (self.wrong, self.right)))
        return ": ".join(filter(None, (self.path, within, what)))

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part)
        text = ": ".join(filter(None, (place, str(self.object or ""), self.message)))
        if self.waiting:
            text += f" ({self.waiting} other object{'s wait' if self.waiting > 1 else ' waits'} for it)"
        return text.replace("\n", " ")

    @classmethod
    def not_found(cls, key: Key, path: str, wrong: str, right: str, missing: Key) -> Finding:
        """A reference to an object that does not exist, or has errors of its own."""
        return cls(key, path, wrong, right, "ReferenceNotFound", missing=missing)

    @classmethod
    def of_expression(cls, key: Key, path: str, error: ExpressionError) -> Finding:
        """What is wrong with SQL or an expression, at its place in the field."""
        within = (error.line, error.column) if error.line else None
        return cls(key, path, error.reason, "", within=within)

    def at(self, file: str, line: int, column: int = 0) -> Finding:
        """The same with its place in a file."""
        return replace(self, file=file, line=line, column=column)


class ManifestError(Exception):
    """Input that cannot be planned; `findings` has every error."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = tuple(findings)
        super().__init__("\n".join(map(str, self.findings)))


def isolated(
    key: Key, read: Callable[[], tuple[Isolated, list[Finding]]], otherwise: Isolated
) -> tuple[Isolated, list[Finding]]:
    """The result of `read` for one object. An unforeseen error becomes a finding about that object, and the
    others are still read."""
    try:
        return read()
    except Exception as error:
        log.error("%s cannot be read", key, exc_info=error)
        return otherwise, [Finding(key, "", f"it cannot be read: {error!r}", "")]


def shown(value: Any) -> str:
    """A value as it is quoted in a message: JSON, shortened."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError):
        text = str(value)
    return text if len(text) <= 60 else text[:57] + "..."
