"""One instruction at a time on the real machine: registers in, registers and memories out.

The bench builds what a kernel launch would build (a machine with global memory, LDS and scratch, and
a cohort of waves), binds a single instruction through the public `semantics.bind`, and executes it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutprobe import semantics
from layoutprobe.isa.inst import EXEC_LO, SCC, VGPR0, Inst
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.machine import Machine, Waves
from layoutprobe.machine.memory import ArenaPlan, address
from layoutprobe.machine.registers import SGPRS, RegisterFile

U32 = NDArray[np.uint32]
LANES = 32
VGPRS = 24
LDS_BYTES = 1 << 17
SCRATCH_BYTES = 64
BUFFER_BYTES = 1 << 12


@dataclass
class Image:
    """Registers of some waves.

    Attributes:
        v: VGPRs [register, wave, lane].
        s: scalar registers [register, wave] by their encoding; 128 is SCC.
    """

    v: U32
    s: U32

    @classmethod
    def random(cls, rng: np.random.Generator, waves: int) -> Image:
        """Random bits everywhere, EXEC partly off, SCC 0 or 1."""
        image = cls(
            rng.integers(0, 1 << 32, (VGPRS, waves, LANES), np.uint32),
            rng.integers(0, 1 << 32, (SGPRS, waves), np.uint32),
        )
        image.s[SCC] &= 1
        image.s[EXEC_LO + 1] = 0
        return image

    @classmethod
    def zeros(cls, waves: int) -> Image:
        """All bits 0."""
        return cls(np.zeros((VGPRS, waves, LANES), np.uint32), np.zeros((SGPRS, waves), np.uint32))

    @property
    def waves(self) -> int:
        """Number of waves."""
        return self.v.shape[1]

    def copy(self) -> Image:
        """Another image with the same registers."""
        return Image(self.v.copy(), self.s.copy())

    def active(self) -> NDArray[np.bool_]:
        """EXEC as bool [wave, lane]."""
        bits: NDArray[np.bool_] = (self.s[EXEC_LO][:, None] >> np.arange(LANES, dtype=np.uint32)) & 1 != 0
        return bits

    def wide(self, register: int, wave: int, lane: int, count: int = 2) -> int:
        """Some VGPRs of a lane as one number, the first lowest."""
        return sum(int(self.v[register + j, wave, lane]) << 32 * j for j in range(count))


@dataclass
class Outcome:
    """Registers after an instruction, and their undefined bits."""

    image: Image
    shadow: Image
    machine: Machine


def make_machine(waves: int) -> Machine:
    """A machine of one workgroup: a writable buffer, a read-only one, LDS and scratch."""
    plan = ArenaPlan()
    plan.add("buffer", BUFFER_BYTES, writable=True)
    plan.add("constants", BUFFER_BYTES, writable=False)
    index = np.arange(waves)
    where = Waves(np.zeros(waves, np.int64), index, np.zeros((waves, 3), np.int64))
    return Machine(plan.build(), where, LANES, lds_size=LDS_BYTES, scratch_size=SCRATCH_BYTES)


@cache
def _idle_machine(waves: int) -> Machine:
    """The machine of instructions that touch no memory."""
    return make_machine(waves)


def buffer_address(machine: Machine, which: int = 0) -> int:
    """Virtual address of a buffer's first byte."""
    return address(machine.arena.regions[which])


def execute(
    inst: Inst,
    image: Image,
    *,
    shadow: Image | None = None,
    machine: Machine | None = None,
    executor: Any = None,
) -> Outcome:
    """Execute one instruction for all waves of the image, which stays as it is.

    Args:
        inst: what to execute.
        image: the registers before.
        shadow: undefined bits; all registers are defined without it.
        machine: memories; a fresh one by default is shared by all calls, so pass one for loads and stores.
        executor: instead of what `semantics.bind` gives; for deliberately wrong ones.
    """
    machine = machine or _idle_machine(image.waves)
    shadow = shadow.copy() if shadow is not None else Image.zeros(image.waves)
    undef = _undefined(shadow)
    after = image.copy()
    cohort = Cohort(
        machine,
        inst.pc,
        np.arange(image.waves),
        RegisterFile(after.v, after.s[..., None]),
        RegisterFile(shadow.v, shadow.s[..., None]),
        undef,
    )
    run = semantics.bind(inst) if executor is None else executor
    if run is not None:
        with np.errstate(all="ignore"):
            run(cohort)
    _undef_is_sound(cohort, shadow)
    _exec_is_fresh(cohort, after)
    return Outcome(after, shadow, machine)


def _undefined(shadow: Image) -> int:
    """A bit per register that holds undefined bits, as a cohort keeps them."""
    scalars, vectors = shadow.s.any(axis=1), shadow.v.any(axis=(1, 2))
    bits = sum(1 << number for number in np.flatnonzero(scalars).tolist())
    return bits | sum(1 << VGPR0 + number for number in np.flatnonzero(vectors).tolist())


def _undef_is_sound(cohort: Cohort, shadow: Image) -> None:
    """Where a bit of `undef` is clear, the shadow is all zero: what makes tracking cheap."""
    hidden = _undefined(shadow) & ~cohort.undef
    assert not hidden, f"undef hides undefined bits of the registers {hidden:#x}"


def _exec_is_fresh(cohort: Cohort, after: Image) -> None:
    """The cohort's lane masks are those of its EXEC register."""
    assert np.array_equal(cohort.exec, after.active()), "the cohort's lane mask is stale"
    assert cohort.full == bool(after.active().all())
    assert np.array_equal(cohort.lanes != 0, after.active())


@dataclass
class MismatchError(AssertionError):
    """An instruction left what its oracle does not allow."""

    inst: Inst
    where: str
    expected: str
    observed: str
    given: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        sources = ", ".join(f"{k}={v}" for k, v in self.given.items())
        return (
            f"{self.inst.name} [{self.inst.encoding}] {self.where}: expected {self.expected}, "
            f"observed {self.observed} from {sources}\n{self.inst}"
        )
