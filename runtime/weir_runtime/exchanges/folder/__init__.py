"""Exchanges in folders of a volume that producer and readers share."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from weir_placement.model.fragment import FragmentSpec
from weir_placement.model.location import Flows, Location

from weir_runtime.exchanges.folder.log import FolderLog
from weir_runtime.exchanges.folder.writer import FolderWriter
from weir_runtime.installation import Swept, owner_of
from weir_runtime.logs.log import Log
from weir_runtime.names import PRODUCER, read_json


class FolderReader:
    """Files."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def description(self) -> Mapping[str, Any] | None:
        """Of `stream.json`."""
        return read_json(Path(self._folder) / "stream.json")

    def producer(self) -> Mapping[str, Any] | None:
        """Of `producer.json`."""
        return read_json(Path(self._folder) / PRODUCER)

    def log(self, schema: pa.Schema, consumer: str, start: int) -> Log:
        """The numbered files."""
        return FolderLog(self._folder, schema, consumer, start)


def reader(flow: Location) -> FolderReader:
    """Of a folder."""
    return FolderReader(flow.address)


def writer(flow: Location, spec: FragmentSpec) -> FolderWriter:
    """Makes the folder."""
    return FolderWriter(flow.address, spec.epoch, spec.output.consumers, spec.output.keep)


def remove(
    flows: Flows, root: str, namespace: str, is_gone: Callable[[str], bool], installation: str
) -> Swept:
    """Folders; raises OSError."""
    swept, below = Swept(), Path(flows.below(root, namespace))
    for folder in sorted(below.glob("*")):
        if is_gone(folder.name) and swept.sort(str(folder), owner_of(folder), installation):
            shutil.rmtree(folder)
    return swept
