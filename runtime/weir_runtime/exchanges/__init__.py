"""Exchanges between fragments, one package a kind: `folder`, `store`, `topic`. Its name is the tag of a
`Location`.

Each package offers what `Backend` has: a reader, a writer, and the removal of what fragments have left. Its
clients are imported with it, so only where a flow is of its kind.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import cast

from weir_placement.model.fragment import FragmentError, FragmentSpec, Input

from weir_runtime.exchanges.ports import Backend, ExchangeReader, ExchangeWriter

KINDS = tuple(sorted({module.name for module in pkgutil.iter_modules(__path__)} - {"ports"}))


def backend(kind: str) -> Backend:
    """Raises FragmentError for a tag that no package has."""
    if kind not in KINDS:
        raise FragmentError(f"exchange: {kind!r} is not one of {', '.join(KINDS)}")
    return cast(Backend, import_module(f"{__name__}.{kind}"))


def reader_of(item: Input) -> ExchangeReader:
    """What an input of kind `exchange` reads."""
    if item.flow is None:
        raise FragmentError(f"input {item.name}: it is not an exchange")
    return backend(item.flow.kind).reader(item.flow)


def writer_of(spec: FragmentSpec) -> ExchangeWriter:
    """Where a fragment whose output is an exchange publishes."""
    if spec.output.flow is None:
        raise FragmentError("fragment.output: it is not an exchange")
    return backend(spec.output.flow.kind).writer(spec.output.flow, spec)
