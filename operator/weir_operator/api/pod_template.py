"""What a PlacementPolicy sets for pods."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from weir_operator.api.base import AnyObject, LabelKey, Labels, Model, Name, ShortText


class PodTemplate(Model):
    """What only an administrator may set for the pods: users of the policy cannot change it."""

    image: ShortText | None = Field(None, description="Runtime image; by default the operator's own.")
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] | None = Field(
        None, description="As in a pod."
    )
    image_pull_secrets: Annotated[list[Name], Field(max_length=16)] = Field(
        default_factory=list,
        description="Names of Secrets.",
        json_schema_extra={"x-kubernetes-list-type": "set"},
    )
    service_account_name: Name | None = Field(
        None, description="Service account of the pods; by default each fragment has its own."
    )
    priority_class_name: Name | None = Field(None, description="As in a pod.")
    runtime_class_name: Name | None = Field(None, description="As in a pod.")
    security_context: AnyObject | None = Field(
        None, description="The pod's security context; by default restricted."
    )
    container_security_context: AnyObject | None = Field(
        None, description="The container's security context; by default restricted."
    )
    volumes: Annotated[list[AnyObject], Field(max_length=32)] = Field(
        default_factory=list,
        description="Additional volumes.",
        json_schema_extra={"x-kubernetes-list-type": "atomic"},
    )
    volume_mounts: Annotated[list[AnyObject], Field(max_length=32)] = Field(
        default_factory=list,
        description="Where they are mounted.",
        json_schema_extra={"x-kubernetes-list-type": "atomic"},
    )
    labels: Labels = Field(default_factory=dict, description="Labels of the pods.")
    annotations: Annotated[dict[LabelKey, ShortText], Field(max_length=64)] = Field(
        default_factory=dict, description="Annotations of the pods."
    )
