"""The specification of one process of the runtime: the contract between controller and runtime.

A fragment is a connected set of operators on one node with one output stream (runtime.md). The
controller writes a `FragmentSpec` as JSON, `python -m weir_runtime FRAGMENT.json` runs it. Where
things lie (folders, lease, metrics) is described in docs/runtime.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from weir_placement.model.from_plain import FormError, build_plain
from weir_placement.model.identity import UNNAMED, identity_fields, identity_source
from weir_placement.model.location import (
    STORE,
    TAG,
    Location,
    decoded,
    files_location,
    hashed_fields,
    stored,
    trouble,
)
from weir_placement.model.operator_form import as_plain
from weir_placement.model.operators import Operator

DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")

LEAST_HEAP_MB = 480

FOREVER = 253_402_214_400_000_000
"""[us] 9999-12-31: the clock of a stream that has ended."""


class FragmentError(ValueError):
    """A fragment that cannot be run as written; the message names the field and what would be right."""


@dataclass(frozen=True)
class TypedColumn:
    """A column with its Spark type (DDL, as `BIGINT`)."""

    name: str
    type: str


@dataclass(frozen=True)
class Input:
    """One stream that a fragment reads.

    Attributes:
        name: what the operators call it: a source's alias (`d`), or the id of the upstream operator.
        kind: `source` is read where it enters, `exchange` is another fragment's output.
        stream: a source's full name (namespace/name), for labels and messages.
        source: a source's mapping as in its Stream object: one key of files, kafka, rate.
        columns: a source's columns as the stream names them (`carrier`; operators see `d.carrier`).
            Empty for an exchange: it describes itself.
        event_time: a source's event-time column, as the stream names it.
        delay: a source's watermark delay [us]: a row is late when it is older than the running
            maximum of its partition by more than this.
        flow: where an exchange lies; stored as `exchange` and `options`.
        start: first batch to read when there is no checkpoint yet.
        after: event time [us] up to which a source's rows are not needed: reading begins at the first
            batch with a later one. 0: at `start`.
        idle: for so long [us] the clock waits for a partition in which nothing comes; 0: for ever. No part of
            names and hashes: what it decides is in the reader's places.
        bad_rows: what a source does with rows that cannot be read: onBadRow and deadLetter of its Stream
            object. Which rows these are follows from the log, and from what places in it have recorded; so
            neither this nor `max_ahead` is part of names and hashes.
        max_ahead: [us] a source's event times further ahead of the wall clock are bad rows; 0: none is; None:
            more than a day.
        access: a source as it is reached since an edit, which has changed at most policies and who logs in;
            empty: as `source` says. No part of names and hashes.
    """

    name: str
    kind: Literal["source", "exchange"]
    stream: str = ""
    source: Mapping[str, Any] = field(default_factory=dict)
    columns: tuple[TypedColumn, ...] = ()
    event_time: str = ""
    delay: int = 0
    flow: Location | None = None
    start: int = 0
    after: int = 0
    idle: int = 0
    bad_rows: Mapping[str, Any] = field(default_factory=dict)
    max_ahead: int | None = None
    access: Mapping[str, Any] = field(default_factory=dict)

    def stored(self) -> dict[str, Any]:
        """The stored form, in the order of the first version; later fields where they are set."""
        plain = {name: value for name, value in vars(self).items() if name not in UNNAMED}
        start, after, flow = (plain.pop(name) for name in ("start", "after", "flow"))
        where = stored(flow, "exchange") if flow else {"exchange": "", "options": {}}
        later = {name: vars(self)[name] for name, default in UNNAMED.items() if vars(self)[name] != default}
        return {**plain, **where, "start": start, "after": after, **later}

    @staticmethod
    def unstored(raw: dict[str, Any]) -> dict[str, Any]:
        """The fields of what `stored` gave."""
        return _unstored(raw, "exchange")

    def identity(self) -> dict[str, Any]:
        """What hashes of plans are made of."""
        unnamed = ("options", *UNNAMED)
        fields = hashed_fields(self.stored(), "exchange")
        plain = {name: value for name, value in fields.items() if name not in unnamed}
        return identity_fields({**plain, "source": identity_source(self.source)})


@dataclass(frozen=True)
class OutputColumn:
    """A column of the last operator and the name that the sink's readers see."""

    column: str
    name: str


