"""From one raw object (of a file or the API server) to its model, with every error in it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, TypeVar, get_args, get_origin

from pydantic import ValidationError
from weir_placement.model.odd_signs import odd_letter
from weir_placement.model.suggestion import near, suggestion

from weir_operator.api.base import API_VERSION, CelRule, Model, bare
from weir_operator.api.kinds import CLUSTER_SCOPED, MODELS, NAME_RULE, Object
from weir_operator.manifests.duplicates import duplicates
from weir_operator.manifests.finding import Finding, Key, shown
from weir_operator.manifests.meant import with_meant_names
from weir_operator.manifests.options import PARAMETERS, unquoted_findings
from weir_operator.manifests.pattern_words import PATTERN_WORDS

M = TypeVar("M", bound=Model)
NO_FIELD = "no such field"
_TYPE_HELP = {
    "string_type": ("is not text", "write a string"),
    "int_type": ("is not a whole number", "write a number without a decimal point"),
    "int_parsing": ("is not a whole number", "write a number without a decimal point"),
    "int_from_float": ("is not a whole number", "write a number without a decimal point"),
    "float_type": ("is not a number", "write a number"),
    "float_parsing": ("is not a number", "write a number"),
    "bool_type": ("is neither true nor false", "write true or false"),
    "bool_parsing": ("is neither true nor false", "write true or false"),
    "list_type": ("is not a list", "write a list"),
    "dict_type": ("is not a mapping", "write a mapping of names to values"),
    "model_type": ("is not a mapping", "write a mapping of fields to values"),
    "model_attributes_type": ("is not a mapping", "write a mapping of fields to values"),
}


def key_of(raw: Mapping[str, Any], namespace: str = "default") -> Key:
    """The identity of a raw object; namespaced ones without a namespace are in `namespace`."""
    metadata = raw.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    kind = str(raw.get("kind", ""))
    scope = "" if kind in CLUSTER_SCOPED else str(metadata.get("namespace") or namespace)
    return Key(kind, scope, str(metadata.get("name", "")))


def parse(raw: Mapping[str, Any], namespace: str = "default") -> tuple[Object | None, list[Finding]]:
    """The object, or None, and everything that is wrong with it on its own, apart from other objects."""
    key = key_of(raw, namespace)
    model = MODELS.get((str(raw.get("apiVersion")), key.kind))
    if model is None:
        return None, [_unknown_kind(raw, key)]
    result: Object | None
    result, findings = checked(key, model, raw)  # type: ignore[assignment]
    if not NAME_RULE.holds(raw) and raw.get("apiVersion") == API_VERSION:
        findings.append(Finding(key, NAME_RULE.field, f"{shown(key.name)} is too long", NAME_RULE.message))
    if key.kind == "PlacementPolicy" and any(f.path.startswith(PARAMETERS) for f in findings):
        findings += unquoted_findings(key, raw)
    if result is None or findings:
        return None, findings
    if key.namespace != result.metadata.namespace:
        metadata = result.metadata.model_copy(update={"namespace": key.namespace})
        result = result.model_copy(update={"metadata": metadata})
    return result, []


def checked(key: Key, model: type[M], raw: Mapping[str, Any]) -> tuple[M | None, list[Finding]]:
    """The object as a model, or None, and every field in it that is wrong."""
    raw = {name: value for name, value in raw.items() if value is not None}
    result, findings = _validated(key, model, raw)
    if any(each.wrong == NO_FIELD for each in findings):
        # what is missing only because a field's name is mistyped is not told beside it
        as_meant = _validated(key, model, with_meant_names(model, raw))[1]
        still = {(each.path, each.wrong) for each in as_meant}
        findings = [each for each in findings if each.wrong == NO_FIELD or (each.path, each.wrong) in still]
    return (None, findings) if findings else (result, [])


def _validated(key: Key, model: type[M], raw: Mapping[str, Any]) -> tuple[M | None, list[Finding]]:
    """The object, where it can be read, and everything that is wrong with it."""
    findings = [Finding(key, path, message, "") for path, message in broken_rules(model, raw, "")]
    findings += [Finding(key, *duplicate) for duplicate in duplicates(model, raw)]
    try:
        return model.model_validate(raw), findings
    except ValidationError as error:
        findings.extend(_finding(key, model, detail) for detail in error.errors(include_url=False))
    return None, findings


def _unknown_kind(raw: Mapping[str, Any], key: Key) -> Finding:
    versions = {kind: version for version, kind in MODELS}
    kinds = [kind for version, kind in MODELS if version == API_VERSION]
    version = raw.get("apiVersion")
    if key.kind in versions:
        wrong = "is missing" if version is None else f"{shown(version)} is not known"
        return Finding(key, "apiVersion", wrong, f"write {versions[key.kind]}")
    if not key.kind:
        return Finding(key, "kind", "is missing", f"write one of {', '.join(kinds)}")
    return Finding(key, "kind", f"{shown(key.kind)} is not known", suggestion(key.kind, versions))


def broken_rules(kind: Any, raw: Any, path: str) -> Iterator[tuple[str, str]]:
    """(field path, message) of every rule that `raw` breaks, in all models within `kind`, a bare type: what
    the API server says by CEL."""
    if get_origin(kind) is list and isinstance(raw, list):
        item_kind = bare(get_args(kind)[0])
        for i, item in enumerate(raw):
            yield from broken_rules(item_kind, item, f"{path}[{i}]")
    elif _is_model(kind) and isinstance(raw, Mapping):
        for rule in kind.rules:
            if not _holds(rule, raw):
                yield ".".join(filter(None, (path, rule.field))), rule.message
        for alias, inner in _ruled_fields(kind):
            if raw.get(alias) is not None:
                yield from broken_rules(inner, raw[alias], f"{path}.{alias}".lstrip("."))


@cache
def _ruled_fields(model: type[Model]) -> tuple[tuple[str, Any], ...]:
    """(name in a manifest, bare type) of the fields whose models have rules."""
    fields = ((field.alias or name, bare(field.annotation)) for name, field in model.model_fields.items())
    return tuple((alias, kind) for alias, kind in fields if _has_rules(kind))


def _has_rules(kind: Any) -> bool:
    if get_origin(kind) is list:
        return _has_rules(bare(get_args(kind)[0]))
    return _is_model(kind) and bool(kind.rules or _ruled_fields(kind))


def _holds(rule: CelRule, raw: Mapping[str, Any]) -> bool:
    """Whether it holds, or cannot be checked: a field of a wrong type is an error of its own."""
    try:
        return rule.holds(raw)
    except (TypeError, ValueError, AttributeError, LookupError):
        return True


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Model)


def _finding(key: Key, model: type[Model], detail: Mapping[str, Any]) -> Finding:
    path = ""
    for part in detail["loc"]:
        path += f"[{part}]" if isinstance(part, int) else f".{part}"
    wrong, right = _wording(model, detail)
    return Finding(key, path.replace(".[key]", "").lstrip("."), wrong, right)


def _wording(model: type[Model], detail: Mapping[str, Any]) -> tuple[str, str]:
    """(what is wrong, what would be right) of one of pydantic's errors."""
    kind, context, value = detail["type"], detail.get("ctx", {}), shown(detail["input"])
    if kind == "missing":
        name = str(detail["loc"][-1])
        written = near(name, map(str, detail["input"]), 0.7) if isinstance(detail["input"], Mapping) else ""
        return "is missing", f"write {name} for {written}" if written else "it is required"
    if kind == "extra_forbidden":
        name = str(detail["loc"][-1])
        return NO_FIELD, suggestion(name, _siblings(model, detail["loc"]), "fields") + odd_letter(name)
    if kind == "weir":
        return f"{value} {context['wrong']}", context["right"]
    if kind in _TYPE_HELP:
        wrong, right = _TYPE_HELP[kind]
        return f"{value} {wrong}", _as_meant(kind, detail["input"]) or _items(model, detail) or right
    if kind == "literal_error":
        choices = re.findall(r"'([^']*)'", context["expected"])
        longer = [c for c in choices if len(str(detail["input"])) > 2 and c.startswith(str(detail["input"]))]
        close = "" if longer else near(str(detail["input"]), choices, 0.8)
        named = [close] if close else longer or choices
        several = "one of " if len(named) > 1 else ""
        return f"{value} is not allowed", f"write {several}{', '.join(named)}"
    if kind == "string_pattern_mismatch":
        right = PATTERN_WORDS.get(context["pattern"], f"it must match {context['pattern']}")
        return f"{value} is not allowed here", right + odd_letter(str(detail["input"]))
    limits = {"greater_than_equal": "ge", "greater_than": "gt", "less_than_equal": "le", "less_than": "lt"}
    if kind in limits:
        words = {"ge": "of at least", "gt": "above", "le": "of at most", "lt": "below"}
        limit = limits[kind]
        bound = f"{context[limit]:.0f}" if context[limit] == int(context[limit]) else f"{context[limit]:g}"
        return f"{value} is out of range", f"write a number {words[limit]} {bound}"
    if kind.endswith(("too_long", "too_short")):
        limit = context.get("max_length", context.get("min_length"))
        side = "at most" if kind.endswith("long") else "at least"
        unit = ("character" if kind.startswith("string") else "entry") if limit == 1 else ""
        unit = unit or ("characters" if kind.startswith("string") else "entries")
        return f"{value} is too {kind.rsplit('_', 1)[1]}", f"write {side} {limit} {unit}"
    return f"{value}: {detail['msg']}", ""


