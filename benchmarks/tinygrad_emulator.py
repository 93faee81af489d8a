"""Launches on tinygrad's emulator of AMD GPUs: python benchmarks/tinygrad_emulator.py CHECKOUT M N K LAUNCHES

For `python benchmarks --tinygrad CHECKOUT`. The emulator is part of tinygrad's repository, not of its package:
whoever names a checkout measures with what is there. It gets the code object and the arguments of `launches.py`, and
its C is compared as there; in its process `tinygrad` is the checkout's. It compiles instructions, with clang, when it
first meets them: a launch of one workgroup that counts for nothing makes it do so. It checks no memory and no waits.

One instruction is another one: tinygrad does not decode `buffer_gl0_inv`, which clang writes behind a barrier. It is
`s_nop` there; in an emulator without caches both do nothing.
"""

from __future__ import annotations

import ctypes
import importlib
import mmap
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutprobe.backends.base import Buffer, Launch
from layoutprobe.codeobj.kernarg import pack_kernarg
from layoutprobe.codeobj.model import Kernel

ARCH = "rdna3"
"""What tinygrad calls the default target's family."""
PAGE = 4096
GL0_INV = (0xE0AC0000, 0)
S_NOP = 0xBF800000
LDS_UNIT, LDS_SHIFT = 512, 15
"""Of GRANULATED_LDS_SIZE in COMPUTE_PGM_RSRC2, which hardware's command processor fills in."""


def load(checkout: Path) -> Callable[..., int]:
    """The checkout's emulator; Python has a package `test` of its own, which would hide a folder of that name."""
    package = ModuleType("test")
    package.__path__ = [str(checkout / "test")]
    sys.modules["test"] = package
    sys.path.insert(0, str(checkout))
    return importlib.import_module("test.mockgpu.amd.emu").run_asm


def prepare(checkout: str, launch: Launch) -> Callable[[], NDArray[Any]]:
    """Launches on the checkout's emulator, after one workgroup that counts for nothing; gives C."""
    if "tinygrad" in sys.modules:
        raise RuntimeError(
            "another tinygrad is imported already; expected: nothing of it before the checkout's"
        )
    run_asm = load(Path(checkout).resolve())
    kernel = launch.code.kernels[launch.kernel]
    arrays = [
        np.ascontiguousarray(argument.data if isinstance(argument, Buffer) else argument)
        for argument in launch.args
    ]
    image = load_image(launch)
    arena, base = memory(image.nbytes + sum(array.nbytes + 2 * PAGE for array in arrays) + PAGE)
    end = place(arena, 0, image)
    values: list[bytes | int] = []
    for argument, array in zip(launch.args, arrays, strict=True):
        if isinstance(argument, Buffer):
            values.append(base + end)
            end = place(arena, end, array)
        else:
            values.append(array.tobytes())
    segment = pack_kernarg(kernel, values, launch.grid, launch.block)
    place(arena, end, np.frombuffer(segment, np.uint8))

    def run(grid: tuple[int, int, int] = launch.grid) -> NDArray[Any]:
        run_asm(
            base + kernel.entry,
            kernel.size,
            *grid,
            *launch.block,
            base + end,
            rsrc2=rsrc2(kernel, launch.dynamic_lds),
            arch=ARCH,
        )
        c, start = arrays[2], values[2]
        assert isinstance(start, int)
        return arena[start - base :][: c.nbytes].view(c.dtype).reshape(c.shape)

    run((1, 1, 1))
    return run


def load_image(launch: Launch) -> NDArray[np.uint8]:
    """The code object as it lies in memory, without the instruction that tinygrad does not decode."""
    segments = launch.code.segments
    image = np.zeros(max(segment.address + len(segment.data) for segment in segments), np.uint8)
    for segment in segments:
        image[segment.address :][: len(segment.data)] = np.frombuffer(segment.data, np.uint8)
    kernel = launch.code.kernels[launch.kernel]
    words = image[kernel.entry :][: kernel.size].view(np.uint32)
    found = np.flatnonzero((words[:-1] == GL0_INV[0]) & (words[1:] == GL0_INV[1]))
    words[found] = words[found + 1] = S_NOP
    return image


def memory(size: int) -> tuple[NDArray[np.uint8], int]:
    """Memory, from a page's begin on, and where it is."""
    arena = mmap.mmap(-1, size)
    return np.frombuffer(arena, np.uint8), ctypes.addressof(ctypes.c_char.from_buffer(arena))


def place(arena: NDArray[np.uint8], start: int, array: NDArray[Any]) -> int:
    """Copy an array into memory; where the next one may begin, with a page between."""
    arena[start:][: array.nbytes] = array.reshape(-1).view(np.uint8)
    return (start + array.nbytes + 2 * PAGE - 1) // PAGE * PAGE


def rsrc2(kernel: Kernel, dynamic_lds: int) -> int:
    """COMPUTE_PGM_RSRC2 as hardware gets it."""
    units = -(-(kernel.descriptor.group_segment_size + dynamic_lds) // LDS_UNIT)
    return kernel.descriptor.rsrc2 | units << LDS_SHIFT


if __name__ == "__main__":
    measure = runpy.run_path(str(Path(__file__).with_name("launches.py")))["measure"]
    measure(lambda launch: prepare(sys.argv[1], launch), *sys.argv[2:])
