"""From files with QueryTests to queries with typed rows; every error at once, with its line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType

import pyarrow as pa
from weir_placement.model.cluster import Node
from weir_placement.model.fragment import TypedColumn
from weir_placement.model.problem import Query
from weir_placement.model.streams import Stream
from weir_placement.model.suggestion import suggestion
from weir_runtime.arrow_types import arrow_schema
from weir_runtime.json_values import json_value
from weir_runtime.logs import json_rows

from weir_operator.api.base import NodeChoice
from weir_operator.api.query import StreamQuery
from weir_operator.manifests.finding import Finding, Key, ManifestError
from weir_operator.manifests.objects import Objects, from_documents
from weir_operator.manifests.parse import checked
from weir_operator.manifests.queries import QueryScope, full_stream_name, model_query
from weir_operator.manifests.read import Document, read
from weir_operator.manifests.site import ANYWHERE
from weir_operator.manifests.streams import model_stream
from weir_operator.testing.kind import GROUP, CaseRow, QueryTest

HERE = Node("here", cpu=1.0)
"""Where rows come out does not change them, so that no test needs nodes."""


@dataclass(frozen=True)
class RowCase:
    """A query and its rows.

    Attributes:
        rows: by the stream's full name, in the order in which they arrive.
        expected: as they are written.
        document: where the test is written.
    """

    name: str
    query: Query
    streams: Mapping[str, Stream]
    rows: Mapping[str, pa.Table]
    expected: Sequence[CaseRow]
    document: Document

    def finding(self, path: str, wrong: str, right: str) -> Finding:
        """About a field of the test."""
        return _finding(self.document, path, wrong, right)


def load_cases(paths: Iterable[str]) -> list[RowCase]:
    """The tests of files and folders.

    Raises:
        ManifestError: with every error of every test and of the manifests that they name.
    """
    names = list(paths)
    documents, findings = read(names, group=GROUP)
    if not documents and not findings:
        right = f"write an object with apiVersion: {GROUP}/v1alpha1 and kind: QueryTest"
        findings.append(Finding(None, "", "no tests", right, file=", ".join(names)))
    cases = []
    for document in documents:
        case, errors = _case(document)
        findings += errors
        cases += [case] if case else []
    if findings:
        raise ManifestError(dict.fromkeys(findings))
    return cases


def _case(document: Document) -> tuple[RowCase | None, list[Finding]]:
    raw = document.raw
    metadata = raw.get("metadata") if isinstance(raw.get("metadata"), dict) else {}
    key = Key(str(raw.get("kind", "")), "", str((metadata or {}).get("name", "")))
    test, findings = checked(key, QueryTest, raw)
    if test is None:
        return None, [f.at(document.file, document.line(f.path)) for f in findings]
    folder = Path(document.file).parent
    objects, wrong = _objects(tuple(str(folder / path) for path in test.spec.manifests))
    item = None if wrong else _query_object(test, objects)
    if item is None:
        return None, list(wrong) or [_no_query(document, test.spec.query, sorted(objects.queries))]
    query, streams, errors = _model(item, objects)
    if query is None:
        return None, errors
    rows = {name: _no_rows(stream) for name, stream in streams.items()}
    for name, written in test.spec.rows.items():
        full, path = full_stream_name(name, item.metadata.namespace), f"spec.rows.{name}"
        if full not in streams:
            names = [n.removeprefix(f"{item.metadata.namespace}/").replace("/", ".") for n in streams]
            missing = f"the query reads no stream {name}"
            errors.append(_finding(document, path, missing, suggestion(name, names, "streams")))
            continue
        source = objects.streams[full].spec.source
        units = source.unix_times if source else {}
        rows[full], bad = _typed(document, path, streams[full], units, written)
        errors += bad
    return RowCase(test.metadata.name, query, streams, rows, test.spec.expected, document), errors


def _no_query(document: Document, name: str | None, names: Sequence[str]) -> Finding:
    if not names:
        return _finding(document, "spec.manifests", "have no StreamQuery", "name a file or folder with one")
    if name is None:
        return _finding(document, "spec.query", "is missing", f"write one of {', '.join(names)}")
    choices = names if "/" in name else [full.partition("/")[2] for full in names]
    return _finding(document, "spec.query", f"no query {name}", suggestion(name, choices, "queries"))


@cache
def _objects(paths: tuple[str, ...]) -> tuple[Objects, tuple[Finding, ...]]:
    documents, unreadable = read(paths)
    objects, findings = from_documents(documents)
    return objects, (*unreadable, *findings)


def _query_object(test: QueryTest, objects: Objects) -> StreamQuery | None:
    name = test.spec.query
    if name is None:
        return next(iter(objects.queries.values())) if len(objects.queries) == 1 else None
    exact = objects.queries.get(name)
    short = [item for full, item in objects.queries.items() if full.partition("/")[2] == name]
    return exact or (short[0] if len(short) == 1 else None)


def _model(item: StreamQuery, objects: Objects) -> tuple[Query | None, dict[str, Stream], list[Finding]]:
    """The query as it is written, and the streams that it reads."""
    anywhere, errors = NodeChoice(), {}
    streams: dict[str, Stream] = {}
    for name, stream in objects.streams.items():
        free = stream.model_copy(update={"spec": stream.spec.model_copy(update={"origin": anywhere})})
        typed, errors[name] = model_stream(free, [HERE], ANYWHERE)
        streams |= {name: typed} if typed else {}
    operators = item.spec.operators and [op.model_copy(update={"nodes": []}) for op in item.spec.operators]
    spec = item.spec.model_copy(update={"deliver_to": anywhere, "operators": operators})
    scope = QueryScope(replace(objects, nodes={}), streams, [HERE], ANYWHERE)
    query, findings = model_query(item.model_copy(update={"spec": spec}), scope)
    read_streams = {} if query is None else {name: streams[name] for name in query.sources.values()}
    for name, model in read_streams.items():
        findings += errors[name]
        if not model.event_time:
            key = Key("Stream", *name.split("/", 1))
            findings.append(Finding(key, "spec.eventTime", "is missing", "a stream that runs needs one"))
    findings += [finding for name in errors if query is None for finding in errors[name]]
    return None if findings else query, read_streams, [objects.place(finding) for finding in findings]


def _typed(
    document: Document, path: str, stream: Stream, units: Mapping[str, str], rows: Sequence[CaseRow]
) -> tuple[pa.Table, list[Finding]]:
    """The rows as the stream's source would read them, and those that it could not; `units` are those of its
    `unixTimes`."""
    columns, findings = [column.name for column in stream.columns], []
    for i, row in enumerate(rows):
        for name in [name for name in row if name not in columns]:
            right = suggestion(name, columns, "columns")
            findings.append(_finding(document, f"{path}[{i}].{name}", f"no column {name}", right))
    lines = [json_line(row) for row in rows]
    parsed = json_rows.parse(lines, _no_rows(stream, units).schema, stream.event_time, None)
    for bad in parsed.bad:
        right = f"the schema is {', '.join(f'{c.name} {c.type}' for c in stream.columns)}"
        findings.append(_finding(document, f"{path}[{bad.position}]", f"cannot be read: {bad.reason}", right))
    return parsed.rows, findings


def _no_rows(stream: Stream, units: Mapping[str, str] = MappingProxyType({})) -> pa.Table:
    columns = tuple(TypedColumn(column.name, column.type) for column in stream.columns)
    return arrow_schema(columns, "schema", units).empty_table()


def json_line(row: CaseRow) -> bytes:
    """A row of the file as a JSON object on a line; YAML has numbers that JSON writes as text."""
    return json.dumps({name: json_value(value) for name, value in row.items()}).encode()


def _finding(document: Document, path: str, wrong: str, right: str) -> Finding:
    key = Key("QueryTest", "", str(document.raw["metadata"]["name"]))
    return Finding(key, path, wrong, right).at(document.file, document.line(path))