def _as_meant(kind: str, value: Any) -> str:
    """What to write for a value that only looks like another type; "" where that is not clear."""
    if kind == "string_type" and isinstance(value, bool | int | float):
        return f"write it in quotes: {json.dumps(str(value).lower())}"
    if not isinstance(value, str):
        return ""
    if kind.startswith("bool") and value.lower() in ("true", "false", "yes", "no", "on", "off"):
        return f"write {'true' if value.lower() in ('true', 'yes', 'on') else 'false'}, without quotes"
    if kind.startswith(("int", "float")):
        percent = value.endswith("%")
        try:
            number = float(value.removesuffix("%"))
        except ValueError:
            return ""
        return f"write {number / 100:g}" if percent else f"write {value}, without quotes"
    return ""


def _items(model: type[Model], detail: Mapping[str, Any]) -> str:
    """What the items of a list look like, for which somebody wrote a mapping; "" for other mistakes."""
    kind: Any = model
    for part in detail["loc"]:
        kind = _inner(kind, part)
    kind = _inner(kind, None)
    if (
        detail["type"] != "list_type"
        or not isinstance(detail["input"], Mapping)
        or get_origin(kind) is not list
    ):
        return ""
    item = bare(get_args(kind)[0])
    fields = item.model_fields.items() if _is_model(item) else ()
    needed = ", ".join(f"{field.alias or name}: ..." for name, field in fields if field.is_required())
    return f"write a list of mappings: - {{{needed}, ...}}" if needed else ""


def _siblings(kind: Any, path: tuple[Any, ...]) -> list[str]:
    """Names of the fields of the model that the last element of `path` belongs to."""
    for part in path[:-1]:
        kind = _inner(kind, part)
    kind = _inner(kind, None)
    if isinstance(kind, type) and issubclass(kind, Model):
        return [field.alias or name for name, field in kind.model_fields.items()]
    return []


def _inner(kind: Any, part: Any) -> Any:
    """The type of field, item or value `part` of `kind`; with None, `kind` without wrappers."""
    kind = bare(kind)
    if part is None:
        return kind
    if get_origin(kind) in (list, dict):
        return get_args(kind)[-1]
    if isinstance(kind, type) and issubclass(kind, Model):
        for name, field in kind.model_fields.items():
            if (field.alias or name) == part:
                return field.annotation
    return None
