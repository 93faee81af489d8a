"""Matrix instructions in numpy, straight from published formulas, for the solver to find out.

They share nothing with the product: the layouts below are typed in from AMD's matrix instruction
calculator (gfx11 and RDNA4 WMMA in wave32, CDNA3 MFMA in wave64).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

Place = tuple[int, int, int]
"""Lane, VGPR and half."""


class Fake(Struct, frozen=True):
    """D = A*B + C on registers.

    Attributes:
        a: (i, k, output lane) -> place of A[i][k] that this output reads.
        b: (k, j, output lane) -> place of B[k][j] that this output reads.
        d: (i, j) -> lane and VGPR of D[i][j] and C[i][j].
        products: independent products; product p has the formulas' places `step` lanes further on.
    """

    name: str
    shape: tuple[int, int, int]
    a_slots: tuple[int, int, int]
    b_slots: tuple[int, int, int]
    d_slots: tuple[int, int, int]
    a: Callable[[int, int, int], Place]
    b: Callable[[int, int, int], Place]
    d: Callable[[int, int], tuple[int, int]]
    dtype: str = "f16"
    products: int = 1
    step: int = 0

    @property
    def result(self) -> str:
        return {"iu8": "i32", "f64": "f64"}.get(self.dtype, "f32")

    @property
    def slots(self) -> tuple[tuple[int, int, int], ...]:
        """Lanes, registers (pairs of them for f64) and fields of A, B and D."""
        wide = {"A": self.dtype == "f64", "B": self.dtype == "f64", "D": self.result == "f64"}
        return tuple(
            (lanes, vgprs // 2 if wide[name] else vgprs, fields)
            for name, (lanes, vgprs, fields) in zip(
                "ABD", (self.a_slots, self.b_slots, self.d_slots), strict=True
            )
        )

    def tables(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Slot numbers a[p, i, j, k], b[p, i, j, k] and d[p, i, j]."""
        m, n, k = self.shape
        a = np.zeros((self.products, m, n, k), np.int64)
        b, d = np.zeros_like(a), np.zeros((self.products, m, n), np.int64)
        a_slots, b_slots, d_slots = self.slots
        for p, i, j in np.ndindex(d.shape):
            lane, vgpr = self.d(i, j)
            further = p * self.step
            d[p, i, j] = (lane + further) * d_slots[1] + vgpr
            for x in range(k):
                a[p, i, j, x] = _number(self.a(i, x, lane), a_slots, further)
                b[p, i, j, x] = _number(self.b(x, j, lane), b_slots, further)
        return a, b, d

    def __call__(
        self, a: NDArray[np.uint32], b: NDArray[np.uint32], c: NDArray[np.uint32]
    ) -> NDArray[np.uint32]:
        """Registers [wave, vgpr, lane] of D."""
        at_a, at_b, at_d = self.tables()
        out = _elements(c, self.result).copy()
        a_value, b_value = (_values(registers, self.dtype) for registers in (a, b))
        total = np.zeros((len(c), *at_d.shape), out.dtype)
        for x in range(self.shape[2]):
            total += a_value[:, at_a[..., x]] * b_value[:, at_b[..., x]]
        out[:, at_d.ravel()] += total.reshape(len(c), -1)
        return _registers(out, self.d_slots[0])

    def moved(self, registers: NDArray[np.uint32], order: NDArray[np.int64], name: str) -> NDArray[np.uint32]:
        """The same with the element of slot order[n] in slot n; `name` is "a", "b" or "c" (and D)."""
        kind = self.result if name == "c" else self.dtype
        return _registers(np.ascontiguousarray(_elements(registers, kind)[:, order]), self.a_slots[0])


def _number(place: Place, slots: tuple[int, int, int], further: int) -> int:
    lane, vgpr, half = place
    return ((lane + further) * slots[1] + vgpr) * slots[2] + half


_STORED: dict[str, type[np.generic]] = {
    "iu8": np.uint8, "bf16": np.uint16, "f16": np.float16, "f32": np.float32, "f64": np.float64, "i32": np.int32,
}  # fmt: skip


def _elements(registers: NDArray[np.uint32], kind: str) -> NDArray[Any]:
    """[wave, slot], as numpy stores such elements."""
    by_lane = np.ascontiguousarray(registers.transpose(0, 2, 1))
    return by_lane.reshape(len(registers), -1).view(_STORED[kind])


