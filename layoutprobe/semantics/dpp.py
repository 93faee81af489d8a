"""DPP: source 0 is read through a permutation of lanes.

All lanes are read before any is written. A lane whose source is out of range or inactive is
either given 0 (bound_ctrl) or not written. Controls: RDNA3 ISA guide, "DPP16" and "DPP8"; CDNA3 ISA guide,
"DPP", which alone has those that cross rows of 16 lanes, and has waves of 64 lanes only. No other control
does, so that a wave32 is the first half of a wave64.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.isa.inst import Inst
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.registers import Array
from layoutprobe.semantics.registry import UnsupportedFormError

_LANES = np.arange(64)
_ROW = _LANES & ~15
_IN_ROW = _LANES & 15


class LaneMap(Struct, frozen=True, eq=False):
    """The permutation of one instruction.

    Attributes:
        source: int [64], the lane that each lane reads, -1 where it is out of range.
        enabled: bool [64], lanes that row_mask and bank_mask let write.
        zero: bound_ctrl: lanes without a source read 0 instead of not being written.
        fetch_inactive: inactive lanes may be read.
    """

    source: NDArray[np.int64]
    enabled: NDArray[np.bool_]
    zero: bool
    fetch_inactive: bool

    __repr__ = brief

    def readable(self, c: Cohort) -> NDArray[np.bool_]:
        """Lanes that have a source to read: bool [wave, lane]."""
        source = self.source[: c.size]
        valid = np.broadcast_to(source >= 0, c.exec.shape)
        if self.fetch_inactive or c.full:
            return valid
        result: NDArray[np.bool_] = valid & c.exec[:, np.maximum(source, 0)]
        return result

    def permute(self, value: Array, readable: NDArray[np.bool_]) -> Array:
        """Source 0 as the lanes see it."""
        if value.shape[-1] == 1:
            return value
        source = np.maximum(self.source[: value.shape[-1]], 0)
        return np.where(readable, value[:, source], value.dtype.type(0))

    def restricted(self, c: Cohort, readable: NDArray[np.bool_], execute: Callable[[], None]) -> None:
        """Execute with those lanes disabled that DPP does not let write."""
        enabled = self.enabled[: c.size]
        writes = enabled if self.zero else enabled & readable
        if c.full and writes.all():
            execute()
            return
        saved = c.exec, c.lanes, c.full
        c.exec = c.exec & writes
        c.lanes = np.where(c.exec, np.uint32(0xFFFFFFFF), np.uint32(0))
        c.full = False
        try:
            execute()
        finally:
            c.exec, c.lanes, c.full = saved


def lane_map(inst: Inst) -> LaneMap | None:
    """The instruction's DPP permutation, or None without DPP."""
    if "dpp8" in inst.mods:
        select = np.array([inst.mods["dpp8"] >> 3 * i & 7 for i in range(8)])
        source = (_LANES & ~7) + select[_LANES & 7]
        return LaneMap(source, np.ones(64, np.bool_), True, bool(inst.mods.get("fi", 0)))
    if "dpp_ctrl" not in inst.mods:
        return None
    rows, banks = inst.mods["row_mask"], inst.mods["bank_mask"]
    enabled = ((rows >> (_LANES // 16)) & 1).astype(np.bool_) & ((banks >> (_IN_ROW // 4)) & 1).astype(
        np.bool_
    )
    source = _dpp16_source(inst.mods["dpp_ctrl"])
    return LaneMap(source, enabled, bool(inst.mods["bound_ctrl"]), bool(inst.mods.get("fi", 0)))


def _dpp16_source(control: int) -> NDArray[np.int64]:
    """Source lane per lane for a dpp_ctrl value, -1 where the row ends."""
    amount = control & 15
    if control <= 0xFF:  # quad_perm
        quads = np.array([control >> 2 * i & 3 for i in range(4)])
        return (_LANES & ~3) + quads[_LANES & 3]
    if 0x101 <= control <= 0x10F:  # row_shl
        return _inside(_IN_ROW + amount)
    if 0x111 <= control <= 0x11F:  # row_shr
        return _inside(_IN_ROW - amount)
    if 0x121 <= control <= 0x12F:  # row_ror
        return _ROW + (_IN_ROW - amount) % 16
    if control in _WHOLE_WAVE:
        return _WHOLE_WAVE[control]
    if control == 0x140:  # row_mirror
        return _ROW + 15 - _IN_ROW
    if control == 0x141:  # row_half_mirror
        return (_LANES & ~7) + 7 - (_LANES & 7)
    if 0x150 <= control <= 0x15F:  # row_share, of CDNA row_newbcast
        return _ROW + amount
    if 0x160 <= control <= 0x16F:  # row_xmask
        return _ROW + (_IN_ROW ^ amount)
    raise UnsupportedFormError(f"dpp_ctrl {control:#x}")


_WHOLE_WAVE = {
    0x130: np.where(_LANES < 63, _LANES + 1, -1),  # wave_shl
    0x134: (_LANES + 1) % 64,  # wave_rol
    0x138: _LANES - 1,  # wave_shr
    0x13C: (_LANES - 1) % 64,  # wave_ror
    0x142: _ROW - 1,  # row_bcast15: the last lane of the row before
    0x143: np.where(_LANES < 32, -1, 31),  # row_bcast31
}


def _inside(place: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.where((place >= 0) & (place < 16), _ROW + place, -1)
