"""The emulator as a backend: runs the real code object on the CPU."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutprobe import __version__, arch
from layoutprobe.backends.base import Buffer, Launch, RunResult
from layoutprobe.capture.capture import Evidence
from layoutprobe.codeobj.kernarg import pack_kernarg
from layoutprobe.codeobj.model import CodeObject, Kernel
from layoutprobe.errors import UsageError
from layoutprobe.isa.store import load_instructions
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.launch import (
    Extent,
    GlobalBuffer,
    GlobalMemory,
    batches,
    check_launchable,
    make_waves,
    place_memory,
    start_cohort,
    vgpr_count,
    wave_bytes,
)
from layoutprobe.machine.machine import Machine
from layoutprobe.machine.memory import Region, address
from layoutprobe.machine.observer import Observer
from layoutprobe.machine.program import Program, build_program
from layoutprobe.machine.scheduler import DEFAULT_BUDGET, Scheduler

ARITHMETIC = ("ieee", "silicon")


class EmulatorBackend:
    """Runs launches on the CPU. Keeps bound kernels, so that a second launch starts at once."""

    name = "emulator"
    device: Mapping[str, str] = MappingProxyType({})

    def __init__(
        self, budget: int = DEFAULT_BUDGET, observer: Observer | None = None, arithmetic: str = "ieee"
    ) -> None:
        """Make a backend.

        Args:
            budget: instructions that a launch may issue before the kernel counts as endless. An
                instruction counts once for all waves that execute it together.
            observer: watches the launches; may be changed between them.
            arithmetic: how matrix instructions and DOT2 round: "ieee" (exact products, one rounding
                at the end), or "silicon" (in steps, as measured on gfx1151; RDNA3 only).

        Raises:
            UsageError: no such arithmetic.
        """
        if arithmetic not in ARITHMETIC:
            raise UsageError(
                f"no arithmetic named {arithmetic!r}", expected="one of: " + ", ".join(ARITHMETIC)
            )
        self.arithmetic = arithmetic
        self.budget = budget
        self.observer = observer
        self._programs: dict[tuple[str, str], Program] = {}

    @property
    def evidence(self) -> Evidence:
        """What results of this backend rest on."""
        mode = "" if self.arithmetic == "ieee" else f", {self.arithmetic} arithmetic"
        return Evidence("emulated", f"layoutprobe emulator {__version__}{mode}")

    def run(self, launch: Launch) -> RunResult:
        """Run one launch to its end.

        Raises:
            ExecutionError: a fault of the kernel, or something that the emulator does not know.
            UsageError: arguments that do not fit the kernel, or a launch that is too large.
        """
        kernel = launch.code.kernel(launch.kernel)
        lds_size = kernel.descriptor.group_segment_size + launch.dynamic_lds
        check_launchable(kernel, launch.block, lds_size, arch.find(launch.code.target).lds_bytes)
        buffers = [a for a in launch.args if isinstance(a, Buffer)]
        memory = _memory(launch, kernel, buffers)
        waves = self.execute(launch.code, kernel, memory, launch.grid, launch.block, lds_size)
        result = self._result(launch, memory)
        # Freed before the result is copied, their registers would go back to the system page by page,
        # and the next launch would fault them in again: a fifth of the time of a small GEMM.
        del waves
        return result

    def execute(
        self,
        code: CodeObject,
        kernel: Kernel,
        memory: GlobalMemory,
        grid: Extent,
        block: Extent,
        lds_size: int,
    ) -> Cohort | None:
        """Run a kernel on global memory that holds its arguments and its image already.

        Args:
            code, kernel: what to run; `check_launchable` has accepted the kernel.
            memory: is written to.
            grid: workgroups in x, y, z.
            block: work-items of a workgroup in x, y, z.
            lds_size: bytes of LDS of a workgroup, dynamic ones included.

        Returns:
            Waves of the last batch, which own its registers; None for an empty grid.

        Raises:
            ExecutionError, UsageError: as for `run`.
        """
        program = self._program(code, kernel)
        waves_per_group = -(-prod(block) // kernel.wavefront_size)
        budget, start = self.budget, None
        with np.errstate(all="ignore"):
            for group_ids in batches(grid, waves_per_group, wave_bytes(kernel, lds_size)):
                machine = Machine(
                    program,
                    memory.arena,
                    make_waves(group_ids, waves_per_group),
                    lds_size=lds_size,
                    scratch_size=kernel.descriptor.private_segment_size,
                    image=memory.image,
                    observer=self.observer,
                    arithmetic=self.arithmetic,
                )
                start = start_cohort(machine, kernel, block, memory.kernarg)
                budget -= Scheduler(machine, budget).run(start)
        return start

    def _program(self, code: CodeObject, kernel: Kernel) -> Program:
        key = (code.digest, kernel.name)
        if key not in self._programs:
            from layoutprobe import semantics

            insts = load_instructions(code, kernel)
            self._programs[key] = build_program(code, kernel, insts, semantics.bind, vgpr_count(kernel))
        return self._programs[key]

    def _result(self, launch: Launch, memory: GlobalMemory) -> RunResult:
        regions = iter(memory.buffers)
        values: list[NDArray[Any] | None] = []
        undefined: list[NDArray[Any] | None] = []
        for argument in launch.args:
            if not isinstance(argument, Buffer):
                values.append(None)
                undefined.append(None)
                continue
            region = next(regions)
            values.append(_read(memory.arena.data.bytes, region, argument.data, argument.data.dtype))
            bits = None
            if memory.arena.tracked:
                unsigned = np.dtype(f"u{argument.data.dtype.itemsize}")
                bits = _read(memory.arena.shadow.bytes, region, argument.data, unsigned)
                bits = bits if bits.any() else None
            undefined.append(bits)
        return RunResult(tuple(values), tuple(undefined), self.evidence)


def _memory(launch: Launch, kernel: Kernel, buffers: list[Buffer]) -> GlobalMemory:
    """Global memory with the kernel arguments filled in."""
    names = [a.name or f"argument {i}" for i, a in enumerate(kernel.explicit_args)]
    named = [a.name or n for n, a in zip(names, launch.args, strict=False) if isinstance(a, Buffer)]
    plans = [
        GlobalBuffer(
            f"buffer {name}", b.data.nbytes, np.ascontiguousarray(b.data).view(np.uint8).ravel(), b.undefined
        )
        for name, b in zip(named, buffers, strict=True)
    ]
    size = max((a.offset + a.size for a in kernel.args), default=0)
    memory = place_memory(launch.code, plans, max(size, kernel.descriptor.kernarg_size))
    regions = iter(memory.buffers)
    explicit = [address(next(regions)) if isinstance(a, Buffer) else a.tobytes() for a in launch.args]
    memory.arena.fill(
        memory.kernarg, pack_kernarg(kernel, explicit, launch.grid, launch.block, launch.dynamic_lds)
    )
    return memory


def _read(raw: NDArray[np.uint8], region: Region, like: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    return raw[region.start : region.end].copy().view(dtype).reshape(like.shape)
