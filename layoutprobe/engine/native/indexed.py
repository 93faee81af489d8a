"""The template of moves whose VGPRs M0 picks at run time."""

from __future__ import annotations

from layoutprobe.engine.native.template import Layout, Template, scalar_of
from layoutprobe.isa.inst import M0, Inst, Operand

MOVES_BY_M0 = "F_movrel"
"""The form of all of them; its last immediate is where the tracking copy of the block goes on."""
_WHOLE, _TEN = (0xFFFFFFFF, 0), (0x3FF, 0)
_NONE, _UPPER_TEN = (0, 0), (0x3FF, 16)
_PICKS = {
    "v_movrels_b32": (_WHOLE, _NONE),
    "v_movreld_b32": (_NONE, _WHOLE),
    "v_movrelsd_b32": (_WHOLE, _WHOLE),
    "v_movrelsd_2_b32": (_TEN, _UPPER_TEN),
}
"""What of M0 is added to the numbers of source and target: bits, and how far up they lie."""
_VGPR, _SCALAR, _NUMBER = range(3)
"""Kinds of sources; F_movrel."""


def picks_registers(inst: Inst) -> bool:
    """Whether an instruction reads or writes VGPRs that only M0 knows."""
    return inst.name in _PICKS


def indexed_template(inst: Inst, layout: Layout) -> Template | None:
    """The template of an instruction that picks VGPRs, None of others, and where numpy executes it.

    Which register it reads or defines C finds out; no guard can.
    """
    if not picks_registers(inst) or "dpp_ctrl" in inst.mods or "dpp8" in inst.mods:
        return None
    source, target, m0 = inst.src[0], inst.dst[0], Operand("s", M0)
    read, written = _PICKS[inst.name]
    kind, at, number, reads = _VGPR, 0, 0, [m0]
    if source.kind != "v":
        value = scalar_of(source, layout)
        if value is None or read != _NONE:
            return None
        kind, at, number = _NUMBER if value.known else _SCALAR, value.offset, value.number
        reads.append(source)
    return Template(
        MOVES_BY_M0,
        (layout.offset(m0), source.index if kind == _VGPR else 0, target.index, at),
        (*read, *written, kind, number),
        tuple(reads),
    )
