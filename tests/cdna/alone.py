"""One matrix instruction on matrices: put into registers by the documents' inverse tables, and taken out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from cdna.inverse import LANES, Instruction, put, take
from layoutprobe.isa.inst import Inst, Operand
from layoutprobe.numbers import element_type
from layoutprobe.semantics import execute

Numbers = NDArray[np.float64]
Words = NDArray[np.uint32]


def raw(kind: str, numbers: Numbers) -> NDArray[np.integer]:
    return element_type(kind).encode(numbers.astype(np.int64) if kind in ("i8", "i32") else numbers)


class Alone(Struct):
    """An instruction with registers of its own, v[4:], garbage in all others.

    Attributes:
        spelling: of the instruction.
        fnuz: 8-bit floats are CDNA3's.
        mods: further decoded modifiers.
        words: registers by operand, "A", "B", "C", and what comes behind them.
        constant: C is that inline constant (its encoding).
    """

    spelling: str
    fnuz: bool = False
    mods: Mapping[str, int] = field(default_factory=dict)
    words: dict[str, Words] = field(default_factory=dict)
    constant: int | None = None

    @property
    def instruction(self) -> Instruction:
        return Instruction(self.spelling)

    @property
    def types(self) -> tuple[str, str, str]:
        suffix = "_fnuz" if self.fnuz else ""
        a, b = (kind + suffix if kind in ("fp8", "bf8") else kind for kind in self.instruction.types)
        return a, b, self.instruction.result

    def give(self, a: Numbers, b: Numbers, c: Numbers) -> Alone:
        """Matrices, the blocks' lines stacked: A [row, k], B [k, col], C [row, col]."""
        for name, kind, numbers in zip("ABC", self.types, (a, b, c), strict=True):
            self.words[name] = put(self.instruction.operand(name), raw(kind, numbers).astype(np.int64))
        return self

    def registers(self, extra: Sequence[str] = ()) -> Words:
        """D's registers after the instruction: [vgpr, lane]. D is where C is."""
        name, _, written = self.spelling.partition(" ")
        operands, parts, at = {}, [np.full((4, LANES), 0xDEADBEEF, np.uint32)], 4
        for key, words in self.words.items():
            operands[key] = Operand("v", at, len(words), 32 * len(words))
            parts.append(words)
            at += len(words)
        target = operands["C"]
        if self.constant is not None:
            operands["C"] = Operand("const", self.constant, target.regs, target.bits)
        order = ("A", "B", "index" if self.instruction.sparse else "C", *extra)
        mods = dict(zip(("cbsz", "blgp"), (int(x[-1]) for x in written.split()), strict=False))
        mods |= {"fnuz": int(self.fnuz), **self.mods}
        sources = tuple(operands[key] for key in order)
        inst = Inst(0, 8, name, "MAI", (target,), sources, {k: v for k, v in mods.items() if v})
        before = np.concatenate(parts)
        after = execute(inst, before[:, None])[:, 0]
        untouched = np.ones(len(before), bool)
        untouched[target.index : target.index + target.regs] = False
        np.testing.assert_array_equal(after[untouched], before[untouched])
        return after[target.index : target.index + target.regs]

    def product(self, extra: Sequence[str] = ()) -> Numbers:
        """D [row, col]; of several blocks the blocks on the diagonal."""
        slots, (m, n, _) = self.instruction.operand("D"), self.instruction.shape
        blocks = self.instruction.blocks
        found = take(slots, self.registers(extra), (m * blocks, n * blocks))
        kind = element_type(self.types[2])
        return kind.decode(found.astype(kind.raw))
