"""Byte-addressed memory with a shadow of undefined bits, read and written by many lanes at once.

Data and shadow are two arrays of one shape and are accessed alike: a load of the shadow with the
same offsets gives the undefined bits of what was loaded.
"""

from __future__ import annotations

import mmap
from bisect import bisect_right
from collections.abc import Iterable, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.machine.registers import Array

_FRESH = 128 << 20
"""Bytes above which memory comes zeroed from the system, and is none until it is touched."""
_GLANCE = 4096
"""Bytes of a region that are looked at first for undefined bits: of an output, all are."""
GUARD = 1 << 16
"""Bytes between two buffers: a pointer that runs off one end lands in no buffer."""
_SHIFT = {1: 0, 2: 1, 4: 2, 8: 3, 16: 4}
"""log2 of the sizes that one item of a view can hold."""
BASE_ADDRESS = 0x4A00_0000_0000
"""Virtual address of the arena: high enough that a truncated pointer cannot hit a buffer, and where no
process of x86-64 or AArch64 has anything by itself, so that it can be mapped there (hiphost)."""
_NORESERVE = 0x4000
"""Linux's MAP_NORESERVE, which the mmap module does not name: untouched memory is no promise."""


def untouched(size: int) -> mmap.mmap:
    """Zeroed bytes, on Linux, of which only those that are touched take memory."""
    return mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE)


