"""Undefined bits on their way out of LDS: loads that return them, matrix operands, global stores.

Copying an undefined value is legal (as in memcheck), and kernels do it: the last tile of a ragged
problem may carry rows that nobody stores. So a load is only noted; what counts is what reaches the
output. Values that reach an address or a branch stop the emulator by themselves.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe.isa.inst import VGPR0, Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.machine import Machine
from layoutprobe.machine.memory import Addresses
from layoutprobe.machine.program import Program
from layoutprobe.machine.registers import Array
from layoutprobe.observe.base import Recorder
from layoutprobe.observe.who import Who, who_is


class UndefinedLoad(Struct, eq=False):
    """An LDS load that returned bits that nobody had stored.

    Attributes:
        inst: the load.
        who: the first lane that got them, of a wave that stored undefined bits if any did.
        byte: LDS byte of the workgroup, the first undefined one.
        below, above: the nearest defined bytes of the workgroup's LDS at that time; None: there
            is none on that side.
        count: how many times a lane got some.
    """

    inst: Inst
    who: Who
    byte: int
    below: int | None
    above: int | None
    count: int = 0


class UndefinedUse(Struct, eq=False):
    """A matrix operand, or the data of a global store, with undefined bits.

    Attributes:
        inst: the matrix instruction or the store.
        role: "A", "B" or "C" of a matrix instruction, "data" of a store.
        who: the first lane.
        vgpr: its register.
        load: the LDS load that last brought undefined bits into that register, if one did.
        count: how many times a lane's register had some.
    """

    inst: Inst
    role: str
    who: Who
    vgpr: int
    load: Inst | None
    count: int = 0


class UndefinedRecord(Struct, frozen=True):
    """Where undefined bits were seen, one entry per instruction (and operand).

    Attributes:
        loads: from LDS.
        operands: of matrix instructions.
        stores: to global memory.
        lds_loads: sites of LDS loads executed.
    """

    loads: tuple[UndefinedLoad, ...]
    operands: tuple[UndefinedUse, ...]
    stores: tuple[UndefinedUse, ...]
    lds_loads: int


class UndefinedObserver(Recorder):
    """Watches LDS loads, matrix operands and global stores for undefined bits."""

    def __init__(self) -> None:
        self._loads: dict[int, dict[tuple[int, int], UndefinedLoad]] = {}  # PC -> batch, wave
        self._leaks: set[tuple[int, int]] = set()  # batch, wave
        self._batch = 0
        self._uses: dict[tuple[int, str], UndefinedUse] = {}
        self._sites: set[int] = set()
        self._brought: dict[int, Inst] = {}  # VGPR -> load

    def batch(self, machine: Machine, program: Program) -> None:
        """See Observer."""
        self._batch += 1

    def access(self, c: Cohort, inst: Inst, place: Addresses, size: int, *, store: bool) -> None:
        """See Observer."""
        if place.memory is c.machine.lds:
            if not store or Kind.ATOMIC in inst.kind:
                self._load(c, inst, place, size)
        elif store and place.memory is c.machine.arena and c.undef >> VGPR0:
            data = inst.src[0] if inst.encoding == "MUBUF" else inst.src[1]
            self._use(c, inst, "data", data.index, (size + 3) // 4, place.mask)

    def matrix(self, c: Cohort, inst: Inst) -> None:
        """See Observer."""
        if not c.undef >> VGPR0:
            return
        everyone = np.ones(c.exec.shape, np.bool_)  # matrix instructions ignore EXEC
        for role, operand in zip("ABC", inst.src, strict=False):
            if operand.kind == "v":
                self._use(c, inst, role, operand.index, operand.regs, everyone)

    def record(self) -> UndefinedRecord:
        """What was seen so far."""
        uses = self._uses.values()
        return UndefinedRecord(
            tuple(self._first(waves) for waves in self._loads.values()),
            tuple(use for use in uses if use.role != "data"),
            tuple(use for use in uses if use.role == "data"),
            len(self._sites),
        )

    def _first(self, waves: dict[tuple[int, int], UndefinedLoad]) -> UndefinedLoad:
        """One load, shown by a wave for which it mattered."""
        first = min(waves, key=lambda key: (key not in self._leaks, key))
        return replace(waves[first], count=sum(load.count for load in waves.values()))

    def _load(self, c: Cohort, inst: Inst, place: Addresses, size: int) -> None:
        self._sites.add(inst.pc)
        bits = place.memory.shadow.gather(place.offsets, size, place.low_bits)
        if not bits.any():
            return
        bad = (bits != 0).any(axis=-1) & place.mask
        if not bad.any():
            return
        for target in inst.dst:
            self._brought |= dict.fromkeys(range(target.index, target.index + target.regs), inst)
        seen = self._loads.setdefault(inst.pc, {})
        for position in np.flatnonzero(bad.any(axis=1)):
            wave = int(c.waves[position])
            known = seen.get((self._batch, wave))
            if known is None:
                lane = int(np.argmax(bad[position]))
                start = int(place.offsets[position, lane]) - int(c.machine.lds_base[wave, 0])
                byte, below, above = _gap(_defined(c.machine, wave), start, size)
                known = UndefinedLoad(inst, who_is(c.machine, wave, lane), byte, below, above)
                seen[self._batch, wave] = known
            known.count += int(bad[position].sum())

    def _use(self, c: Cohort, inst: Inst, role: str, first: int, count: int, mask: Array) -> None:
        for vgpr in range(first, first + count):
            if not c.undef >> VGPR0 + vgpr & 1:
                continue
            bits = c.shadow.u[vgpr]
            if "d16_hi" in inst.name:
                bits = bits >> np.uint32(16)
            elif inst.name.endswith(("b8", "b16")):
                bits = bits & np.uint32(0xFFFF if inst.name.endswith("b16") else 0xFF)
            bad = (bits != 0) & mask
            if not bad.any():
                continue
            if role == "data":
                self._leaks.update((self._batch, int(wave)) for wave in c.waves[bad.any(axis=1)])
            known = self._uses.get((inst.pc, role))
            if known is None:
                position, lane = (int(i) for i in np.argwhere(bad)[0])
                who = who_is(c.machine, int(c.waves[position]), lane)
                known = UndefinedUse(inst, role, who, vgpr, self._brought.get(vgpr))
                self._uses[inst.pc, role] = known
            known.count += int(bad.sum())


def _defined(machine: Machine, wave: int) -> NDArray[np.bool_]:
    """Which bytes of the LDS of a wave's workgroup are wholly defined."""
    start = int(machine.lds_base[wave, 0])
    return machine.lds.shadow.bytes[start : start + machine.lds_size] == 0


def _gap(defined: NDArray[np.bool_], start: int, size: int) -> tuple[int, int | None, int | None]:
    """The first undefined byte from `start` on, and the defined ones nearest to it."""
    byte = start + int(np.argmin(defined[start : start + size]))
    below, above = np.flatnonzero(defined[:byte]), np.flatnonzero(defined[byte:])
    return byte, int(below[-1]) if below.size else None, byte + int(above[0]) if above.size else None
