"""Kind PlacementPolicy: how plans are made and carried out, and what its users may do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, ValidationError
from pydantic_core import PydanticCustomError
from weir_placement.model.location import STORE, TOPIC, Flows
from weir_placement.objectives import NAMES

from weir_operator.api.base import (
    API_VERSION,
    AnyObject,
    CelRule,
    LabelKey,
    Labels,
    Metadata,
    Model,
    Name,
    ObjectStatus,
    Text,
    at_most_one,
    not_yet,
)
from weir_operator.api.connectors import BUCKET, PART, S3, KafkaSecurity
from weir_operator.api.values import Duration, Quantity, parse_duration

LONGEST_PLANNING = 600.0
"""[s]"""
_OBJECTS = re.compile(f"{BUCKET}{PART}*$")


if TYPE_CHECKING:
    ObjectiveName = str
else:
    ObjectiveName = Literal[NAMES]


def _short_enough(raw: Mapping[str, Any]) -> bool:
    """Whether a time limit keeps its cap; what is no duration is told by its own field."""
    written = str(raw.get("timeLimit", "0s"))
    try:
        return "d" not in written and parse_duration(written) <= LONGEST_PLANNING
    except PydanticCustomError:
        return True


class StrategySpec(Model):
    """The planner and its parameters; `weir strategies` lists them."""

    rules = (
        CelRule(
            # CEL knows no days
            cel="!has(self.timeLimit) || "
            "(!self.timeLimit.contains('d') && duration(self.timeLimit) <= duration('10m'))",
            message="timeLimit may be at most 10m: queries of the policy wait for the plan",
            holds=_short_enough,
            field="timeLimit",
        ),
    )
    name: Annotated[str, Field(max_length=63, pattern=r"^[a-z0-9-]+$")] = Field(
        "auto", description="Name of the strategy."
    )
    parameters: Annotated[
        dict[Annotated[str, Field(max_length=63)], Annotated[str, Field(max_length=256)]],
        Field(max_length=64),
    ] = Field(default_factory=dict, description="As --set KEY=VALUE.")
    seed: int = Field(0, description="Seed of its random numbers.", ge=0, le=2**31 - 1)
    time_limit: Duration = Field(5.0, description="Longest time for one plan, at most 10m.")


class Drift(Model):
    """When a plan in force is left for a better one."""

    min_headroom: Annotated[float, Field(ge=0)] = Field(
        1.1, description="Below this headroom it is re-planned."
    )
    min_gain: Annotated[float, Field(ge=0)] = Field(
        0.2, description="A plan better by this share is worth moving."
    )
    hold: Duration = Field(30.0, description="Either must last this long.")


class MoveBudget(Model):
    """How many fragments may move."""

    moves: Annotated[int, Field(ge=0, le=10000)] = Field(20, description="Moves in the period.")
    period: Duration = Field(3600.0, description="The period.")


class HierarchySpec(Model):
    """Hierarchical planning."""

    max_cluster_size: Annotated[int, Field(ge=2, le=10000)] = Field(
        16, description="Members of a partition at most."
    )
    tier_label: LabelKey | None = Field(
        None, description="Node label that names the tier; partitions by latency without it."
    )


class KafkaExchange(Model):
    """Flows as Kafka topics, one for each, made and deleted with it."""

    bootstrap_servers: Annotated[str, Field(min_length=1, max_length=1024)] = Field(
        description="host:port, separated by commas."
    )
    topic_prefix: Annotated[str, Field(max_length=100, pattern=r"^[a-zA-Z0-9._-]*$")] = Field(
        "weir.", description="Topics and consumer groups begin with this; the namespace follows."
    )
    replication: Annotated[int, Field(ge=1, le=10)] = Field(
        1, description="Replicas of topics made from now on, in different racks as far as can be."
    )
    security: KafkaSecurity | None = Field(
        None, description="Log-in; its secrets are of each query's namespace."
    )


class FilesExchange(Model):
    """Flows as files on a claim, or on an object store."""

    rules = (
        CelRule(
            cel=f"!has(self.uri) || self.uri.matches('{_OBJECTS.pattern}')",
            message="uri must be s3://BUCKET or s3://BUCKET/PREFIX, as s3://weir/prod",
            holds=lambda raw: raw.get("uri") is None or bool(_OBJECTS.match(str(raw["uri"]))),
            field="uri",
        ),
        CelRule(
            cel="!has(self.s3) || has(self.uri)",
            message="s3 says how to reach the store that uri names: give uri, as s3://weir/prod",
            holds=lambda raw: raw.get("s3") is None or raw.get("uri") is not None,
            field="s3",
        ),
    )
    claim: Name | None = Field(
        None,
        description="ReadWriteMany claim in each query's namespace, for flows, checkpoints and the files of "
        "sources and sinks; weir-exchange without it, or what the operator was installed with.",
    )
    uri: Text | None = Field(
        None,
        description="s3://BUCKET/PREFIX: flows are objects below PREFIX/NAMESPACE, which must be this "
        "cluster's alone, on a store that honours conditional writes; another place changes running queries "
        "as other operators do.",
    )
    s3: S3 | None = Field(None, description="How to reach the object store; AWS without it.")


class Exchange(Model):
    """How fragments hand rows to each other, and where checkpoints are."""

    rules = (
        at_most_one("files", "kafka"),
        not_yet("checkpoints", "they lie on the claim, as Spark keeps them in a file system"),
    )
    files: FilesExchange | None = Field(
        None, description="Flows as files on the claim, the default, or on an object store."
    )
    kafka: KafkaExchange | None = Field(
        None,
        description="Flows as Kafka topics, led in the producer's zone where `broker.rack` names it; other "
        "brokers or another prefix change running queries as other operators do.",
    )
    checkpoints: AnyObject | None = Field(None, description="Not yet: where else checkpoints lie.")
    retention: Duration = Field(600.0, description="How long a batch stays that every reader has read.")

    def flows(self) -> Flows:
        """Where flows lie by this."""
        if self.files and self.files.uri:
            options = self.files.s3.model_dump(by_alias=True, exclude_none=True) if self.files.s3 else {}
            endpoint = (options["endpoint"],) if "endpoint" in options else ()
            address = f"{self.files.uri}/{{namespace}}/{{fragment}}"
            return Flows(STORE, address, options, identity=(self.files.uri, *endpoint))
        if self.kafka:
            options = self.kafka.model_dump(by_alias=True, exclude_none=True, mode="json")
            prefix = options.pop("topicPrefix")
            identity = (options["bootstrapServers"], prefix)
            return Flows(TOPIC, f"{prefix}{{namespace}}.{{fragment}}", options, ("replication",), identity)
        return Flows()


class Reserve(Model):
    """Kept free on every node."""

    cpu: Quantity = Field(0.0, description="Cores.")
    memory: Quantity = Field(0.0, description="Bytes.")


class OverheadsSpec(Model):
    """What running costs beside the operators: `weir calibrate` measures it."""

    fragment_cpu: Quantity = Field(0.0, description="Cores of each process of a fragment.")
    fragment_memory: Quantity = Field(0.0, description="Bytes of each process of a fragment.")
    exchange_cost: Annotated[float, Field(ge=0)] = Field(
        0.0, description="CPU-microseconds a tuple at each end of a flow."
    )
    exchange_latency: Duration = Field(0.0, description="Delay of one hop between fragments.")


class PodTemplate(Model):
    """What only an administrator may say about the pods: users of the policy cannot change it."""

    image: Text | None = Field(None, description="Runtime image; the operator's own default without it.")
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] | None = Field(
        None, description="As in a pod."
    )
    image_pull_secrets: Annotated[list[Name], Field(max_length=16)] = Field(
        default_factory=list,
        description="Names of secrets.",
        json_schema_extra={"x-kubernetes-list-type": "set"},
    )
    service_account_name: Name | None = Field(
        None, description="Account of the pods; each fragment has its own without it."
    )
    priority_class_name: Name | None = Field(None, description="As in a pod.")
    runtime_class_name: Name | None = Field(None, description="As in a pod.")
    security_context: AnyObject | None = Field(
        None, description="The pod's security context; restricted without it."
    )
    container_security_context: AnyObject | None = Field(
        None, description="The container's; restricted without it."
    )
    volumes: Annotated[list[AnyObject], Field(max_length=32)] = Field(
        default_factory=list,
        description="Further volumes.",
        json_schema_extra={"x-kubernetes-list-type": "atomic"},
    )
    volume_mounts: Annotated[list[AnyObject], Field(max_length=32)] = Field(
        default_factory=list,
        description="Where they are mounted.",
        json_schema_extra={"x-kubernetes-list-type": "atomic"},
    )
    labels: Labels = Field(default_factory=dict, description="Labels of the pods.")
    annotations: Annotated[dict[LabelKey, Text], Field(max_length=64)] = Field(
        default_factory=dict, description="Annotations of the pods."
    )


class NamespaceLimit(Model):
    """What the queries of one namespace may use together."""

    namespace: Name = Field(description="The namespace.")
    queries: Annotated[int, Field(ge=0, le=100000)] | None = Field(None, description="Queries at most.")
    cpu: Quantity | None = Field(None, description="Cores at most.")
    memory: Quantity | None = Field(None, description="Bytes at most.")


class PlacementPolicySpec(Model):
    """Everything has a default: an empty spec is the built-in policy."""

    objective: ObjectiveName = Field("headroom", description="What is best.")
    strategy: StrategySpec = Field(default_factory=StrategySpec, description="How plans are found.")
    mode: Literal["Auto", "Shadow", "Manual"] = Field(
        "Auto", description="Auto: carried out; Shadow: only shown; Manual: waits for `weir approve`."
    )
    priority: Annotated[int, Field(ge=-1_000_000, le=1_000_000)] = Field(
        0, description="Policies plan in this order, higher first."
    )
    drift: Drift = Field(default_factory=Drift, description="When to re-plan.")
    cooldown: Duration = Field(60.0, description="Least time between two changes of a query's plan by drift.")
    move_budget: MoveBudget = Field(default_factory=MoveBudget, description="How much may move by drift.")
    node_selector: Labels = Field(default_factory=dict, description="Only nodes with these labels.")
    topology: Name = Field("default", description="NetworkTopology; 'default' is built in.")
    hierarchy: HierarchySpec = Field(default_factory=HierarchySpec, description="Hierarchical planning.")
    reserve: Reserve = Field(default_factory=Reserve, description="Kept free on every node.")
    overheads: OverheadsSpec = Field(
        default_factory=OverheadsSpec, description="What fragments and flows cost."
    )
    exchange: Exchange = Field(default_factory=Exchange, description="How fragments are connected.")
    on_cordon: Literal["Move", "Stay"] = Field(
        "Move", description="What a cordon or an untolerated taint starts."
    )
    drain_timeout: Duration = Field(600.0, description="A drain is held up no longer than this.")
    progress_deadline: Duration = Field(
        600.0,
        description="A query of which a fragment is not ready, or moves, for longer than this is Stalled, "
        "with what the pod says; it is tried on.",
    )
    pod_template: PodTemplate = Field(
        default_factory=PodTemplate, description="The administrator's part of the pods."
    )
    allowed_namespaces: Annotated[list[Name], Field(max_length=1000)] | None = Field(
        None,
        description="Namespaces that may use the policy; all without it.",
        json_schema_extra={"x-kubernetes-list-type": "set"},
    )
    limits: Annotated[list[NamespaceLimit], Field(max_length=1000)] = Field(
        default_factory=list,
        description="Limits by namespace.",
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["namespace"]},
    )


def flows_of(policy: Mapping[str, Any]) -> Flows:
    """Where flows lie by a PlacementPolicy as the API server gives it. Of one with errors: on the volume, as
    without one; what is wrong with it is told where it is used."""
    try:
        return Exchange.model_validate((policy.get("spec") or {}).get("exchange") or {}).flows()
    except ValidationError:
        return Flows()


class PlacementPolicyStatus(ObjectStatus):
    """How the policy's round went."""

    queries: int | None = Field(None, description="Queries that use it.")
    admitted: int | None = Field(None, description="Of them with a plan in force.")
    headroom: float | None = Field(None, description="Headroom of its plan.")


class PlacementPolicy(Model):
    """How queries are placed: objective, strategy, drift, nodes, exchange, pods."""

    api_version: Literal["weir.dev/v1alpha1"] = API_VERSION
    kind: Literal["PlacementPolicy"] = "PlacementPolicy"
    metadata: Metadata
    spec: PlacementPolicySpec = Field(default_factory=PlacementPolicySpec)
    status: PlacementPolicyStatus | None = None
