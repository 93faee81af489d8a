"""Tags of memories: which element each nibble of LDS, scratch and global memory holds while a run is recorded.

They are kept as words, see `Tags.words`, one for each dword: most accesses are of whole dwords, and carry words as
they are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from layoutprobe.machine.memory import Region
from layoutprobe.recording.model import NOTHING, RUN
from layoutprobe.recording.tags import TagTable

Ints = NDArray[np.int32]
Where = NDArray[np.int64]
_PAGE = 10
"""log2 of the dwords of memory whose tags are kept together, once somebody has stored there."""


class Memory(ABC):
    """Words of a memory."""

    def __init__(self, table: TagTable) -> None:
        self._table = table

    @abstractmethod
    def _held(self, dwords: Where) -> Ints:
        """Words of dwords, of their shape."""

    @abstractmethod
    def _keep(self, dwords: Where, words: Ints) -> None:
        """Change dwords; later ones over earlier ones."""

    def load(self, offsets: Where, size: int) -> Ints:
        """What `size` bytes at each offset hold: words [..., dword], whose rest is NOTHING."""
        count = -(-size // 4)
        if size % 4 == 0 and not (offsets & 3).any():
            return self._held((offsets >> 2)[..., None] + np.arange(count))
        covered = self._held((offsets >> 2)[..., None] + np.arange(count + 1))
        every = self._table.nibbles(covered).reshape(*offsets.shape, -1)
        nibbles = np.zeros((*offsets.shape, 8 * count), np.int32)
        at = 2 * (offsets & 3)[..., None] + np.arange(2 * size)
        nibbles[..., : 2 * size] = np.take_along_axis(every, at, axis=-1)
        return self._table.words(nibbles.reshape(*offsets.shape, count, 8))

    def store(self, offsets: Where, words: Ints, size: int) -> None:
        """Store the low `size` bytes of words [access, dword] at offsets [access]; later ones over earlier ones."""
        if size % 4 == 0 and not (offsets & 3).any():
            self._keep((offsets >> 2)[:, None] + np.arange(size // 4), words)
            return
        nibbles = self._table.nibbles(words).reshape(len(words), -1)[:, : 2 * size]
        at = 2 * offsets[:, None] + np.arange(2 * size)
        dwords, back = np.unique(at >> 3, return_inverse=True)
        changed = self._table.nibbles(self._held(dwords))
        changed[back.reshape(at.shape), at & 7] = nibbles
        self._keep(dwords, self._table.words(changed))


class Flat(Memory):
    """A memory from byte 0 on, all of it."""

    def __init__(self, table: TagTable, size: int) -> None:
        super().__init__(table)
        self._words = np.full(-(-size // 4) + 1, NOTHING, np.int32)

    def _held(self, dwords: Where) -> Ints:
        return np.asarray(self._words[dwords])

    def _keep(self, dwords: Where, words: Ints) -> None:
        self._words[dwords] = words


class Global(Memory):
    """Global memory: buffers hold their own elements until something is stored to them."""

    def __init__(self, table: TagTable, regions: Sequence[Region]) -> None:
        super().__init__(table)
        elements = table.elements
        starts = {
            f"buffer {buffer.name}": start
            for buffer, start in zip(elements.buffers, elements.starts, strict=True)
        }
        self._buffers = [
            (r.start // 4, -(-r.end // 4), starts[r.name] // 8) for r in regions if r.name in starts
        ]
        self._pages: dict[int, Ints] = {}

    def _held(self, dwords: Where) -> Ints:
        words = self._own(dwords)
        if self._pages:
            page = dwords >> _PAGE
            for number in np.unique(page).tolist():
                if number in self._pages:
                    here = page == number
                    words[here] = self._pages[number][dwords[here] & (1 << _PAGE) - 1]
        return words

    def _keep(self, dwords: Where, words: Ints) -> None:
        page = dwords >> _PAGE
        for number in np.unique(page).tolist():
            if number not in self._pages:
                self._pages[number] = self._own((number << _PAGE) + np.arange(1 << _PAGE))
            here = page == number
            self._pages[number][dwords[here] & (1 << _PAGE) - 1] = words[here]

    def _own(self, dwords: Where) -> Ints:
        """What nobody has stored to."""
        words = np.full(dwords.shape, NOTHING, np.int32)
        for start, end, first in self._buffers:
            inside = (dwords >= start) & (dwords < end)
            words[inside] = RUN + first + dwords[inside] - start
        return words
