"""Accumulators that carry numbers: where does each slot of D end up, and which products share one?

After every matrix instruction, D is replaced by numbers that name its slots. A kernel may move them
between registers, feed them to the next matrix instruction as C, and store them; what arrives tells
where it came from. Instructions whose C already holds the numbers of an earlier D accumulate into
the same *chain* and get the same numbers again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.isa.inst import Inst
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.machine import Machine
from layoutprobe.machine.program import Program
from layoutprobe.numbers import DigitCode
from layoutprobe.observe.base import Recorder
from layoutprobe.observe.matrix import Ints, WaveCounter, WaveTable, Words
from layoutprobe.observe.results import Result

FROM_ZERO, FROM_OTHER = 0, 1
"""What C held where a chain begins: zeros, or anything else that is no chain."""

MAX_CHAINS = 1 << 20
_MADE = 32
"""Groups of chains whose registers are kept."""
_INLINE_ZERO = 128


class Link(Struct, frozen=True, eq=False):
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


class Chains(Struct, frozen=True, eq=False):
    """What was accumulated where.

    Attributes:
        slots: numbers that each chain has; slot s of chain c (see `Result`) has the number
            slots * c + s.
        waves: all waves of the launch.
        links: in the order of execution.
        wave: int64 [chain].
        start: int8 [chain], FROM_ZERO or FROM_OTHER.
        complete: False where there were more chains than numbers.
    """

    slots: int
    waves: WaveTable
    links: tuple[Link, ...]
    wave: Ints
    start: NDArray[np.int8]
    complete: bool

    __repr__ = brief


class AccumulatorCoding(Struct, frozen=True):
    """Makes the coders of one digit; equal ones make equal coders.

    Attributes:
        codes: the digits of a number.
        slots: numbers that each chain has: as many as the kernel's largest D has elements.
        place: which digit.
        values: what numbers are given in place of their digits, as f32, the last one for all that follow; empty for
            the digits.
    """

    codes: DigitCode
    slots: int
    place: int = 0
    values: bytes = b""

    def __call__(self) -> Recorder:
        """A coder for one launch."""
        return AccumulatorCoder(self)


class AccumulatorCoder(WaveCounter):
    """Replaces D by the numbers of its slots. Unlike other observers, it changes the run."""

    def __init__(self, coding: AccumulatorCoding) -> None:
        super().__init__()
        self._codes, self._slots, self._place = coding.codes, coding.slots, coding.place
        self._values = np.frombuffer(coding.values, np.float32)
        self._links: list[Link] = []
        self._wave: list[Ints] = []
        self._start: list[NDArray[np.int8]] = []
        self._count = 0
        self._complete = True
        # Chain that was last written from each register on, [wave, register]: those of upper halves
        # behind those of whole registers and lower halves.
        self._held: Ints | None = None
        self._chain = np.zeros(0, np.int64)
        self._made: dict[tuple[bytes, Result], Words] = {}  # chains -> registers that hold their numbers

    def batch(self, machine: Machine, program: Program) -> None:
        """See Observer."""
        super().batch(machine, program)
        self._held = None  # waves of earlier batches have ended

    def matrix(self, c: Cohort, inst: Inst) -> None:
        """See Observer."""
        wave, turn = self.numbered(c)
        if self._held is None:
            waves, registers = c.machine.waves.index.size, c.regs.count
            self._held = np.full((waves, 2 * registers), -1, np.int64)
        chain, zero = self._chain_of_c(c, inst, self._held[c.waves])
        new = chain < 0
        count = int(new.sum())
        chain[new] = self._count + np.arange(count)
        self._count += count
        self._wave.append(wave[new])
        self._start.append(np.where(zero[new], FROM_ZERO, FROM_OTHER).astype(np.int8))
        if self._count * self._slots > self._codes.capacity or self._count > MAX_CHAINS:
            self._complete = False
            chain %= min(MAX_CHAINS, self._codes.capacity // self._slots)
        self._chain = chain
        self._links.append(Link(inst, wave, turn, chain))

    def matrix_done(self, c: Cohort, inst: Inst) -> None:
        """See Observer."""
        at, result = inst.dst[0].index, Result.of(inst, c.size)
        registers = c.regs.rows(at, inst.dst[0].regs)
        registers &= ~result.mask
        registers |= self._words(self._chain, result)
        undefined = c.shadow.rows(at, inst.dst[0].regs)
        undefined &= ~result.mask
        assert self._held is not None, "`matrix` comes first"
        self._held[c.waves, _key(c, at, result)] = self._chain

    def record(self) -> Chains:
        """See Recorder."""
        wave = np.concatenate([np.zeros(0, np.int64), *self._wave])
        start = np.concatenate([np.zeros(0, np.int8), *self._start])
        return Chains(self._slots, self.waves(), tuple(self._links), wave, start, self._complete)

    def _chain_of_c(self, c: Cohort, inst: Inst, held: Ints) -> tuple[Ints, NDArray[np.bool_]]:
        """Chain whose numbers C holds, slot for slot, or -1; and whether C is zero."""
        source = inst.src[2]
        none = np.full(c.waves.size, -1, np.int64)
        if source.kind != "v":
            return none, np.full(none.size, source.index == _INLINE_ZERO)
        result = Result.of(inst, c.size)
        content = c.regs.rows(source.index, source.regs) & result.mask
        found = self._confirm(content, held[:, _key(c, source.index, result)], result)
        if (found < 0).any():
            # Perhaps the kernel moved them: look for their first number among all of the wave's chains.
            for block in np.flatnonzero((held >= 0).any(axis=0)):
                lost = found < 0
                if not lost.any():
                    break
                found[lost] = self._confirm(content[:, lost], held[lost, block], result)
        zero = np.asarray(~content.any(axis=(0, 2)))
        spilled = np.flatnonzero((found < 0) & ~zero)
        if spilled.size and self._wave:
            owner = np.concatenate(self._wave)
            for row in spilled:
                begun = np.flatnonzero(owner == self.number(c)[row])
                found[row] = self._recalled(content[:, row], begun, result)
        return found, zero

    def _recalled(self, content: Words, begun: Ints, result: Result) -> int:
        """Which of the chains that a wave has begun these numbers belong to, or -1.

        For chains that were away in scratch while others used their registers.
        """
        first = result.first_word(self._given(begun * self._slots))
        slot_0 = content[result.words - 1, 0]
        if len(result.shifts) > 1:
            slot_0 = slot_0 & np.uint32(result.kind.mask)
        for chain in begun[first == slot_0]:
            if self._confirm(content[:, None], chain[None], result)[0] >= 0:
                return int(chain)
        return -1

    def _confirm(self, content: Words, chain: Ints, result: Result) -> Ints:
        """The chain where all its numbers are in their places, else -1."""
        likely = chain >= 0
        found = np.full(chain.size, -1, np.int64)
        if likely.any():
            equal = (content[:, likely] == self._words(chain[likely], result)).all(axis=(0, 2))
            found[likely] = np.where(equal, chain[likely], -1)
        return found

    def _words(self, chain: Ints, result: Result) -> Words:
        """Registers of D that hold the numbers of chains: uint32 [vgpr, wave, lane]. The chains of a loop come again
        and again: before each instruction and behind it."""
        key = chain.tobytes(), result
        if key not in self._made:
            if len(self._made) == _MADE:
                self._made.clear()
            number = chain[:, None] * self._slots + np.arange(result.slots, dtype=np.int64)
            self._made[key] = result.registers(self._given(number))
        return self._made[key]

    def _given(self, number: Ints) -> NDArray[Any]:
        """What slots of these numbers are given."""
        if self._values.size:
            return self._values[np.minimum(number, self._values.size - 1)]
        return self._codes.digit(number, self._place)


def _key(c: Cohort, register: int, result: Result) -> int:
    """Place of a D that begins in a register, among those that are remembered of a wave."""
    return register + (c.regs.count if result.upper else 0)
