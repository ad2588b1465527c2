"""Kind Stream: rows that enter the cluster."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from weir_operator.api.base import API_VERSION, CelRule, Identifier, Metadata, Model, NodeChoice, ObjectStatus
from weir_operator.api.connectors import Source
from weir_operator.api.values import Cardinality, Duration, Quantity

READERS_PATTERN = r"^(\*|[a-z0-9]([-a-z0-9]*[a-z0-9])?)$"


class EventTime(Model):
    """The column that says when a row happened."""

    column: Identifier = Field(description="A TIMESTAMP column of the schema.")
    watermark: Duration = Field(
        0.0,
        description="How late a row may be within its partition; later ones go to a side log.",
    )
    idle_timeout: Duration | None = Field(
        None,
        description="How long the event-time clock waits for a partition of a Kafka topic that receives no "
        "rows; by default for ever.",
    )
    max_ahead: Duration | None = Field(
        None,
        description="How far ahead of the wall clock a row may be when it is read; by default 24h. A row "
        "that is further ahead is a bad row, because it would make all rows after it late. 0s: no limit.",
    )


class Statistics(Model):
    """What is known about the values before anything is measured."""

    distinct: Annotated[dict[Identifier, Cardinality], Field(max_length=256)] = Field(
        default_factory=dict, description="Distinct values by column; an equality join passes 1/max of both."
    )


class StreamSpec(Model):
    """A stream of rows that enters the cluster."""

    rules = (
        CelRule(
            cel="!has(self.source) || has(self.eventTime)",
            message="eventTime must be given with source, because results depend on the rows' own time",
            holds=lambda raw: raw.get("source") is None or raw.get("eventTime") is not None,
        ),
        CelRule(
            cel="!has(self.eventTime) || !has(self.eventTime.idleTimeout) || !has(self.source) || "
            "has(self.source.kafka)",
            message="idleTimeout applies only to partitions of a Kafka topic: leave it out for other sources",
            holds=lambda raw: (
                not (raw.get("eventTime") or {}).get("idleTimeout")
                or not raw.get("source")
                or bool(raw["source"].get("kafka"))
            ),
            field="eventTime.idleTimeout",
        ),
    )
    ddl: Annotated[str, Field(min_length=1, max_length=16384)] = Field(
        alias="schema", description="Columns as Spark DDL: name TYPE, name TYPE."
    )
    event_time: EventTime | None = Field(
        None, description="The rows' event time; windows, and so joins and aggregates, need it."
    )
    source: Source | None = Field(None, description="Where rows come from; not needed for planning alone.")
    origin: NodeChoice = Field(
        default_factory=NodeChoice, description="Where rows enter; by default on any node."
    )
    rate: Quantity = Field(
        1000.0, description="Nominal rate [tuples/s], used until a profile or a measurement replaces it."
    )
    tuple_bytes: Quantity | None = Field(
        None, description="Size of a row [bytes]; by default estimated from the schema."
    )
    statistics: Statistics = Field(default_factory=Statistics, description="Declared statistics.")
    shared_with: Annotated[
        list[Annotated[str, Field(max_length=63, pattern=READERS_PATTERN)]],
        Field(max_length=100),
    ] = Field(
        default_factory=list,
        description="Namespaces whose queries may read this stream; '*' for all.",
        json_schema_extra={"x-kubernetes-list-type": "set"},
    )


class StreamStatus(ObjectStatus):
    """What Weir knows about a stream."""

    readers: Annotated[list[Annotated[str, Field(max_length=128)]], Field(max_length=100)] = Field(
        default_factory=list,
        description="Queries that read it, as namespace/name; at most 100.",
        json_schema_extra={"x-kubernetes-list-type": "set"},
    )
    rate: float | None = Field(None, description="The last measured rate [tuples/s].")


class Stream(Model):
    """A stream of rows that enters the cluster: schema, event time, source, origin, nominal rate."""

    api_version: Literal["weir.dev/v1alpha1"] = API_VERSION
    kind: Literal["Stream"] = "Stream"
    metadata: Metadata
    spec: StreamSpec
    status: StreamStatus | None = None
