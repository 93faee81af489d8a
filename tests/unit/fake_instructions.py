"""Matrix instructions in numpy, straight from published formulas, for the solver to find out.

They share nothing with the product: the layouts below are typed in from AMD's matrix instruction
calculator (gfx11 and RDNA4 WMMA in wave32, CDNA3 MFMA in wave64).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Place = tuple[int, int, int]
"""Lane, VGPR and half."""


@dataclass(frozen=True)
class Fake:
    """D = A*B + C on registers.

    Attributes:
        a: (i, k, output lane) -> place of A[i][k] that this output reads.
        b: (k, j, output lane) -> place of B[k][j] that this output reads.
        d: (i, j) -> lane and VGPR of D[i][j] and C[i][j].
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

    def tables(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Slot numbers a[i, j, k], b[i, j, k] and d[i, j]."""
        m, n, k = self.shape
        a = np.zeros((m, n, k), np.int64)
        b = np.zeros((m, n, k), np.int64)
        d = np.zeros((m, n), np.int64)
        for i in range(m):
            for j in range(n):
                lane, vgpr = self.d(i, j)
                d[i, j] = lane * self.d_slots[1] + vgpr
                for x in range(k):
                    a[i, j, x] = _number(self.a(i, x, lane), self.a_slots)
                    b[i, j, x] = _number(self.b(x, j, lane), self.b_slots)
        return a, b, d

    def __call__(
        self, a: NDArray[np.uint32], b: NDArray[np.uint32], c: NDArray[np.uint32]
    ) -> NDArray[np.uint32]:
        """Registers [wave, vgpr, lane] of D."""
        at_a, at_b, at_d = self.tables()
        result = np.int32 if self.dtype == "iu8" else np.float32
        out = np.ascontiguousarray(c.transpose(0, 2, 1)).view(result).reshape(len(c), -1).copy()
        a_value, b_value = (_values(registers, self.dtype) for registers in (a, b))
        total = np.zeros((len(c), *at_d.shape), result)
        for x in range(self.shape[2]):
            total += a_value[:, at_a[:, :, x]] * b_value[:, at_b[:, :, x]]
        out[:, at_d.ravel()] += total.reshape(len(c), -1)
        lanes, vgprs, _ = self.d_slots
        return np.ascontiguousarray(out.view(np.uint32).reshape(len(c), lanes, vgprs).transpose(0, 2, 1))


def _number(place: Place, slots: tuple[int, int, int]) -> int:
    lane, vgpr, half = place
    return (lane * slots[1] + vgpr) * slots[2] + half


def _values(registers: NDArray[np.uint32], dtype: str) -> NDArray[Any]:
    by_lane = np.ascontiguousarray(registers.transpose(0, 2, 1))
    if dtype == "iu8":
        return by_lane.view(np.uint8).reshape(len(registers), -1).astype(np.int32)
    if dtype == "bf16":
        wide = by_lane.view(np.uint16).reshape(len(registers), -1).astype(np.uint32) << 16
        return wide.astype(np.uint32).view(np.float32)
    return by_lane.view(np.float16).reshape(len(registers), -1).astype(np.float32)


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

FAKES = (RDNA3, RDNA3_LOW, RDNA4, MFMA_16, MFMA_32, RDNA3_BF16, RDNA3_IU8)
