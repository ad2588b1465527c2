"""The rows that queries of a run give, as they come: from files, topics, or the log of the last fragment."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from weir_placement.model.fragment import FragmentSpec, Output
from weir_placement.model.location import STORE
from weir_runtime.json_values import json_values
from weir_runtime.side_log import query_of

ResultRow = dict[str, Any]
ANSWER = 10.0
"""[s] for brokers to say what partitions a topic has."""


class SinkAway(Exception):
    """Nobody can be asked for a sink's rows now; the message says who, and the field that names them."""


class SinkReader(ABC):
    """Reads one sink from its beginning."""

    @abstractmethod
    def new_rows(self) -> Iterator[ResultRow]:
        """Those that have come since the last call; it does not wait for any. Raises SinkAway."""

    def close(self) -> None:  # noqa: B027 - most have nothing to close
        """Ends connections."""


class FolderSinkReader(SinkReader):
    """Of parquet files, which appear whole."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen: set[str] = set()

    def new_rows(self) -> Iterator[ResultRow]:
        """The files in the order in which they were written."""
        for table in self.new_tables():
            yield from json_values(table)

    def new_tables(self) -> Iterator[pa.Table]:
        """The same, a table a file, with the metadata of its schema."""
        new = [path for path in self._folder.glob("[!._]*.parquet") if path.name not in self._seen]
        for path in sorted(new, key=lambda path: (path.stat().st_mtime_ns, path.name)):
            table = pq.ParquetFile(path).read()
            self._seen.add(path.name)  # not before: what cannot be read now is tried again
            yield table


class StoreSinkReader(SinkReader):
    """Of parquet objects."""

    def __init__(self, output: Output) -> None:
        from weir_runtime.store import ObjectStore

        self._store = ObjectStore(output.files.address, output.files.options)
        self._seen: set[str] = set()

    def new_rows(self) -> Iterator[ResultRow]:
        """The objects in the order of their names."""
        for name in self._store.names():
            if name.endswith(".parquet") and name not in self._seen:
                self._seen.add(name)
                body = self._store.read(name)
                if body is not None:
                    yield from json_values(pq.ParquetFile(pa.BufferReader(body)).read())


class TopicSinkReader(SinkReader):
    """Of committed messages."""

    def __init__(self, output: Output) -> None:
        from confluent_kafka import Consumer
        from weir_runtime.kafka_clients import reader_settings, silent_logger

        settings = {**reader_settings(output.options, "weir-query"), "isolation.level": "read_committed"}
        self._consumer = Consumer(settings, logger=silent_logger())
        self._topic, self._brokers = output.options["topic"], output.options["bootstrapServers"]

    def new_rows(self) -> Iterator[ResultRow]:
        """By partition in their order; none before there is a topic."""
        if not self._consumer.assignment() and not self._assign():
            return
        while (message := self._consumer.poll(0.2)) is not None:
            if message.error() is None:
                yield json.loads(message.value() or b"{}")

    def _assign(self) -> bool:
        from confluent_kafka import OFFSET_BEGINNING, KafkaException, TopicPartition
        from weir_runtime.kafka_clients import in_words

        try:
            numbers = self._consumer.list_topics(self._topic, ANSWER).topics[self._topic].partitions
        except KafkaException as error:
            raise SinkAway(f"spec.sink.kafka: {in_words(error, self._brokers)}") from error
        self._consumer.assign([TopicPartition(self._topic, n, OFFSET_BEGINNING) for n in numbers])
        return bool(numbers)

    def close(self) -> None:
        """Leaves the brokers."""
        self._consumer.close()


class LogSinkReader(SinkReader):
    """Of rows on a fragment's standard output, which goes to the logs of its processes."""

    def __init__(self, logs: Path, fragment: str) -> None:
        self._logs, self._fragment = logs, fragment
        self._read: dict[Path, int] = {}

    def new_rows(self) -> Iterator[ResultRow]:
        """Lines that are JSON objects; a line that is not whole yet is read later."""
        for path in sorted(self._logs.glob(f"{self._fragment}-e*.log")):
            with path.open("rb") as file:
                file.seek(self._read.get(path, 0))
                for line in file:
                    if not line.endswith(b"\n"):
                        break
                    self._read[path] = self._read.get(path, 0) + len(line)
                    if line.startswith(b"{"):
                        yield json.loads(line)


class RunResults:
    """The sinks of a run's queries.

    Args:
        root: the run's folder.
        query: namespace/name; None: of all.
    """

    def __init__(self, root: Path, query: str | None = None) -> None:
        self._root, self._query = root, query
        self._readers: dict[tuple[str, str, str], SinkReader] = {}
        self.silent: dict[str, str] = {}
        """Queries whose rows nobody can read, and why."""

    def new_rows(self) -> Iterator[tuple[str, ResultRow]]:
        """(query, row) of what has come since the last call, also in sinks that an edit has brought."""
        for spec in self.last_fragments():
            name = f"{spec.namespace}/{spec.query}"
            if spec.output.kind == "noop":
                self.silent[name] = "its sink is noop: rows are counted and dropped; give it files or console"
                continue
            topic = str(spec.output.options.get("topic", ""))
            place = spec.name if spec.output.kind == "console" else f"{spec.output.uri}{topic}"
            key = (name, spec.output.kind, place)
            if key not in self._readers:
                self._readers[key] = self._reader(spec)
            try:
                for row in self._readers[key].new_rows():
                    yield name, row
            except SinkAway as error:
                self.silent[name] = str(error)
            else:
                self.silent.pop(name, None)

    def _reader(self, spec: FragmentSpec) -> SinkReader:
        if spec.output.kind == "console":
            return LogSinkReader(self._root / "logs", spec.name)
        if spec.output.kind == "kafka":
            return TopicSinkReader(spec.output)
        return (
            StoreSinkReader(spec.output)
            if spec.output.files.kind == STORE
            else FolderSinkReader(Path(spec.output.uri))
        )

    def last_fragments(self) -> list[FragmentSpec]:
        """Those that deliver."""
        return [spec for spec in self.fragments() if spec.output.kind != "exchange"]

    def fragments(self) -> list[FragmentSpec]:
        """Of processes that were started and are not removed."""
        paths = sorted((self._root / "processes").glob("*.spec.json"))
        specs = [FragmentSpec.from_json(path.read_text()) for path in paths if path.exists()]
        return [spec for spec in specs if self._query in (None, f"{spec.namespace}/{spec.query}")]

    def side_logs(self) -> list[Path]:
        """Of the query's fragments, also of those that are gone as far as they have left dead letters."""
        beside = {Path(spec.sidelog).parent for spec in self.fragments() if spec.sidelog}
        logs = sorted(folder for place in beside for folder in place.glob("[!.]*/"))
        return [folder for folder in logs if query_of(folder) == self._query]

    def close(self) -> None:
        """Ends all connections."""
        for reader in self._readers.values():
            reader.close()
