"""Global memory of a device: it outlives launches, and part of it belongs to the host program too.

    BEGIN                                   SHARED_BEGIN
    | arguments of the running kernel | hipMalloc, images | hipHostMalloc, hipMallocManaged |

Every allocation is a region of the emulator's arena, with guards around it, so that what is wrong on
any card is a fault here. Addresses are used again as late as possible: a pointer to memory that was freed
is then a wild one.
"""

from __future__ import annotations

import mmap
import os
from collections import deque

import numpy as np
from msgspec import Struct

from layoutprobe.codeobj.kernarg import segment_bytes
from layoutprobe.codeobj.model import CodeObject
from layoutprobe.machine.launch import load_image
from layoutprobe.machine.memory import BASE_ADDRESS, GUARD, Arena, Region, Store, untouched

MAX_ARGUMENTS = 1 << 16
_ARGUMENTS = GUARD
_DEVICE = 1 << 20
SHARED_OFFSET = 4 << 30
SHARED_SIZE = 1 << 30
SIZE = SHARED_OFFSET + SHARED_SIZE
BEGIN = BASE_ADDRESS
SHARED_BEGIN = BEGIN + SHARED_OFFSET
DEVICE_MEMORY = SHARED_OFFSET - _DEVICE
MAX_ALLOCATIONS = 1 << 14
PRINT_BYTES = 1 << 20

PAGE = 4096
_CALLS = {
    "device": "hipMalloc",
    "host": "hipHostMalloc",
    "managed": "hipMallocManaged",
    "registered": "hipHostRegister",
}
"""What gives memory of a kind."""
_REMEMBERED = 256
"""Freed allocations whose names are kept, for messages."""


class NoRoomError(Exception):
    """The memory is full."""


class _Window(Struct):
    """Offsets in which allocations of one kind lie."""

    start: int
    end: int
    limit: int
    next: int = 0
    used: int = 0

    def __post_init__(self) -> None:
        self.next = self.start


class Allocation(Struct, frozen=True):
    """Some memory.

    Attributes:
        kind: "device", "host", "managed" or "registered"; "image" and "printed" are the runtime's own.
        start, size: where: an offset into the arena, and bytes.
        regions: what of it may be accessed.
    """

    kind: str
    start: int
    size: int
    regions: tuple[Region, ...]

    @property
    def address(self) -> int:
        """Of its first byte."""
        return BASE_ADDRESS + self.start

    @property
    def is_the_programs(self) -> bool:
        """Whether the program has asked for it, and may free it."""
        return self.kind not in ("image", "printed")

    @property
    def name(self) -> str:
        """As messages call it: "hipMalloc no. 3"."""
        return self.regions[0].name


