"""What each slot holds, typed in from the documents in the direction slot -> element.

The project has formulas element -> slot. Here: AMD's matrix instruction calculator (its inverse tables), the
CDNA ISA guides, and for f8f6f4 Triton's bases; what is sparse and new in CDNA4 follows rocjitsu. All that is
known of an instruction is read from its spelling.
"""

from __future__ import annotations

import re
from functools import cached_property

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Ints = NDArray[np.int64]

BITS = {
    "f64": 64,
    "f32": 32,
    "xf32": 32,
    "f16": 16,
    "bf16": 16,
    "i8": 8,
    "fp8": 8,
    "bf8": 8,
    "fp6": 6,
    "bf6": 6,
    "fp4": 4,
}
FORMATS = ("fp8", "bf8", "fp6", "bf6", "fp4")
LANES = 64


class Slots(Struct, frozen=True):
    """Element of every slot, int64 [lane, place]: places count elements from the lowest bit of a lane on."""

    row: Ints
    col: Ints
    bits: int

    @property
    def vgprs(self) -> int:
        return self.row.shape[1] * self.bits // 32


class Instruction(Struct, frozen=True, dict=True):
    """An instruction as its spelling tells it."""

    spelling: str

    @cached_property
    def parts(self) -> re.Match[str]:
        found = re.match(
            r"v_(s?mf)ma\w?c?_(?:scale_)?(f32|i32|f64)_(\d+)x(\d+)x(\d+)(?:_(\d+)b)?_(.*)", self.spelling
        )
        assert found is not None, self.spelling
        return found

    @property
    def sparse(self) -> bool:
        return self.spelling.startswith("v_smfmac")

    @property
    def result(self) -> str:
        return self.parts[2]

    @property
    def shape(self) -> tuple[int, int, int]:
        m, n, k = (int(self.parts[n]) for n in (3, 4, 5))
        return m, n, k

    @property
    def blocks(self) -> int:
        return int(self.parts[6] or 1)

    @property
    def types(self) -> tuple[str, str]:
        text = self.parts[7]
        if text.startswith("f8f6f4"):
            cbsz, blgp = re.findall(r":(\d)", text)
            return FORMATS[int(cbsz)], FORMATS[int(blgp)]
        a, _, b = text.partition("_")
        return a, b or a

    def operand(self, name: str) -> Slots:
        """A, B, C or D: the blocks stacked, those of A and B along their lines, D's on a diagonal."""
        if name in "CD":
            return self._result()
        slots = self._input(self.types[name == "B"], name)
        return slots if name == "A" else Slots(slots.col, slots.row, slots.bits)

    def _input(self, kind: str, name: str) -> Slots:
        dim, _, depth = self.shape
        lines, bits = dim * self.blocks, BITS[kind]
        groups = LANES // lines
        held = depth // groups // (2 if self.sparse and name == "A" else 1)
        lane, place = np.indices((LANES, held))
        line, group = lane % lines, lane // lines
        k = held * group + place
        if self.sparse and bits * depth // groups > 128:  # CDNA4's longest
            if name == "B":
                k = 8 * (groups * (place // 8) + group) + place % 8
            elif bits == 8:
                pair = place // 2
                low, middle, high = pair & 1, pair >> 1 & 1, pair >> 2
                if dim == 16:
                    four = low + 2 * high + 4 * (group & 1) + 8 * middle + 16 * (group >> 1)
                else:
                    four = low + 2 * high + 4 * middle + 8 * group
                k = 2 * four + place % 2
        elif not self.sparse and bits == 8 and held == 32:  # f8f6f4
            k = 16 * (groups * (place // 16) + group) + place % 16
        return Slots(line, k, bits)

    def index(self, chosen: int) -> Slots:
        """Two bits each: places 0 to 15 of the index register; -1 outside the chosen set."""
        a = self._input(self.types[0], "A")
        held = a.row.shape[1]
        row, col = np.full((LANES, 16), -1), np.full((LANES, 16), -1)
        row[:, chosen * held : (chosen + 1) * held] = a.row
        col[:, chosen * held : (chosen + 1) * held] = a.col
        return Slots(row, col, 2)

    def _result(self) -> Slots:
        m, n, _ = self.shape
        wide = self.result == "f64"
        lane, v = np.indices((LANES, max(1, m * n * self.blocks // LANES)))
        if (m, wide) == (16, False):
            block, row, col = v // 4, 4 * (lane // 16) + v % 4, lane % 16
        elif m == 32:
            block, row, col = v // 16, 8 * (v % 16 // 4) + 4 * (lane // 32) + v % 4, lane % 32
        elif (m, wide) == (4, False):
            block, row, col = lane // 4, v, lane % 4
        elif m == 16:
            block, row, col = v // 4, 4 * v + lane // 16, lane % 16
        else:
            block, row, col = lane % 16 // 4, lane // 16, lane % 4
        return Slots(block * m + row, block * n + col, 64 if wide else 32)


def put(slots: Slots, raw: Ints) -> NDArray[np.uint32]:
    """Registers [vgpr, lane] with the raw elements [row, col], bit by bit."""
    words = np.zeros((slots.vgprs, LANES), np.uint32)
    values = raw.astype(np.uint64)[slots.row, slots.col]
    for place in range(values.shape[1]):
        for bit in range(slots.bits):
            at = place * slots.bits + bit
            words[at // 32] |= (values[:, place] >> np.uint64(bit) & np.uint64(1)).astype(
                np.uint32
            ) << np.uint32(at % 32)
    return words


def take(slots: Slots, words: NDArray[np.uint32], shape: tuple[int, int]) -> NDArray[np.uint64]:
    """The inverse: raw elements [row, col]; 0 where no slot has one."""
    found = np.zeros(shape, np.uint64)
    for place in range(slots.row.shape[1]):
        value = np.zeros(LANES, np.uint64)
        for bit in range(slots.bits):
            at = place * slots.bits + bit
            value |= (words[at // 32] >> np.uint32(at % 32) & np.uint32(1)).astype(np.uint64) << np.uint64(
                bit
            )
        found[slots.row[:, place], slots.col[:, place]] = value
    return found
