"""Kind PlacementPolicy: how plans are made and applied, and what its users may do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, ValidationError
from pydantic_core import PydanticCustomError
from weir_placement.model.location import STORE, TOPIC, Flows
from weir_placement.objectives import OBJECTIVES

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
    ShortText,
    at_most_one,
    not_yet,
)
from weir_operator.api.connectors import BUCKET, PART, S3, KafkaSecurity
from weir_operator.api.headroom import HeadroomSpec
from weir_operator.api.moving import Drift, MoveBudget, RolloutSpec
from weir_operator.api.pod_template import PodTemplate
from weir_operator.api.robustness import ROBUST, RobustnessSpec
from weir_operator.api.values import Duration, Quantity, parse_duration

LONGEST_PLANNING = 600.0
"""[s]"""
STRATEGY_PATTERN, PREFIX_PATTERN = r"^[a-z0-9-]+$", r"^[a-zA-Z0-9._-]*$"
OBJECTS = re.compile(f"{BUCKET}{PART}*$")


if TYPE_CHECKING:
    ObjectiveName = str
else:
    ObjectiveName = Literal[tuple(OBJECTIVES)]


def _short_enough(raw: Mapping[str, Any]) -> bool:
    """Whether a time limit is within its cap; the field itself reports what is not a duration."""
    text = str(raw.get("timeLimit", "0s"))
    try:
        return "d" not in text and parse_duration(text) <= LONGEST_PLANNING
    except PydanticCustomError:
        return True


class StrategySpec(Model):
    """The planner and its parameters; `weir strategies` lists them."""

    rules = (
        CelRule(
            # CEL knows no days
            cel="!has(self.timeLimit) || "
            "(!self.timeLimit.contains('d') && duration(self.timeLimit) <= duration('10m'))",
            message="timeLimit may be at most 10m, because queries of the policy wait for the plan",
            holds=_short_enough,
            field="timeLimit",
        ),
    )
    name: Annotated[str, Field(max_length=63, pattern=STRATEGY_PATTERN)] = Field(
        "auto", description="Name of the strategy."
    )
    parameters: Annotated[
        dict[Annotated[str, Field(max_length=63)], Annotated[str, Field(max_length=256)]],
        Field(max_length=64),
    ] = Field(default_factory=dict, description="Options of the strategy, as with --set KEY=VALUE.")
    seed: int = Field(0, description="Seed of its random numbers.", ge=0, le=2**31 - 1)
    time_limit: Duration = Field(
        5.0, description="Longest time for one plan, at most 10m; the operator takes at most 1m of it."
    )


class HierarchySpec(Model):
    """Hierarchical planning."""

    max_cluster_size: Annotated[int, Field(ge=2, le=10000)] = Field(
        16, description="Maximum number of nodes in a partition."
    )
    tier_label: LabelKey | None = Field(
        None, description="Node label that names the tier; by default partitions follow latency."
    )


class KafkaExchange(Model):
    """Flows as Kafka topics, one for each flow, created and deleted with it."""

    bootstrap_servers: Annotated[str, Field(min_length=1, max_length=1024)] = Field(
        description="host:port, separated by commas."
    )
    topic_prefix: Annotated[str, Field(max_length=100, pattern=PREFIX_PATTERN)] = Field(
        "weir.", description="Prefix of topics and consumer groups, before the namespace."
    )
    replication: Annotated[int, Field(ge=1, le=10)] = Field(
        1, description="Replicas of new topics, in different racks where possible."
    )
    security: KafkaSecurity | None = Field(
        None, description="How to log in, with secrets in each query's namespace."
    )


class FilesExchange(Model):
    """Flows as files on a volume, or on an object store."""

    rules = (
        CelRule(
            cel=f"!has(self.uri) || self.uri.matches('{OBJECTS.pattern}')",
            message="uri must be s3://BUCKET or s3://BUCKET/PREFIX, such as s3://weir/prod",
            holds=lambda raw: raw.get("uri") is None or bool(OBJECTS.match(str(raw["uri"]))),
            field="uri",
        ),
        CelRule(
            cel="!has(self.s3) || has(self.uri)",
            message="s3 describes the store that uri names: give uri, such as s3://weir/prod",
            holds=lambda raw: raw.get("s3") is None or raw.get("uri") is not None,
            field="s3",
        ),
    )
    claim: Name | None = Field(
        None,
        description="ReadWriteMany claim in each query's namespace, for flows, checkpoints and the files of "
        "sources and sinks; by default the one that the operator was installed with, or weir-exchange.",
    )
    uri: ShortText | None = Field(
        None,
        description="s3://BUCKET/PREFIX: flows are objects below PREFIX/NAMESPACE, which no other cluster "
        "may use, on a store that honours conditional writes. Another uri changes running queries as an edit "
        "of their operators does.",
    )
    s3: S3 | None = Field(None, description="How to reach the object store; by default AWS.")


class Exchange(Model):
    """How rows pass between fragments, and where checkpoints are."""

    rules = (
        at_most_one("files", "kafka"),
        not_yet("checkpoints", "leave it out; checkpoints are on the claim, as Spark needs a file system"),
    )
    files: FilesExchange | None = Field(
        None, description="Flows as files on the claim (the default) or on an object store."
    )
    kafka: KafkaExchange | None = Field(
        None,
        description="Flows as Kafka topics, led in the producer's zone where `broker.rack` names it. Other "
        "brokers or another prefix change running queries as an edit of their operators does.",
    )
    checkpoints: AnyObject | None = Field(None, description="Not supported yet: another place for them.")
    retention: Duration = Field(600.0, description="How long a batch stays after every reader has read it.")

    def flows(self) -> Flows:
        """Where flows are."""
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


Isolation = Literal["Shared", "Dedicated"]


class FragmentsSpec(Model):
    """The processes of fragments."""

    isolation: Isolation = Field(
        "Dedicated",
        description="Dedicated: a process for each fragment. Shared: one for all of the policy's fragments "
        "on a node that have namespace, environment, tolerations, labels and Secrets in common and no "
        "executors; in a cluster only where its chart says fragments.hosts.",
    )


class Retention(Model):
    """What is retained of queries that are deleted."""

    deleted_queries: Duration = Field(
        86_400.0,
        description="How long checkpoints and flows of a deleted query are retained; 0s: not at all, also "
        "where the query says Retain.",
    )


class Reserve(Model):
    """What is kept free on every node."""

    cpu: Quantity = Field(0.0, description="Cores.")
    memory: Quantity = Field(0.0, description="Bytes.")


class OverheadsSpec(Model):
    """What running costs in addition to the operators: `weir calibrate` measures it."""

    fragment_cpu: Quantity = Field(0.0, description="Cores for each process of a fragment.")
    fragment_memory: Quantity = Field(0.0, description="Bytes for each process of a fragment.")
    exchange_cost: Annotated[float, Field(ge=0)] = Field(
        0.0, description="CPU-microseconds per tuple at each end of a flow."
    )
    exchange_latency: Duration = Field(
        0.0,
        description="What a fragment adds to the latency on an idle node: wait for a batch, and the batch.",
    )
    batch_cost: Annotated[float, Field(ge=0)] = Field(
        0.0, description="CPU-microseconds per batch of each process, whatever rows it has."
    )
    input_batch_cost: Annotated[float, Field(ge=0)] = Field(
        0.0, description="CPU-microseconds per batch for each source or flow that a fragment reads."
    )
    state_batch_cost: Annotated[float, Field(ge=0)] = Field(
        0.0, description="CPU-microseconds per batch for each input of a join or aggregate."
    )
    batch_rate: Annotated[float, Field(ge=0)] = Field(1.0, description="Batches per second of each fragment.")
    host_cpu: Quantity = Field(
        0.0,
        description="Cores for each host, whatever it runs: once for fragments that share one, for each "
        "process where they are Dedicated.",
    )
    host_memory: Quantity = Field(0.0, description="Bytes for each host, likewise.")


class NamespaceLimit(Model):
    """What the queries of one namespace may use together."""

    namespace: Name = Field(description="The namespace.")
    queries: Annotated[int, Field(ge=0, le=100000)] | None = Field(
        None, description="Maximum number of queries."
    )
    cpu: Quantity | None = Field(None, description="Maximum number of cores.")
    memory: Quantity | None = Field(None, description="Maximum number of bytes.")


class PlacementPolicySpec(Model):
    """Everything has a default: an empty spec is the built-in policy."""

    rules = ROBUST
    objective: ObjectiveName = Field("headroom", description="What plans are optimised for.")
    strategy: StrategySpec = Field(default_factory=StrategySpec, description="How plans are found.")
    headroom: HeadroomSpec | None = Field(
        None,
        description="What headroom is enough for plans with objective headroom, except robust ones; by "
        "default none, so that they have the most that can be had.",
    )
    robustness: RobustnessSpec | None = Field(
        None,
        description="Plans for the most headroom where rates and selectivities are at their worst; by "
        "default for what is expected of them.",
    )
    mode: Literal["Auto", "Shadow", "Manual"] = Field(
        "Auto",
        description="Auto: plans are applied; Shadow: only shown; Manual: they wait for `weir approve`.",
    )
    priority: Annotated[int, Field(ge=-1_000_000, le=1_000_000)] = Field(
        0, description="Policies are planned in this order, highest first."
    )
    drift: Drift = Field(default_factory=Drift, description="When a plan is changed without an edit.")
    cooldown: Duration = Field(60.0, description="Shortest time between two such changes of a query's plan.")
    move_budget: MoveBudget = Field(default_factory=MoveBudget, description="How much they may move.")
    rollout: RolloutSpec = Field(default_factory=RolloutSpec, description="What a new image must keep to.")
    node_selector: Labels = Field(default_factory=dict, description="Only nodes with these labels are used.")
    topology: Name = Field("default", description="NetworkTopology; 'default' is built in.")
    hierarchy: HierarchySpec = Field(default_factory=HierarchySpec, description="Hierarchical planning.")
    reserve: Reserve = Field(default_factory=Reserve, description="Kept free on every node.")
    overheads: OverheadsSpec = Field(
        default_factory=OverheadsSpec, description="What fragments and flows cost."
    )
    exchange: Exchange = Field(default_factory=Exchange, description="How fragments are connected.")
    fragments: FragmentsSpec = Field(default_factory=FragmentsSpec, description="The processes of fragments.")
    retention: Retention = Field(
        default_factory=Retention, description="What is retained of queries that are deleted."
    )
    on_cordon: Literal["Move", "Stay"] = Field(
        "Move",
        description="What fragments do when their node is cordoned or gets a taint they do not tolerate.",
    )
    drain_timeout: Duration = Field(600.0, description="Longest time for which a drain is held up.")
    progress_deadline: Duration = Field(
        600.0,
        description="A query with a fragment that has been moving or not ready for longer than this becomes "
        "Stalled, with the pod's message; it is still tried again.",
    )
    pod_template: PodTemplate = Field(
        default_factory=PodTemplate, description="The administrator's part of the pods."
    )
    operator_class: Name | None = Field(
        None,
        description="Which release of Weir serves the policy's queries: the one whose chart's value "
        "operatorClass is the same; by default the one that has none.",
    )
    allowed_namespaces: Annotated[list[Name], Field(max_length=1000)] | None = Field(
        None,
        description="Namespaces that may use the policy; by default all.",
        json_schema_extra={"x-kubernetes-list-type": "set"},
    )
    limits: Annotated[list[NamespaceLimit], Field(max_length=1000)] = Field(
        default_factory=list,
        description="Limits by namespace.",
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["namespace"]},
    )


def flows_of(policy: Mapping[str, Any]) -> Flows:
    """Where flows of a PlacementPolicy are, as the API server has it. With errors in it: on the volume, which
    is the default; the errors are reported where the policy is used."""
    try:
        return Exchange.model_validate((policy.get("spec") or {}).get("exchange") or {}).flows()
    except ValidationError:
        return Flows()


class PlacementPolicyStatus(ObjectStatus):
    """How the policy was planned."""

    queries: int | None = Field(None, description="Queries that use it.")
    admitted: int | None = Field(None, description="Those of them with a plan in force.")
    headroom: float | None = Field(None, description="Headroom of its plan.")


class PlacementPolicy(Model):
    """How queries are placed: objective, strategy, drift, nodes, exchange, pods."""

    api_version: Literal["weir.dev/v1alpha1"] = API_VERSION
    kind: Literal["PlacementPolicy"] = "PlacementPolicy"
    metadata: Metadata
    spec: PlacementPolicySpec = Field(default_factory=PlacementPolicySpec)
    status: PlacementPolicyStatus | None = None