@dataclass(frozen=True)
class Output:
    """The one output stream.

    Attributes:
        kind: `exchange` for other fragments, else a sink.
        uri: folder of a files sink, or its URI on an object store.
        options: of a kafka sink: bootstrapServers, topic, security; of a files sink: format, s3.
        columns: what a sink writes, in order; empty: every column under its own name.
        consumers: names of the fragments that read an exchange; a batch is deleted when all of
            them are past it. Empty: nothing is deleted.
        keep: event time [us] that is kept below the slowest consumer, for replays.
        after: of a sink: only rows with a later event time [us] are published; those up to it are the
            work of the plan that was in force before.
        flow: where an exchange lies; stored as `uri` and `options`.
    """

    kind: Literal["exchange", "files", "kafka", "console", "noop"]
    uri: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    columns: tuple[OutputColumn, ...] = ()
    consumers: tuple[str, ...] = ()
    keep: int = 0
    after: int = 0
    flow: Location | None = None

    @property
    def files(self) -> Location:
        """Where a files sink lies."""
        return files_location({**self.options, "uri": self.uri})

    def stored(self) -> dict[str, Any]:
        """What specs and hashes are made of, in the order of the first version."""
        plain = {name: value for name, value in vars(self).items() if name != "flow"}
        return {**plain, **stored(self.flow, "uri")} if self.flow else plain

    @staticmethod
    def unstored(raw: dict[str, Any]) -> dict[str, Any]:
        """The fields of what `stored` gave."""
        return _unstored(raw, "uri") if raw.get("kind") == "exchange" else raw


