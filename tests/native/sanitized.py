"""A build of the native engine in which every load and store is checked: python -m native.sanitized PART [COUNT]

The compiler calls `guard.c` before each access, which remembers the first outside of what the waves of a run own:
registers, LDS, scratch, and of global memory the allocations alone. Then the process ends with 3. Undefined
behaviour traps.

Parts: moves (every load and store, with wild addresses), programs (random legal ones), corrupted (kernels with
random bytes of their code changed), matrices, backwards (loads that count down); broken: moves, with a check of
addresses that lets by too much.
"""

from __future__ import annotations

import ctypes
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from emulator_gemm.kernels import KERNELS, make_launch
from oracle.families import MEMORY

from layoutprobe.backends.base import Buffer, Launch
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.codeobj.elf import load
from layoutprobe.engine.native import interpreter, library
from layoutprobe.engine.native.engine import NativeEngine
from layoutprobe.engine.native.interpreter import Interpreter
from layoutprobe.engine.native.state import Ctx, Ins
from layoutprobe.errors import ProbeError
from layoutprobe.toolchain.compile import compile_hip
from native import test_fuzz, test_matrices, test_moves

GUARD = (Path(__file__).parent / "guard.c").read_text()
CHECK = "beyond(a, (u32)(c->lds_size - size))"
"""Of LDS addresses, in c/memory.h."""
BROKEN = CHECK.replace("c->lds_size - size", "c->lds_size + 0x40000")
"""Lets by what lies a little beyond, which is mapped: an access that the system refuses tells nothing."""
OUTSIDE = 3
"""Exit code: an access lay outside."""
FLAGS = (
    "-O0", "-fsanitize=address,undefined", "-fsanitize-trap=undefined", "-fno-sanitize=alignment",
    *(f"-mllvm={option}" for option in
      ("-asan-instrumentation-with-call-threshold=0", "-asan-stack=0", "-asan-globals=0")),
)  # fmt: skip
_libraries: list[ctypes.CDLL] = []


def _install() -> None:
    """From now on everything is compiled with checks, and they know what a run may touch."""
    vars(library)["_FLAGS"] = (*library._FLAGS, *FLAGS)
    loaded, run = library._loaded, Interpreter._run_workgroups

    def checked(units: tuple[str, ...], lanes: int) -> ctypes.CDLL:
        found = loaded((*units, GUARD), lanes)
        if found not in _libraries:
            found.guard_allow.argtypes = [ctypes.c_uint64, ctypes.c_uint64]
            _libraries.append(found)
        return found

    def run_checked(self: Interpreter) -> bool:
        for found in _libraries:
            for start, size in _owned(self):
                found.guard_allow(start, start + size)
        try:
            return run(self)
        finally:
            for found in _libraries:
                found.guard_open()
                _complain(self, found)

    vars(library)["_loaded"] = checked
    vars(interpreter)["_cores"] = lambda: 1
    Interpreter._run_workgroups = run_checked  # type: ignore[method-assign]


def _complain(run: Interpreter, found: ctypes.CDLL) -> None:
    address, size, frame = (
        ctypes.c_uint64.in_dll(found, f"guard_{name}").value for name in ("address", "size", "frame")
    )
    if not size:
        return
    near = min(_owned(run), key=lambda r: min(abs(address - r[0]), abs(address - r[0] - r[1])))
    print(
        f"OUTSIDE: {size} bytes at {address:#x}; the stack is at {frame:#x}; nearest: {near[1]} bytes at {near[0]:#x}"
    )
    sys.stdout.flush()
    os._exit(OUTSIDE)


def _owned(run: Interpreter) -> Iterator[tuple[int, int]]:
    """Address and size of all that C may touch."""
    machine, context = run.machine, run._context
    yield run.waves.bytes.ctypes.data, run.waves.bytes.nbytes
    for memory in (machine.lds, machine.scratch):
        for store in (memory.data, memory.shadow):
            yield store.bytes.ctypes.data, store.bytes.nbytes
    for store in (machine.arena.data, machine.arena.shadow):
        for region in machine.arena.regions:
            yield store.bytes.ctypes.data + region.start, region.end - region.start
    yield ctypes.addressof(context), ctypes.sizeof(Ctx)
    yield ctypes.addressof(run.regions), ctypes.sizeof(run.regions)
    yield context.program, ctypes.sizeof(Ins) * len(run.bound.records)
    yield run.bound.touched.ctypes.data, run.bound.touched.nbytes
    yield from ((f.ctypes.data, f.nbytes) for f in (*run._fragments, *run._initial))
    yield ctypes.addressof(run._rows), ctypes.sizeof(run._rows)


