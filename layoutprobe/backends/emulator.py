"""The emulator as a backend: runs the real code object on the CPU."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutprobe import __version__, arch
from layoutprobe.backends.base import Buffer, Launch, RunResult
from layoutprobe.capture.capture import Evidence
from layoutprobe.codeobj.kernarg import pack_kernarg
from layoutprobe.codeobj.model import Kernel
from layoutprobe.engine.base import ARITHMETIC, DEFAULT_BUDGET, Dispatch, Engine
from layoutprobe.engine.registry import make_engine
from layoutprobe.errors import UsageError
from layoutprobe.machine.launch import GlobalBuffer, GlobalMemory, check_launchable, place_memory
from layoutprobe.machine.memory import Region, address
from layoutprobe.machine.observer import Observer


class EmulatorBackend:
    """Runs launches on the CPU. Its engine keeps kernels, so that a second launch starts at once."""

    name = "emulator"
    device: Mapping[str, str] = MappingProxyType({})

    def __init__(
        self, budget: int = DEFAULT_BUDGET, arithmetic: str = "ieee", engine: Engine | None = None
    ) -> None:
        """Make a backend.

        Args:
            budget: instructions that a launch may issue; see `Dispatch`.
            arithmetic: "ieee" or "silicon"; see `Dispatch`.
            engine: what runs the kernels; a fresh one of the default kind unless given.

        Raises:
            UsageError: no such arithmetic.
        """
        if arithmetic not in ARITHMETIC:
            raise UsageError(
                f"no arithmetic named {arithmetic!r}", expected="one of: " + ", ".join(ARITHMETIC)
            )
        self.arithmetic = arithmetic
        self.budget = budget
        self.engine = engine or make_engine()

    @property
    def evidence(self) -> Evidence:
        """What results of this backend rest on."""
        mode = "" if self.arithmetic == "ieee" else f", {self.arithmetic} arithmetic"
        return Evidence("emulated", f"layoutprobe emulator {__version__}{mode}")

    def run(self, launch: Launch, observers: Sequence[Observer] = ()) -> RunResult:
        """Run one launch to its end.

        Args:
            launch: what to run.
            observers: watch it.

        Raises:
            ExecutionError: a fault of the kernel, or something that the emulator does not know.
            UsageError: arguments that do not fit the kernel, a launch that is too large, or an arithmetic that
                nobody knows of the target.
        """
        kernel = launch.code.kernel(launch.kernel)
        lds_size = kernel.descriptor.group_segment_size + launch.dynamic_lds
        target = arch.find(launch.code.target)
        if self.arithmetic not in target.arithmetic:
            raise UsageError(
                f"nobody has published how matrix instructions of {target.name} round",
                where={"arithmetic": self.arithmetic},
                expected="one of: " + ", ".join(target.arithmetic),
            )
        check_launchable(kernel, launch.block, lds_size, target.lds_bytes)
        buffers = [a for a in launch.args if isinstance(a, Buffer)]
        memory = _memory(launch, kernel, buffers)
        finished = self.engine.run(
            Dispatch(
                launch.code, kernel, memory, launch.grid, launch.block, lds_size,
                observers, launch.budget or self.budget, self.arithmetic, launch.watched, launch.order, launch.others,
                launch.changes, launch.defined,
            )
        )  # fmt: skip
        result = self._result(launch, memory)
        del finished  # not before: see Finished
        return result

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
            if memory.arena.has_undefined(region):
                unsigned = np.dtype(f"u{argument.data.dtype.itemsize}")
                bits = _read(memory.arena.shadow.bytes, region, argument.data, unsigned)
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
    tables = [
        GlobalBuffer(f"the pointers of {plan.name}", 8 * len(b.pointers), b"", False, writable=False)
        for plan, b in zip(plans, buffers, strict=True)
        if b.pointers
    ]
    size = max((a.offset + a.size for a in kernel.args), default=0)
    memory = place_memory(launch.code, [*plans, *tables], max(size, kernel.descriptor.kernarg_size))
    for region, buffer in zip(memory.buffers, buffers, strict=False):
        if buffer.bits is not None:
            memory.arena.blur(region, np.ascontiguousarray(buffer.bits).view(np.uint8).ravel())
    given = iter(_addresses(memory, buffers))
    explicit = [next(given) if isinstance(a, Buffer) else a.tobytes() for a in launch.args]
    memory.arena.fill(
        memory.kernarg, pack_kernarg(kernel, explicit, launch.grid, launch.block, launch.dynamic_lds)
    )
    return memory


def _addresses(memory: GlobalMemory, buffers: list[Buffer]) -> Iterator[int]:
    """What the kernel gets for each buffer: its address, or that of the pointers into it, which are filled in."""
    tables = iter(memory.buffers[len(buffers) :])
    for buffer, region in zip(buffers, memory.buffers, strict=False):
        if not buffer.pointers:
            yield address(region)
            continue
        table = next(tables)
        pointers = np.array([address(region) + offset for offset in buffer.pointers], np.uint64)
        memory.arena.fill(table, pointers.view(np.uint8))
        yield address(table)


def _read(raw: NDArray[np.uint8], region: Region, like: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    return raw[region.start : region.end].copy().view(dtype).reshape(like.shape)
