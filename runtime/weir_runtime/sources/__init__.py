"""Where rows enter, one module a kind: `files`, `kafka`, `rate`. Its name is the key of a Stream's `source`.

Each module has `open_log`: it checks the options that stand under the key, and gives the log.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast

import pyarrow as pa
from weir_placement.model.fragment import FragmentError, Input

from weir_runtime.arrow_types import arrow_schema
from weir_runtime.logs.log import Log

KINDS = tuple(sorted(module.name for module in pkgutil.iter_modules(__path__)))


class SourceKind(Protocol):
    """A module of `weir_runtime.sources`."""

    def open_log(
        self, item: Input, options: Mapping[str, Any], schema: pa.Schema, sidelog: str, ahead: Path | None
    ) -> Log:
        """The log of an input.

        Args:
            options: what stands under the key, as in docs/manifests.md.
            schema: the stream's columns.
            sidelog: folder for late rows; "" for none.
            ahead: folder for rows that have been fetched before they are read, if this machine reads them.

        Raises FragmentError that names what is wrong.
        """


def source_log(item: Input, sidelog: str, ahead: Path | None = None) -> Log:
    """The log that a Stream's `source` mapping names; `sidelog` and `ahead` as of `open_log`."""
    kind, options = next(iter(item.source.items()))
    if kind not in KINDS:
        raise FragmentError(f"input {item.name}: source: {kind!r} is not one of {', '.join(KINDS)}")
    source = cast(SourceKind, import_module(f"{__name__}.{kind}"))
    options = options or {}
    schema = arrow_schema(item.columns, f"input {item.name}: columns", options.get("unixTimes", {}))
    return source.open_log(item, options, schema, sidelog, ahead)
