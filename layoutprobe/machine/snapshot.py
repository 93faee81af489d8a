"""A copy of what some waves hold, for whoever wants to look at it after they have gone on."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.machine.cohort import Cohort

Words = NDArray[np.uint32]
Bytes = NDArray[np.uint8]


class Snapshot(Struct, frozen=True, eq=False):
    """Registers of some waves, and LDS of their workgroups. Set bits of an `undefined` are undefined bits.

    Attributes:
        pc: where the waves' basic block starts.
        waves: int64 [wave], positions in the batch.
        groups: int64 [wave], which row of `lds` each wave uses.
        exec: bool [wave, lane].
        vgprs, vgprs_undefined: uint32 [vgpr, wave, lane].
        sgprs, sgprs_undefined: uint32 [register, wave], by encoding; SCC is the last.
        lds, lds_undefined: uint8 [workgroup, byte].
    """

    pc: int
    waves: NDArray[np.int64]
    groups: NDArray[np.int64]
    exec: NDArray[np.bool_]
    vgprs: Words
    vgprs_undefined: Words
    sgprs: Words
    sgprs_undefined: Words
    lds: Bytes
    lds_undefined: Bytes

    __repr__ = brief


def snapshot(c: Cohort, which: NDArray[np.int64] | None = None) -> Snapshot:
    """Copies the state of a cohort's waves.

    Args:
        c: the cohort, as an observer gets it.
        which: int64, positions within the cohort; all waves by default.
    """
    at = np.arange(len(c.waves)) if which is None else which
    machine = c.machine
    rows, groups = np.unique(machine.waves.workgroup[c.waves[at]], return_inverse=True)
    stride = machine.lds.data.bytes.size // max(int(machine.waves.workgroup.max(initial=-1)) + 1, 1)
    bytes_of = (rows * stride)[:, None] + np.arange(machine.lds_size)
    return Snapshot(
        c.pc,
        c.waves[at].copy(),
        groups,
        c.exec[at].copy(),
        c.regs.vgprs[:, at],
        c.shadow.vgprs[:, at],
        c.regs.sgprs[:, at, 0],
        c.shadow.sgprs[:, at, 0],
        machine.lds.data.bytes[bytes_of],
        machine.lds.shadow.bytes[bytes_of],
    )
