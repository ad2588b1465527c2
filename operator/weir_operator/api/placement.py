"""Kind Placement: the plan in force of one query. Weir and `weir approve|rollback|unpin` write it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from weir_operator.api.base import API_VERSION, AnyObject, Lenient, Metadata, Model, ObjectStatus, Text
from weir_operator.api.values import Quantity

TIME_PATTERN = r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$"


class PlacedOperator(Lenient):
    """An operator after rewriting and the node that runs it."""

    id: Annotated[str, Field(max_length=127)] = Field(description="Name within the query.")
    kind: Annotated[str, Field(max_length=32)] = Field(description="What it does.")
    inputs: Annotated[list[Annotated[str, Field(max_length=256)]], Field(max_length=32)] = Field(
        default_factory=list,
        description="Sources and operators.",
        json_schema_extra={"x-kubernetes-list-type": "atomic"},
    )
    node: Annotated[str, Field(max_length=253)] = Field(description="Node that runs it.")


class PlacedFragment(Lenient):
    """A fragment: connected operators on one node with one output stream."""

    name: Annotated[str, Field(max_length=63)] = Field(description="Name of the fragment.")
    node: Annotated[str, Field(max_length=253)] = Field(description="Node that it is pinned to.")
    epoch: int = Field(0, description="Raised by every move.")
    hash: Annotated[str, Field(max_length=128)] = Field(
        "", description="Hash of its canonical plan: names the checkpoint."
    )
    operators: Annotated[list[Annotated[str, Field(max_length=127)]], Field(max_length=100)] = Field(
        default_factory=list,
        description="Operators in it.",
        json_schema_extra={"x-kubernetes-list-type": "atomic"},
    )
    cpu: Quantity | None = Field(None, description="Cores that the plan foresees.")
    memory: Quantity | None = Field(None, description="Bytes that the plan foresees.")


class PlanApproval(Lenient):
    """One plan that a person lets through, once."""

    plan: Annotated[str, Field(max_length=64)] = Field(description="status.proposed.hash of the plan.")
    until: Annotated[str, Field(max_length=64, pattern=TIME_PATTERN)] = Field(
        description="When the approval expires, in UTC, as 2026-01-31T12:00:00Z."
    )


class PlacementSpec(Lenient):
    """The plan in force."""

    revision: int = Field(0, description="Number of the plan.", ge=0)
    approval: PlanApproval | None = Field(
        None, description="The plan that `weir approve` lets through (mode Manual)."
    )
    approved: int | None = Field(
        None,
        description="No longer read: a revision's number does not say which plan; use approval.",
        ge=0,
    )
    pinned: int | None = Field(
        None, description="Revision that `weir rollback` holds until `weir unpin`.", ge=0
    )
    headroom: float | None = Field(None, description="Predicted headroom.")
    operators: Annotated[list[PlacedOperator], Field(max_length=500)] = Field(
        default_factory=list,
        description="The plan after rewriting.",
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"]},
    )
    fragments: Annotated[list[PlacedFragment], Field(max_length=500)] = Field(
        default_factory=list,
        description="The plan cut into processes.",
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
    )
    plan: AnyObject | None = Field(None, description="Everything the controller needs to carry the plan out.")


class RunningFragment(Lenient):
    """What really runs."""

    name: Annotated[str, Field(max_length=63)] = Field(description="Name of the fragment.")
    node: Annotated[str, Field(max_length=253)] = Field("", description="Node that it really is on.")
    epoch: int = Field(0, description="Its epoch.")
    state: Annotated[str, Field(max_length=32)] = Field(
        "", description="starting, standby, running, stopped, failed, lost."
    )
    message: Text = Field("", description="The last error.")
    executors: Annotated[str, Field(max_length=32)] | None = Field(
        None, description="Executors that work for it of those it has, as 1/2; absent without any."
    )


class Proposed(Lenient):
    """A plan that waits (Shadow, Manual, cooldown)."""

    revision: int = Field(description="Number of the plan.")
    hash: Annotated[str, Field(max_length=64)] = Field("", description="Names the plan for `weir approve`.")
    diff: Annotated[str, Field(max_length=8192)] = Field("", description="What would change.")
    gain: float | None = Field(None, description="Headroom over the present one.")
    reason: Text = Field("", description="Why it waits.")
    plan: AnyObject | None = Field(None, description="The plan itself.")


class Summary(Lenient):
    """A line of history."""

    revision: int = Field(description="Number of the plan.")
    time: Annotated[str, Field(max_length=64)] = Field("", description="When it came into force.")
    reason: Text = Field("", description="Why.")
    headroom: float | None = Field(None, description="Predicted headroom.")
    moves: int | None = Field(None, description="Fragments moved.")
    plan: AnyObject | None = Field(None, description="The plan itself, so that it can be rolled back to.")


Clocks = Annotated[dict[Annotated[str, Field(max_length=63)], int], Field(max_length=1000)]


class ProgressClocks(Lenient):
    """Fragments that are or were on their way: what `progressDeadline` of the policy counts from."""

    generation: int = Field(-1, description="Generation of the query that this is about.")
    since: Clocks = Field(
        default_factory=dict, description="By fragment: when it was last seen not to be ready [s since 1970]."
    )
    until: Clocks = Field(default_factory=dict, description="By fragment: since when it is ready again.")


class PlacementStatus(ObjectStatus):
    """What runs, what is proposed, what was."""

    ready: Annotated[str, Field(max_length=32)] | None = Field(
        None, description="Fragments ready of all, as 2/3."
    )
    nodes: Annotated[str, Field(max_length=1024)] | None = Field(
        None, description="Nodes in use, for a person."
    )
    revision: int | None = Field(None, description="Revision that runs.")
    headroom: float | None = Field(None, description="Headroom under measured statistics.")
    running: Annotated[list[RunningFragment], Field(max_length=1000)] = Field(
        default_factory=list,
        description="What runs.",
        json_schema_extra={"x-kubernetes-list-type": "atomic"},
    )
    proposed: Proposed | None = Field(None, description="A plan that waits.")
    history: Annotated[list[Summary], Field(max_length=10)] = Field(
        default_factory=list,
        description="The last ten plans.",
        json_schema_extra={"x-kubernetes-list-type": "atomic"},
    )
    decisions: Annotated[list[Annotated[str, Field(max_length=512)]], Field(max_length=10)] = Field(
        default_factory=list,
        description="The last ten decisions, also those not to act.",
        json_schema_extra={"x-kubernetes-list-type": "atomic"},
    )
    owned: Annotated[list[Annotated[str, Field(max_length=63)]], Field(max_length=1000)] = Field(
        default_factory=list,
        description="Fragments that were started for it and not yet cleared away.",
        json_schema_extra={"x-kubernetes-list-type": "set"},
    )
    pinned_revision: int | None = Field(None, description="Revision that a rollback holds.")
    progress: ProgressClocks | None = Field(None, description="How long fragments have been on their way.")
    drift: AnyObject | None = Field(None, description="Since when the headroom is low; the last moves.")
    links: AnyObject | None = Field(
        None, description="Latencies [s] that its fragments measured, by `from to` nodes; the last of each."
    )


class Placement(Model):
    """The plan in force of one query, of the same name, and what runs of it."""

    api_version: Literal["weir.dev/v1alpha1"] = API_VERSION
    kind: Literal["Placement"] = "Placement"
    metadata: Metadata
    spec: PlacementSpec
    status: PlacementStatus | None = None
