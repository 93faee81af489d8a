"""How a tile lies in LDS: one class per scheme, in an explicit registry.

A scheme is a map (row, col) -> index of a 16-bit element in LDS, written once here for the solver
and once in probes/lds/lds_schemes.h for the device. LDS has 32 banks of one dword each: 64
halves, 128 bytes, pass before a bank repeats. Rows of the same column that lie a multiple of 64
halves apart conflict; padding and XOR schemes move them to other banks.

Every scheme keeps groups of 8 halves (16 bytes, a chunk) together, so that `ds_load_b128` still works. A
permutation of rows moves no banks; kernels have one where transposing loads or direct loads want it, and both
sides must know it.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from layoutprobe.layouts.layout import HOLE

GROUP = 8
"""Halves of one 16-byte chunk."""

BANK_SWEEP = 64
"""Halves in 32 banks of 4 bytes."""

CHUNK_BITS = 128
"""Bits of a chunk."""

Index = NDArray[np.int64]
Shape = tuple[int, int]


class Scheme(Protocol):
    """A map from tile coordinates to LDS, with its inverse.

    Attributes:
        name: as the user writes it.
        summary: one line.
        device_define: value of -DLDS_SCHEME for the probe kernels.
    """

    name: str
    summary: str
    device_define: int

    def refusal(self, shape: Shape) -> str:
        """Why the scheme cannot hold a tile of this shape; "" where it can."""
        ...

    def size(self, shape: Shape) -> int:
        """Halves of LDS that the tile takes."""
        ...

    def index(self, row: Index, col: Index, shape: Shape) -> Index:
        """Index of the half that holds (row, col); broadcasts."""
        ...

    def inverse(self, index: Index, shape: Shape) -> tuple[Index, Index]:
        """(row, col) held by each half, or (HOLE, HOLE) for padding and beyond the tile."""
        ...

    def formula(self, shape: Shape, row: str = "row", col: str = "col") -> str:
        """`index` in words, for a tile of this shape: "row*24 + col"; "/" rounds down."""
        ...


class _RowMajor:
    """Rows at a fixed stride; subclasses say where a column goes within its row."""

    name: str
    summary: str
    device_define: int

    def refusal(self, shape: Shape) -> str:
        """Why the scheme cannot hold a tile of this shape; "" where it can."""
        return "" if min(shape) > 0 else "the tile is empty"

    def stride(self, cols: int) -> int:
        """Halves from one row to the next."""
        return cols

    def place(self, row: Index, col: Index, cols: int) -> Index:
        """Where (row, col) lies within its row. Its own inverse in every scheme so far."""
        return col

    def unplace(self, row: Index, place: Index, cols: int) -> Index:
        """Inverse of `place`."""
        return self.place(row, place, cols)

    def size(self, shape: Shape) -> int:
        """Halves of LDS that the tile takes."""
        return shape[0] * self.stride(shape[1])

    def index(self, row: Index, col: Index, shape: Shape) -> Index:
        """Index of the half that holds (row, col); broadcasts."""
        row, col = np.asarray(row, np.int64), np.asarray(col, np.int64)
        return row * self.stride(shape[1]) + self.place(row, col, shape[1])

    def inverse(self, index: Index, shape: Shape) -> tuple[Index, Index]:
        """(row, col) held by each half, or (HOLE, HOLE) for padding and beyond the tile."""
        rows, cols = shape
        row, place = np.divmod(np.asarray(index, np.int64), self.stride(cols))
        held = (row >= 0) & (row < rows) & (place < cols)
        col = self.unplace(row, np.where(held, place, 0), cols)
        return np.where(held, row, HOLE), np.where(held, col, HOLE)

    def formula(self, shape: Shape, row: str = "row", col: str = "col") -> str:
        """`index` in words, for a tile of this shape; "/" rounds down."""
        return f"{row}*{self.stride(shape[1])} + {col}"


class Plain(_RowMajor):
    """`row*cols + col`."""

    name = "none"
    summary = "row-major, no padding"
    device_define = 0


class Padded(_RowMajor):
    """`row*(cols + 8) + col`: 8 halves of padding shift each row by four banks."""

    name = "padded"
    summary = "row-major with 8 halves of padding a row"
    device_define = 1

    def stride(self, cols: int) -> int:
        """Halves from one row to the next."""
        return cols + GROUP


class Xor(_RowMajor):
    """`row*cols + ((col/8) ^ (row & 1))*8 + col%8`: odd rows swap neighbouring groups of 8."""

    name = "xor"
    summary = "odd rows swap neighbouring groups of 8 halves"
    device_define = 2

    def refusal(self, shape: Shape) -> str:
        """Why the scheme cannot hold a tile of this shape; "" where it can."""
        if shape[1] % (2 * GROUP):
            return "the columns must be a multiple of 16, so that every group of 8 has a partner"
        return super().refusal(shape)

    def place(self, row: Index, col: Index, cols: int) -> Index:
        """Where (row, col) lies within its row."""
        return col ^ ((row & 1) * GROUP)

    def formula(self, shape: Shape, row: str = "row", col: str = "col") -> str:
        """`index` in words, for a tile of this shape; "/" rounds down."""
        return f"{row}*{shape[1]} + (({col}/{GROUP}) ^ ({row}%2))*{GROUP} + {col}%{GROUP}"


class XorVector(_RowMajor):
    """`row*cols + ((col/8) ^ ((row >> s) & (cols/8 - 1)))*8 + col%8`, s = log2(max(1, 64/cols)).

    Rows 64/cols apart start at the same bank, hence the shift: the XOR steps once per sweep over
    the 32 banks. For 16 columns s = 2, and rows 0-3 stay as they are, rows 4-7 swap groups.
    """

    name = "xor-vector"
    summary = "groups of 8 halves in a new XOR order each time the 32 banks repeat"
    device_define = 3

    def refusal(self, shape: Shape) -> str:
        """Why the scheme cannot hold a tile of this shape; "" where it can."""
        chunks, rest = divmod(shape[1], GROUP)
        if rest or chunks < 1 or chunks & (chunks - 1):
            return "the columns must be 8 times a power of two"
        return super().refusal(shape)

    def place(self, row: Index, col: Index, cols: int) -> Index:
        """Where (row, col) lies within its row."""
        shift = self._sweep(cols).bit_length() - 1
        return col ^ (((row >> shift) & (cols // GROUP - 1)) * GROUP)

    def formula(self, shape: Shape, row: str = "row", col: str = "col") -> str:
        """`index` in words, for a tile of this shape; "/" rounds down."""
        sweep, groups = self._sweep(shape[1]), shape[1] // GROUP
        which = row if sweep == 1 else f"{row}/{sweep}"
        return f"{row}*{shape[1]} + (({col}/{GROUP}) ^ ({which}%{groups}))*{GROUP} + {col}%{GROUP}"

    @staticmethod
    def _sweep(cols: int) -> int:
        """Rows after which the banks repeat."""
        return max(1, BANK_SWEEP // cols)


class RowPermute(_RowMajor):
    """`permuted(row)*cols + col`: of every 16 rows, the second four and the third four change places."""

    name = "row-permute"
    summary = "of every 16 rows, rows 4-7 and rows 8-11 change places"
    device_define = 4

    def refusal(self, shape: Shape) -> str:
        """Why the scheme cannot hold a tile of this shape; "" where it can."""
        if shape[0] % 16:
            return "the rows must be a multiple of 16, so that every four of them have a place"
        return super().refusal(shape)

    def index(self, row: Index, col: Index, shape: Shape) -> Index:
        """Index of the half that holds (row, col); broadcasts."""
        return super().index(_exchange_fours(np.asarray(row, np.int64)), col, shape)

    def inverse(self, index: Index, shape: Shape) -> tuple[Index, Index]:
        """(row, col) held by each half, or (HOLE, HOLE) beyond the tile."""
        row, col = super().inverse(index, shape)
        return np.where(row == HOLE, HOLE, _exchange_fours(row)), col

    def formula(self, shape: Shape, row: str = "row", col: str = "col") -> str:
        """`index` in words, for a tile of this shape; "/" rounds down."""
        return f"({row}/16*16 + {row}/4%2*8 + {row}/8%2*4 + {row}%4)*{shape[1]} + {col}"


def _exchange_fours(row: Index) -> Index:
    """Bits 2 and 3 exchanged: its own inverse."""
    return np.asarray((row & ~12) | (row & 4) << 1 | (row & 8) >> 1)


def per_chunk(bits: int) -> int:
    """Elements of so many bits in a chunk of 16 bytes: a power of two, so that of 6 bits 16 fill 12 bytes of it.

    The reads that transpose elements of 6 bits take 12 bytes from addresses that are multiples of 16.
    """
    return 1 << (CHUNK_BITS // bits).bit_length() - 1


def bit_of(element: Index, bits: int) -> Index:
    """Where in a line of so wide elements one begins, in bits; broadcasts."""
    chunk, place = np.divmod(np.asarray(element, np.int64), per_chunk(bits))
    return np.asarray(chunk * CHUNK_BITS + place * bits)


class _OfBits:
    """A scheme for elements of another width: they are halves of one, or several halves."""

    def __init__(self, scheme: Scheme, bits: int) -> None:
        """`scheme` for elements of so many bits."""
        self.scheme, self.bits = scheme, bits
        self.name, self.summary, self.device_define = scheme.name, scheme.summary, scheme.device_define

    def _halves(self, shape: Shape) -> Shape:
        return shape[0], int(bit_of(np.asarray(shape[1]), self.bits)) // 16

    def _element(self, bit: Index) -> Index:
        """The inverse of `bit_of`, of any bit of an element."""
        chunk, place = np.divmod(bit, CHUNK_BITS)
        return np.asarray(chunk * per_chunk(self.bits) + place // self.bits)

    def refusal(self, shape: Shape) -> str:
        """Why the scheme cannot hold a tile of this shape; "" where it can."""
        if CHUNK_BITS % self.bits and shape[1] % per_chunk(self.bits):
            return f"the columns must be a multiple of {per_chunk(self.bits)}, which share 16 bytes"
        why = self.scheme.refusal(self._halves(shape))
        return f"{why} (in halves of {self.bits}-bit elements)" if why else ""

    def size(self, shape: Shape) -> int:
        """Elements of LDS that the tile takes."""
        return self.scheme.size(self._halves(shape)) * 16 * per_chunk(self.bits) // CHUNK_BITS

    def index(self, row: Index, col: Index, shape: Shape) -> Index:
        """Index of the element (row, col), in elements; broadcasts."""
        bit = bit_of(col, self.bits)
        half = self.scheme.index(row, bit // 16, self._halves(shape))
        return self._element(half * 16 + bit % 16)

    def inverse(self, index: Index, shape: Shape) -> tuple[Index, Index]:
        """(row, col) held by each element, or (HOLE, HOLE) for padding and beyond the tile."""
        bit = bit_of(index, self.bits)
        row, col = self.scheme.inverse(bit // 16, self._halves(shape))
        return row, np.where(row == HOLE, HOLE, self._element(col * 16 + bit % 16))

    def formula(self, shape: Shape, row: str = "row", col: str = "col") -> str:
        """Index of the half in which (row, col) begins; "/" rounds down."""
        each = per_chunk(self.bits)
        if CHUNK_BITS % self.bits:
            half = f"({col}/{each}*{GROUP} + {self.bits}*({col}%{each})/16)"
        else:
            half = f"({self.bits // 16}*{col})" if self.bits > 16 else f"({col}/{16 // self.bits})"
        return self.scheme.formula(self._halves(shape), row, half) + ", in halves"


def of_bits(scheme: Scheme, bits: int) -> Scheme:
    """The scheme for a tile whose elements are so wide: 4 to 64 bits; index and size count elements."""
    return scheme if bits == 16 else _OfBits(scheme, bits)


SCHEMES: dict[str, Scheme] = {
    scheme.name: scheme for scheme in (Plain(), Padded(), Xor(), XorVector(), RowPermute())
}
"""Every scheme, in the order of its device_define."""


def register(scheme: Scheme) -> None:
    """Add a scheme. Probes must know its `device_define`; see probes/lds/lds_schemes.h."""
    SCHEMES[scheme.name] = scheme
