"""What a store is about to write: who looks before it happens finds it in registers."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from layoutprobe.isa.inst import Inst
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.memory import Addresses

_TWO = re.compile(r"ds_(?:store_2addr|write2)(_stride64|st64)?_b(32|64)")


def stored_dwords(c: Cohort, inst: Inst, place: Addresses, size: int) -> NDArray[np.uint32]:
    """What a store is about to write: uint32 [wave, lane, dword], sub-dword values zero-extended."""
    first = data_register(c, inst, place)
    count = (size + 3) // 4
    words = np.stack([c.u[first + j] for j in range(count)], axis=-1)
    if "d16_hi" in inst.name:
        words >>= np.uint32(16)
    if size < 4:
        words &= np.uint32((1 << 8 * size) - 1)
    return words


def data_register(c: Cohort, inst: Inst, place: Addresses) -> int:
    """The first VGPR of what a store is about to write."""
    return inst.src[_data_operand(c, inst, place)].index


def _data_operand(c: Cohort, inst: Inst, place: Addresses) -> int:
    """Which source holds the data; the second of a store to two addresses is told by its address."""
    if not (two := _TWO.match(inst.name)):
        return 0 if inst.encoding == "MUBUF" else 1
    unit = int(two[2]) // 8 * (64 if two[1] else 1)
    second = inst.mods.get("offset1", 0) * unit
    base = c.u[inst.src[0].index].astype(np.int64) + second
    local = place.offsets - c.lds_base
    return 2 if ((base - local) & 0xFFFF_FFFF)[place.mask].any() == 0 else 1
