"""Sinks that are another query's too, or lie among a stream's files: a folder has the rows of one query."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import PurePosixPath

from weir_operator.api.query import StreamQuery
from weir_operator.api.stream import Stream
from weir_operator.manifests.finding import Finding, Key, shown
from weir_operator.manifests.objects import Objects
from weir_operator.manifests.site import FilesPlace, Site

PATH = "spec.sink.files.uri"
WrittenPlaces = Callable[[str], FilesPlace | None]
"""By query: where the files sink lies that its running fragments write."""


def nothing_in_force(query: str) -> FilesPlace | None:
    """Where nothing runs yet."""
    return None


def sink_findings(
    objects: Objects, site: Site, in_force: WrittenPlaces = nothing_in_force
) -> Iterator[Finding]:
    """Of queries with one place, the first that writes it already, else the oldest, has it; the others are
    wrong. A Kafka topic may be shared: its messages have ids by which their readers tell them apart.

    Complexity: linear in queries and streams, and in the parts of a path.
    """
    writers: dict[FilesPlace, list[str]] = {}
    for name, query in objects.queries.items():
        if query.spec.sink.files is not None:
            place = site.place(query.spec.sink.files.location, query.metadata.namespace)
            writers.setdefault(place, []).append(name)
    for place, names in writers.items():
        if len(names) > 1:
            yield from _shared(
                objects, sorted(names, key=lambda n: _claim(objects.queries[n], n, place, in_force))
            )
    sources = {
        site.place(stream.spec.source.files.location, stream.metadata.namespace): stream
        for stream in objects.streams.values()
        if stream.spec.source is not None and stream.spec.source.files is not None
    }
    for (store, path), names in writers.items() if sources else ():
        around = (sources.get((store, str(p))) for p in (PurePosixPath(path), *PurePosixPath(path).parents))
        if stream := next((each for each in around if each is not None), None):
            for name in names:
                yield from _in_source(objects, objects.queries[name], stream, site)


def _claim(
    query: StreamQuery, name: str, place: FilesPlace, in_force: WrittenPlaces
) -> tuple[bool, str, str]:
    """The least has the place. One that is not created yet comes after those that are."""
    return in_force(name) != place, query.metadata.creation_timestamp or "~", name


def _shared(objects: Objects, names: list[str]) -> Iterator[Finding]:
    first, namespace = names[0], names[0].split("/")[0]
    for name in names[1:]:
        query = objects.queries[name]
        key = Key("StreamQuery", query.metadata.namespace, query.metadata.name)
        document = objects.documents.get(Key("StreamQuery", *first.split("/", 1)))
        owner = f"{first} ({document.file}:{document.line(PATH)})" if document else first
        if namespace != query.metadata.namespace and not document:
            owner = "a query in another namespace"  # whose name is not for everybody
        files = query.spec.sink.files
        wrong = f"sink {shown(files.uri if files else '')} is also that of {owner}"
        yield Finding(key, PATH, wrong, "give each query its own")


def _in_source(objects: Objects, query: StreamQuery, stream: Stream, site: Site) -> Iterator[Finding]:
    """Streams of another tenant say nothing about a query's sink."""
    namespace = stream.metadata.namespace
    if site.tenants and namespace != query.metadata.namespace:
        return
    key = Key("Stream", namespace, stream.metadata.name)
    document, files = objects.documents.get(key), query.spec.sink.files
    place = f" ({document.file}:{document.line('spec.source.files.uri')})" if document else ""
    wrong = f"sink {shown(files.uri if files else '')} lies in the source of {key}{place}"
    yield Finding(
        Key("StreamQuery", query.metadata.namespace, query.metadata.name),
        PATH,
        wrong,
        "give the query a folder outside of it",
    )
