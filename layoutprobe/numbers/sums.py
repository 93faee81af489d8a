"""How a matrix unit adds products: rules with few parameters, and what each of them gives bit by bit.

A unit aligns the products of a step, and the accumulator with them, to the largest exponent among
them, keeps some fraction bits below it, adds what is left exactly, and rounds once (MMA-Sim, arXiv
2511.10909, and "FTTN", arXiv 2403.00232, found this on NVIDIA's cards). The rules differ in how many
bits are kept, how the rest is cut off, and how many products one step takes.
"""

from __future__ import annotations

from typing import Any, Literal, Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.numbers.types import element_type

Doubles = NDArray[np.float64]
Exponent = Literal["factors", "product"]
"""A product's exponent is the sum of its factors', or that of its leading bit."""
EXPONENTS: tuple[Exponent, ...] = ("factors", "product")
Cut = Literal["zero", "down", "even"]
CUTS: tuple[Cut, ...] = ("zero", "down", "even")
"""What becomes of bits that are not kept: dropped (towards zero), floored, or rounded to nearest even."""

Numbers = NDArray[Any]


class Sum(Protocol):
    """How an element of D is added up."""

    def total(self, kinds: tuple[str, str], a: Numbers, b: Numbers, c: Numbers) -> Numbers:
        """A * B + C.

        Args:
            kinds: element types of A and of B.
            a: [run, row, k], numbers.
            b: [run, k, col], numbers.
            c: [run, row, col], of the type in which they are added up: float32 or float64.

        Returns:
            as `c`.
        """


_NONE = np.int64(-(1 << 20))
"""Exponent of a zero: below every other."""


class SumRule(Struct, frozen=True):
    """How one matrix instruction adds up an element of D.

    Attributes:
        fraction_bits: bits kept below the largest exponent of a step.
        terms: products that one step takes; the steps follow each other along k.
        exponent: which exponent of a product counts.
        cut: what becomes of the bits of a term that are not kept.
        result: what becomes of the bits of a sum that its type does not have.
        apart: the steps begin with zero, and the accumulator is added to their sum, rounded to nearest.
    """

    fraction_bits: int
    terms: int
    exponent: Exponent = "factors"
    cut: Cut = "zero"
    result: Cut = "zero"
    apart: bool = False

    def __str__(self) -> str:
        words = {"zero": "cut off", "down": "rounded down", "even": "rounded to nearest"}
        what = f"{self.terms} products" + ("" if self.apart else " and the accumulator")
        return (
            f"steps of {what}, {self.fraction_bits} fraction bits below the largest exponent "
            f"(of the {self.exponent}), terms {words[self.cut]}, sums {words[self.result]}"
            + ("; then the accumulator is added, rounded to nearest" if self.apart else "")
        )

    def total(
        self, kind: str, a: Doubles, b: Doubles, c: Doubles, fraction_bits: NDArray[np.int64] | None = None
    ) -> Doubles:
        """A * B + C with an f32 accumulator, of finite numbers.

        Args:
            kind: element type of A and B.
            a: [run, row, k].
            b: [run, k, col].
            c: [run, row, col], numbers of f32.
            fraction_bits: [run, 1, 1], instead of the rule's own.

        Returns:
            numbers of f32: [run, row, col].
        """
        bits = self.fraction_bits if fraction_bits is None else fraction_bits
        total = np.zeros_like(c) if self.apart else c
        for k in range(0, a.shape[2], self.terms):
            left, right = a[:, :, k : k + self.terms, None], b[:, None, k : k + self.terms]
            total = self._step(kind, left, right, total, bits)
        return _to_f32(total + c, "even") if self.apart else total

    def _step(
        self, kind: str, a: Doubles, b: Doubles, c: Doubles, fraction_bits: int | NDArray[np.int64]
    ) -> Doubles:
        product = a * b
        if self.exponent == "factors":
            lowest = int(np.log2(element_type(kind).normal))
            of_product = np.where(product == 0, _NONE, _exponent(a, lowest) + _exponent(b, lowest))
        else:
            of_product = _exponent(product, int(_NONE))
        of_c = _exponent(c, int(np.log2(element_type("f32").normal)))
        unit = np.maximum(of_product.max(axis=2), of_c) - fraction_bits
        unit = np.where(unit < -(1 << 12), 0, unit)
        kept = _cut(np.ldexp(product, -unit[:, :, None]), self.cut).sum(axis=2)
        kept = kept + _cut(np.ldexp(c, -unit), self.cut)
        return _to_f32(np.ldexp(kept, unit), self.result)


def _exponent(value: Doubles, lowest: int) -> NDArray[np.int64]:
    """Exponent of each number; that of the smallest normal number for those below it."""
    _, exponent = np.frexp(value)
    return np.where(value == 0, _NONE, np.maximum(exponent.astype(np.int64) - 1, lowest))


def _cut(value: Doubles, how: Cut) -> Doubles:
    return np.asarray({"zero": np.trunc, "down": np.floor, "even": np.rint}[how](value))


def _to_f32(value: Doubles, how: Cut) -> Doubles:
    """Numbers of f32, by rounding once."""
    _, exponent = np.frexp(value)
    unit = np.maximum(exponent - 24, -149)
    return np.asarray(np.ldexp(_cut(np.ldexp(value, -unit), how), unit))
