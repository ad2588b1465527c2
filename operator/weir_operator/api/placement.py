"""Kind Placement: the plan in force for one query. Weir and `weir approve|rollback|unpin` write it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from weir_operator.api.base import API_VERSION, AnyObject, Lenient, Metadata, Model, ObjectStatus, ShortText
from weir_operator.api.values import Quantity

TIME_PATTERN = r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$"


class PlacedOperator(Lenient):
    """An operator after rewriting and the node that runs it."""

    id: Annotated[str, Field(max_length=127)] = Field(description="Name within the query.")
    kind: Annotated[str, Field(max_length=32)] = Field(description="Kind of operator.")
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
    epoch: int = Field(0, description="Number that rises with every move.")
    hash: Annotated[str, Field(max_length=128)] = Field(
        "", description="Hash of its canonical plan, after which its checkpoint is named."
    )
    operators: Annotated[list[Annotated[str, Field(max_length=127)]], Field(max_length=100)] = Field(
        default_factory=list,
        description="Operators in it.",
        json_schema_extra={"x-kubernetes-list-type": "atomic"},
    )
    cpu: Quantity | None = Field(None, description="Cores that the plan expects it to use.")
    memory: Quantity | None = Field(None, description="Bytes that the plan expects it to use.")


class PlanApproval(Lenient):
    """One plan that a person lets through, once."""

    plan: Annotated[str, Field(max_length=64)] = Field(description="status.proposed.hash of the plan.")
    until: Annotated[str, Field(max_length=64, pattern=TIME_PATTERN)] = Field(
        description="When the approval expires, in UTC, as 2026-01-31T12:00:00Z."
    )


Uid = Annotated[str, Field(max_length=63)]


class PlanOwner(Lenient):
    """Whose plan this is."""

    uid: Uid = Field("", description="uid of the StreamQuery.")
    incarnation: Uid = Field(
        "", description="uid that fragments and checkpoints are named after: of the query that began them."
    )
    retain: float = Field(
        0.0, description="How long its state is retained once the query is deleted [s]; 0: not at all."
    )
    restored: Uid = Field("", description="What restoreFrom it began with: uid of the deleted query.")
    snapshot: Annotated[str, Field(max_length=127)] = Field(
        "", description="Likewise: namespace/name of the snapshot."
    )
    parts: AnyObject | None = Field(None, description="Hashes of what its state depends on, by what it is.")
    leases: AnyObject | None = Field(
        None, description="By fragment: the lease that it gets where it has none."
    )


class RetainedQuery(Lenient):
    """A deleted query whose state is retained."""

    format: int = Field(1, description="Version of this form: 1.")
    query: Annotated[str, Field(max_length=63)] = Field(description="Name of the query.")
    uid: Uid = Field(description="Its uid, which restoreFrom names.")
    deleted: Annotated[str, Field(max_length=64, pattern=TIME_PATTERN)] = Field(
        description="When Weir saw that it was deleted, in UTC."
    )
    until: Annotated[str, Field(max_length=64, pattern=TIME_PATTERN)] = Field(
        description="When its state is removed, in UTC."
    )


class PlacementSpec(Lenient):
    """The plan in force."""

    revision: int = Field(0, description="Number of the plan.", ge=0)
    approval: PlanApproval | None = Field(
        None, description="The plan that `weir approve` has approved (mode Manual)."
    )
    approved: int | None = Field(
        None,
        description="No longer read: a revision's number does not say which plan; use approval.",
        ge=0,
    )
    pinned: int | None = Field(
        None, description="Revision to which `weir rollback` pins the query until `weir unpin`.", ge=0
    )
    headroom: float | None = Field(None, description="Predicted headroom.")
    operators: Annotated[list[PlacedOperator], Field(max_length=500)] = Field(
        default_factory=list,
        description="The plan after rewriting.",
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"]},
    )
    fragments: Annotated[list[PlacedFragment], Field(max_length=500)] = Field(
        default_factory=list,
        description="The plan, cut into processes.",
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
    )
    plan: AnyObject | None = Field(None, description="Everything the controller needs to apply the plan.")
    owner: PlanOwner | None = Field(None, description="The query that the plan is of.")
    retained: RetainedQuery | None = Field(
        None, description="The query is deleted, and its state is retained."
    )


class RunningFragment(Lenient):
    """What really runs."""

    name: Annotated[str, Field(max_length=63)] = Field(description="Name of the fragment.")
    node: Annotated[str, Field(max_length=253)] = Field("", description="Node that it really runs on.")
    epoch: int = Field(0, description="Its epoch.")
    state: Annotated[str, Field(max_length=32)] = Field(
        "", description="starting, standby, running, stopped, failed, lost."
    )
    message: ShortText = Field("", description="The last error.")
    executors: Annotated[str, Field(max_length=32)] | None = Field(
        None, description="Executors that are ready, of those planned, such as 1/2; absent without executors."
    )


class Proposed(Lenient):
    """A plan that is not in force yet (Shadow, Manual, cooldown)."""

    revision: int = Field(description="Number of the plan.")
    hash: Annotated[str, Field(max_length=64)] = Field(
        "", description="Hash of the plan, by which `weir approve` names it."
    )
    diff: Annotated[str, Field(max_length=8192)] = Field("", description="What would change.")
    gain: float | None = Field(None, description="Headroom above the present plan's.")
    reason: ShortText = Field("", description="Why it is not in force.")
    plan: AnyObject | None = Field(None, description="The plan itself.")


class Summary(Lenient):
    """An earlier plan."""

    revision: int = Field(description="Number of the plan.")
    time: Annotated[str, Field(max_length=64)] = Field("", description="When it came into force.")
    reason: ShortText = Field("", description="Why it came into force.")
    headroom: float | None = Field(None, description="Predicted headroom.")
    moves: int | None = Field(None, description="Fragments moved.")
    plan: AnyObject | None = Field(None, description="The plan itself, for a rollback.")


Clocks = Annotated[dict[Annotated[str, Field(max_length=63)], int], Field(max_length=1000)]


class ProgressClocks(Lenient):
    """How long fragments have not been ready: what `progressDeadline` of the policy is compared with."""

    generation: int = Field(-1, description="Generation of the query that this describes.")
    since: Clocks = Field(
        default_factory=dict, description="By fragment: since when it has not been ready [s since 1970]."
    )
    until: Clocks = Field(
        default_factory=dict, description="By fragment: since when it has been ready again [s since 1970]."
    )


class ImageRollout(Lenient):
    """A new image on its way to all fragments, or why it was taken back."""

    image: ShortText = Field(description="The new image.")
    before: ShortText = Field(description="The image that ran until then.")
    since: float = Field(0.0, description="When the rollout began [s since 1970].")
    waiting: float = Field(0.0, description="Batches that waited for the query then.")
    behind: float = Field(
        0.0, description="Since when many more have been waiting [s since 1970]; 0: they are not."
    )
    settled: float = Field(
        0.0, description="Since when all fragments have worked with it [s since 1970]; 0: not all do."
    )
    refused: ShortText = Field("", description="Why it was taken back.")


class PlacementStatus(ObjectStatus):
    """What runs, what is proposed, and earlier plans."""

    ready: Annotated[str, Field(max_length=32)] | None = Field(
        None, description="Fragments that are ready, of all, such as 2/3."
    )
    nodes: Annotated[str, Field(max_length=1024)] | None = Field(
        None, description="Nodes in use, as text for people."
    )
    revision: int | None = Field(None, description="Revision that runs.")
    headroom: float | None = Field(None, description="Headroom under measured statistics.")
    running: Annotated[list[RunningFragment], Field(max_length=1000)] = Field(
        default_factory=list,
        description="What runs.",
        json_schema_extra={"x-kubernetes-list-type": "atomic"},
    )
    proposed: Proposed | None = Field(None, description="A plan that is not in force yet.")
    history: Annotated[list[Summary], Field(max_length=10)] = Field(
        default_factory=list,
        description="The last ten plans.",
        json_schema_extra={"x-kubernetes-list-type": "atomic"},
    )
    decisions: Annotated[list[Annotated[str, Field(max_length=512)]], Field(max_length=10)] = Field(
        default_factory=list,
        description="The last ten decisions, including those not to act.",
        json_schema_extra={"x-kubernetes-list-type": "atomic"},
    )
    owned: Annotated[list[Annotated[str, Field(max_length=63)]], Field(max_length=1000)] = Field(
        default_factory=list,
        description="Fragments that were started for it and are not yet removed.",
        json_schema_extra={"x-kubernetes-list-type": "set"},
    )
    pinned_revision: int | None = Field(None, description="Revision to which it was last rolled back.")
    progress: ProgressClocks | None = Field(
        None, description="How long fragments have not been ready, for `progressDeadline`."
    )
    rollout: ImageRollout | None = Field(None, description="The rollout of a new image.")
    drift: AnyObject | None = Field(None, description="Since when headroom has been low; the last moves.")
    links: AnyObject | None = Field(
        None, description="The last latency [s] that its fragments measured on each link, by `from to`."
    )


class Placement(Model):
    """The plan in force for the query of the same name, and what runs of it."""

    api_version: Literal["weir.dev/v1alpha1"] = API_VERSION
    kind: Literal["Placement"] = "Placement"
    metadata: Metadata
    spec: PlacementSpec
    status: PlacementStatus | None = None
