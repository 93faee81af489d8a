"""The templates of moves whose VGPRs M0 picks at run time, and of what sets M0 for them."""

from __future__ import annotations

from layoutprobe.engine.native.template import Layout, Scalar, Template, scalar_of
from layoutprobe.isa.indexing import (
    DST,
    END,
    INDEX,
    MODE,
    SETS_MODE,
    SRC0,
    moved_by,
    sets_bits,
)
from layoutprobe.isa.inst import M0, Inst, Operand

MOVES_BY_M0 = ("F_movrel", "F_mov_in_mode")
"""The forms of all of them; their last immediate is where the tracking copy of the block goes on."""
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


_ALL = 0xFFFFFFFF
"""C knows how many registers a wave has."""
_MOVES = ("v_mov_b32", "v_accvgpr_read_b32")


def indexed_template(inst: Inst, layout: Layout) -> Template | None:
    """The template of what sets M0 for the mode, and of a move that picks VGPRs; None where numpy executes it.

    Which register it reads or defines C finds out; no guard can.
    """
    if inst.name in SETS_MODE:
        return _setting(inst, layout)
    if {"dpp_ctrl", "dpp8", "dst_sel"} & inst.mods.keys():
        return None
    if MODE in inst.mods:
        return _in_mode(inst, layout)
    source, target, m0 = inst.src[0], inst.dst[0], Operand("s", M0)
    read, written = _PICKS[inst.name]
    value = _source(inst, layout)
    if value is None or (source.kind != "v" and read != _NONE):
        return None
    kind, scalar = value
    return Template(
        "F_movrel",
        (layout.offset(m0), source.index if kind == _VGPR else 0, target.index, scalar.offset),
        (*read, *written, kind, scalar.number),
        (m0,) if kind == _VGPR else (m0, source),
    )


def _source(inst: Inst, layout: Layout) -> tuple[int, Scalar] | None:
    """Of which kind the source of a move is, and what it is where it is no VGPR."""
    if inst.src[0].kind == "v":
        return _VGPR, Scalar(0, 0, True)
    value = scalar_of(inst.src[0], layout)
    return None if value is None else (_NUMBER if value.known else _SCALAR, value)


def _in_mode(inst: Inst, layout: Layout) -> Template | None:
    """Of M0 only some bits need be defined, which C looks at as well."""
    source, target, end = inst.src[0], inst.dst[0], inst.mods[END]
    value = _source(inst, layout)
    if inst.name not in _MOVES or value is None or source.neg or source.abs:
        return None
    kind, scalar = value
    last, moved = _ALL if source.index >= end and kind == _VGPR else end, moved_by(inst)
    return Template(
        "F_mov_in_mode",
        (layout.offset(Operand("s", M0)), source.index if kind == _VGPR else 0, target.index, scalar.offset),
        (kind, scalar.number, bool(moved & SRC0), bool(moved & DST), last, end),
        () if kind == _VGPR else (source,),
    )


def _setting(inst: Inst, layout: Layout) -> Template:
    """Of M0 the other bits stay as they are, undefined ones too."""
    taken, given = sets_bits(inst)
    value = scalar_of(inst.src[0], layout) if inst.src else Scalar(0, 0, True)
    assert value is not None
    if value.known:
        given |= value.number & INDEX
    return Template(
        "F_set_m0",
        (layout.offset(Operand("s", M0)), value.offset),
        (taken, given, 0 if value.known else INDEX),
        inst.src[:1],
    )
