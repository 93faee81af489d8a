"""Transposing loads: who of the lanes gets which element of what the others fetched.

`ds_read_b64_tr_b16/b8/b4` and `ds_read_b96_tr_b6` of CDNA4: the payloads of 16 lanes, laid end to end, are a matrix
of 16 columns, and each lane gets the column of its number. AMD gives no pseudocode. Sources: Modular's documents for
8 bits, Triton 3.9 (chooseDsReadTrLayout) for 4 bits, rocjitsu for 16; they agree with one another and with the
address pattern of rocRoller's GPU tests for all four widths.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from layoutprobe.arch.lds import TRANSPOSING_READS, LdsRead
from layoutprobe.brief import brief

Ints = NDArray[np.int64]

GROUP = 16
"""Lanes of CDNA4 that exchange elements."""
_READS = {read.name: read for read in TRANSPOSING_READS}


@dataclass(frozen=True, eq=False)
class Exchange:
    """What a transposing load does with what its lanes fetch.

    Attributes:
        size: bytes that a lane fetches.
        bits: of an element.
        unit: bytes that an address must be a multiple of.
        lane, element: int64 [lane, element], where each element that a lane gets comes from.
    """

    size: int
    bits: int
    unit: int
    lane: Ints
    element: Ints

    __repr__ = brief

    def source(self, lane: int, bit: int) -> tuple[int, int]:
        """Whose address names the element that a lane gets in that bit of its registers, and its bit there."""
        at = bit // self.bits
        return int(self.lane[lane, at]), int(self.element[lane, at]) * self.bits


@cache
def exchange_of(name: str, lanes: int) -> Exchange | None:
    """The exchange of a mnemonic in a wave of so many lanes; None where it transposes nothing."""
    read = _READS.get(name)
    return by_columns(read, lanes) if read else None


def by_columns(read: LdsRead, lanes: int) -> Exchange:
    """16 lanes that fetch so many bytes each hand out columns of elements of so many bits."""
    each = read.bytes * 8 // read.bits
    lane, row = (np.asarray(x, np.int64) for x in np.indices((lanes, each)))
    # Element `row` of column lane % 16, of rows of 16 elements that lie end to end in the group's payloads.
    number = row * GROUP + lane % GROUP
    from_lane = lane // GROUP * GROUP + number // each
    return Exchange(read.bytes, read.bits, read.align, from_lane, number % each)


def transposing_names() -> tuple[str, ...]:
    """All mnemonics that transpose."""
    return tuple(_READS)
