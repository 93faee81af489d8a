"""What all cohorts of a batch of workgroups share: memories, launch facts, and how faults read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.errors import ExecutionError
from layoutprobe.isa.inst import Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.memory import BASE_ADDRESS, Arena, Memory, Region
from layoutprobe.machine.observer import Observer
from layoutprobe.machine.program import Program
from layoutprobe.machine.registers import Array

_HOST_SERVICES = ("hidden_printf_buffer", "hidden_hostcall_buffer", "hidden_heap_v1")
"""Arguments that are null pointers here. Kernels compiled without optimisation have them and never
use them, so that having them is no reason to refuse a kernel. The same holds for the packets."""
_PACKET_BYTES = 64
_PACKETS = {1: "the dispatch packet", 2: "the queue"}
"""Bit of the kernel code properties -> what its pointer leads to."""
_NULL_PAGE = 4096


@dataclass(frozen=True, eq=False)
class Waves:
    """The waves of a batch.

    Attributes:
        workgroup: int64 [wave], position of the wave's workgroup in the batch.
        index: int64 [wave], position of the wave in its workgroup.
        group_id: int64 [wave, 3], workgroup id in x, y, z.
    """

    workgroup: NDArray[np.int64]
    index: NDArray[np.int64]
    group_id: NDArray[np.int64]

    __repr__ = brief


class Machine:
    """Memories and facts of one batch.

    Attributes:
        program: the kernel.
        arena: global memory.
        lds: LDS of all workgroups of the batch, one after the other.
        lds_size: bytes of LDS that a workgroup has.
        lds_base: int64 [wave, 1], where the workgroup of a wave has its LDS.
        scratch: private memory of all lanes.
        scratch_size: bytes of a lane.
        wave_size: lanes of a wave.
        signalled: bool [wave], waves that have signalled the barrier which they will wait at (RDNA4).
        waves: which waves there are.
        image: arena offset at which code address 0 lies.
        observer: who watches, if anybody.
        arithmetic: of matrix instructions and DOT2: "ieee", or "silicon" (as gfx1151 rounds).
    """

    def __init__(
        self,
        program: Program,
        arena: Arena,
        waves: Waves,
        *,
        lds_size: int,
        scratch_size: int,
        image: int,
        observer: Observer | None = None,
        arithmetic: str = "ieee",
    ) -> None:
        self.observer = observer
        self.arithmetic = arithmetic
        self.program = program
        self.arena = arena
        self.waves = waves
        self.image = image
        self.lds_size = lds_size
        stride = (lds_size + 15) // 16 * 16
        groups = int(waves.workgroup.max()) + 1 if waves.workgroup.size else 0
        self.lds = Memory(stride * groups, undefined=True)
        self.lds_base = (waves.workgroup * stride)[:, None]
        self.signalled = np.zeros(waves.workgroup.size, np.bool_)
        self.scratch_size = scratch_size
        self.wave_size = program.kernel.wavefront_size
        self._scratch_stride = (scratch_size + 15) // 16 * 16
        self.scratch = Memory(self._scratch_stride * self.wave_size * waves.workgroup.size, undefined=True)

    def code_address(self, pc: int) -> int:
        """Virtual address at which a code address is loaded."""
        return BASE_ADDRESS + self.image + pc

    def scratch_base(self, c: Cohort) -> Array:
        """Byte of the scratch memory at which each lane's part starts: int64 [wave, lane]."""
        return (c.waves[:, None] * self.wave_size + np.arange(self.wave_size)) * self._scratch_stride

    @contextmanager
    def restricted(self, c: Cohort, lanes: Array) -> Iterator[None]:
        """Run with only some of the active lanes."""
        saved = c.exec, c.lanes, c.full
        c.exec, c.full = lanes, False
        c.lanes = np.where(lanes, np.uint32(0xFFFFFFFF), np.uint32(0))
        try:
            yield
        finally:
            c.exec, c.lanes, c.full = saved

    # Faults.

    def location(self, inst: Inst) -> dict[str, object]:
        """Kernel, source line, PC and instruction, for an error."""
        where: dict[str, object] = {"kernel": self.program.kernel.name}
        line = self.program.code.lines.find(inst.pc)
        if line:
            where["line"] = line
        return where | {"PC": f"{inst.pc:#x}", "instruction": inst.name}

    def lane_location(self, c: Cohort, bad: Array) -> Mapping[str, object]:
        """Workgroup, wave and lane of the first lane that is set in `bad`."""
        position, lane = (int(x) for x in np.argwhere(np.broadcast_to(bad, c.exec.shape))[0])
        wave = int(c.waves[position])
        group = tuple(int(x) for x in self.waves.group_id[wave])
        return {"workgroup": group, "wave": int(self.waves.index[wave]), "lane": lane}

    def fault(
        self,
        c: Cohort,
        inst: Inst,
        what: str,
        bad: Array,
        *,
        address: Array | None = None,
        expected: str | None = None,
        hint: str | None = None,
        kind: str = "",
    ) -> ExecutionError:
        """The error for the first lane that is set in `bad`; for `kind` see ExecutionError."""
        where = self.location(inst) | dict(self.lane_location(c, bad))
        observed = None
        if address is not None:
            first = np.broadcast_to(address, c.exec.shape)[np.broadcast_to(bad, c.exec.shape)][0]
            observed = f"byte address {int(first)}"
        return ExecutionError(what, where=where, expected=expected, observed=observed, hint=hint, kind=kind)

    def global_fault(self, c: Cohort, inst: Inst, offsets: Array, size: int, bad: Array) -> ExecutionError:
        """The error for a global access that is in no allocation."""
        first = int(np.broadcast_to(offsets, c.exec.shape)[np.broadcast_to(bad, c.exec.shape)][0])
        region = self.arena.nearest(first)
        hint = "check the index computation and the bounds test on the path to this line"
        if 0 <= BASE_ADDRESS + first < _NULL_PAGE:
            hint = self._null_hint() or hint
        return ExecutionError(
            f"global access of {size} bytes outside every allocation",
            where=self.location(inst) | dict(self.lane_location(c, bad)),
            expected=f"an address inside {_span(region)}, the nearest allocation",
            observed=f"address {(BASE_ADDRESS + first) & 0xFFFF_FFFF_FFFF_FFFF:#x}: {_distance(region, first)}",
            hint=hint,
            kind=self._global_kind(inst, BASE_ADDRESS + first),
        )

    def _global_kind(self, inst: Inst, at: int) -> str:
        """Kind of a fault; "" where the kernel read the packet that hardware would have given it."""
        if Kind.LOAD not in inst.kind:
            return "global-store"
        has_packet = self.program.kernel.descriptor.properties >> 1 & 1
        return "" if has_packet and 0 <= at < _PACKET_BYTES else "global-load"

    def _null_hint(self) -> str:
        """What a null pointer may stand for in this kernel, "" for nothing."""
        kernel = self.program.kernel
        services = [a.kind for a in kernel.args if a.kind in _HOST_SERVICES]
        packets = [name for bit, name in _PACKETS.items() if kernel.descriptor.properties >> bit & 1]
        if not services + packets:
            return ""
        return (
            f"this may be {', '.join(services + packets)}, which the emulator does not make: printf, assert "
            "and malloc need a host; block sizes come as hidden arguments since code object version 5"
        )


def _span(region: Region) -> str:
    return f"{region.name} ({region.end - region.start} bytes)"


def _distance(region: Region, offset: int) -> str:
    if offset < region.start:
        return f"{region.start - offset} bytes before its start"
    if offset < region.end:
        return f"it starts {region.end - offset} bytes before its end"
    return f"{offset - region.end} bytes past its end"
