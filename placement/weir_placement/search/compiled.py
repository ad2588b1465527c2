"""The compiled searches without their compiler.

numba compiles `kernel/` once; its object code is kept in a file and loaded through llvmlite, so a
later process pays milliseconds, and imports neither numba nor scipy. The folder is `WEIR_CACHE`,
else `NUMBA_CACHE_DIR`, else `~/.cache/weir`, else a temporary one; the file's name tells compiler,
processor and source apart. `python -m weir_placement.search.compiled` fills the cache (images do).
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import tempfile
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm

_SYMBOL = "weir_run"
_engines: list[Any] = []  # an engine that is collected takes its code with it


def folder() -> Path:
    """Where object code is kept."""
    for name in ("WEIR_CACHE", "NUMBA_CACHE_DIR"):
        if os.environ.get(name):
            return Path(os.environ[name])
    try:
        return Path.home() / ".cache" / "weir"
    except RuntimeError:
        return Path(tempfile.gettempdir()) / f"weir-{os.getuid()}"


def _processor() -> str:
    """A level of the architecture rather than the very processor: an image serves many machines."""
    if llvm.get_process_triple().startswith("x86_64"):
        return "x86-64-v3" if llvm.get_host_cpu_features().get("avx2") else "x86-64"
    return "generic"


def _key() -> str:
    sources = sorted((Path(__file__).parent / "kernel").glob("*.py"))
    digest = hashlib.sha256()
    for part in (
        version("numba"),
        llvm.llvm_version_info,
        llvm.get_process_triple(),
        _processor(),
        *(path.read_text() for path in sources),
    ):
        digest.update(repr(part).encode())
    return digest.hexdigest()[:32]


def _machine() -> Any:
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(
        cpu=_processor(),
        opt=3,
        reloc="default",
        codemodel="jitdefault",
        jit=True,
    )


def _compile() -> bytes:
    """Object code of `kernel.entry.run`: takes seconds."""
    from numba import types

    from weir_placement.search.kernel.entry import run
    from weir_placement.search.kernel.jit import STATE

    function: Any = run
    integer, number = types.int64, types.float64
    signature = (STATE, *[integer] * 4, *[number] * 4)
    function.compile(signature)
    result = function.overloads[signature]
    text = result.library.get_llvm_str().replace(result.fndesc.llvm_func_name, _SYMBOL)
    return bytes(_machine().emit_object(_alone(llvm.parse_assembly(text))))


def _alone(module: Any) -> Any:
    """The module with nothing but what `run` needs: wrappers for Python would want numba's symbols."""
    for function in module.functions:
        if not function.is_declaration and function.name != _SYMBOL:
            function.linkage = "internal"
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, llvm.create_pass_builder(_machine(), llvm.create_pipeline_tuning_options()))
    return module


def object_code() -> bytes:
    """From the cache, else compiled and put there; a folder that cannot be written is no error."""
    path = folder() / f"searches-{_key()}.o"
    try:
        return path.read_bytes()
    except OSError:
        pass
    code = _compile()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(code)
        os.replace(file.name, path)
    except OSError:
        pass
    return code


def _name_c_functions() -> None:
    """What the object code calls, by address: a process without numba need not have libm in sight."""
    try:
        library = ctypes.CDLL("libm.so.6")
    except OSError:
        library = ctypes.CDLL(None)
    for name in ("pow", "exp", "memset", "memcpy", "clock_gettime"):
        address = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
        llvm.add_symbol(name, address)


@cache
def searches() -> Callable[..., float]:
    """`kernel.entry.run` on the address of a search's integer array."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    _name_c_functions()
    code = object_code()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    _engines.append(engine)
    integer, number = ctypes.c_int64, ctypes.c_double
    prototype = ctypes.CFUNCTYPE(
        ctypes.c_int,
        ctypes.POINTER(number),
        ctypes.POINTER(ctypes.c_void_p),
        ctypes.c_void_p,
        *[integer] * 4,
        *[number] * 4,
    )
    native = prototype(engine.get_function_address(_SYMBOL))

    def call(*arguments: float) -> float:
        result, raised = number(), ctypes.c_void_p()
        if native(ctypes.byref(result), ctypes.byref(raised), *arguments):
            raise RuntimeError("the compiled search failed")
        return result.value

    return call


if __name__ == "__main__":
    object_code()
    print(f"compiled searches are in {folder()}")
