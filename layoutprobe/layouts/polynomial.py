"""Any function of a few bits, as an XOR of constants each of which is there where all of some bits are set.

Over GF(2) that is a polynomial, and every table has exactly one (Zhegalkin, 1927). A linear map has terms of single
bits only; a row permute that no XOR makes has products, too. So code can be written for both in one way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.layouts.fit import bits_of

Ints = NDArray[np.int64]


class Polynomial(Struct, frozen=True):
    """`constant ^ XOR of weight, over the terms all of whose bits are set`.

    Attributes:
        constant: value where all bits are 0.
        terms: set of bits, as a mask -> what it XORs in; ordered by the mask, no weight is 0.
    """

    constant: int
    terms: Mapping[int, int]

    @classmethod
    def of(cls, values: Sequence[int] | Ints) -> Polynomial:
        """The polynomial of a table.

        Args:
            values: not negative, one for each number from 0; a power of two of them.
        """
        table = np.array(values, np.int64)
        for bit in range(bits_of(table.size)):  # the Moebius transform, bit by bit
            halves = table.reshape(-1, 2, 1 << bit)
            halves[:, 1] ^= halves[:, 0]
        terms = {mask: int(weight) for mask, weight in enumerate(table) if mask and weight}
        return cls(int(table[0]), terms)

    @property
    def linear(self) -> bool:
        """Whether no term is a product: the map is linear over GF(2), up to its constant."""
        return all(mask & (mask - 1) == 0 for mask in self.terms)

    def values(self, count: int) -> Ints:
        """The table again, of `count` values."""
        at = np.arange(count, dtype=np.int64)
        table = np.full(count, self.constant, np.int64)
        for mask, weight in self.terms.items():
            table[at & mask == mask] ^= weight
        return table

    def text(self, name: str) -> str:
        """In the pattern language, which is C here: `8 ^ 16*(lane % 2) ^ 3*(lane / 4 % 2)*(lane % 2)`."""
        parts = [str(self.constant)] if self.constant or not self.terms else []
        for mask, weight in self.terms.items():
            bits = [bit for bit in range(mask.bit_length()) if mask >> bit & 1]
            flags = [f"({name} / {1 << bit} % 2)" if bit else f"({name} % 2)" for bit in bits]
            parts.append("*".join([str(weight), *flags]))
        return " ^ ".join(parts)