def _moves(count: int) -> None:
    test_moves.test_loads_and_stores("astray")
    test_moves.test_loads_and_stores_of_cdna("undefined")
    for lanes in (32, 64):
        test_moves.test_between_lanes(lanes)
        test_moves.test_registers_that_m0_picks(lanes)


def _programs(count: int) -> None:
    for seed in range(count):
        test_fuzz.test_programs(1000 + seed)


def _matrices(count: int) -> None:
    test_matrices.test_matrix_forms("gfx1201", 32)


def _corrupted(count: int) -> None:
    """Kernels of which bytes were changed: they fail with words, or compute something."""
    kernel = KERNELS["standard"]
    code = kernel.build()
    rng = np.random.default_rng(count)
    engine = NativeEngine()
    a, b = (rng.normal(size=s).astype(np.float16) for s in ((64, 32), (32, 64)))
    text = next(segment.data for segment in code.segments if segment.executable)
    at = code.image.index(text)
    ended = 0
    for _ in range(count):
        changed = np.frombuffer(code.image, np.uint8).copy()
        for _ in range(int(rng.integers(1, 4))):
            changed[at + int(rng.integers(0, len(text)))] ^= 1 << int(rng.integers(0, 8))
        try:
            launch = make_launch(
                kernel, load(changed.tobytes()), a, b, np.zeros((64, 64), np.float32), 1.0, 0.0
            )
            EmulatorBackend(20_000, engine=engine).run(launch)
            ended += 1
        except ProbeError:
            pass
    print(f"{ended} of {count} ran to their end")


BACKWARDS = """#include <hip/hip_runtime.h>
extern "C" __global__ void backwards(const int* from, int* to, int count) {
  int sum = 0;
#pragma clang loop unroll(disable)
  for (int i = count - 1; i >= 0; --i) sum += from[i * 32 + threadIdx.x];
  to[threadIdx.x] = sum;
}
"""


def _backwards(count: int) -> None:
    """A loop that loads a matrix from its last row on: the next one lies before this one."""
    path = Path(tempfile.mkdtemp(prefix="layoutprobe-")) / "backwards.hip"
    path.write_text(BACKWARDS)
    rows = np.arange(1000 * 32, dtype=np.int32).reshape(1000, 32)
    args = (Buffer(rows), Buffer(np.zeros(32, np.int32)), np.int32(len(rows)))
    code = load(compile_hip(path, target="gfx1151").data)
    run = EmulatorBackend(engine=NativeEngine()).run(Launch(code, "backwards", (1, 1, 1), (32, 1, 1), args))
    np.testing.assert_array_equal(run.buffers[1], rows.sum(axis=0))


def _broken(count: int) -> None:
    folder = Path(tempfile.mkdtemp(prefix="layoutprobe-"))
    for path in library._SOURCES.iterdir():
        text = path.read_text()
        if path.name == "memory.h":
            assert CHECK in text
            text = text.replace(CHECK, BROKEN)
        (folder / path.name).write_text(text)
    library._SOURCES = folder
    loads = [name for name in MEMORY if name.startswith("ds_load")]
    test_moves._compare_all(test_moves._cases(loads), "astray")


PARTS: Mapping[str, Callable[[int], Any]] = {
    "moves": _moves,
    "programs": _programs,
    "corrupted": _corrupted,
    "matrices": _matrices,
    "backwards": _backwards,
    "broken": _broken,
}


def main() -> None:
    """Run one part; the words at the end say how much was checked."""
    part, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 4
    _install()
    PARTS[part](count)
    checked = sum(ctypes.c_uint64.in_dll(found, "guard_checked").value for found in _libraries)
    print(f"{checked} accesses were checked")


if __name__ == "__main__":
    main()
