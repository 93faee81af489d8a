"""How a matrix instruction writes its D: how many slots it has, and where each lies."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.isa.inst import Inst
from layoutprobe.isa.matrix import matrix_form
from layoutprobe.numbers import ElementType, element_type

Ints = NDArray[np.int64]
Words = NDArray[np.uint32]


class Result(Struct, frozen=True):
    """D of an instruction in one wave.

    Its slots are numbered register, then element of the register (where it has several), then lane,
    last fastest. A 64-bit element takes two registers.

    Attributes:
        kind: type of an element.
        lanes: of a wave.
        slots: elements of D.
        shifts: lowest bit of each element of a register.
    """

    kind: ElementType
    lanes: int
    slots: int
    shifts: tuple[int, ...]

    @classmethod
    def of(cls, inst: Inst, lanes: int) -> Result:
        """The D of a matrix instruction that a family has."""
        form = matrix_form(inst)
        assert form is not None, inst.name
        kind, slots = element_type(form.result), prod(form.shape[:2]) * form.blocks
        each = slots * -(-kind.bits // 32) // (lanes * inst.dst[0].regs)
        upper = each == 1 and kind.bits <= 16 and inst.mods.get("opsel", 0) & 4
        shifts = (16,) if upper else tuple(kind.bits * place for place in range(each))
        return cls(kind, lanes, slots, shifts)

    @property
    def words(self) -> int:
        """Registers that an element takes."""
        return -(-self.kind.bits // 32)

    @property
    def mask(self) -> np.uint32:
        """Bits of a register that the instruction writes."""
        whole = self.kind.mask & 0xFFFFFFFF
        return np.uint32(sum(whole << shift for shift in self.shifts))

    @property
    def upper(self) -> bool:
        """It writes the upper halves of its registers alone: the lower ones may be another D's."""
        return self.shifts == (16,)

    def register(self, slot: int) -> int:
        """The first register of a slot, counted from that of D."""
        return slot // self.lanes // len(self.shifts) * self.words

    def first_word(self, numbers: NDArray[Any]) -> Words:
        """What the last register of slot 0 holds for each number that it may have: like `numbers`."""
        high = self.kind.encode(numbers).astype(np.uint64) >> np.uint64(32 * (self.words - 1))
        return high.astype(np.uint32) << np.uint32(self.shifts[0])

    def registers(self, numbers: NDArray[Any]) -> Words:
        """The registers of D that hold these numbers: uint32 [vgpr, wave, lane].

        Args:
            numbers: [wave, slot], exact in the type of an element.
        """
        axes = (len(numbers), -1, len(self.shifts), self.lanes)
        raw = self.kind.encode(numbers).reshape(axes).transpose(1, 2, 0, 3)
        if self.words > 1:
            parts = [raw[:, 0] >> np.uint64(32 * word) & np.uint64(0xFFFFFFFF) for word in range(self.words)]
            return np.stack(parts, axis=1).astype(np.uint32).reshape(-1, *raw.shape[2:])
        shifts = np.array(self.shifts, np.uint32).reshape(1, -1, 1, 1)
        return np.asarray(np.bitwise_or.reduce(raw.astype(np.uint32) << shifts, axis=1))
