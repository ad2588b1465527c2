"""Kind StreamQuery: what is computed, as SQL or as an explicit graph of operators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from weir_operator.api.base import (
    API_VERSION,
    OPERATOR_ID_PATTERN,
    CelRule,
    ExpressionText,
    Identifier,
    Labels,
    Metadata,
    Model,
    Name,
    NodeChoice,
    NodeName,
    ObjectStatus,
    exactly_one,
    needed_with,
)
from weir_operator.api.connectors import Sink
from weir_operator.api.query_pods import EnvVar, Resources, Toleration
from weir_operator.api.query_snapshot import SnapshotSettings
from weir_operator.api.values import Duration, Quantity

OperatorId = Annotated[str, Field(max_length=63, pattern=OPERATOR_ID_PATTERN)]
INPUT_PATTERN = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?\.)?[A-Za-z0-9_]([-A-Za-z0-9_]*[A-Za-z0-9_])?$"
COLUMN_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)?$"
InputName = Annotated[str, Field(max_length=127, pattern=INPUT_PATTERN)]
ColumnName = Annotated[str, Field(max_length=257, pattern=COLUMN_PATTERN)]
Selectivity = Annotated[float, Field(ge=0, le=1)]
Microseconds = Annotated[float, Field(ge=0)]


class AggregateSpec(Model):
    """One aggregate of a window."""

    name: Identifier = Field(description="Name of the output column.")
    function: Literal["count", "sum", "avg", "min", "max"] = Field(description="The function.")
    expression: ExpressionText | None = Field(
        None, description="What is aggregated; count may do without, and then counts rows."
    )


def _inputs_fit(raw: Mapping[str, Any]) -> bool:
    inputs, kind = raw.get("inputs"), raw.get("kind")
    if not isinstance(inputs, list):
        return True  # the field itself reports that
    if kind == "union":
        return len(inputs) >= 2
    return len(inputs) == (2 if kind == "join" else 1)


def _range_fits(raw: Mapping[str, Any]) -> bool:
    expected, most = raw.get("selectivity"), raw.get("maxSelectivity")
    if not isinstance(expected, int | float) or not isinstance(most, int | float):
        return True  # the fields themselves report that
    return most >= expected


class OperatorSpec(Model):
    """One operator of an explicit graph. Columns are qualified by their stream (a.y)."""

    rules = (
        CelRule(
            cel="self.kind == 'union' ? size(self.inputs) >= 2 "
            ": size(self.inputs) == (self.kind == 'join' ? 2 : 1)",
            message="a join has 2 inputs, a union 2 or more, any other kind 1",
            holds=_inputs_fit,
            field="inputs",
        ),
        needed_with("kind", ("predicate",), "filter"),
        needed_with("kind", ("columns",), "project"),
        needed_with("kind", ("window",), "join"),
        needed_with("kind", ("window", "aggregates"), "aggregate"),
        CelRule(
            cel="!has(self.maxSelectivity) || self.kind in ['filter', 'join']",
            message="maxSelectivity is of a filter or a join: leave it out for other kinds",
            holds=lambda raw: raw.get("maxSelectivity") is None or raw.get("kind") in ("filter", "join"),
            field="maxSelectivity",
        ),
        CelRule(
            cel="!has(self.maxSelectivity) || !has(self.selectivity) "
            "|| self.maxSelectivity >= self.selectivity",
            message="maxSelectivity must be at least selectivity",
            holds=_range_fits,
            field="maxSelectivity",
        ),
    )
    id: OperatorId = Field(description="Name of the operator within the query.")
    kind: Literal["filter", "project", "join", "aggregate", "union"] = Field(description="Kind of operator.")
    inputs: Annotated[list[InputName], Field(min_length=1, max_length=32)] = Field(
        description="Streams (ns.stream for another namespace) or ids of earlier operators.",
        json_schema_extra={"x-kubernetes-list-type": "atomic"},
    )
    columns: Annotated[list[ColumnName], Field(min_length=1, max_length=256)] | None = Field(
        None,
        description="project: the columns that stay; filter: the columns that it reads, by default those of "
        "its predicate.",
        json_schema_extra={"x-kubernetes-list-type": "atomic"},
    )
    predicate: ExpressionText | None = Field(None, description="filter: the condition.")
    on: ExpressionText | None = Field(
        None, description="join: equalities of columns; by default rows join by the window alone."
    )
    window: Duration | None = Field(
        None,
        description="join: rows at most this far apart join; aggregate: length of a window.",
    )
    time: ColumnName | None = Field(
        None,
        description="aggregate: time column of the windows; by default the event time of the only stream.",
    )
    slide: Duration | None = Field(
        None, description="aggregate: how often a new window begins; by default every window length."
    )
    group_by: Annotated[list[ColumnName], Field(max_length=32)] | None = Field(
        None,
        description="aggregate: grouping columns.",
        json_schema_extra={"x-kubernetes-list-type": "atomic"},
    )
    aggregates: Annotated[list[AggregateSpec], Field(min_length=1, max_length=64)] | None = Field(
        None,
        description="aggregate: what is computed for each group and window.",
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
    )
    groups: Quantity | None = Field(
        None, description="aggregate: distinct groups in a window; by default estimated."
    )
    selectivity: Selectivity | None = Field(
        None, description="Fraction of rows (join: of pairs) that pass; by default estimated, later measured."
    )
    max_selectivity: Selectivity | None = Field(
        None,
        description="filter, join: the largest selectivity, for plans of a policy with `robustness`.",
    )
    cost: Microseconds | None = Field(
        None, description="CPU-microseconds per input row; by default calibrated, or that of the kind."
    )
    cost_pair: Microseconds = Field(0.0, description="join: CPU-microseconds per probed pair.")
    cost_out: Microseconds = Field(0.0, description="join: CPU-microseconds per output row.")
    memory: Quantity = Field(
        0.0, description="Bytes for the operator; join: for one hash table; aggregate: for one group."
    )
    nodes: Annotated[list[NodeName], Field(max_length=1000)] = Field(
        default_factory=list,
        description="Nodes on which it may run; by default all.",
        json_schema_extra={"x-kubernetes-list-type": "set"},
    )


def _no_secret_of_executors(raw: Mapping[str, Any]) -> bool:
    resources, env = raw.get("resources"), raw.get("env")
    if not isinstance(resources, Mapping) or not resources.get("executors") or not isinstance(env, list):
        return True
    return not any(isinstance(entry, Mapping) and entry.get("secretRef") is not None for entry in env)


class SnapshotName(Model):
    """A QuerySnapshot, or a snapshot of `weir snapshot`."""

    name: Name = Field(description="Name of the snapshot.")
    namespace: Name | None = Field(
        None,
        description="With `weir run`, namespace of its query; by default this one, and on a "
        "cluster no other.",
    )


class RestoreFrom(Model):
    """The state with which a new query begins."""

    rules = (exactly_one("retained", "snapshot"),)
    retained: Name | None = Field(
        None,
        description="The retained state of a deleted query of this name: its uid or, where only one is "
        "retained, its name. The new query must have the same: SQL or operators, streams, sink.",
    )
    snapshot: SnapshotName | None = Field(
        None,
        description="A snapshot: on a cluster a QuerySnapshot of this namespace, with `weir run` one of its "
        "run folder. The new query must have the same SQL or operators and sources, and a sink without rows "
        "from after the snapshot; names are its own.",
    )


class StreamQuerySpec(Model):
    """A streaming query and how it runs."""

    rules = (
        exactly_one("sql", "operators"),
        CelRule(
            cel="!has(self.env) || !has(self.resources) || !has(self.resources.executors) || "
            "self.resources.executors == 0 || !self.env.exists(entry, has(entry.secretRef))",
            message="executors cannot get variables from a Secret: give value instead of secretRef, or set "
            "executors to 0",
            holds=_no_secret_of_executors,
            field="env",
        ),
    )
    sql: Annotated[str, Field(min_length=1, max_length=16384)] | None = Field(
        None, description="SELECT over streams: WHERE, window joins, GROUP BY window, UNION ALL."
    )
    operators: Annotated[list[OperatorSpec], Field(min_length=1, max_length=100)] | None = Field(
        None,
        description="An explicit graph; the last operator feeds the sink.",
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"]},
    )
    order: Literal["free", "fixed"] = Field(
        "free", description="free: any equivalent order of operators; fixed: the order as written."
    )
    sink: Sink = Field(
        default_factory=lambda: Sink.model_validate({"noop": {}}),
        description="Where rows go; by default nowhere.",
    )
    deliver_to: NodeChoice = Field(
        default_factory=NodeChoice, description="Where rows are delivered; by default on any node."
    )
    profile: Name | None = Field(
        None, description="InputProfile in this namespace; by default the streams' nominal rates count."
    )
    policy: Name = Field("default", description="PlacementPolicy; 'default' is built in.")
    isolation: Literal["Dedicated"] | None = Field(
        None,
        description="Dedicated: a process for each fragment, also where the policy's fragments.isolation is "
        "Shared; by default as the policy says.",
    )
    max_latency: Duration | None = Field(None, description="Limit for the slowest path from source to sink.")
    priority: int = Field(0, description="The highest is admitted first.", ge=-1_000_000, le=1_000_000)
    suspend: bool = Field(False, description="true: nothing runs, and checkpoints are kept.")
    deletion_policy: Literal["Delete", "Retain"] | None = Field(
        None,
        description="When the query is deleted: Delete removes checkpoints and flows at once; Retain, the "
        "default, keeps them for retention.deletedQueries of its policy, for restoreFrom.",
    )
    restore_from: RestoreFrom | None = Field(None, description="The state to begin with; by default none.")
    snapshots: SnapshotSettings | None = Field(
        None,
        description="QuerySnapshots that the operator makes, on a schedule or before edits; only in a "
        "cluster.",
    )
    resources: Resources = Field(default_factory=Resources, description="Requests of each fragment.")
    labels: Labels = Field(default_factory=dict, description="Labels of the query's pods.")
    tolerations: Annotated[list[Toleration], Field(max_length=32)] = Field(
        default_factory=list,
        description="Taints that the query's pods tolerate.",
        json_schema_extra={"x-kubernetes-list-type": "atomic"},
    )
    env: Annotated[list[EnvVar], Field(max_length=64)] = Field(
        default_factory=list,
        description="Environment of the query's pods.",
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
    )


class StreamQueryStatus(ObjectStatus):
    """How the query is doing."""

    headroom: float | None = Field(
        None,
        description="Headroom: the factor by which all expected rates could grow until something is full.",
    )
    latency_seconds: float | None = Field(None, description="Latency of the slowest path to the sink [s].")
    fragments: int | None = Field(None, description="Fragments of the plan in force.")
    ready_fragments: int | None = Field(None, description="Fragments that run on their planned nodes.")
    ready: Annotated[str, Field(max_length=32)] | None = Field(
        None, description="Fragments ready of all, as 2/3."
    )
    nodes: Annotated[str, Field(max_length=1024)] | None = Field(
        None, description="Nodes in use, as text for people."
    )
    revision: int | None = Field(None, description="Revision of the plan in force.")
    binding: Annotated[str, Field(max_length=1024)] | None = Field(
        None, description="What binds: the constraint that limits the headroom."
    )
    last_snapshot: Annotated[str, Field(max_length=32)] | None = Field(
        None, description="The time of its schedule for which the last QuerySnapshot was made, in UTC."
    )


class StreamQuery(Model):
    """A streaming query: SQL or operators, sink and delivery place, profile and policy."""

    api_version: Literal["weir.dev/v1alpha1"] = API_VERSION
    kind: Literal["StreamQuery"] = "StreamQuery"
    metadata: Metadata
    spec: StreamQuerySpec
    status: StreamQueryStatus | None = None
