"""A card that does what tables say: a backend that computes D of the interaction probe with numpy.

It runs no code; it takes the probe's launches and answers as an instruction with those layouts
would. What the tables say may be wrong on purpose.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from instructions.calculator import HOLE, Table
from layoutprobe.backends.base import Buffer, Launch, RunResult
from layoutprobe.capture.capture import Evidence
from layoutprobe.instructions import Variant

Ints = NDArray[np.int64]
Words = NDArray[np.uint32]


def numbers(raw: NDArray[np.integer], kind: str) -> NDArray[np.float64]:
    """Numbers of raw elements; integers unsigned, floats without NaN."""
    raw = raw.astype(np.uint32)
    if kind == "f32":
        return raw.view(np.float32).astype(np.float64)
    if kind == "i32":
        return raw.view(np.int32).astype(np.float64)
    if kind == "bf16":
        return (raw << 16).view(np.float32).astype(np.float64)
    if kind == "f16":
        return raw.astype(np.uint16).view(np.float16).astype(np.float64)
    if kind == "bf8":
        return (raw << 8).astype(np.uint16).view(np.float16).astype(np.float64)
    if kind == "fp8":
        exponent, fraction = (raw >> 3).astype(np.int64), (raw & 7) / 8
        return np.where(exponent > 0, (1 + fraction) * 2.0 ** (exponent - 7), fraction * 2.0**-6)
    return raw.astype(np.float64)


def raw_of(value: NDArray[np.float64], kind: str) -> Words:
    """The inverse for results."""
    if kind == "f32":
        return value.astype(np.float32).view(np.uint32)
    if kind == "i32":
        return value.astype(np.int64).astype(np.uint32)
    if kind == "f16":
        return value.astype(np.float16).view(np.uint16).astype(np.uint32)
    return value.astype(np.float32).view(np.uint32) >> np.uint32(16)


def fields(words: Words, bits: int) -> Words:
    """Slots [wave, lane, vgpr, field] of registers [wave, vgpr, lane]."""
    shifts = np.arange(0, 32, bits, dtype=np.uint32)
    return words.transpose(0, 2, 1)[..., None] >> shifts & np.uint32((1 << bits) - 1)


class Card(Struct):
    """Backend of one instruction.

    Attributes:
        variant: whose launches it takes.
        tables: "A", "B", "C", "D" and "index": element of every slot.
        own_copies: outputs read the copies of A and B in their own sixteen lanes (RDNA3 as
            emulated); otherwise the first copy of each element.
        swapped_index: the element kept first is told by the high bits of its pair.
        waves: executions so far.
    """

    variant: Variant
    tables: Mapping[str, Table]
    own_copies: bool = True
    swapped_index: bool = False
    waves: int = 0
    name: str = "card"
    device: Mapping[str, str] = field(default_factory=dict)

    def run(self, launch: Launch) -> RunResult:
        assert launch.kernel == self.variant.kernel
        buffers = [b.data for b in launch.args if isinstance(b, Buffer)]
        given = dict(zip(self.variant.inputs, buffers, strict=False))
        d = self.execute({name: np.asarray(data) for name, data in given.items()})
        self.waves += len(d)
        return RunResult((None,) * 4 + (d,), (None,) * 5, Evidence("measured", "a card made of tables"))

    def execute(self, given: Mapping[str, Words]) -> Words:
        form, wave = self.variant.form, self.variant.wave
        a = numbers(fields(given["a"], self.tables["A"].bits), form.a).reshape(len(given["a"]), -1)
        b = numbers(fields(given["b"], self.tables["B"].bits), form.b).reshape(len(given["b"]), -1)
        bits = self.tables["D"].bits
        held = fields(given["c" if form.sparse else "old"], bits).reshape(len(a), -1).copy()
        c = numbers(fields(given["c"], bits), form.result).reshape(len(a), -1)
        m, n, _ = form.shape
        d_at, c_at = place(self.tables["D"], (m, n), 0), place(self.tables["C"], (m, n), 0)
        per_lane = self.tables["D"].row[0].size
        total = c[:, c_at]
        for group in range(wave // 16):
            here = d_at // per_lane // 16 == group
            if here.any():
                copy = group if self.own_copies and self.variant.arch.startswith("gfx11") else 0
                product = self._product(a, b, given, copy)
                total[:, here] += product[:, here]
        held[:, d_at.ravel()] = raw_of(total, form.result).reshape(len(a), -1)
        shifts = np.arange(0, 32, bits, dtype=np.uint32)
        words = np.bitwise_or.reduce(held.reshape(len(a), wave, -1, 32 // bits) << shifts, axis=3)
        return np.ascontiguousarray(words.transpose(0, 2, 1)).astype(np.uint32)

    def _product(
        self, a: NDArray[np.float64], b: NDArray[np.float64], given: Mapping[str, Words], copy: int
    ) -> NDArray[np.float64]:
        m, n, depth = self.variant.form.shape
        right = b[:, place(self.tables["B"], (depth, n), copy)]
        if not self.variant.form.sparse:
            return a[:, place(self.tables["A"], (m, depth), copy)] @ right
        kept = a[:, place(self.tables["A"], (m, depth // 2), 0)]
        told = fields(given["index"], 2).reshape(len(a), -1)[
            :, place(self.tables["index"], (m, depth // 2), 0)
        ]
        if self.swapped_index:
            told = told.reshape(len(a), m, -1, 2)[..., ::-1].reshape(told.shape)
        left = np.zeros((len(a), m, depth))
        k = 4 * (np.arange(depth // 2) // 2) + told
        for number in range(depth // 2):
            np.put_along_axis(
                left,
                k[:, :, number, None],
                np.take_along_axis(left, k[:, :, number, None], 2) + kept[:, :, number, None],
                2,
            )
        return left @ right


def place(table: Table, shape: tuple[int, int], copy: int) -> Ints:
    """Slot of every element: the copy in that group of sixteen lanes, or the first there is."""
    found = np.full(shape, -1)
    lane = np.indices(table.row.shape)[0]
    order = np.argsort((lane // 16 != copy).ravel(), kind="stable")[::-1]
    row, col = table.row.ravel()[order], table.col.ravel()[order]
    live = row != HOLE
    found[row[live], col[live]] = order[live]
    assert (found >= 0).all(), "an element is nowhere"
    return found
