"""Transposing loads: who of the lanes gets which element of what the others fetched.

The payloads of some lanes, laid end to end, are a matrix, and each of them gets the column of its number: 16 lanes
and 16 columns of `ds_read_b64_tr_b16/b8/b4` and `ds_read_b96_tr_b6` (CDNA4), 8 of `global_load_tr_b128/b64` (RDNA4).
AMD gives no pseudocode. Sources for CDNA4: Modular's documents for 8 bits, Triton 3.9 (chooseDsReadTrLayout) for 4
bits, rocjitsu for 16; they agree with one another and with the address pattern of rocRoller's GPU tests for all four
widths. For RDNA4: IREE and rocjitsu, which agree; of waves of 64 lanes rocjitsu alone, whose lanes then hold what
AMD's calculator wants of a wave64 operand.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.arch.lds import TRANSPOSING_READS, LdsRead
from layoutprobe.arch.transposing import GLOBAL_READS, GlobalRead
from layoutprobe.brief import brief

Ints = NDArray[np.int64]
Read = LdsRead | GlobalRead

_READS: dict[str, Read] = {read.name: read for read in (*TRANSPOSING_READS, *GLOBAL_READS)}


class Exchange(Struct, frozen=True, eq=False):
    """What a transposing load does with what its lanes fetch.

    Attributes:
        size: bytes that a lane fetches.
        bits: of an element.
        unit: bytes that an address must be a multiple of.
        even: the first register must be an even one.
        together: neighbouring lanes that hand each other elements.
        naming: the first so many lanes of the wave name addresses and fetch.
        lane, element: int64 [lane, element], where each element that a lane gets comes from.
    """

    size: int
    bits: int
    unit: int
    even: bool
    together: int
    naming: int
    lane: Ints
    element: Ints

    __repr__ = brief

    @property
    def words(self) -> int:
        """Registers that a lane gets."""
        return self.lane.shape[1] * self.bits // 32

    def source(self, lane: int, bit: int) -> tuple[int, int]:
        """Whose address names the element that a lane gets in that bit of its registers, and its bit there."""
        at = bit // self.bits
        return int(self.lane[lane, at]), int(self.element[lane, at]) * self.bits


@cache
def exchange_of(name: str, lanes: int) -> Exchange | None:
    """The exchange of a mnemonic in a wave of so many lanes; None where it transposes nothing."""
    read = _READS.get(name)
    return by_columns(read, lanes) if read else None


def by_columns(read: Read, lanes: int) -> Exchange:
    """Groups of lanes that fetch so many bytes each hand out columns of elements of so many bits.

    Where fewer lanes fetch than there are, the others get the upper halves of the columns.
    """
    each = read.bytes * 8 // read.bits
    naming = min(read.naming, lanes)
    parts = lanes // naming
    lane, row = (np.asarray(x, np.int64) for x in np.indices((lanes, each // parts)))
    row = row + lane // naming * (each // parts)
    lane = lane % naming
    # Element `row` of column lane % together, of rows that lie end to end in the group's payloads.
    number = row * read.together + lane % read.together
    from_lane = lane // read.together * read.together + number // each
    return Exchange(
        read.bytes, read.bits, read.align, read.even, read.together, naming, from_lane, number % each
    )


def transposing_names() -> tuple[str, ...]:
    """All mnemonics that transpose."""
    return tuple(_READS)
