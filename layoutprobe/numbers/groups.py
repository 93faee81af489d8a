"""How CDNA3's matrix unit adds products of up to 19 bits: in groups, cut off and floored, rounded once.

The rule is MMA-Sim's (arXiv 2511.10909), whose authors found it bit for bit equal to an MI300X in more than
a million cases. What it says of zeros and NaN they mark as open. `SumRule` is the family of NVIDIA's cards.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.numbers.types import element_type

Doubles = NDArray[Any]
Ints = NDArray[np.int64]

FRACTION = 24
"""Fraction bits of products below the largest exponent of their group, and of the accumulator."""
JOINED = 31
"""Fraction bits of the group's sum where it meets the accumulator."""
_ZERO = -126
"""Exponent of a product that is zero."""


class GroupSum(Struct, frozen=True):
    """Groups of products, one after the other.

    A group: every product is cut off towards zero, `FRACTION` bits below the largest sum of two factors'
    exponents, and these are added exactly. Then sum and accumulator meet at the larger of their exponents;
    there the sum is floored to `JOINED` fraction bits, the accumulator to `FRACTION`; they are added,
    and rounded to nearest even. A number below the normal ones has the exponent of the smallest of these.

    Attributes:
        terms: products of a group, at most.
        interleaved: products with even and odd k are added apart, and both sums floored to `FRACTION`
            bits below the larger exponent; an accumulator more than 25 binades below is lost.
    """

    terms: int
    interleaved: bool = False

    def __str__(self) -> str:
        apart = ", even and odd k apart" if self.interleaved else ""
        return (
            f"groups of {self.terms} products{apart}, cut off, then joined with the accumulator and rounded"
        )

    def total(self, kinds: tuple[str, str], a: Doubles, b: Doubles, c: Doubles) -> Doubles:
        """A * B + C with an f32 accumulator.

        Args:
            kinds: element types of A and of B.
            a: [run, row, k], numbers.
            b: [run, k, col], numbers.
            c: [run, row, col], float32.

        Returns:
            float32 [run, row, col]; any NaN for a NaN.
        """
        a, b = a.astype(np.float64), b.astype(np.float64)
        low_a, low_b = (int(np.log2(element_type(kind).normal)) for kind in kinds)
        of_a, of_b = _exponent(a, low_a), _exponent(b, low_b)
        total = c
        with np.errstate(all="ignore"):
            for k in range(0, a.shape[2], self.terms):
                here = slice(k, k + self.terms)
                product = a[:, :, here, None] * b[:, None, here]
                exponent = of_a[:, :, here, None] + of_b[:, None, here]
                total = self._step(product, np.where(product == 0, _ZERO, exponent), total.astype(np.float64))
        return total

    def _step(self, product: Doubles, exponent: Ints, c: Doubles) -> Doubles:
        special = np.where(np.abs(product) >= 2.0**128, np.copysign(np.inf, product), product).sum(axis=2) + c
        if self.interleaved:
            halves = [_cut_sum(product[:, :, odd::2], exponent[:, :, odd::2]) for odd in (0, 1)]
            top = np.maximum(halves[0][1], halves[1][1])
            kept = sum(np.floor(np.ldexp(part, at - top)) for part, at in halves)
        else:
            kept, top = _cut_sum(product, exponent)
        of_c = _exponent(c, int(np.log2(element_type("f32").normal)))
        meet = np.maximum(top, of_c)
        added = np.floor(np.ldexp(kept, JOINED - FRACTION + top - meet))
        addend = np.floor(np.ldexp(c, FRACTION - meet))
        if self.interleaved:
            addend = np.where(of_c < meet - FRACTION - 1, 0.0, addend)
        total = np.ldexp(added + np.ldexp(addend, JOINED - FRACTION), meet - JOINED)
        return np.where(np.isfinite(special), total, special).astype(np.float32)


def _cut_sum(product: Doubles, exponent: Ints) -> tuple[Doubles, Ints]:
    """Sum of products cut off below the largest exponent, in units of its last bit, and that exponent."""
    top = exponent.max(axis=2)
    return np.trunc(np.ldexp(product, FRACTION - top[:, :, None])).sum(axis=2), top


def _exponent(value: Doubles, lowest: int) -> Ints:
    """Exponent of each number; that of the smallest normal number for those below it, and for zero."""
    _, exponent = np.frexp(value)
    return np.where(value == 0, lowest, np.maximum(exponent.astype(np.int64) - 1, lowest))


__all__ = ["FRACTION", "JOINED", "GroupSum"]
