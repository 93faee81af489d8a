"""Random integers that stay the same for ever, and cost no import of numpy.random.

A recorded run is known by its inputs. These are the numbers of numpy's `RandomState`, which never change: a Mersenne
twister, of whose words the low bits are taken, and those beyond the largest number are passed over.
"""

from __future__ import annotations

from math import prod
from random import Random

import numpy as np
from numpy.typing import NDArray

_WORDS = 624
_VERSION = 3
"""Of the state that `random.Random` takes."""


class Draws:
    """Draws one after the other."""

    def __init__(self, seed: int) -> None:
        """As `RandomState(seed)`."""
        words = [seed]
        for n in range(1, _WORDS):
            words.append((1812433253 * (words[-1] ^ words[-1] >> 30) + n) & 0xFFFF_FFFF)
        self._twister = Random()
        self._twister.setstate((_VERSION, (*words, _WORDS), None))
        self._left = np.zeros(0, np.uint32)

    def integers(self, low: int, high: int, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """As `RandomState.randint`: from `low` on, below `high`; at most 2**32 of them."""
        most, wanted = high - low - 1, prod(shape)
        mask = np.uint32((1 << most.bit_length()) - 1)
        found = np.zeros(0, np.uint32)
        if not most:  # nothing to draw
            return np.full(shape, low, np.int64)
        while found.size < wanted:
            self._left = np.concatenate([self._left, self._words(2 * (wanted - found.size))])
            fits = np.flatnonzero(self._left & mask <= most)[: wanted - found.size]
            found = np.concatenate([found, self._left[fits] & mask])
            self._left = self._left[int(fits[-1]) + 1 :] if found.size == wanted else self._left[:0]
        return low + found.astype(np.int64).reshape(shape)

    def _words(self, count: int) -> NDArray[np.uint32]:
        bits = self._twister.getrandbits(32 * count)
        return np.frombuffer(bits.to_bytes(4 * count, "little"), "<u4")