class Heap:
    """The memory of one device.

    Attributes:
        arena: as the emulator sees it.
        file: descriptor of the memory behind it.
    """

    def __init__(self, limit: int = DEVICE_MEMORY) -> None:
        """Empty memory.

        Args:
            limit: bytes that may be allocated of each kind.
        """
        self.file = os.memfd_create("layoutprobe-device", os.MFD_CLOEXEC)
        os.ftruncate(self.file, SIZE)
        self._data = mmap.mmap(self.file, SIZE)
        self._shadow = untouched(SIZE)
        stores = [Store(np.frombuffer(raw, np.uint8)) for raw in (self._data, self._shadow)]
        self.arena = Arena(SIZE, [], *stores)
        self.limit = limit
        shared = _Window(SHARED_OFFSET, SIZE, limit)
        device = _Window(_DEVICE, SHARED_OFFSET, limit)
        self._windows = {
            "device": device,
            "image": device,
            "printed": device,
            "host": shared,
            "managed": shared,
            "registered": shared,
        }
        self._allocations: dict[int, Allocation] = {}
        self._arguments: tuple[Region, ...] = ()
        self._made = 0
        self._freed: deque[Region] = deque(maxlen=_REMEMBERED)

    def close(self) -> None:
        """Give the file back; the memory goes with the last array that looks at it."""
        os.close(self.file)

    @property
    def free_bytes(self) -> int:
        """Bytes that hipMalloc may still give."""
        return self.limit - self._windows["device"].used

    def allocate(self, size: int, kind: str, lead: int = 0) -> Allocation:
        """Memory whose contents nobody has set; what the host can write is defined. It begins so many bytes into
        a page.

        Raises:
            NoRoomError: there is not so much.
        """
        self._made += 1
        start = self._find(lead + size, kind) + lead
        name = _CALLS[kind]
        region = Region(f"{name} no. {self._made}", start, start + size, True)
        allocation = Allocation(kind, start, size, (region,))
        self._add(allocation)
        self._clear(allocation, defined=kind != "device")
        return allocation

    def print_buffer(self) -> Allocation:
        """Where kernels print.

        Raises:
            NoRoomError: there is not so much memory.
        """
        start = self._find(PRINT_BYTES, "printed")
        region = Region("the printf buffer", start, start + PRINT_BYTES, True)
        allocation = Allocation("printed", start, PRINT_BYTES, (region,))
        self._add(allocation)
        self._clear(allocation, defined=True)
        return allocation

    def place(self, code: CodeObject) -> tuple[Allocation, int]:
        """The image of a code object; also the arena offset of its address 0.

        Raises:
            NoRoomError: there is not so much memory.
        """
        low = code.segments[0].address
        size = code.segments[-1].address + code.segments[-1].size - low
        start = self._find(size + PAGE, "image") + low % PAGE
        regions = tuple(
            Region(
                f"the code object at {s.address:#x}",
                start + s.address - low,
                start + s.address - low + s.size,
                s.writable,
            )
            for s in code.segments
        )
        allocation = Allocation("image", start, size, regions)
        self._add(allocation)
        self._clear(allocation, defined=True)
        return allocation, load_image(code, self.arena, list(regions))

    def free(self, address: int) -> Allocation | None:
        """Give an allocation back, by the address of its first byte; None where there is none."""
        allocation = self._allocations.pop(address - BASE_ADDRESS, None)
        if allocation is not None:
            self._windows[allocation.kind].used -= allocation.size
            self._release_pages(allocation)
            if allocation.is_the_programs:
                self._freed.extend(allocation.regions)
            self._use()
        return allocation

    def clear(self) -> None:
        """Give everything back."""
        for allocation in list(self._allocations.values()):
            self.free(allocation.address)

    @property
    def allocations(self) -> tuple[Allocation, ...]:
        """All that there is, in the order in which it was allocated."""
        return tuple(self._allocations.values())

    def freed(self, address: int) -> Region | None:
        """What lay at an address until it was freed; None where something else lies there now."""
        offset = address - BASE_ADDRESS
        gone = (region for region in reversed(self._freed) if region.start <= offset < region.end)
        return None if self.at(address) else next(gone, None)

    def at(self, address: int) -> Allocation | None:
        """The allocation that holds an address."""
        offset = address - BASE_ADDRESS
        for allocation in self._allocations.values():
            if allocation.start <= offset < allocation.start + allocation.size:
                return allocation
        return None

    def arguments(self, size: int) -> Region:
        """Where the next kernel finds its arguments, zeroed."""
        room = min(segment_bytes(size), MAX_ARGUMENTS)
        region = Region("the kernel arguments", _ARGUMENTS, _ARGUMENTS + room, False)
        self._arguments = (region,)
        self._use()
        self.arena.data.bytes[region.start : region.end] = 0
        return region

    def span(self, address: int, size: int) -> slice | None:
        """The arena's bytes from an address on; None where they are not in one allocation."""
        allocation = self.at(address)
        start = address - BASE_ADDRESS
        if allocation is None or start + size > allocation.start + allocation.size:
            return None
        return slice(start, start + size)

    def _find(self, size: int, kind: str) -> int:
        """Offset of a free gap: behind the last allocation, and only then from the start on."""
        window = self._windows[kind]
        if not 0 < size <= window.limit - window.used or len(self._allocations) >= MAX_ALLOCATIONS:
            raise NoRoomError
        room = (size + PAGE - 1) // PAGE * PAGE + GUARD
        for at in (window.next, window.start):
            start = self._gap(at, room)
            if start + room <= window.end:
                window.next = start + room
                return start
        raise NoRoomError

    def _gap(self, at: int, room: int) -> int:
        """The first offset from `at` on that has so much room behind it."""
        for allocation in sorted(self._allocations.values(), key=lambda a: a.start):
            if allocation.start // PAGE * PAGE - at >= room:
                break
            at = max(at, -(-(allocation.start + allocation.size) // PAGE) * PAGE + GUARD)
        return at

    def _add(self, allocation: Allocation) -> None:
        self._allocations[allocation.start] = allocation
        self._windows[allocation.kind].used += allocation.size
        self._use()

    def _use(self) -> None:
        self.arena.freed = self._freed
        self.arena.use(
            [*self._arguments, *(region for one in self._allocations.values() for region in one.regions)]
        )

    def _clear(self, allocation: Allocation, *, defined: bool) -> None:
        span = slice(allocation.start, allocation.start + allocation.size)
        self.arena.data.bytes[span] = 0 if defined else 0xA5
        self.arena.shadow.bytes[span] = 0 if defined else 0xFF
        self.arena.tracked |= not defined

    def _release_pages(self, allocation: Allocation) -> None:
        """Give memory back to the system; the addresses stay."""
        start = -(-allocation.start // PAGE) * PAGE
        size = (allocation.start + allocation.size) // PAGE * PAGE - start
        if size > 0:
            self._data.madvise(mmap.MADV_REMOVE, start, size)
            self._shadow.madvise(mmap.MADV_DONTNEED, start, size)