class Store:
    """One array of bytes, seen at every access width."""

    __slots__ = ("bytes", "views")

    def __init__(self, data: NDArray[np.uint8]) -> None:
        if data.size % 16 or data.ctypes.data % 16:
            raise ValueError("a store needs 16-byte alignment and a multiple of 16 bytes")
        self.bytes = data
        self.views: dict[int, Array] = {
            1: data,
            2: data.view(np.uint16),
            4: data.view(np.uint32),
            8: data.view(np.uint64),
            16: data.view(np.complex128),
        }

    @classmethod
    def of_size(cls, size: int, fill: int = 0) -> Store:
        """Zeroed or filled bytes; `size` is rounded up to 16."""
        raw = np.zeros(size + 31, np.uint8) if fill == 0 else np.full(size + 31, fill, np.uint8)
        start = -raw.ctypes.data % 16
        return cls(raw[start : start + (size + 15) // 16 * 16])

    @classmethod
    def zeroed_but(cls, size: int, regions: Iterable[Region]) -> Store:
        """Zeroed bytes; those of some regions, in ascending order, are anything, for who fills them anyway."""
        if size > _FRESH:
            return cls.of_size(size)
        raw = np.empty(size + 31, np.uint8)
        start = -raw.ctypes.data % 16
        raw = raw[start : start + (size + 15) // 16 * 16]
        at = 0
        for region in regions:
            raw[at : region.start] = 0
            at = region.end
        raw[at:] = 0
        return cls(raw)

    def gather(self, offsets: Array, size: int, low_bits: int) -> Array:
        """Gather `size` bytes at each offset.

        Args:
            offsets: int64 [wave, lane]; must be in range.
            size: 1, 2, 4, 8, 12 or 16.
            low_bits: bitwise or of all offsets, which tells their common alignment.

        Returns:
            uint32 [wave, lane, dword], low dword first; sizes 1 and 2 are zero-extended.
        """
        if size in _SHIFT and low_bits & size - 1 == 0:
            # One wide item is several times cheaper to gather than its dwords.
            items = np.take(self.views[size], offsets >> _SHIFT[size] if size > 1 else offsets)
            words = items.view(np.uint32) if size >= 4 else items.astype(np.uint32)
            return words.reshape(*offsets.shape, -1)
        dwords = (size + 3) // 4
        words = np.zeros((*offsets.shape, dwords), np.uint32)
        for j in range(dwords):
            if size >= 4 and low_bits & 3 == 0:
                words[..., j] = np.take(self.views[4], (offsets >> 2) + j)
                continue
            for i in range(min(4, size - 4 * j)):
                words[..., j] |= np.take(self.bytes, offsets + (4 * j + i)).astype(np.uint32) << np.uint32(
                    8 * i
                )
        return words

    def scatter(self, offsets: Array, size: int, low_bits: int, dwords: list[Array]) -> None:
        """Scatter `size` bytes to each offset; one uint32 array of the offsets' shape per dword.

        Where bytes meet, those of the last one stay: waves and lanes store in ascending order, each all its bytes.
        """
        if size in (8, 16) and low_bits & size - 1 == 0:
            items = np.empty((*dwords[0].shape, size // 4), np.uint32)
            for j, word in enumerate(dwords):
                items[..., j] = word
            self.views[size][offsets >> _SHIFT[size]] = items.view(self.views[size].dtype)[..., 0]
        elif size == 4 and low_bits & 3 == 0:
            self.views[4][offsets >> 2] = dwords[0]
        elif size > 4 and low_bits & 3 == 0:
            words = np.stack(np.broadcast_arrays(*dwords), axis=-1)
            self.views[4][(offsets >> 2)[..., None] + np.arange(size // 4)] = words
        elif size == 2 and low_bits & 1 == 0:
            self.views[2][offsets >> 1] = dwords[0].astype(np.uint16)
        else:
            words = np.stack(np.broadcast_arrays(*dwords), axis=-1)
            self.bytes[offsets[..., None] + np.arange(size)] = words.view(np.uint8)[..., :size]


class Memory:
    """Data and shadow of one memory.

    Attributes:
        data, shadow: the two stores; set bits of the shadow are undefined bits of the data.
        tracked: the shadow may have set bits. While False the shadow is neither read nor written.
    """

    __slots__ = ("data", "shadow", "tracked")

    def __init__(
        self, size: int, *, undefined: bool, data: Store | None = None, shadow: Store | None = None
    ) -> None:
        self.data = data or Store.of_size(size, 0xA5 if undefined else 0)
        self.shadow = shadow or Store.of_size(size, 0xFF if undefined else 0)
        self.tracked = undefined

    def define(self) -> None:
        """Have all of it count as defined; what nobody has set keeps the poison that it holds."""
        if self.tracked:
            self.shadow.bytes[:] = 0
            self.tracked = False

    def undefined(self, offsets: Array, size: int, low_bits: int) -> Array | None:
        """Undefined bits of what `gather` of the data gives; None where all are defined."""
        if not self.tracked:
            return None
        low, high = int(offsets.min()) >> 3, (int(offsets.max()) + size + 7) >> 3
        # Lanes mostly load what lies side by side. To look at all of that is several times cheaper than to gather.
        if high - low <= offsets.size * size and not self.shadow.views[8][low:high].any():
            return None
        bits = self.shadow.gather(offsets, size, low_bits)
        return bits if bits.any() else None


class Region(Struct, frozen=True):
    """One allocation of global memory: bytes [start, end) of the arena."""

    name: str
    start: int
    end: int
    writable: bool


class Arena(Memory):
    """Global memory: allocations with guards between them, at made-up virtual addresses.

    Whoever has memory of his own (shared with another process) gives its stores.

    Attributes:
        regions: what may be accessed.
        freed: what was, and may no more; only messages ask for it.
    """

    __slots__ = ("_ends", "_starts", "freed", "regions")

    def __init__(
        self, size: int, regions: list[Region], data: Store | None = None, shadow: Store | None = None
    ) -> None:
        super().__init__(size, undefined=False, data=data, shadow=shadow)
        self.freed: Sequence[Region] = ()
        self.use(regions)

    def use(self, regions: Iterable[Region]) -> None:
        """Have these regions from now on; no byte changes."""
        self.regions = tuple(sorted(regions, key=lambda r: r.start))
        self._starts = [r.start for r in self.regions]
        self._ends = [r.end for r in self.regions]

    def region_at(self, offset: int) -> Region | None:
        """The region that holds the byte at this offset of the arena."""
        i = bisect_right(self._starts, offset) - 1
        if i >= 0 and offset < self._ends[i]:
            return self.regions[i]
        return None

    def nearest(self, offset: int) -> Region:
        """The region whose start or end lies closest to the offset."""
        return min(self.regions, key=lambda r: min(abs(offset - r.start), abs(offset - r.end)))

    def common_region(self, offsets: Array, size: int) -> Region | None:
        """The region that holds all accesses, if it is one: the common case, two reductions."""
        region = self.region_at(int(offsets.min()))
        return region if region is not None and int(offsets.max()) + size <= region.end else None

    def outside(self, offsets: Array, size: int) -> Array | None:
        """Which accesses are not wholly inside one region: None when all are inside."""
        index = np.searchsorted(np.array(self._starts), offsets, side="right") - 1
        inside = (index >= 0) & (offsets + size <= np.array(self._ends)[np.maximum(index, 0)])
        return None if inside.all() else ~inside

    def has_undefined(self, region: Region) -> bool:
        """Whether any bit of a region is undefined."""
        shadow = self.shadow.bytes[region.start : region.end]
        # The largest byte is found several times as fast as any that is not zero.
        parts = (shadow[:_GLANCE], shadow[_GLANCE:])
        return self.tracked and any(part.max(initial=0) > 0 for part in parts)

    def fill(self, region: Region, data: bytes | NDArray[np.uint8], *, undefined: bool = False) -> None:
        """Set the first bytes of a region, or mark all of it as never written."""
        if undefined:
            self.data.bytes[region.start : region.end] = 0xA5
            self.shadow.bytes[region.start : region.end] = 0xFF
            self.tracked = True
        else:
            raw = np.frombuffer(data, np.uint8)
            self.data.bytes[region.start : region.start + raw.size] = raw

    def blur(self, region: Region, bits: NDArray[np.uint8]) -> None:
        """Say which bits of a region are undefined."""
        self.shadow.bytes[region.start : region.end] = bits
        self.tracked |= bool(bits.any())


class Addresses(Struct, frozen=True, eq=False):
    """Where the lanes of one access point: a memory and checked byte offsets in it.

    Attributes:
        memory: the memory.
        offsets: int64 [wave, lane]; inactive lanes point at byte 0.
        low_bits: bitwise or of the offsets.
        mask: bool [wave, lane], lanes that access.
        region: global memory: the one allocation that all lanes hit, if it is one.
        lost: bool [wave, lane], lanes that load from where nothing is, and go on with undefined bits; None where
            there are none.
    """

    memory: Memory
    offsets: Array
    low_bits: int
    mask: Array
    region: Region | None = None
    lost: Array | None = None

    __repr__ = brief


class ArenaPlan:
    """Places regions one after the other, before the arena's memory is taken."""

    def __init__(self) -> None:
        self.size = GUARD
        self.regions: list[Region] = []

    def add(self, name: str, size: int, *, writable: bool) -> Region:
        """One region at a 256-byte boundary, with a guard behind it."""
        region = Region(name, self.size, self.size + size, writable)
        self.regions.append(region)
        self.size += (size + 255) // 256 * 256 + GUARD
        return region

    def add_image(self, parts: list[tuple[str, int, int, bool]]) -> list[Region]:
        """Regions at fixed distances, for an image whose parts address each other.

        Args:
            parts: (name, address relative to the image, bytes, writable).
        """
        base = (self.size + 4095) // 4096 * 4096
        placed = [Region(n, base + at, base + at + size, writable) for n, at, size, writable in parts]
        self.regions += placed
        self.size = max((r.end for r in placed), default=base) + GUARD
        return placed

    def build(self, filled: Iterable[Region] = (), undefined: Iterable[Region] = ()) -> Arena:
        """The memory, zeroed.

        Args:
            filled: regions of which the caller fills every byte, in ascending order: they are not zeroed.
            undefined: those among them that he makes undefined.
        """
        data, shadow = (Store.zeroed_but(self.size, regions) for regions in (filled, undefined))
        return Arena(self.size, self.regions, data, shadow)


def address(region: Region) -> int:
    """Virtual address of a region's first byte."""
    return BASE_ADDRESS + region.start
