"""Three views of an operand that passes transposing loads: what a lane fetched, what it received, and what the matrix
instruction reads.

A lane names an address, and fetches the bytes there: *raw*. A transposing load hands them to other lanes of its
group: what a lane has in its registers then is *received*. Moves, permutes and swaps make of that the operand:
*packed*. All three are tables of the same kind, so that they can be laid side by side.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.layouts.layout import Layout
from layoutprobe.place import Place

Table = NDArray[np.int32]

RAW, RECEIVED, PACKED = VIEWS = ("raw", "received", "packed")
LDS = "LDS"
MEMORY = "global memory"
"""What transposing loads read, in words."""
MEANT = {
    RAW: "raw: what lies where each lane's address points; registers are numbered load by load",
    RECEIVED: "received: what each lane has behind the transposing loads; registers load by load",
    PACKED: "packed: what the matrix instruction reads",
}
"""What a view shows, in words."""


class Read(Struct, frozen=True):
    """A transposing load, as each of the waves executes it once.

    Attributes:
        name: its mnemonic.
        place: where in the kernel.
        words: registers that a lane receives.
        offset: bytes that the instruction itself adds to a lane's address.
    """

    name: str
    place: Place
    words: int
    offset: int = 0


class OperandViews(Struct, frozen=True, eq=False):
    """What some matrix instructions take of A or B, before and after each step of its way.

    Attributes:
        raw, received: element in each field of each register that the loads fill, load by load; axes of a Layout.
        packed: element in each field of the operands, matrix instruction by matrix instruction.
        reads: the loads, in the order of `raw` and `received`.
        address: int64 [wave, lane, read], first byte that a lane names, counted in the LDS of its workgroup or in
            the buffer that it is in; -1 where a lane names none.
        blocks: matrix instructions of which `packed` has the operand.
        together: neighbouring lanes that hand each other what they fetch.
        naming: the first so many lanes of a wave name addresses, and fetch for all of its lanes.
        memory: what they read, in words.
    """

    raw: Layout
    received: Layout
    packed: Layout
    reads: tuple[Read, ...]
    address: NDArray[np.int64]
    blocks: int = 1
    together: int = 16
    naming: int = 64
    memory: str = LDS

    def __post_init__(self) -> None:
        if self.raw.row.shape[:2] != self.received.row.shape[:2]:
            raise ValueError("the same waves and lanes fetch and receive")
        if self.packed.vgprs % self.blocks:
            raise ValueError("all blocks have as many registers")

    __repr__ = brief

    @property
    def matrix(self) -> str:
        """ "A" or "B"."""
        return self.packed.matrix

    @property
    def groups(self) -> NDArray[np.int64]:
        """Lanes that fetch for each other: [group, lane]."""
        lanes = np.arange(self.raw.lanes)
        group = lanes % self.naming // self.together
        return np.stack([lanes[group == number] for number in range(group.max() + 1)])

    def view(self, name: str) -> Layout:
        """The table of that name.

        Raises:
            KeyError: no such view.
        """
        return dict(zip(VIEWS, (self.raw, self.received, self.packed), strict=True))[name]

    def block(self, number: int) -> Layout:
        """The operand of one matrix instruction."""
        each = self.packed.vgprs // self.blocks
        return registers(self.packed, slice(number * each, (number + 1) * each))


def registers(layout: Layout, which: slice) -> Layout:
    """Some registers of an operand."""
    return replace(layout, row=layout.row[:, :, which], col=layout.col[:, :, which])


def k_and_col(layout: Layout) -> tuple[Table, Table]:
    """k, and the line that is multiplied (a row of A, a column of B), of every element: int32 [wave, lane, slot].

    Slots are the fields of a lane's registers from the lowest bit on: of 8-bit elements, its bytes.
    """
    flat = (*layout.row.shape[:2], -1)
    row, col = layout.row.reshape(flat), layout.col.reshape(flat)
    return (col, row) if layout.matrix == "A" else (row, col)
