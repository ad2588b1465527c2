"""What all kinds share: strict models, rules checked in Python and as CEL, metadata, conditions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Final, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

API_VERSION: Final = "weir.dev/v1alpha1"
GROUP, VERSION = API_VERSION.split("/")

NAME_PATTERN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
NODE_NAME_PATTERN = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"
NAMESPACE_PATTERN = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$"
LABEL_PATTERN = r"^[A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?$"
LABEL_VALUE_PATTERN = r"^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$"
IDENTIFIER_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]*$"
DATA_KEY_PATTERN = r"^[-._a-zA-Z0-9]+$"
OPERATOR_ID_PATTERN = r"^[A-Za-z0-9_]([-A-Za-z0-9_]*[A-Za-z0-9_])?$"

Name = Annotated[str, Field(max_length=63, pattern=NAME_PATTERN)]
NodeName = Annotated[str, Field(max_length=253, pattern=NODE_NAME_PATTERN)]
LabelKey = Annotated[str, Field(max_length=317, pattern=LABEL_PATTERN)]
LabelValue = Annotated[str, Field(max_length=63, pattern=LABEL_VALUE_PATTERN)]
Identifier = Annotated[str, Field(max_length=128, pattern=IDENTIFIER_PATTERN)]
ShortText = Annotated[str, Field(max_length=1024)]
ExpressionText = Annotated[str, Field(min_length=1, max_length=4096)]
Labels = Annotated[dict[LabelKey, LabelValue], Field(max_length=64)]
AnyObject = Annotated[dict[str, Any], Field(json_schema_extra={"x-kubernetes-preserve-unknown-fields": True})]


@dataclass(frozen=True)
class CelRule:
    """A constraint that a schema cannot express: one CEL rule of the CRD and the same check here.

    `holds` checks the raw mapping, so that its error is reported together with those of single fields.
    `field` is where the error is shown ("" for the object itself).
    """

    cel: str
    message: str
    holds: Callable[[Mapping[str, Any]], bool]
    field: str = ""


def exactly_one(*fields: str) -> CelRule:
    """Exactly one of `fields` is given."""
    presences = ", ".join(f"has(self.{field})" for field in fields)
    return CelRule(
        cel=f"[{presences}].exists_one(x, x)",
        message=f"exactly one of {', '.join(fields)} must be given",
        holds=lambda raw: sum(raw.get(field) is not None for field in fields) == 1,
    )


def at_most_one(*fields: str) -> CelRule:
    """At most one of `fields` is given."""
    presences = ", ".join(f"has(self.{field})" for field in fields)
    return CelRule(
        cel=f"[{presences}].filter(x, x).size() <= 1",
        message=f"at most one of {', '.join(fields)} may be given",
        holds=lambda raw: sum(raw.get(field) is not None for field in fields) <= 1,
    )


def needed_with(condition: str, fields: tuple[str, ...], value: str) -> CelRule:
    """When field `condition` has `value`, all of `fields` are given."""
    presences = " && ".join(f"has(self.{field})" for field in fields)
    return CelRule(
        cel=f"self.{condition} != '{value}' || ({presences})",
        message=f"{' and '.join(fields)} must be given when {condition} is {value}",
        holds=lambda raw: raw.get(condition) != value or all(raw.get(f) is not None for f in fields),
    )


def not_yet(field: str, right: str) -> CelRule:
    """`field` is reserved for a later version and refused until then, because it would have no effect."""
    return CelRule(
        cel=f"!has(self.{field})",
        message=f"{field} is not supported yet: {right}",
        holds=lambda raw: raw.get(field) is None,
        field=field,
    )


class Model(BaseModel):
    """A part of an object: camelCase in files, unknown fields refused, immutable."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,  # as the API server: "no" is no boolean, "5" no number
        populate_by_name=True,
        alias_generator=to_camel,
        defer_build=True,
    )
    rules: ClassVar[tuple[CelRule, ...]] = ()


class Lenient(Model):
    """A part that others write, or a newer version of Weir: unknown fields are ignored, not refused."""

    model_config = ConfigDict(extra="ignore", strict=False)


class Metadata(Lenient):
    """The part of Kubernetes' metadata that Weir reads."""

    name: Annotated[str, Field(max_length=253, pattern=NODE_NAME_PATTERN)]
    namespace: Annotated[str, Field(max_length=63, pattern=NAMESPACE_PATTERN)] = ""
    labels: dict[str, str] = Field(default_factory=dict)
    annotations: dict[str, str] = Field(default_factory=dict)
    uid: str = ""
    generation: int = 0
    resource_version: str = ""
    creation_timestamp: str = ""
    deletion_timestamp: str = ""


class Condition(Lenient):
    """A condition as kstatus and `kubectl wait` read it."""

    type: Annotated[str, Field(max_length=64)]
    status: Literal["True", "False", "Unknown"]
    reason: Annotated[str, Field(max_length=128)] = ""
    message: Annotated[str, Field(max_length=4096)] = ""
    observed_generation: int = -1
    last_transition_time: Annotated[str, Field(max_length=64)] = ""


class ObjectStatus(Lenient):
    """What every status has. `-1` means not yet observed: until then a new object is not healthy."""

    observed_generation: int = Field(
        -1, description="Generation that this status describes; -1 before the first."
    )
    conditions: Annotated[list[Condition], Field(max_length=16)] = Field(
        default_factory=list,
        description="Ready, Reconciling, Stalled and Moving; of a query also Waiting and ImageRefused.",
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
    )


class Selector(Model):
    """Nodes by their labels."""

    match_labels: Labels = Field(description="Labels that a node must have, all of them.", min_length=1)


class NodeChoice(Model):
    """One node, a zone, or nodes by label; empty means any node."""

    rules = (at_most_one("node", "zone", "selector"),)
    node: NodeName | None = Field(None, description="Name of one node.")
    zone: LabelValue | None = Field(None, description="Any node in this zone.")
    selector: Selector | None = Field(None, description="Any node with these labels.")


def bare(kind: Any) -> Any:
    """`X` for `Annotated[X, ...]` and for `X | None`."""
    while True:
        if get_origin(kind) is Annotated:
            kind = get_args(kind)[0]
        elif get_origin(kind) in (Union, UnionType):
            kind = next(choice for choice in get_args(kind) if choice is not NoneType)
        else:
            return kind
