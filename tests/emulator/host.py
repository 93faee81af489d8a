"""The same kernel source as C++ of this machine: a model of lane-by-lane kernels that nobody here wrote."""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from emulator.lab import CORPUS, Array
from msgspec import Struct

_SHIM = Path(__file__).with_name("host.h")
_ZIG = (sys.executable, "-m", "ziglang")
_FLAGS = (
    *("-x", "c++", "-std=c++20", "-O1", "-fPIC", "-fwrapv", "-fno-strict-aliasing", "-w", "-Wno-error"),
    *(
        "-ffp-contract=off",
        "-Xclang",
        "-ffloat16-excess-precision=none",
        "-fno-exceptions",
        "-fno-stack-protector",
    ),
)
_SIGNATURE = re.compile(r"(?:KERNEL|\)\)\)\n)\s*(\w+)\(([^)]*)\)")
_DTYPES: dict[str, Any] = {
    **{"u8": np.uint8, "signed char": np.int8, "u16": np.uint16, "short": np.int16, "u32": np.uint32},
    **{"int": np.int32, "u64": np.uint64, "long long": np.int64, "float": np.float32, "double": np.float64},
    **{"_Float16": np.float16, "short2": np.int16, "half2": np.float16},
    **{"u32x2": np.uint32, "u32x4": np.uint32, "u32x8": np.uint32, "u32x16": np.uint32},
}
_C_TYPES: dict[str, Any] = {
    **{"u1": ctypes.c_uint8, "u2": ctypes.c_uint16, "u4": ctypes.c_uint32, "u8": ctypes.c_uint64},
    **{"i1": ctypes.c_int8, "i2": ctypes.c_int16, "i4": ctypes.c_int32, "i8": ctypes.c_int64},
    **{"f4": ctypes.c_float, "f8": ctypes.c_double},
}


class Parameter(Struct, frozen=True):
    """One parameter of a kernel: its name, element type, and whether it is a pointer."""

    name: str
    dtype: Any
    pointer: bool


@cache
def signatures(source: str) -> dict[str, tuple[Parameter, ...]]:
    """Kernels of a corpus file and their parameters."""
    found = {}
    for name, text in _SIGNATURE.findall((CORPUS / f"{source}.hip").read_text()):
        parameters = []
        for part in text.split(","):
            kind, pointer, word = re.fullmatch(
                r"\s*(?:const )?([\w ]+?)\s*(\**)\s*(?:__restrict__ )?(\w+)", part
            ).groups()  # type: ignore[union-attr]
            parameters.append(Parameter(word, _DTYPES[kind], bool(pointer)))
        found[name] = tuple(parameters)
    return found


@cache
def library(source: str) -> ctypes.CDLL:
    """A corpus file as a shared library of this machine."""
    ctypes.CDLL("libm.so.6", mode=ctypes.RTLD_GLOBAL)
    with tempfile.TemporaryDirectory(prefix="layoutprobe-host-") as folder:
        target, shared = Path(folder) / "k.o", Path(folder) / "k.so"
        compile_ = (
            *_ZIG,
            "clang",
            *_FLAGS,
            "-include",
            str(_SHIM),
            "-c",
            str(CORPUS / f"{source}.hip"),
            "-o",
            str(target),
        )
        subprocess.run(compile_, check=True)
        subprocess.run((*_ZIG, "ld.lld", "-shared", str(target), "-o", str(shared)), check=True)
        return ctypes.CDLL(str(shared))


def run_on_host(source: str, kernel: str, args: Sequence[Array | np.generic], items: int) -> list[Array]:
    """The buffers after every work-item of one workgroup has run, one after the other."""
    code = library(source)
    function = getattr(code, kernel)
    function.restype = None
    buffers = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    given = [_pass(b) for b in buffers]
    item = ctypes.c_uint.in_dll(code, "lp_item")
    for x in range(items):
        item.value = x
        function(*given)
    return [b for b in buffers if isinstance(b, np.ndarray)]


def _pass(value: Array | np.generic) -> Any:
    if isinstance(value, np.ndarray):
        return ctypes.c_void_p(value.ctypes.data)
    return _C_TYPES[f"{value.dtype.kind}{value.dtype.itemsize}"](value.item())
