"""Tables of every field of every kind, from the models: the generated part of docs/manifests.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, get_args, get_origin

from weir_operator.api.base import Model, bare
from weir_operator.api.crds import crd
from weir_operator.api.kinds import KINDS, Kind

MARK = "<!-- Everything below is written by `weir crds --reference`; do not edit. -->"


def with_reference(text: str) -> str:
    """A document with its generated part updated: everything after the mark."""
    head, _, _ = text.partition(MARK)
    return head + MARK + "\n\n" + "\n".join(line for kind in KINDS for line in _kind(kind))


def _kind(kind: Kind) -> Iterator[str]:
    version = crd(kind)["spec"]["versions"][0]
    schema = version["schema"]["openAPIV3Schema"]
    scope = "Namespaced" if kind.namespaced else "Cluster-wide"
    yield f"## {kind.name}\n"
    yield f"{schema['description']} {scope}; short name `{kind.short}`.\n"
    yield "| Field | Type | Default | Meaning |"
    yield "|---|---|---|---|"
    spec = bare(kind.model.model_fields["spec"].annotation)
    defaults = dict(_defaults(spec, ""))
    for path, node, required in _fields(schema["properties"]["spec"], ""):
        default = "required" if required else _shown(defaults.get(path))
        yield f"| `{path}` | {_type(node)} | {default} | {_text(node.get('description', ''))} |"
    rules = [
        f"- `{path or 'spec'}`: {rule['message']}."
        for path, node in _all(schema["properties"]["spec"], "")
        for rule in node.get("x-kubernetes-validations", ())
    ]
    if rules:
        yield "\nRules beyond single fields:\n"
        yield from rules
    yield ""


def _fields(node: Mapping[str, Any], path: str) -> Iterator[tuple[str, Mapping[str, Any], bool]]:
    """Every field below a schema: path, schema, whether it is required."""
    for name, child in node.get("properties", {}).items():
        here = f"{path}.{name}".lstrip(".")
        yield here, child, name in node.get("required", ())
        yield from _fields(child, here)
        if "items" in child:
            yield from _fields(child["items"], f"{here}[]")


def _all(node: Mapping[str, Any], path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield path, node
    for name, child in node.get("properties", {}).items():
        here = f"{path}.{name}".lstrip(".")
        yield from _all(child, here)
        if "items" in child:
            yield from _all(child["items"], f"{here}[]")


def _type(node: Mapping[str, Any]) -> str:
    if "enum" in node:
        return " \\| ".join(f"`{value}`" for value in node["enum"])
    if node.get("x-kubernetes-int-or-string"):
        return "quantity"
    if node.get("type") == "array":
        return f"list of {_type(node['items'])}"
    if "additionalProperties" in node:
        return f"map to {_type(node['additionalProperties'])}"
    if node.get("type") == "string" and "us|ms|s|m|h|d" in node.get("pattern", ""):
        return "duration"
    return str(node.get("type", "any"))


def _text(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _defaults(model: type[Model], path: str) -> Iterator[tuple[str, Any]]:
    """Default by path (as `_fields` has it) of every field that has one, in the form that files have."""
    for name, field in model.model_fields.items():
        here = f"{path}.{field.alias or name}".lstrip(".")
        inner = bare(field.annotation)
        if get_origin(inner) is list:
            here, inner = f"{here}[]", bare(get_args(inner)[0])
        if isinstance(inner, type) and issubclass(inner, Model):
            yield from _defaults(inner, here)
        elif not field.is_required():
            value = field.get_default(call_default_factory=True)
            part = model.model_construct(**{name: value})
            dump = part.model_dump(mode="json", include={name}, warnings=False)
            yield here.removesuffix("[]"), dump[name]


def _shown(value: Any) -> str:
    if value is None or value in ({}, [], "") or isinstance(value, Mapping):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"
