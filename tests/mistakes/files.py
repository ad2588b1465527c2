"""Files that cannot be read, or are not YAML, made by code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.mistakes.mistake import Mistake


def _only(name: str, text: str | bytes, answer: str, what: str) -> Mistake:
    """A file that is read alone."""

    def write(folder: Path) -> None:
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())

    return Mistake(what, (f"{name}{answer}",), also=write, command=f"plan -f {name}")


def _folders(folder: Path) -> None:
    (folder / "above" / "below").mkdir(parents=True)
    (folder / "above" / "notes.txt").write_text("kind: Node")


def _huge(folder: Path) -> None:
    with (folder / "huge.yaml").open("wb") as file:
        file.truncate(300 * 2**20)


def _share(folder: Path) -> None:
    """The sink of the first query is given again in the second, which is another document."""
    file = folder / "queries.yaml"
    first, second = file.read_text().split("---")
    first = first.replace("sink: {console", "sink: &sink {console")
    file.write_text(f"{first}---{second.replace('{console: {}}', '*sink')}")


def _written(field: str, connector: str, make: str = "") -> Callable[[Path], None]:
    """A query that reads and writes by `weir run`; `make` is made a file."""

    def write(folder: Path) -> None:
        source = connector if field == "source" else "{files: {uri: in/readings, format: csv}}"
        sink = connector if field == "sink" else "{console: {}}"
        (folder / "w.yaml").write_text(WEIR_RUN.format(source=source, sink=sink))
        if make:
            (folder / make).parent.mkdir(parents=True, exist_ok=True)
            (folder / make).touch()

    return write


def _refused(what: str, field: str, connector: str, answer: str, make: str = "") -> Mistake:
    """Before `weir run` starts anything."""
    also = _written(field, connector, make)
    return Mistake(what, (answer,), also=also, command="run -f w.yaml")


WEIR_RUN = """\
kind: Node
apiVersion: v1
metadata: {{name: n}}
status: {{allocatable: {{cpu: "2", memory: 8Gi}}}}
---
apiVersion: weir.dev/v1alpha1
kind: Stream
metadata: {{name: readings}}
spec:
  schema: sensor STRING, ts TIMESTAMP
  eventTime: {{column: ts}}
  origin: {{node: n}}
  rate: 1
  source: {source}
---
apiVersion: weir.dev/v1alpha1
kind: StreamQuery
metadata: {{name: all}}
spec:
  sql: SELECT r.sensor FROM readings r
  sink: {sink}
"""
LOGIN = "{protocol: SASL_SSL, mechanism: PLAIN, secretRef: login}"
TOPIC = "{kafka: {bootstrapServers: 'localhost:9092', topic: t, security: " + LOGIN + "}}"
BOMB = "a0: &a0 [x, x]\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 9))
DEEP = ":1: is not YAML: nested more than 100 deep; no object needs that"

FILES = (
    _only(
        "a.yaml",
        "kind: Node".encode("utf-16"),
        ":1: is not UTF-8 text: byte 0xff at offset 0; save it as UTF-8",
        "another encoding",
    ),
    _only(
        "a.yaml",
        "kind: Node\n# J\u00e4h".encode("latin-1"),
        ":2: is not UTF-8 text: byte 0xe4 at offset 14; save it as UTF-8",
        "Latin-1",
    ),
    _only(
        "a.yaml",
        BOMB,
        ":1: is not YAML: aliases stand for more than 10000 values; write fewer of them",
        "a bomb of aliases (billion laughs)",
    ),
    _only("a.yaml", "[" * 200_000 + "]" * 200_000, DEEP, "brackets without end"),
    _only("a.yaml", "- " * 5000 + "x", DEEP, "lists within lists"),
    _only(
        "a.yaml",
        "readings\n",
        ':1: "readings" is not an object; write objects with apiVersion, kind, metadata and spec',
        "a text alone",
    ),
    Mistake(
        "an empty folder",
        ("empty: has no .yaml, .yml or .json file; give a folder with manifests",),
        also=lambda folder: (folder / "empty").mkdir(),
        command="plan -f empty",
    ),
    Mistake(
        "a folder of folders",
        (
            "above: has no .yaml, .yml or .json file; give a folder with manifests; the folders in it are "
            "not read: give each with its own -f",
        ),
        also=_folders,
        command="plan -f above",
    ),
    Mistake(
        "a huge file",
        (
            "huge.yaml: is 300 MiB large; files of at most 256 MiB are read; split it, or remove what is not "
            "a manifest",
        ),
        also=_huge,
    ),
    Mistake(
        "a link that leads to itself",
        ("again.yaml: is a link that leads back to itself; link it to a file, or delete it",),
        also=lambda folder: (folder / "again.yaml").symlink_to("again.yaml"),
    ),
    Mistake(
        "a dangling link",
        ("more.yaml: is a link to gone.yaml, which does not exist; link it to a file, or delete it",),
        also=lambda folder: (folder / "more.yaml").symlink_to("gone.yaml"),
    ),
    Mistake(
        "a stream without a source, to be run",
        (
            "w.yaml:9: Stream default/readings: spec.source: is missing; write where its rows are, such as "
            "files: {uri: in/readings, format: csv}",
        ),
        also=lambda folder: (folder / "w.yaml").write_text(
            WEIR_RUN.format(source="", sink="{console: {}}").replace("  source: \n", "")
        ),
        command="run -f w.yaml --until-finished",
    ),
    _refused(
        "a source that is a file",
        "source",
        "{files: {uri: in/readings/0000000000.csv, format: csv}}",
        "w.yaml:14: Stream default/readings: spec.source.files.uri: in/readings/0000000000.csv is a file; "
        "write its folder, in/readings",
        "in/readings/0000000000.csv",
    ),
    _refused(
        "a sink that is a file",
        "sink",
        "{files: {uri: out}}",
        "w.yaml:21: StreamQuery default/all: spec.sink.files.uri: out is a file; write a folder",
        "out",
    ),
    _refused(
        "a sink where nothing can be written",
        "sink",
        "{files: {uri: /proc/out}}",
        "w.yaml:21: StreamQuery default/all: spec.sink.files.uri: /proc cannot be written (No such file or "
        "directory); write another folder",
    ),
    _refused(
        "a login from a Secret, on this machine",
        "source",
        TOPIC,
        "w.yaml:14: Stream default/readings: spec.source.kafka.security.secretRef: `weir run` does not read "
        "Secrets; name brokers that want none, or run it in a cluster (1 other object waits for it)",
    ),
    Mistake(
        "an alias across documents",
        (
            "queries.yaml:19: is not YAML: the alias *sink has no anchor in this document; &sink in line 10 "
            "ends with its document, at ---: write the value again",
        ),
        also=_share,
    ),
)
