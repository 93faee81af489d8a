"""One instruction at a time on the real machine: registers in, registers and memories out.

The bench builds what a kernel launch would build (a machine with global memory, LDS and scratch, and
a cohort of waves), binds a single instruction through the public `semantics.bind`, and executes it.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

from layoutprobe import semantics
from layoutprobe.isa.inst import EXEC_HI, EXEC_LO, SCC, VGPR0, Inst
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.machine import Machine, Waves
from layoutprobe.machine.memory import ArenaPlan, address
from layoutprobe.machine.registers import SGPRS, RegisterFile
from oracle.language import current, remembered
from oracle.pcode.lanes import Ints

U32 = NDArray[np.uint32]
Where: TypeAlias = int | NDArray[np.intp]
"""A wave or a lane, or an array of them: then what is read there is an array of ints."""
LANES = 32
"""Of the waves of RDNA3, for tests of that family alone; all else asks the image."""
VGPRS = 24
LDS_BYTES = 1 << 17
SCRATCH_BYTES = 64
BUFFER_BYTES = 1 << 12


def exact(bits: Any) -> Ints:
    """Registers as Python's integers: an int, or an object array of ints."""
    return bits.astype(object) if bits.ndim else int(bits)


class Image(Struct):
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
            rng.integers(0, 1 << 32, (VGPRS, waves, current().lanes), np.uint32),
            rng.integers(0, 1 << 32, (SGPRS, waves), np.uint32),
        )
        image.s[SCC] &= 1
        if image.lanes == 32:
            image.s[EXEC_HI] = 0
        return image

    @classmethod
    def zeros(cls, waves: int) -> Image:
        """All bits 0."""
        return cls(np.zeros((VGPRS, waves, current().lanes), np.uint32), np.zeros((SGPRS, waves), np.uint32))

    @property
    def waves(self) -> int:
        """Ints of waves."""
        return self.v.shape[1]

    def copy(self) -> Image:
        """Another image with the same registers."""
        return Image(self.v.copy(), self.s.copy())

    @property
    def lanes(self) -> int:
        """Lanes of a wave."""
        return self.v.shape[2]

    def mask(self, wave: Where) -> Ints:
        """EXEC of a wave, or of many."""
        return exact(self.s[EXEC_LO, wave]) | exact(self.s[EXEC_HI, wave]) << 32

    def activate(self, masks: ArrayLike) -> None:
        """Set EXEC of all waves, or of each: bits of the lower half; an upper half gets them reversed."""
        self.s[EXEC_LO] = masks
        if self.lanes == 64:
            self.s[EXEC_HI] = [int(f"{int(m):032b}"[::-1], 2) for m in self.s[EXEC_LO]]

    def active(self) -> NDArray[np.bool_]:
        """EXEC as bool [wave, lane]."""
        words = np.concatenate(
            [self.s[EXEC_LO + j][:, None] >> np.arange(32, dtype=np.uint32) for j in (0, 1)], 1
        )
        return np.asarray(words[:, : self.lanes] & 1 != 0)

    def wide(self, register: int, wave: Where, lane: Where, count: int = 2) -> Ints:
        """Some VGPRs of a lane, or of many, as one number, the first lowest."""
        return sum(exact(self.v[register + j, wave, lane]) << 32 * j for j in range(count))


class Outcome(Struct):
    """Registers after an instruction, and their undefined bits."""

    image: Image
    shadow: Image
    machine: Machine


def make_machine(waves: int) -> Machine:
    """A machine of one workgroup: a writable buffer, a read-only one, LDS and scratch."""
    plan = ArenaPlan()
    size = BUFFER_BYTES * current().lanes // 32
    plan.add("buffer", size, writable=True)
    plan.add("constants", size, writable=False)
    index = np.arange(waves)
    where = Waves(np.zeros(waves, np.int64), index, np.zeros((waves, 3), np.int64))
    return Machine(plan.build(), where, current().lanes, lds_size=LDS_BYTES, scratch_size=SCRATCH_BYTES)


@remembered
def idle_machine(waves: int) -> Machine:
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
    machine = machine or idle_machine(image.waves)
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


class MismatchError(AssertionError):
    """An instruction left what its oracle does not allow."""

    def __init__(
        self, inst: Inst, where: str, expected: str, observed: str, given: dict[str, str] | None = None
    ) -> None:
        sources = ", ".join(f"{k}={v}" for k, v in (given or {}).items())
        super().__init__(
            f"{inst.name} [{inst.encoding}] {where}: expected {expected}, observed {observed} from {sources}\n{inst}"
        )
