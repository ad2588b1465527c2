"""The part of `v1` Node that planning reads: `kubectl get nodes -o yaml` works as input."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from weir_operator.api.base import Lenient, Metadata
from weir_operator.api.values import Quantity

EGRESS = "weir.dev/egress"
INGRESS = "weir.dev/ingress"
SPEED = "weir.dev/speed"


class Taint(Lenient):
    """As in Kubernetes."""

    key: str
    value: str = ""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]


class NodeSpec(Lenient):
    """Whether it is cordoned, and its taints."""

    unschedulable: bool = False
    taints: list[Taint] = Field(default_factory=list)


class NodeCondition(Lenient):
    """Only the condition Ready matters."""

    type: str
    status: str


class Allocatable(Lenient):
    """What pods may use together; a resource that is not listed is unlimited."""

    cpu: Quantity | None = None
    memory: Quantity | None = None


class NodeStatus(Lenient):
    """Capacity and health."""

    allocatable: Allocatable | None = None
    capacity: Allocatable | None = None
    conditions: list[NodeCondition] = Field(default_factory=list)


class Node(Lenient):
    """A machine; bandwidth [bits/s] and speed are the annotations above."""

    api_version: Literal["v1"] = "v1"
    kind: Literal["Node"] = "Node"
    metadata: Metadata
    spec: NodeSpec = Field(default_factory=NodeSpec)
    status: NodeStatus = Field(default_factory=NodeStatus)