@dataclass(frozen=True)
class FragmentSpec:
    """One fragment in one epoch.

    Attributes:
        name: DNS label, the same through all epochs; namespace and query label its metrics.
        zone: the node's: a Kafka exchange is led there.
        operators: in topological order; the last one is the output stream. May be empty with one
            input: the stream is handed on as it is.
        checkpoint: root folder; the checkpoint itself is in a subfolder named by the plan's hash.
        lease: location of the lease file (docs/runtime.md), one for a fragment, all epochs.
        state: file in which the process says how it is, one for each epoch.
        sidelog: folder for rows that are late at a source.
        standby: stop after a dummy run, say `standby-ready`, go on when the lease is handed over.
        trigger_ms: shortest time between two batches.
        max_batches: at most so many batches of an input are read at once.
        executors: executor pods beside the driver, which then plans and publishes only; 0: the driver's own
            JVM does the work. Another number of them is another plan, which begins its state anew.
        cores: of each JVM that works. A checkpoint keeps the number of partitions with which it was begun.
        heap_mb: of each JVM.
        port: of /metrics, /healthz, /readyz; 0: any free one, written to `state`.
        lease_seconds: a lease that was not renewed for so long may be taken.
    """

    name: str
    namespace: str
    query: str
    node: str
    epoch: int
    inputs: tuple[Input, ...]
    operators: tuple[Operator, ...]
    output: Output
    checkpoint: str
    lease: str
    state: str
    sidelog: str = ""
    zone: str = ""
    standby: bool = False
    trigger_ms: int = 200
    max_batches: int = 64
    cores: int = 1
    heap_mb: int = 512
    port: int = 0
    lease_seconds: float = 10.0
    executors: int = 0

    @property
    def connectors(self) -> tuple[Mapping[str, Any], ...]:
        """The settings by which sources, flows and the sink are reached."""
        flows = [flow.options for flow in (*(item.flow for item in self.inputs), self.output.flow) if flow]
        sources = [part for item in self.inputs for part in (item.access or item.source, item.bad_rows)]
        return (*sources, *flows, self.output.options)

    @property
    def partitions(self) -> int:
        """Of state and of shuffles, in a checkpoint that is begun now: one for each core that works."""
        return self.cores * max(1, self.executors)

    def to_json(self) -> str:
        """Text that `from_json` turns into an equal spec. No executors are left out, so that the text is the
        one of versions that knew none, and an upgrade restarts nothing."""
        return self._text(_plain)

    def identity_text(self) -> str:
        """The text that builds are hashes of: the same without the tags of flows (`hashed_fields`)."""
        return self._text(_hashed)

    def _text(self, plain: Callable[[Any], dict[str, Any]]) -> str:
        fields = {**vars(self), "lease_seconds": float(self.lease_seconds)}  # as it is read again
        return json.dumps(identity_fields(fields), default=plain)

    @staticmethod
    def from_json(text: str) -> FragmentSpec:
        """Raises FragmentError that names the field."""
        try:
            raw = json.loads(text)
        except json.JSONDecodeError as error:
            raise FragmentError(f"not JSON: {error}") from error
        try:
            spec = build_plain(FragmentSpec, raw, "fragment")
        except FormError as error:
            raise FragmentError(str(error)) from None
        assert isinstance(spec, FragmentSpec)
        spec.check()
        return spec

    def check(self) -> None:
        """Raises FragmentError unless names fit together."""
        if not DNS_LABEL.fullmatch(self.name):
            raise FragmentError(f"fragment.name: {self.name!r} is not a DNS label (a-z, 0-9, -; at most 63)")
        if not self.inputs:
            raise FragmentError("fragment.inputs: empty; a fragment reads at least one stream")
        if self.heap_mb < LEAST_HEAP_MB:
            raise FragmentError(f"fragment.heap_mb: {self.heap_mb}; Spark needs at least {LEAST_HEAP_MB}")
        if self.executors < 0:
            raise FragmentError(f"fragment.executors: {self.executors}; must not be negative")
        names = [item.name for item in self.inputs]
        for i, operator in enumerate(self.operators):
            for name in operator.inputs:
                if name not in names:
                    raise FragmentError(
                        f"fragment.operators[{i}].inputs: {name!r} is neither an input nor an earlier "
                        f"operator (known: {', '.join(names)})"
                    )
            names.append(operator.id)
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise FragmentError(f"fragment: names used twice: {', '.join(sorted(twice))}")
        for i, item in enumerate(self.inputs):
            if item.kind == "exchange":
                _check_flow(item.flow, f"fragment.inputs[{i}]", "exchange")
            if item.kind == "source":
                _check_source(item, f"fragment.inputs[{i}]")
        if self.output.kind == "exchange":
            _check_flow(self.output.flow, "fragment.output", "uri")
        elif self.output.kind == "files" and self.output.files.kind == STORE:
            _check_flow(self.output.files, "fragment.output", "uri")


def _plain(part: Any) -> dict[str, Any]:
    return part.stored() if isinstance(part, Input | Output) else as_plain(part)


def _hashed(part: Any) -> dict[str, Any]:
    plain = _plain(part)
    if isinstance(part, Input | Output):
        return hashed_fields(plain, "exchange" if isinstance(part, Input) else "uri")
    return plain


def _unstored(raw: dict[str, Any], address: str) -> dict[str, Any]:
    """An input's or output's fields: its flow is a `Location`, of which `stored` has made several fields."""
    plain = {name: value for name, value in raw.items() if name not in (address, "options", TAG)}
    return {**plain, "flow": decoded(raw, address)} if raw.get("kind") == "exchange" else plain


def _check_flow(flow: Location | None, path: str, address: str) -> None:
    if wrong := trouble(flow or Location("folder", "")):
        raise FragmentError(f"{path}.{wrong[0] or address}: {wrong[1]}")


def _check_source(item: Input, path: str) -> None:
    if len(item.source) != 1:
        raise FragmentError(
            f"{path}.source: {dict(item.source)!r}; give exactly one, as files, kafka or rate"
        )
    names = [column.name for column in item.columns]
    if item.event_time not in names:
        raise FragmentError(
            f"{path}.event_time: {item.event_time!r} is not one of the columns {', '.join(names)}"
        )
    for name, value in (("delay", item.delay), ("idle", item.idle)):
        if value < 0:
            raise FragmentError(f"{path}.{name}: {value}; must not be negative")
