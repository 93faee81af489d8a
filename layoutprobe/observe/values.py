"""What operands of an instruction hold, as integers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from layoutprobe.isa.inst import Operand
from layoutprobe.machine.cohort import Cohort

Numbers = NDArray[np.int64]


def integers(c: Cohort, operand: Operand, *, signed: bool = False, wide: bool = False) -> Numbers | None:
    """An operand of 32 bits, or of 64, of every wave and lane, or what is broadcast to them; None where it is no
    integer of a register or constant."""
    if operand.number is not None:
        return np.asarray(operand.number, np.int64)
    if operand.kind not in ("v", "s") or operand.bits < 32:
        return None
    words = c.u if operand.kind == "v" else c.su
    low = words[operand.index]
    if wide:
        high = words[operand.index + 1].astype(np.int64)
        return np.asarray(high << 32 | low.astype(np.int64))
    return np.asarray(low.view(np.int32) if signed else low, np.int64)
