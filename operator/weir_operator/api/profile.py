"""Kind InputProfile: the rates to plan for."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from weir_operator.api.base import API_VERSION, Metadata, Model, Name, Status, exactly_one
from weir_operator.api.values import Duration, Quantity

StreamName = Annotated[
    str, Field(max_length=127, pattern=r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?$")
]


class Point(Model):
    """A named vector of rates; a stream that is not in it has its nominal rate."""

    name: Name = Field(description="Name of the point, as night or rush-hour.")
    rates: Annotated[dict[StreamName, Quantity], Field(min_length=1, max_length=500)] = Field(
        description="Rate [tuples/s] by stream (ns.stream for another namespace)."
    )


class Learn(Model):
    """Points learned from measured rates."""

    window: Duration = Field(7 * 86400.0, description="How much of the past is looked at.")
    step: Duration = Field(300.0, description="Rates are averaged over this.")
    quantile: Annotated[float, Field(gt=0, le=1)] = Field(
        0.95, description="Quantile of the rates in a point."
    )
    points: Annotated[int, Field(ge=1, le=24)] = Field(4, description="How many points.")


class InputProfileSpec(Model):
    """A plan's headroom is its least over the points."""

    rules = (exactly_one("points", "learn"),)
    points: Annotated[list[Point], Field(min_length=1, max_length=100)] | None = Field(
        None,
        description="Named rate vectors.",
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
    )
    learn: Learn | None = Field(None, description="Learn the points from Prometheus.")


class InputProfileStatus(Status):
    """What was learned."""

    learned: Annotated[list[Point], Field(max_length=24)] | None = Field(
        None,
        description="Points in use when they are learned.",
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
    )


class InputProfile(Model):
    """Rates to plan for: named vectors, or learned from Prometheus."""

    api_version: Literal["weir.dev/v1alpha1"] = API_VERSION
    kind: Literal["InputProfile"] = "InputProfile"
    metadata: Metadata
    spec: InputProfileSpec
    status: InputProfileStatus | None = None
