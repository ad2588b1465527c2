"""Kind QuerySnapshot: a consistent cut of a query, from which a new one can begin."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from weir_operator.api.base import (
    API_VERSION,
    AnyObject,
    CelRule,
    Metadata,
    Model,
    Name,
    ObjectStatus,
    at_most_one,
    exactly_one,
)
from weir_operator.api.connectors import S3
from weir_operator.api.policy import OBJECTS
from weir_operator.api.schedule import Schedule
from weir_operator.api.values import Duration


class SnapshotStore(Model):
    """A prefix on an object store."""

    rules = (
        CelRule(
            cel=f"self.uri.matches('{OBJECTS.pattern}')",
            message="uri must be s3://BUCKET or s3://BUCKET/PREFIX, such as s3://backups/weir",
            holds=lambda raw: bool(OBJECTS.match(str(raw["uri"]))),
            field="uri",
        ),
        CelRule(
            cel="has(self.s3) && has(self.s3.secretRef)",
            message="s3.secretRef must be given: pods have no keys for an object store of their own",
            holds=lambda raw: (raw.get("s3") or {}).get("secretRef") is not None,
            field="s3",
        ),
    )
    uri: Annotated[str, Field(max_length=1024)] = Field(description="s3://BUCKET/PREFIX.")
    s3: S3 | None = Field(None, description="How the store is reached; its Secret is in this namespace.")


class SnapshotPlace(Model):
    """Where snapshots lie, each below NAMESPACE/NAME of its own object."""

    rules = (at_most_one("claim", "store"),)
    claim: Name | None = Field(
        None,
        description="A claim in this namespace that is mounted for it; by default snapshots/ on the claim of "
        "the query's fragments.",
    )
    store: SnapshotStore | None = Field(None, description="An object store.")


class SnapshotKeep(Model):
    """How many snapshots of a schedule are kept, and for how long."""

    count: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        None, description="So many complete ones, the newest; by default all."
    )
    age: Duration | None = Field(None, description="keepFor of each; by default none.")


class SnapshotSettings(Model):
    """Snapshots that the operator takes of the query by itself."""

    schedule: Schedule | None = Field(
        None,
        description="When, in UTC: minute, hour, day, month, weekday. Of several that were missed, the last "
        "is made up for. By default never.",
    )
    before_edit: bool = Field(
        False,
        description="Also before an edit of what its rows depend on (SQL or operators, sources, sink), which "
        "waits until the snapshot is complete.",
    )
    before_upgrade: bool = Field(
        False,
        description="Also before its fragments get another runtime image, which waits until the snapshot is "
        "complete.",
    )
    keep: SnapshotKeep = Field(
        default_factory=SnapshotKeep, description="Which of them stay; by default all of them."
    )
    place: SnapshotPlace = Field(
        default_factory=SnapshotPlace, description="Where they lie, and those of `weir snapshot`."
    )


class ExistingSnapshot(Model):
    """A snapshot that lies there already, from wherever it was taken."""

    namespace: Name = Field(description="Namespace of the QuerySnapshot that it was taken for.")
    name: Name = Field(description="Its name.")


class QuerySnapshotSpec(Model):
    """Which query is copied, or which snapshot is read, and where it lies."""

    rules = (
        exactly_one("query", "existing"),
        CelRule(
            cel="!has(self.keepFor) || has(self.query)",
            message="keepFor is for a snapshot that is taken here: what exists belongs to whoever took it",
            holds=lambda raw: raw.get("keepFor") is None or raw.get("query") is not None,
            field="keepFor",
        ),
    )
    query: Name | None = Field(
        None, description="The StreamQuery of this namespace that is copied, once, while it runs."
    )
    existing: ExistingSnapshot | None = Field(
        None,
        description="Instead, a snapshot that is compared with its checksums, to begin from it.",
    )
    place: SnapshotPlace = Field(default_factory=SnapshotPlace, description="Where it lies.")
    keep_for: Duration | None = Field(
        None,
        description="So long after it was taken its files are removed, then this object; by default both "
        "stay. Deleting the object alone leaves the files.",
    )


class QuerySnapshotStatus(ObjectStatus):
    """Whether it is complete, and what it holds."""

    query: Annotated[str, Field(max_length=127)] | None = Field(
        None, description="namespace/name of the query that it is of."
    )
    taken: Annotated[str, Field(max_length=32)] | None = Field(None, description="When, in UTC.")
    size: Annotated[str, Field(max_length=32)] | None = Field(
        None, description="Of its files, as text for people."
    )
    content: AnyObject | None = Field(
        None, description="What its manifest says: the query's plan and statistics, files, bytes."
    )


class QuerySnapshot(Model):
    """A consistent cut of a query that runs: checkpoints, positions in flows and sources, sink, plan."""

    api_version: Literal["weir.dev/v1alpha1"] = API_VERSION
    kind: Literal["QuerySnapshot"] = "QuerySnapshot"
    metadata: Metadata
    spec: QuerySnapshotSpec
    status: QuerySnapshotStatus | None = None
