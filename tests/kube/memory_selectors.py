"""Label and field selectors as the API server reads them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from weir_operator.kube.api import ApiError

FIELDS = {
    "Pod": {"spec.nodeName", "status.phase"},
    "Event": {"regarding.uid", "regarding.name", "type", "reason"},
}
"""By which fields, besides name and namespace, objects of a kind can be selected; of which ours uses some."""

_NAME = r"[A-Za-z0-9][-A-Za-z0-9_./]*"


def selected(selector: str, labels: Mapping[str, str]) -> bool:
    """Terms `a=b`, `a==b`, `a!=b`, `a`, `!a`, `a in (b,c)` and `a notin (b,c)`; ApiError 400 for others."""
    terms = [_holds(term.strip(), labels) for term in re.split(r",(?![^(]*\))", selector) if term]
    return all(terms)


def _holds(term: str, labels: Mapping[str, str]) -> bool:
    if match := re.fullmatch(rf"({_NAME})\s+(in|notin)\s+\(([^()]*)\)", term):
        name, word, values = match.groups()
        return (labels.get(name) in [value.strip() for value in values.split(",")]) == (word == "in")
    if match := re.fullmatch(rf"({_NAME})\s*(==|=|!=)\s*([-A-Za-z0-9_.]*)", term):
        name, sign, value = match.groups()
        return (labels.get(name) == value) == (sign != "!=")
    if match := re.fullmatch(rf"(!?)({_NAME})", term):
        return (match[2] in labels) != bool(match[1])
    raise ApiError(400, f"unable to parse requirement: {term}")


def has_fields(kind: str, selector: str, manifest: Mapping[str, Any]) -> bool:
    """Terms `a.b=c` and `a.b!=c`. ApiError 400 for a field by which the API server does not select."""
    terms = [_has(kind, term, manifest) for term in selector.split(",") if term]
    return all(terms)


def _has(kind: str, term: str, manifest: Mapping[str, Any]) -> bool:
    path, sign, wanted = re.split(r"(!=|==|=)", term, maxsplit=1)
    if path not in {"metadata.name", "metadata.namespace"} | FIELDS.get(kind, set()):
        raise ApiError(400, f"field label not supported: {path}")
    part: Any = manifest
    for name in path.split("."):
        part = (part or {}).get(name)
    return ((part or "") == wanted) == (sign != "!=")
