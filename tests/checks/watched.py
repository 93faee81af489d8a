"""Kernels run under observers and handed to single checks, without manifest and gate.

Kernels are edits of the standard GEMM's source, edits of its assembly, small kernels of this
folder, or assembly written out.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from checks.gemm_lab import KERNELS, edited
from emulator.lab import assembled
from msgspec.structs import replace

from layoutprobe import arch
from layoutprobe.assets import asset_dir
from layoutprobe.backends.base import Buffer, Launch
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.checks.base import Check
from layoutprobe.codeobj.elf import load
from layoutprobe.codeobj.model import CodeObject
from layoutprobe.errors import ExecutionError
from layoutprobe.isa.store import load_instructions
from layoutprobe.manifest.binding import Binding
from layoutprobe.manifest.coding import Coding
from layoutprobe.manifest.model import Expression, KernelCase, Limits, NoContract
from layoutprobe.observe.base import Recorder
from layoutprobe.patterns.expression import parse
from layoutprobe.report.gate import CheckResult
from layoutprobe.toolchain.compile import Compiled, assemble, compile_hip
from layoutprobe.trace.subject import Recorded, Runner, RunSpec, Subject

TARGET = "gfx1151"


@cache
def standard(folder: Path, *edits: tuple[str, str]) -> Compiled:
    """The standard GEMM with some edits, compiled in `folder`."""
    source = (asset_dir("probes") / "gemm" / "standard.hip").read_text()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "standard.hip"
    path.write_text(edited(source, edits))
    return compile_hip(path, target=TARGET, include_dirs=(asset_dir("probes"),))


@cache
def small(name: str) -> CodeObject:
    """A kernel of this folder."""
    path = KERNELS / f"{name}.hip"
    return load(compile_hip(path, target=TARGET, include_dirs=(asset_dir("probes"),)).data)


def reassembled(assembly: str) -> CodeObject:
    """A code object of edited compiler output."""
    return load(assemble(assembly, target=TARGET).data)


def gemm_launch(code: CodeObject, m: int, n: int, k: int) -> Launch:
    """The standard GEMM on random integers; tiles of 128 x 128."""
    rng = np.random.default_rng(m + n + k)
    a = rng.integers(0, 4, (m, k)).astype(np.float16)
    b = rng.integers(0, 4, (k, n)).astype(np.float16)
    c = Buffer(np.zeros((m, n), np.float32), undefined=True)
    sizes = [np.int32(x) for x in (m, n, k)]
    grid = (-(-n // 128), -(-m // 128), 1)
    return Launch(code, "gemm", grid, (256, 1, 1), [Buffer(a), Buffer(b), c, *sizes])


def launch(
    code: CodeObject,
    args: Sequence[Any],
    *,
    kernel: str = "k",
    grid: int = 1,
    block: int = 32,
    dynamic_lds: int = 0,
) -> Launch:
    """A launch of a small kernel; plain arrays become buffers."""
    wrapped = [Buffer(a) if isinstance(a, np.ndarray) else a for a in args]
    return Launch(code, kernel, (grid, 1, 1), (block, 1, 1), wrapped, dynamic_lds)


def assembly_kernel(body: str, *, pointers: int = 2, lds: int = 0) -> CodeObject:
    """See `emulator.lab.assembled`."""
    return assembled(body, pointers=pointers, lds=lds)


def subject(given: Launch, *, limits: Limits | None = None) -> Subject:
    """A kernel as checks see it; its one run is the plain one."""
    one = Expression("1", parse("1", frozenset()))
    case = KernelCase(
        name="test", source=Path("test.hip"), code_object=None, symbol=given.kernel, flags=(), defines={},
        include=(), arches=(TARGET,), grid=(one, one, one), block=(one, one, one), dynamic_lds=one,
        arguments=(), contract=NoContract(), sizes=({},), limits=limits or Limits(),
    )  # fmt: skip
    kernel = given.code.kernel(given.kernel)
    return Subject(
        case=case,
        binding=Binding(case, {}, given.grid, given.block, given.dynamic_lds, {}, {}),
        arch=arch.find(TARGET),
        code=given.code,
        kernel=kernel,
        load_insts=lambda: load_instructions(given.code, kernel),
        coding=Coding.of({}),
        runner=_runner(given),
    )


def _runner(given: Launch) -> Runner:
    def run(spec: RunSpec) -> Recorded:
        recorders: list[Recorder] = [make() for make in spec.observers]
        undefined: dict[str, Any] = {}
        fault = None
        try:
            result = EmulatorBackend().run(given, recorders)
            undefined = {f"p{i}": bits for i, bits in enumerate(result.undefined) if bits is not None}
        except ExecutionError as error:
            fault = error
        records = tuple(recorder.record() for recorder in recorders)
        return Recorded(spec, {}, {}, undefined, {}, 1.0, 0.0, records, fault)

    return run


def verdict(
    check: Check, given: Launch, *, limits: Limits | None = None, has_assembly: bool = True
) -> CheckResult:
    """What one check says of a launch."""
    about = replace(
        subject(given, limits=limits), observers=check.observers, has_assembly=lambda: has_assembly
    )
    return check.run(about)
