"""The two arrays of `kernel.layout`, their fields by name, and the compiled code that works on them."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import Any

from weir_placement.search.kernel import layout


def searches() -> Callable[..., float]:
    """The compiled searches; the first call loads them."""
    from weir_placement.search import compiled  # imports LLVM

    return compiled.searches()


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

    def run(self, command: int, *numbers: int, reals: Sequence[float] = ()) -> float:
        """Calls the compiled code: up to three integers, four reals."""
        integers = (*numbers, 0, 0, 0)[:3]
        floats = (*reals, 0.0, 0.0, 0.0, 0.0)[:4]
        search: Callable[..., float] = searches()
        return search(self.ints.buffer_info()[0], command, *integers, *floats)

    @property
    def evaluations(self) -> int:
        """Configurations evaluated so far."""
        return self.ints[self.at["out"]]

    def counter(self, k: int) -> int:
        """Word k of `out`, as the searches use it."""
        return self.ints[self.at["out"] + k]
