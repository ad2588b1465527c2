"""The two arrays of `kernel.layout`, their fields by name, and the compiled code that works on them."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Sequence
from math import inf
from typing import Any

from weir_placement.search.kernel import entry_codes as code
from weir_placement.search.kernel import layout


def searches() -> Callable[..., float]:
    """The compiled searches; the first call loads them."""
    from weir_placement.search import compiled  # imports LLVM

    return compiled.searches()


NEVER = (1 << 63) - 1


class Arrays:
    """Integers and floats of one search; `dims` are the sizes that the layout's fields depend on."""

    def __init__(self, dims: dict[str, int]) -> None:
        self.dims = dims
        self.at: dict[str, int] = {}
        self.length: dict[str, int] = {}
        head = layout.HEAD + len(layout.DIMENSIONS) + len(layout.INTS) + len(layout.FLOATS)
        offsets = []
        for fields, offset in ((layout.INTS, head), (layout.FLOATS, 0)):
            for name, expression in fields:
                key = name if fields is layout.INTS else name + "_"
                self.at[key], self.length[key] = offset, layout.size(expression, dims)
                offsets.append(offset)
                offset += self.length[key]
            if fields is layout.INTS:
                self.ints = array("q", [0]) * (offset + 1)
            else:
                self.floats = array("d", [0.0]) * (offset + 1)
        header = [self.floats.buffer_info()[0], *(dims[d] for d in layout.DIMENSIONS), *offsets]
        self.ints[: len(header)] = array("q", header)
        self.stop_at(inf)

    def write(self, name: str, values: Sequence[float], start: int = 0) -> None:
        """Writes a field (a float field ends in an underscore)."""
        target = self.floats if name.endswith("_") else self.ints
        typecode = "d" if name.endswith("_") else "q"
        at = self.at[name] + start
        target[at : at + len(values)] = array(typecode, values)  # type: ignore[arg-type]

    def read(self, name: str) -> list[Any]:
        """Reads a field."""
        source = self.floats if name.endswith("_") else self.ints
        return source[self.at[name] : self.at[name] + self.length[name]].tolist()

    def stop_at(self, deadline: float) -> None:
        """Searches end at `deadline` (`perf_counter`), with the best that they have by then."""
        seconds = deadline - time.perf_counter()
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        self.write("clock", [0, 0, NEVER if seconds == inf else now + int(1e9 * seconds)])
        self.write("out", [0], start=code.LATE)

    def run(self, command: int, **parameters: float) -> float:
        """Calls the compiled code with the parameters that `code.PARAMETERS` names.

        Raises:
            TypeError: a parameter is missing, or is not one of the command's.
        """
        integers, reals = code.PARAMETERS[command]
        if parameters.keys() != {*integers, *reals}:
            names = ", ".join((*integers, *reals)) or "none"
            raise TypeError(f"command {command} has the parameters {names}, not {', '.join(parameters)}")
        numbers = [int(parameters[name]) for name in integers] + [0] * (code.INTEGERS - len(integers))
        floats = [float(parameters[name]) for name in reals] + [0.0] * (code.REALS - len(reals))
        search: Callable[..., float] = searches()
        return search(self.ints.buffer_info()[0], command, *numbers, *floats)

    @property
    def evaluations(self) -> int:
        """Configurations evaluated so far."""
        return self.counter(code.EVALUATIONS)

    def counter(self, k: int) -> int:
        """A word of `out`: `code.STEPS`, `code.GAVE_UP` and so on."""
        return self.ints[self.at["out"] + k]
