"""Objects that cannot be read: each is left out, said once in the log, and counted. The round goes on."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from weir_operator.controller.observed_state import Manifest
from weir_operator.controller.ports import Unreachable
from weir_operator.kube.shapes import BrokenField, check

log = logging.getLogger("weir")
ObjectRead = TypeVar("ObjectRead")


class UnreadableObjects:
    """Those of the present round and of the one before, which are not said again."""

    def __init__(self) -> None:
        self._before: Mapping[str, str] = {}
        self._now: dict[str, str] = {}  # object -> why

    def begin(self) -> None:
        """A round begins."""
        self._before, self._now = self._now, {}

    def counts(self, *others: UnreadableObjects) -> dict[tuple[str, str], int]:
        """How many there are, and in `others`, by kind and namespace."""
        last = {key for objects in (self, *others) for key in {**objects._before, **objects._now}}
        return dict(Counter((kind, namespace) for kind, namespace, _ in (k.split("/") for k in last)))

    def add(self, manifest: Manifest, error: Exception) -> None:
        """An object was left out, or a field of it."""
        meta = manifest["metadata"]
        key = f"{manifest['kind']}/{meta.get('namespace', '')}/{meta['name']}"
        why = str(error) if isinstance(error, BrokenField) else repr(error)[:200]
        self._now[key] = why
        if self._before.get(key) != why:
            log.warning("left out: %s: %s", key, why)

    @contextmanager
    def leaving_out(self, manifest: Manifest) -> Iterator[None]:
        """Whatever is wrong with the object is said, and what is within ends there."""
        try:
            yield
        except Unreachable:
            raise
        except Exception as error:  # whatever it is: the others are read
            self.add(manifest, error)

    def readable(
        self, manifests: Iterable[dict[str, Any]], *checks: Callable[[Manifest], None]
    ) -> list[dict[str, Any]]:
        """Those whose fields are as they should be, and that pass `checks`."""
        result = []
        for manifest in manifests:
            with self.leaving_out(manifest):
                for check_one in (check, *checks):
                    check_one(manifest)
                result.append(manifest)
        return result

    def read(
        self, manifests: Iterable[dict[str, Any]], reader: Callable[[dict[str, Any]], ObjectRead]
    ) -> Iterator[tuple[dict[str, Any], ObjectRead]]:
        """Each object with what `reader` reads from it."""
        for manifest in manifests:
            with self.leaving_out(manifest):
                result = reader(manifest)
                yield manifest, result
