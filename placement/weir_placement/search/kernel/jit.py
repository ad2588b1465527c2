"""The compiler's settings, and the type of a search's state: one pointer, fields by name.

`st.kind[i]` reads field `kind` of the layout. A tuple of arrays would do the same, but takes minutes
to compile: seventy arrays of seven words each, in every call.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import (
    AbstractTemplate,
    AttributeTemplate,
    infer_getattr,
    infer_global,
    signature,
)
from numba.extending import lower_builtin, lower_getattr_generic, models, register_model

from weir_placement.search.kernel.layout import DIMENSIONS, FLOAT_BASE, FLOATS, HEAD, INTS

F = TypeVar("F", bound=Callable[..., Any])
State = Any
"""What a compiled function takes as `st`: dimensions are integers, fields are indexed by integers."""


def jit(function: F) -> F:
    """Compiled without Python objects; a division by zero gives infinity, as NumPy has it."""
    return cast(F, numba.njit(error_model="numpy")(function))


class StateType(types.Type):
    """A pointer to the integer array of a search."""

    def __init__(self) -> None:
        super().__init__("State")


STATE = StateType()


@register_model(StateType)
class _StateModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, ir.IntType(64).as_pointer())


_POINTERS = {
    **{name: types.CPointer(types.int64) for name, _ in INTS},
    **{f"{name}_": types.CPointer(types.float64) for name, _ in FLOATS},
}
_POSITIONS = {name: k for k, name in enumerate((*DIMENSIONS, *_POINTERS), start=HEAD)}


@infer_getattr
class _Fields(AttributeTemplate):
    key = StateType

    def generic_resolve(self, value: Any, name: str) -> Any:
        return types.int64 if name in DIMENSIONS else _POINTERS.get(name)


@lower_getattr_generic(StateType)
def _field(context: Any, builder: Any, kind: Any, value: Any, name: str) -> Any:
    word = ir.IntType(64)

    def load(position: int) -> Any:
        return builder.load(builder.gep(value, [ir.Constant(word, position)]))

    stored = load(_POSITIONS[name])
    if name in DIMENSIONS:
        return stored
    if name.endswith("_"):
        base = builder.inttoptr(load(FLOAT_BASE), ir.DoubleType().as_pointer())
        return builder.gep(base, [stored])
    return builder.gep(value, [stored])


@infer_global(operator.getitem)
class _Get(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        if isinstance(args[0], types.CPointer) and isinstance(args[1], types.Integer):
            return signature(args[0].dtype, args[0], types.int64)
        return None


@infer_global(operator.setitem)
class _Set(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        if isinstance(args[0], types.CPointer) and isinstance(args[1], types.Integer):
            return signature(types.none, args[0], types.int64, args[0].dtype)
        return None


@lower_builtin(operator.getitem, types.CPointer, types.Integer)
def _get(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.load(builder.gep(args[0], [args[1]]))


@lower_builtin(operator.setitem, types.CPointer, types.Integer, types.Any)
def _set(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    builder.store(args[2], builder.gep(args[0], [args[1]]))
    return cgutils.get_null_value(context.get_value_type(types.none))
