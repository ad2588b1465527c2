"""The parts of `v1` ResourceQuota and LimitRange that planning reads: what a namespace's pods may request."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from weir_operator.api.base import Lenient, Metadata
from weir_operator.api.values import Quantity

ResourceAmounts = dict[str, Quantity]


class ScopeRequirement(Lenient):
    """Which pods a quota counts, by one of their properties."""

    scope_name: str
    operator: str
    values: list[str] = Field(default_factory=list)


class ScopeSelector(Lenient):
    """All of these must hold."""

    match_expressions: list[ScopeRequirement] = Field(default_factory=list)


class ResourceQuotaSpec(Lenient):
    """What the pods of the namespace may request together."""

    hard: ResourceAmounts = Field(default_factory=dict)
    scopes: list[str] = Field(default_factory=list)
    scope_selector: ScopeSelector | None = None


class ResourceQuotaStatus(Lenient):
    """What they request now, Weir's own included."""

    used: ResourceAmounts = Field(default_factory=dict)


class ResourceQuota(Lenient):
    """A bound on what the pods of a namespace request together."""

    api_version: Literal["v1"] = "v1"
    kind: Literal["ResourceQuota"] = "ResourceQuota"
    metadata: Metadata
    spec: ResourceQuotaSpec = Field(default_factory=ResourceQuotaSpec)
    status: ResourceQuotaStatus = Field(default_factory=ResourceQuotaStatus)


class LimitRangeItem(Lenient):
    """Bounds on one container or one pod; `default` are limits."""

    type: str
    min: ResourceAmounts = Field(default_factory=dict)
    max: ResourceAmounts = Field(default_factory=dict)
    default: ResourceAmounts = Field(default_factory=dict)
    default_request: ResourceAmounts = Field(default_factory=dict)
    max_limit_request_ratio: ResourceAmounts = Field(default_factory=dict)


class LimitRangeSpec(Lenient):
    """All of them hold."""

    limits: list[LimitRangeItem] = Field(default_factory=list)


class LimitRange(Lenient):
    """Bounds on what each container and pod of a namespace requests."""

    api_version: Literal["v1"] = "v1"
    kind: Literal["LimitRange"] = "LimitRange"
    metadata: Metadata
    spec: LimitRangeSpec = Field(default_factory=LimitRangeSpec)
