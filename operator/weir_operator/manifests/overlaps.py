"""Places that are well named and hardly meant: rows that meet others in a folder, or come back as input, and
buckets that no store makes. Told as a warning."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from weir_placement.model.location import SCHEME

from weir_operator.api.connectors import Files, KafkaTopic
from weir_operator.api.stream import Stream
from weir_operator.manifests.brokers import servers
from weir_operator.manifests.connections import DEAD_LETTER, SINK, SOURCE, folders
from weir_operator.manifests.finding import Finding, Key, shown
from weir_operator.manifests.objects import Objects
from weir_operator.manifests.problem import PolicyProblem
from weir_operator.manifests.site import FilesPlace, Site

_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")


def overlaps(objects: Objects, groups: Sequence[PolicyProblem], site: Site) -> Iterator[Finding]:
    """A finding for each. Complexity: linear in objects, and in the parts of a path."""
    places: dict[str, dict[FilesPlace, Key]] = {SOURCE: {}, SINK: {}}
    written: list[tuple[Key, str, Files, FilesPlace]] = []
    for key, path, files in folders(objects):
        yield from _bucket(key, f"{path}.uri", files.uri or "")
        yield from _shell(key, f"{path}.uri", files.uri or "")
        if isinstance(files, Files):
            place = site.place(files.location, key.namespace)
            parent = path.removesuffix(".files")
            if parent in places:
                places[parent][place] = key
            if parent in (SINK, DEAD_LETTER):
                written.append((key, f"{path}.uri", files, place))
    for key, path, files, place in written:
        is_sink = path.startswith(SINK)
        for owner in (SINK,) if is_sink else (SINK, SOURCE):
            other = _around(places[owner], place, itself=not is_sink)
            if other is not None:
                what = owner.removeprefix("spec.")
                wrong = f"{shown(files.uri)} is in the {what} of {other}, so its readers find these files too"
                yield Finding(key, path, wrong, "give it a folder outside of that")
    yield from _circles(objects, groups)


def _around(places: Mapping[FilesPlace, Key], place: FilesPlace, itself: bool) -> Key | None:
    """Whose place is a folder around this one, or with `itself` this one."""
    store, folder = place
    around = [str(parent) for parent in PurePosixPath(folder).parents]
    candidates = (places.get((store, path)) for path in ([folder] if itself else []) + around)
    return next((key for key in candidates if key is not None), None)


def _bucket(key: Key, path: str, uri: str) -> Iterator[Finding]:
    name = uri.removeprefix(SCHEME).split("/")[0]
    if uri.startswith(SCHEME) and not _BUCKET.fullmatch(name):
        right = "write 3 to 63 lower-case letters, digits, '-' and '.'"
        yield Finding(key, path, f"{shown(name)} is no name that a store gives to a new bucket", right)


def _shell(key: Key, path: str, uri: str) -> Iterator[Finding]:
    if sign := next((part for part in uri.split("/") if part.startswith(("~", "$"))), ""):
        wrong = f"{shown(uri)} has a folder called {sign}: no shell reads it"
        yield Finding(key, path, wrong, "write out what it stands for")


def _circles(objects: Objects, groups: Sequence[PolicyProblem]) -> Iterator[Finding]:
    """Queries whose rows come back as their input."""
    for group in groups:
        for query in group.problem.queries:
            sink = objects.queries[query.name].spec.sink.kafka
            streams = [objects.streams[name] for name in query.sources.values()] if sink else []
            for stream in streams:
                source = stream.spec.source.kafka if stream.spec.source else None
                if sink and source and source.topic == sink.topic and _meet(source, sink):
                    wrong = (
                        f"{shown(sink.topic)} is the topic of {_key(stream)}: the query reads its own rows"
                    )
                    right = "write another topic"
                    key = Key("StreamQuery", *query.name.split("/", 1))
                    yield Finding(key, f"{SINK}.kafka.topic", wrong, right)


def _key(stream: Stream) -> Key:
    return Key("Stream", stream.metadata.namespace, stream.metadata.name)


def _meet(one: KafkaTopic, other: KafkaTopic) -> bool:
    """Whether both name a broker."""
    return not {*servers(one.bootstrap_servers)}.isdisjoint(servers(other.bootstrap_servers))
