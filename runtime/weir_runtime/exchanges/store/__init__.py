"""Exchanges on an object store."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
from weir_placement.model.fragment import FragmentError, FragmentSpec
from weir_placement.model.location import Flows, Location

from weir_runtime.exchanges.store.log import StoreLog
from weir_runtime.exchanges.store.writer import StoreWriter, recorded_owner
from weir_runtime.installation import OWNER, Swept
from weir_runtime.logs.log import Log
from weir_runtime.names import PRODUCER
from weir_runtime.store import ObjectStore, StoreError

LOOK = 0.5
"""[s] between two looks for a flow that has not described itself."""


class StoreReader:
    """Objects."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    def description(self) -> Mapping[str, Any] | None:
        """Of `stream.json`; takes its time when it is not there."""
        description: Mapping[str, Any] | None = self._store.quick().read_json("stream.json")
        if description is None:
            time.sleep(LOOK)
        return description

    def producer(self) -> Mapping[str, Any] | None:
        """Of `producer.json`; None too when the store does not answer."""
        try:
            return self._store.quick().read_json(PRODUCER)
        except StoreError:
            return None

    def log(self, schema: pa.Schema, consumer: str, start: int) -> Log:
        """The numbered objects."""
        return StoreLog(self._store, schema, consumer, start)


def reader(flow: Location) -> StoreReader:
    """Of objects below a URI."""
    return StoreReader(ObjectStore(flow.address, flow.options))


def writer(flow: Location, spec: FragmentSpec) -> StoreWriter:
    """Of objects below a URI."""
    store = ObjectStore(flow.address, flow.options)
    return StoreWriter(store, spec.epoch, spec.output.consumers, spec.output.keep)


def remove(
    flows: Flows, root: str, namespace: str, is_gone: Callable[[str], bool], installation: str
) -> Swept:
    """URIs."""
    swept, below = Swept(), ObjectStore(flows.below(root, namespace), flows.options)
    try:
        for name in filter(is_gone, below.quick().folders()):
            flow = ObjectStore(f"{below.uri}/{name}", flows.options)
            if swept.sort(flow.uri, recorded_owner(flow), installation):
                # Whose it is goes last: what a sweep that is killed leaves, the next one takes.
                below.delete([f"{name}/{rest}" for rest in flow.names() if rest != OWNER])
                below.delete([f"{name}/{OWNER}"])
    except (StoreError, FragmentError) as error:
        raise OSError(f"flows {below.uri}/* are not removed: {error}") from error
    return swept