def _registers(elements: NDArray[Any], lanes: int) -> NDArray[np.uint32]:
    words = elements.view(np.uint32).reshape(len(elements), lanes, -1)
    return np.ascontiguousarray(words.transpose(0, 2, 1))


def _values(registers: NDArray[np.uint32], dtype: str) -> NDArray[Any]:
    stored = _elements(registers, dtype)
    if dtype == "bf16":
        return (stored.astype(np.uint32) << 16).view(np.float32)
    return stored.astype({"iu8": np.int32, "f64": np.float64}.get(dtype, np.float32))


def _rdna3_d(i: int, j: int) -> tuple[int, int]:
    return 16 * (i % 2) + j, i // 2


RDNA3 = Fake(
    "RDNA3, each half-wave reads its own copy",
    (16, 16, 16),
    (32, 8, 2),
    (32, 8, 2),
    (32, 8, 1),
    lambda i, k, out: (16 * (out // 16) + i, k // 2, k % 2),
    lambda k, j, out: (16 * (out // 16) + j, k // 2, k % 2),
    _rdna3_d,
)

RDNA3_LOW = Fake(
    "RDNA3, only lanes 0-15 are read",
    (16, 16, 16),
    (32, 8, 2),
    (32, 8, 2),
    (32, 8, 1),
    lambda i, k, out: (i, k // 2, k % 2),
    lambda k, j, out: (j, k // 2, k % 2),
    _rdna3_d,
)

RDNA4 = Fake(
    "RDNA4, no replication",
    (16, 16, 16),
    (32, 4, 2),
    (32, 4, 2),
    (32, 8, 1),
    lambda i, k, out: (16 * (k // 4 % 2) + i, 2 * (k // 8) + k // 2 % 2, k % 2),
    lambda k, j, out: (16 * (k // 4 % 2) + j, 2 * (k // 8) + k // 2 % 2, k % 2),
    lambda i, j: (16 * (i // 8) + j, i % 8),
)

MFMA_16 = Fake(
    "MFMA 16x16x16, wave64",
    (16, 16, 16),
    (64, 2, 2),
    (64, 2, 2),
    (64, 4, 1),
    lambda i, k, out: (16 * (k // 4) + i, k // 2 % 2, k % 2),
    lambda k, j, out: (16 * (k // 4) + j, k // 2 % 2, k % 2),
    lambda i, j: (16 * (i // 4) + j, i % 4),
)

MFMA_32 = Fake(
    "MFMA 32x32x8, wave64",
    (32, 32, 8),
    (64, 2, 2),
    (64, 2, 2),
    (64, 16, 1),
    lambda i, k, out: (32 * (k // 4) + i, k // 2 % 2, k % 2),
    lambda k, j, out: (32 * (k // 4) + j, k // 2 % 2, k % 2),
    lambda i, j: (32 * (i // 4) % 64 + j, 4 * (i // 8) + i % 4),
)

MFMA_4 = Fake(
    "MFMA 4x4x4 in 16 blocks, wave64",
    (4, 4, 4),
    (64, 2, 2),
    (64, 2, 2),
    (64, 4, 1),
    lambda i, k, out: (i, k // 2, k % 2),
    lambda k, j, out: (j, k // 2, k % 2),
    lambda i, j: (j, i),
    products=16,
    step=4,
)

MFMA_F64 = Fake(
    "MFMA 16x16x4 of doubles, wave64",
    (16, 16, 4),
    (64, 2, 1),
    (64, 2, 1),
    (64, 8, 1),
    lambda i, k, out: (16 * k + i, 0, 0),
    lambda k, j, out: (16 * k + j, 0, 0),
    lambda i, j: (16 * (i % 4) + j, i // 4),
    "f64",
)

RDNA3_BF16 = replace(RDNA3, name="RDNA3 bf16", dtype="bf16")

RDNA3_IU8 = Fake(
    "RDNA3 iu8",
    (16, 16, 16),
    (32, 4, 4),
    (32, 4, 4),
    (32, 8, 1),
    lambda i, k, out: (16 * (out // 16) + i, k // 4, k % 4),
    lambda k, j, out: (16 * (out // 16) + j, k // 4, k % 4),
    _rdna3_d,
    "iu8",
)

FAKES = (RDNA3, RDNA3_LOW, RDNA4, MFMA_4, MFMA_16, MFMA_32, MFMA_F64, RDNA3_BF16, RDNA3_IU8)
