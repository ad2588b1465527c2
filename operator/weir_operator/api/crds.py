"""CustomResourceDefinitions from the models: structural schemas, CEL rules, printer columns.

Nothing is kept twice: a description, a limit or a rule is written once, in the model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from weir_operator.api.base import GROUP, VERSION, CelRule
from weir_operator.api.kinds import KINDS, NAME_RULE, Kind
from weir_operator.api.placement import Placement

MAX_BYTES = 262_144
"""What a CRD may have to fit into the last-applied annotation of `kubectl apply`."""

_KEPT = {
    "type", "description", "properties", "required", "items", "additionalProperties", "enum", "pattern",
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems",
    "maxItems", "minProperties", "maxProperties", "anyOf",
}  # fmt: skip


class _Schema(GenerateJsonSchema):
    """Pydantic's JSON schema with the CEL rules of each model beside its properties."""

    def model_schema(self, schema: core_schema.ModelSchema) -> dict[str, Any]:
        result = super().model_schema(schema)
        rules = [_cel(rule) for rule in getattr(schema["cls"], "rules", ())]
        if rules:
            result["x-kubernetes-validations"] = rules
        return result


def _cel(rule: CelRule) -> dict[str, str]:
    return {"rule": rule.cel, "message": rule.message}


def crd(kind: Kind) -> dict[str, Any]:
    """The CustomResourceDefinition of one kind, as a manifest."""
    raw = kind.model.model_json_schema(by_alias=True, schema_generator=_Schema)
    definitions = raw.get("$defs", {})
    properties = {name: _structural(raw["properties"][name], definitions) for name in ("spec", "status")}
    if kind.model is not Placement:  # nobody waits for the operator to have seen what it wrote itself
        # The one default of a schema, on both levels: an object that was just created has a status at once.
        properties["status"]["default"] = {"observedGeneration": -1}
        properties["status"]["properties"]["observedGeneration"]["default"] = -1
    schema = {
        "description": raw["description"],
        "type": "object",
        "required": ["spec"] if "spec" in raw["required"] else [],
        "x-kubernetes-validations": [_cel(NAME_RULE)],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            **properties,
        },
    }
    if not schema["required"]:
        del schema["required"]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "names": {
                "kind": kind.name,
                "listKind": f"{kind.name}List",
                "plural": kind.plural,
                "singular": kind.name.lower(),
                "shortNames": [kind.short],
                "categories": ["weir"],
            },
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": [_printer_column(column) for column in kind.columns],
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }


def _printer_column(column: Any) -> dict[str, Any]:
    entry = {"name": column.name, "type": column.type, "jsonPath": column.path}
    return {**entry, "priority": column.priority} if column.priority else entry


def _structural(node: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON schema without references, nulls, titles and defaults, as the API server wants it."""
    if "$ref" in node:
        target = definitions[node["$ref"].rsplit("/", 1)[1]]
        return _structural({**target, **{k: v for k, v in node.items() if k != "$ref"}}, definitions)
    if "allOf" in node and len(node["allOf"]) == 1:
        rest = {k: v for k, v in node.items() if k != "allOf"}
        return _structural({**node["allOf"][0], **rest}, definitions)
    choices = [choice for choice in node.get("anyOf", ()) if choice.get("type") != "null"]
    if len(choices) == 1 and len(choices) < len(node["anyOf"]):
        rest = {k: v for k, v in node.items() if k != "anyOf"}
        return _structural({**choices[0], **rest}, definitions)
    result = {k: v for k, v in node.items() if k in _KEPT or k.startswith("x-kubernetes-")}
    for value in node.get("patternProperties", {}).values():  # a map whose keys have a pattern
        result["additionalProperties"] = value
    if "const" in node:
        result["enum"] = [node["const"]]
    if "properties" in result:
        result["properties"] = {
            name: _structural(value, definitions) for name, value in result["properties"].items()
        }
        result.pop("additionalProperties", None)  # the API server prunes what is unknown by itself
    elif isinstance(result.get("additionalProperties"), Mapping):
        result["additionalProperties"] = _structural(result["additionalProperties"], definitions)
    elif result.pop("additionalProperties", None) is not None:
        pass
    if "items" in result:
        result["items"] = _structural(result["items"], definitions)
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if exclusive in result:  # JSON Schema has a number here, OpenAPI 3.0 a flag
            result[bound], result[exclusive] = result[exclusive], True
    return result


def files() -> Iterator[tuple[str, str]]:
    """(file name, YAML text) of every CRD, in the order of the kinds."""
    import yaml

    for kind in KINDS:
        text = yaml.dump(crd(kind), Dumper=yaml.CSafeDumper, sort_keys=False, width=110)
        yield f"{kind.plural}.{GROUP}.yaml", "# Written by `weir crds` from the models; do not edit.\n" + text
