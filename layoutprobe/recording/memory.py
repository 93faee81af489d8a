"""Tags of memories: which element each nibble of LDS, scratch and global memory holds while a run is recorded."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from layoutprobe.machine.memory import Region
from layoutprobe.recording.model import NOTHING
from layoutprobe.recording.tags import Elements

Ints = NDArray[np.int32]
_PAGE = 12
"""log2 of the bytes of memory whose tags are kept together, once somebody has stored there."""


class Flat:
    """A memory from byte 0 on, all of it."""

    def __init__(self, size: int) -> None:
        self._tags = np.full((size, 2), NOTHING, np.int32)

    def load(self, offsets: NDArray[np.int64], size: int) -> Ints:
        """Nibble tags of `size` bytes at each offset: int32 [..., 2 * size]."""
        return self._tags[offsets[..., None] + np.arange(size)].reshape(*offsets.shape, 2 * size)

    def store(self, offsets: NDArray[np.int64], tags: Ints) -> None:
        """Nibble tags [access, 2 * size] at each offset [access]; later ones over earlier ones."""
        size = tags.shape[-1] // 2
        self._tags[offsets[:, None] + np.arange(size)] = tags.reshape(-1, size, 2)


class Global:
    """Global memory: buffers hold their own elements until something is stored to them."""

    def __init__(self, regions: Sequence[Region], elements: Elements) -> None:
        starts = {
            f"buffer {buffer.name}": start
            for buffer, start in zip(elements.buffers, elements.starts, strict=True)
        }
        self._buffers = [(r.start, r.end, starts[r.name]) for r in regions if r.name in starts]
        self._pages: dict[int, Ints] = {}

    def load(self, offsets: NDArray[np.int64], size: int) -> Ints:
        """As `Flat.load`."""
        bytes_of = offsets[..., None] + np.arange(size)
        tags = self._own(bytes_of)
        if self._pages:
            page = bytes_of >> _PAGE
            for number in np.unique(page).tolist():
                if number in self._pages:
                    here = page == number
                    tags[here] = self._pages[number][bytes_of[here] & (1 << _PAGE) - 1]
        return tags.reshape(*offsets.shape, 2 * size)

    def store(self, offsets: NDArray[np.int64], tags: Ints) -> None:
        """As `Flat.store`."""
        size = tags.shape[-1] // 2
        bytes_of = (offsets[:, None] + np.arange(size)).ravel()
        pairs = tags.reshape(-1, 2)
        page = bytes_of >> _PAGE
        for number in np.unique(page).tolist():
            if number not in self._pages:
                whole = (number << _PAGE) + np.arange(1 << _PAGE)
                self._pages[number] = self._own(whole)
            here = page == number
            self._pages[number][bytes_of[here] & (1 << _PAGE) - 1] = pairs[here]

    def _own(self, bytes_of: NDArray[np.int64]) -> Ints:
        """What nobody has stored to: int32 [..., 2]."""
        tags = np.full((*bytes_of.shape, 2), NOTHING, np.int32)
        for start, end, first in self._buffers:
            inside = (bytes_of >= start) & (bytes_of < end)
            if inside.any():
                nibble = first + 2 * (bytes_of[inside] - start) + 1
                tags[inside] = np.stack([nibble, nibble + 1], axis=-1).astype(np.int32)
        return tags
