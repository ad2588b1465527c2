"""Kind InputProfile: the rates to plan for."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from weir_operator.api.base import (
    API_VERSION,
    AnyObject,
    Metadata,
    Model,
    Name,
    ObjectStatus,
    exactly_one,
    not_yet,
)
from weir_operator.api.values import Quantity

STREAM_NAME_PATTERN = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
StreamName = Annotated[str, Field(max_length=127, pattern=STREAM_NAME_PATTERN)]


class ProfilePoint(Model):
    """A named vector of rates; a stream that is not in it has its nominal rate."""

    name: Name = Field(description="Name of the point, such as night or rush-hour.")
    rates: Annotated[dict[StreamName, Quantity], Field(min_length=1, max_length=500)] = Field(
        description="Rate [tuples/s] by stream (ns.stream for another namespace)."
    )
    max_rates: Annotated[dict[StreamName, Quantity], Field(max_length=500)] = Field(
        default_factory=dict,
        description="Largest rate [tuples/s] by stream, for plans of a policy with `robustness`.",
    )


class InputProfileSpec(Model):
    """A plan's headroom is the smallest over the points."""

    rules = (exactly_one("points", "learn"), not_yet("learn", "give points instead"))
    points: Annotated[list[ProfilePoint], Field(min_length=1, max_length=100)] | None = Field(
        None,
        description="Named rate vectors.",
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
    )
    learn: AnyObject | None = Field(None, description="Not supported yet: points from measured rates.")


class InputProfile(Model):
    """Rates to plan for: named vectors."""

    api_version: Literal["weir.dev/v1alpha1"] = API_VERSION
    kind: Literal["InputProfile"] = "InputProfile"
    metadata: Metadata
    spec: InputProfileSpec
    status: ObjectStatus | None = None
