"""Kind Stream: what flows in."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from weir_operator.api.base import API_VERSION, CelRule, Identifier, Metadata, Model, ObjectStatus, Place
from weir_operator.api.connectors import Source
from weir_operator.api.values import Duration, Quantity


class EventTime(Model):
    """The column that says when a row happened."""

    column: Identifier = Field(description="A TIMESTAMP column of the schema.")
    watermark: Duration = Field(
        0.0,
        description="How late a row may be in its partition; later rows go to a side log.",
    )
    idle_timeout: Duration | None = Field(
        None,
        description="After this long without a row, the clock no longer waits for a partition of a Kafka "
        "topic; without it, it waits for ever.",
    )
    max_ahead: Duration | None = Field(
        None,
        description="How far ahead of the wall clock a row may be when it is read, 24h without a word; a row "
        "further ahead is a bad row, else it would make all after it late. 0s: as far as it likes.",
    )


class Statistics(Model):
    """What is known about the values before anything was measured."""

    distinct: Annotated[dict[Identifier, Quantity], Field(max_length=256)] = Field(
        default_factory=dict, description="Distinct values by column: an equality join passes 1/max of both."
    )


class StreamSpec(Model):
    """A stream of rows that enters the cluster."""

    rules = (
        CelRule(
            cel="!has(self.source) || has(self.eventTime)",
            message="eventTime must be given with source: results are defined by the rows' own time",
            holds=lambda raw: raw.get("source") is None or raw.get("eventTime") is not None,
        ),
        CelRule(
            cel="!has(self.eventTime) || !has(self.eventTime.idleTimeout) || !has(self.source) || "
            "has(self.source.kafka)",
            message="idleTimeout is for the partitions of a Kafka topic: leave it out with another source",
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
        None, description="Needed by windows, hence by joins and aggregates."
    )
    source: Source | None = Field(None, description="Where rows come from; planning alone does not need it.")
    origin: Place = Field(default_factory=Place, description="Where the rows enter; any node without it.")
    rate: Quantity = Field(
        1000.0, description="Nominal rate [tuples/s], until a profile or measurements say more."
    )
    tuple_bytes: Quantity | None = Field(
        None, description="Size of a row [bytes]; estimated from the schema without it."
    )
    statistics: Statistics = Field(default_factory=Statistics, description="Known statistics.")
    shared_with: Annotated[
        list[Annotated[str, Field(max_length=63, pattern=r"^(\*|[a-z0-9]([-a-z0-9]*[a-z0-9])?)$")]],
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
    rate: float | None = Field(None, description="Measured rate [tuples/s], the last one that was known.")


class Stream(Model):
    """A stream of rows that enters the cluster: schema, event time, source, origin, nominal rate."""

    api_version: Literal["weir.dev/v1alpha1"] = API_VERSION
    kind: Literal["Stream"] = "Stream"
    metadata: Metadata
    spec: StreamSpec
    status: StreamStatus | None = None
