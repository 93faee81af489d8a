"""A launch that happened, as far as a manifest can be drafted from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.codeobj.kernarg import Extent
from layoutprobe.codeobj.model import CodeObject, Kernel


class SeenBuffer(Struct, frozen=True, eq=False):
    """The memory that a pointer leads to.

    Attributes:
        size: bytes from where it points to the end of the allocation.
        loaded, stored: what the kernel did there; an atomic does both.
        before, after: its bytes around the launch; None where they are too many to keep.
        defined: every byte had been written before the launch.
        groups: the pointer leads to so many pointers, and each of those to an equal part of this; 0 for memory
            itself.
    """

    size: int
    loaded: bool
    stored: bool
    before: NDArray[np.uint8] | None
    after: NDArray[np.uint8] | None
    defined: bool
    groups: int = 0

    __repr__ = brief

    @property
    def role(self) -> str:
        """As a manifest names it."""
        if self.stored:
            return "inout" if self.loaded and self.defined else "out"
        return "in"


class SeenLaunch(Struct, frozen=True, eq=False):
    """One launch.

    Attributes:
        code, kernel: what was launched.
        grid, block: workgroups, and work-items of a workgroup.
        dynamic_lds: bytes.
        values: the explicit arguments, each as its bytes.
        buffers: number of an argument -> what it points to.
    """

    code: CodeObject
    kernel: Kernel
    grid: Extent
    block: Extent
    dynamic_lds: int
    values: Sequence[bytes]
    buffers: Mapping[int, SeenBuffer]

    __repr__ = brief

    @property
    def shape(self) -> tuple[object, ...]:
        """What tells launches of a kernel apart that differ in their problem."""
        plain = tuple(value for i, value in enumerate(self.values) if i not in self.buffers)
        sizes = tuple(buffer.size for buffer in self.buffers.values())
        return self.grid, self.block, self.dynamic_lds, plain, sizes
