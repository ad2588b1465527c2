"""Publishing a batch exactly once on an object store: from a file that is mapped, by a put that fails where
the name is taken."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import IO

from weir_runtime.bodies import on_disk
from weir_runtime.faults import reach
from weir_runtime.publish import Fence
from weir_runtime.store import ObjectStore


class StorePublisher:
    """Of one writer's batches.

    Attributes:
        allowance: [s] that the last put may take by its size, until the next one: when it returns, its batch
            is not committed yet.
    """

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self.allowance = 0.0

    def put_once(
        self, name: str, write: Callable[[IO[bytes]], object], about: Mapping[str, str], fence: Fence
    ) -> tuple[int, bool]:
        """As `publish.put_once`, with `about` beside the body."""
        self.allowance = 0.0
        reach("before-temporary")
        body = on_disk(write)
        reach("after-temporary")
        reach("before-publish")
        fence()
        self.allowance = self._store.longest(len(body)).total_seconds()
        is_new = self._store.create(name, body, about)
        reach("after-publish")
        return len(body), is_new
