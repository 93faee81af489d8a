"""Accumulators that carry numbers: where does each slot of D end up, and which products share one?

After every matrix instruction, D is replaced by numbers that name its slots. A kernel may move them
between registers, feed them to the next matrix instruction as C, and store them; what arrives tells
where it came from. Instructions whose C already holds the numbers of an earlier D accumulate into
the same *chain* and get the same numbers again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.isa.inst import Inst
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.machine import Machine
from layoutprobe.machine.program import Program
from layoutprobe.numbers import DigitCode, element_type
from layoutprobe.observe.base import Recorder
from layoutprobe.observe.matrix import SLOTS, Ints, WaveCounter, WaveTable, Words

FROM_ZERO, FROM_OTHER = 0, 1
"""What C held where a chain begins: zeros, or anything else that is no chain."""

MAX_CHAINS = 1 << 20
_INLINE_ZERO = 128


@dataclass(frozen=True, eq=False)
class Link:
    """One instruction, executed by several waves together, and the chain that each adds to.

    Attributes:
        inst: the instruction.
        wave, turn: int64 [wave], as in an Execution.
        chain: int64 [wave], numbered over the launch.
    """

    inst: Inst
    wave: Ints
    turn: Ints
    chain: Ints

    __repr__ = brief


@dataclass(frozen=True, eq=False)
class Chains:
    """What was accumulated where. Slots of D are numbered VGPR, then element of the register (where
    D has two in each), then lane, last fastest; slot s of chain c has the number 256 * c + s.

    Attributes:
        waves: all waves of the launch.
        links: in the order of execution.
        wave: int64 [chain].
        start: int8 [chain], FROM_ZERO or FROM_OTHER.
        complete: False where there were more chains than numbers.
    """

    waves: WaveTable
    links: tuple[Link, ...]
    wave: Ints
    start: NDArray[np.int8]
    complete: bool

    __repr__ = brief


@dataclass(frozen=True)
class AccumulatorCoding:
    """Makes the coders of one digit; equal ones make equal coders."""

    codes: DigitCode
    place: int = 0

    def __call__(self) -> Recorder:
        """A coder for one launch."""
        return AccumulatorCoder(self.codes, self.place)


class AccumulatorCoder(WaveCounter):
    """Replaces D by the numbers of its slots. Unlike other observers, it changes the run."""

    def __init__(self, codes: DigitCode, place: int = 0) -> None:
        super().__init__()
        self._codes = codes
        self._place = place
        self._links: list[Link] = []
        self._wave: list[Ints] = []
        self._start: list[NDArray[np.int8]] = []
        self._count = 0
        self._complete = True
        # Chain that was last written to each block of registers, [wave, first register + 256 * half].
        self._held = np.zeros((0, 512), np.int64)
        self._chain = np.zeros(0, np.int64)

    def batch(self, machine: Machine, program: Program) -> None:
        """See Observer."""
        super().batch(machine, program)
        fresh = np.full((machine.waves.index.size, 512), -1, np.int64)
        self._held = fresh  # of this batch: waves of earlier ones have ended

    def matrix(self, c: Cohort, inst: Inst) -> None:
        """See Observer."""
        wave, turn = self.numbered(c)
        chain, zero = self._chain_of_c(c, inst)
        new = chain < 0
        count = int(new.sum())
        chain[new] = self._count + np.arange(count)
        self._count += count
        self._wave.append(wave[new])
        self._start.append(np.where(zero[new], FROM_ZERO, FROM_OTHER).astype(np.int8))
        if self._count * SLOTS > self._codes.capacity or self._count > MAX_CHAINS:
            self._complete = False
            chain %= min(MAX_CHAINS, self._codes.capacity // SLOTS)
        self._chain = chain
        self._links.append(Link(inst, wave, turn, chain))

    def matrix_done(self, c: Cohort, inst: Inst) -> None:
        """See Observer."""
        at, held = inst.dst[0].index, _Elements.of(inst, c.size)
        registers = c.regs.vgprs[at : at + inst.dst[0].regs]
        registers &= ~held.mask
        registers |= self._words(self._chain, held)
        c.shadow.vgprs[at : at + inst.dst[0].regs] &= ~held.mask
        self._held[c.waves, at + held.key] = self._chain

    def record(self) -> Chains:
        """See Recorder."""
        wave = np.concatenate([np.zeros(0, np.int64), *self._wave])
        start = np.concatenate([np.zeros(0, np.int8), *self._start])
        return Chains(self.waves(), tuple(self._links), wave, start, self._complete)

    def _chain_of_c(self, c: Cohort, inst: Inst) -> tuple[Ints, NDArray[np.bool_]]:
        """Chain whose numbers C holds, slot for slot, or -1; and whether C is zero."""
        source = inst.src[2]
        none = np.full(c.waves.size, -1, np.int64)
        if source.kind != "v":
            return none, np.full(none.size, source.index == _INLINE_ZERO)
        elements = _Elements.of(inst, c.size)
        content = c.regs.vgprs[source.index : source.index + source.regs] & elements.mask
        held = self._held[c.waves]
        found = self._confirm(content, held[:, source.index + elements.key], elements)
        if (found < 0).any():
            # Perhaps the kernel moved them: look for their first number among all of the wave's chains.
            for block in np.flatnonzero((held >= 0).any(axis=0)):
                lost = found < 0
                if not lost.any():
                    break
                found[lost] = self._confirm(content[:, lost], held[lost, block], elements)
        zero = np.asarray(~content.any(axis=(0, 2)))
        spilled = np.flatnonzero((found < 0) & ~zero)
        if spilled.size and self._wave:
            owner = np.concatenate(self._wave)
            for row in spilled:
                begun = np.flatnonzero(owner == self.number(c)[row])
                found[row] = self._recalled(content[:, row], begun, elements)
        return found, zero

    def _recalled(self, content: Words, begun: Ints, elements: _Elements) -> int:
        """Which of the chains that a wave has begun these numbers belong to, or -1.

        For chains that were away in scratch while others used their registers.
        """
        first = elements.encoded(self._codes.digit(begun * SLOTS, self._place))
        for chain in begun[first == content[0, 0] >> elements.shifts[0] & elements.whole]:
            if self._confirm(content[:, None], chain[None], elements)[0] >= 0:
                return int(chain)
        return -1

    def _confirm(self, content: Words, chain: Ints, elements: _Elements) -> Ints:
        """The chain where all its numbers are in their places, else -1."""
        likely = chain >= 0
        result = np.full(chain.size, -1, np.int64)
        if likely.any():
            equal = (content[:, likely] == self._words(chain[likely], elements)).all(axis=(0, 2))
            result[likely] = np.where(equal, chain[likely], -1)
        return result

    def _words(self, chain: Ints, elements: _Elements) -> Words:
        """Registers of D that hold the numbers of chains: uint32 [vgpr, wave, lane]."""
        each, lanes = len(elements.shifts), elements.lanes
        slot = np.arange(SLOTS, dtype=np.int64).reshape(-1, each, 1, lanes)
        numbers = self._codes.digit(chain[None, None, :, None] * SLOTS + slot, self._place)
        shifts = np.array(elements.shifts, np.uint32).reshape(1, each, 1, 1)
        return np.asarray(np.bitwise_or.reduce(elements.encoded(numbers) << shifts, axis=1))


def result_type(inst: Inst) -> str:
    """Element type of D: "f32", "i32", "f16" or "bf16", as the mnemonic has it."""
    return inst.name.split("_")[2]


@dataclass(frozen=True)
class _Elements:
    """How a matrix instruction writes its D.

    Attributes:
        result: type of an element.
        lanes: of a wave.
        shifts: lowest bit of each element of a register.
    """

    result: str
    lanes: int
    shifts: tuple[int, ...]

    @classmethod
    def of(cls, inst: Inst, lanes: int) -> _Elements:
        result = result_type(inst)
        if element_type(result).bits == 32:
            return cls(result, lanes, (0,))
        if 2 * lanes * inst.dst[0].regs == SLOTS:  # RDNA4 packs 16-bit results
            return cls(result, lanes, (0, 16))
        return cls(result, lanes, (16 if inst.mods.get("opsel", 0) & 4 else 0,))

    @property
    def whole(self) -> np.uint32:
        """Bits of an element."""
        return np.uint32(element_type(self.result).mask)

    @property
    def mask(self) -> np.uint32:
        """Bits of a register that the instruction writes."""
        return np.uint32(sum(int(self.whole) << shift for shift in self.shifts))

    @property
    def key(self) -> int:
        """Tells chains apart that lie in the two halves of the same registers."""
        return 256 if self.shifts == (16,) else 0

    def encoded(self, number: Ints) -> Words:
        """Numbers as elements, at bit 0."""
        return element_type(self.result).encode(number).astype(np.uint32)
