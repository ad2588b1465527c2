"""From Stream objects to the model's streams."""

from __future__ import annotations

from collections.abc import Sequence

from weir_placement.model.cluster import Node
from weir_placement.model.streams import Stream as ModelStream
from weir_placement.model.suggestion import suggestion
from weir_placement.model.types import parse_schema

from weir_operator.api.stream import Stream
from weir_operator.manifests.cluster import resolve
from weir_operator.manifests.finding import Finding, Key
from weir_operator.manifests.site import Site

ROW_ID_BYTES = 16.0
"""The size of a row's deterministic id."""


def model_stream(item: Stream, nodes: Sequence[Node], site: Site) -> tuple[ModelStream | None, list[Finding]]:
    """The stream, or None when its schema cannot be read, and everything that is wrong with it."""
    namespace, name = item.metadata.namespace, item.metadata.name
    key, spec = Key("Stream", namespace, name), item.spec
    try:
        columns = parse_schema(spec.ddl)
    except ValueError as error:
        return None, [Finding(key, "spec.schema", str(error), "")]
    findings: list[Finding] = []
    if spec.source:
        findings += site.outside(spec.source.files, key, "spec.source.files")
        findings += site.login(spec.source.kafka, key, "spec.source.kafka")
    if spec.source and spec.source.dead_letter:
        findings += site.outside(spec.source.dead_letter.files, key, "spec.source.deadLetter.files")
        findings += site.login(spec.source.dead_letter.kafka, key, "spec.source.deadLetter.kafka")
    types = {column.name: column.type for column in columns}
    if spec.event_time:
        time = spec.event_time.column
        if time not in types:
            right = suggestion(time, types, "columns")
            findings.append(Finding(key, "spec.eventTime.column", f"no column {time}", right))
        elif types[time] != "TIMESTAMP":
            wrong = f"{time} has type {types[time]}"
            findings.append(Finding(key, "spec.eventTime.column", wrong, "name a TIMESTAMP column"))
    kind = "kafka" if spec.source and spec.source.kafka else "files"
    for column in spec.source.unix_times if spec.source else ():
        path = f"spec.source.{kind}.unixTimes.{column}"
        if column not in types:
            findings.append(Finding(key, path, f"no column {column}", suggestion(column, types, "columns")))
        elif types[column] != "TIMESTAMP":
            findings.append(
                Finding(key, path, f"{column} has type {types[column]}", "write TIMESTAMP in schema")
            )
    for column in spec.statistics.distinct:
        path = f"spec.statistics.distinct.{column}"
        if column not in types:
            right = suggestion(column, types, "columns")
            findings.append(Finding(key, path, f"no column {column}", right))
    origins, unknown = resolve(spec.origin, nodes, key, "spec.origin")
    size = spec.tuple_bytes
    stream = ModelStream(
        name=f"{namespace}/{name}",
        rate=spec.rate,
        columns=columns,
        origins=origins,
        tuple_bytes=sum(c.bytes for c in columns) + ROW_ID_BYTES if size is None else size,
        event_time=spec.event_time.column if spec.event_time else "",
        delay=spec.event_time.watermark if spec.event_time else 0.0,
        idle=(spec.event_time.idle_timeout or 0.0) if spec.event_time else 0.0,
        max_ahead=spec.event_time.max_ahead if spec.event_time else None,
        distinct=spec.statistics.distinct,
    )
    return stream, [*findings, *unknown]


def readable_by(item: Stream, namespace: str) -> bool:
    """Whether queries of a namespace may read the stream."""
    return item.metadata.namespace == namespace or bool({"*", namespace} & set(item.spec.shared_with))
