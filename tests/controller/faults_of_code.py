"""Code that raises whenever it is called about one query: what no object has to be broken for."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FunctionType
from typing import Any

ROOMS = (
    "weir_operator.controller",
    "weir_operator.manifests",
    "weir_operator.planning",
    "weir_placement",
)


class Bug(Exception):
    """What nobody has thought of."""


def about(value: Any, query: str) -> bool:
    """Whether a value is about the query (namespace/name) alone."""
    name = query.split("/")[1]
    if isinstance(value, str):
        return value == query or value.startswith(f"{name}-")
    if isinstance(value, Mapping):
        meta = value.get("metadata")
        return isinstance(meta, Mapping) and meta.get("name") == name
    for field in ("query", "name", "spec", "metadata", "model"):
        inner = getattr(value, field, None)
        if isinstance(inner, str) and (inner == query or inner.startswith(f"{name}-")):
            return True
        if field == "metadata" and getattr(inner, "name", None) == name:
            return True
        if field != "name" and getattr(inner, "name", None) == query:
            return True
    return False


def _functions() -> Iterator[tuple[Any, str, FunctionType]]:
    """(where it is found, attribute, function) of every function and method of the rooms."""
    modules = [module for name, module in list(sys.modules.items()) if name.startswith(ROOMS)]
    for module in modules:
        for attribute, value in list(vars(module).items()):
            if isinstance(value, FunctionType) and value.__module__.startswith(ROOMS):
                yield module, attribute, value
            elif inspect.isclass(value) and value.__module__ == module.__name__:
                for method, function in list(vars(value).items()):
                    if isinstance(function, FunctionType) and not method.startswith("__"):
                        yield value, method, function


@contextmanager
def _wrapped(wrap: Callable[[FunctionType], Any]) -> Iterator[None]:
    before = [(place, attribute, function) for place, attribute, function in _functions()]
    wrapped: dict[FunctionType, Any] = {}
    for place, attribute, function in before:
        if function not in wrapped:
            wrapped[function] = wrap(function)
        setattr(place, attribute, wrapped[function])
    try:
        yield
    finally:
        for place, attribute, function in before:
            setattr(place, attribute, function)


def called_about(query: str, run: Callable[[], None]) -> list[str]:
    """Names of the functions that a run calls with something about the query."""
    names: set[str] = set()

    def record(function: FunctionType) -> Any:
        @functools.wraps(function)
        def recording(*args: Any, **kwargs: Any) -> Any:
            if any(about(value, query) for value in (*args, *kwargs.values())):
                names.add(f"{function.__module__}.{function.__qualname__}")
            return function(*args, **kwargs)

        return recording

    with _wrapped(record):
        run()
    return sorted(names)


@contextmanager
def raising(name: str, query: str) -> Iterator[list[str]]:
    """The function of that name raises when it is called about the query; each time is in the list."""
    raised: list[str] = []

    def spoil(function: FunctionType) -> Any:
        if f"{function.__module__}.{function.__qualname__}" != name:
            return function

        @functools.wraps(function)
        def raises(*args: Any, **kwargs: Any) -> Any:
            if any(about(value, query) for value in (*args, *kwargs.values())):
                raised.append(name)
                raise Bug(name)
            return function(*args, **kwargs)

        return raises

    with _wrapped(spoil):
        yield raised
