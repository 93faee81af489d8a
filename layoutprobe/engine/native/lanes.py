"""Templates of what moves values between lanes, and between lanes and scalar registers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from struct import unpack

import numpy as np

from layoutprobe.engine.native.template import WHOLE, Layout, Template, scalar_of
from layoutprobe.isa.inst import NULL, Inst, Operand
from layoutprobe.semantics.cross_lane import swizzle_source

_FETCH_INACTIVE, _KEEP = 1, 2


def _readlane(inst: Inst, layout: Layout) -> Template | None:
    value, target = inst.src[0], inst.dst[0]
    if value.kind != "v" or target.kind != "s" or target.index == NULL:
        return None
    writes = ((target, WHOLE),)
    if len(inst.src) == 1:
        return Template("F_readfirstlane", (0, layout.offset(target), value.index), writes=writes)
    lane = scalar_of(inst.src[1], layout)
    if lane is None:
        return None
    return Template(
        "F_readlane",
        (lane.offset, layout.offset(target), value.index),
        (lane.number, lane.known),
        (inst.src[1],),
        writes,
    )


def _writelane(inst: Inst, layout: Layout) -> Template | None:
    """What it defines C finds out: the register's other lanes stay what they are."""
    value, lane = (scalar_of(o, layout) for o in inst.src[:2])
    if value is None or lane is None:
        return None
    flags = lane.known | value.known << 1
    return Template(
        "F_writelane",
        (lane.offset, value.offset, inst.dst[0].index),
        (lane.number, value.number, flags),
        inst.src[:2],
    )


def _swap(inst: Inst, layout: Layout) -> Template | None:
    one, other = inst.dst[0], inst.src[0]
    if other.kind != "v":
        return None
    return Template(
        "F_swap",
        (layout.offset(one), layout.offset(other)),
        writes=((one, WHOLE), (other, WHOLE)),
        moves=(one, other),
        moved=0b11,
    )


def _permlane64(inst: Inst, layout: Layout) -> Template | None:
    return _moving("F_permlane64", inst, layout, inst.src[0]) if inst.src[0].kind == "v" else None


def _moving(
    symbol: str,
    inst: Inst,
    layout: Layout,
    data: Operand,
    select: tuple[Operand, ...] = (),
    immediates: tuple[int, ...] = (),
    keep: bool = False,
) -> Template | None:
    """Which lanes are written where `keep` depends on others: so does what stays undefined."""
    target = inst.dst[0]
    if data.kind != "v" or target.kind != "v":
        return None
    at = layout.offset(data), layout.offset(target)
    others = [scalar_of(o, layout) for o in select if o.kind != "v"]
    if any(o is None for o in others):
        return None
    first = layout.offset(select[0]) if select and select[0].kind == "v" else 0
    whole = symbol == "F_permlane64"
    return Template(
        symbol,
        at if whole else (first, *at),
        immediates,
        select,
        ((target, WHOLE),),
        active=True,
        moves=(data, *((target,) if keep or whole else ())),
        moved=0b11 if whole else 0b110,
    )


def _offset(inst: Inst) -> int:
    return inst.mods.get("offset0", 0) | inst.mods.get("offset1", 0) << 8


def _permute(inst: Inst, layout: Layout) -> Template | None:
    address, data = inst.src[0], inst.src[-1]
    if address.kind != "v":
        return None
    symbol = "F_permute" if inst.name == "ds_permute_b32" else "F_bpermute"
    how = _FETCH_INACTIVE if "_fi_" in inst.name else 0
    counted = layout.lanes if inst.mods.get("wave_wide") else 32
    return _moving(symbol, inst, layout, data, (address,), (_offset(inst), how, counted))


def _swizzle(inst: Inst, layout: Layout) -> Template | None:
    lanes = swizzle_source(_offset(inst))[:32].astype(np.uint8)
    return _moving("F_swizzle", inst, layout, inst.src[-1], (), unpack("<8I", lanes.tobytes()))


def _permlane16(inst: Inst, layout: Layout) -> Template | None:
    opsel = inst.mods.get("opsel", 0)
    keep = not opsel & 2
    how = (_FETCH_INACTIVE if opsel & 1 else 0) | (_KEEP if keep else 0)
    crossed = 16 if "x16" in inst.name else 0
    if "_var_" in inst.name:
        if inst.src[1].kind != "v":
            return None
        return _moving(
            "F_permlane16_var", inst, layout, inst.src[0], inst.src[1:2], (how, 0, 0, crossed), keep
        )
    low, high = (scalar_of(o, layout) for o in inst.src[1:3])
    if low is None or high is None or inst.src[0].kind != "v":
        return None
    data, target = inst.src[0], inst.dst[0]
    return Template(
        "F_permlane16",
        (low.offset, layout.offset(data), layout.offset(target), high.offset),
        (how, low.number, high.number, crossed, low.known | high.known << 1),
        inst.src[1:3],
        ((target, WHOLE),),
        active=True,
        moves=(data, *((target,) if keep else ())),
        moved=0b110,
    )


_BUILDERS: Mapping[str, Callable[[Inst, Layout], Template | None]] = {
    "v_readfirstlane_b32": _readlane,
    "v_readlane_b32": _readlane,
    "v_writelane_b32": _writelane,
    "v_swap_b32": _swap,
    "v_permlane64_b32": _permlane64,
    "ds_bpermute_b32": _permute,
    "ds_bpermute_fi_b32": _permute,
    "ds_permute_b32": _permute,
    "ds_swizzle_b32": _swizzle,
    **{f"v_permlane{x}16{var}_b32": _permlane16 for x in ("", "x") for var in ("", "_var")},
}


def lanes_template(inst: Inst, layout: Layout) -> Template | None:
    """The template of an instruction between lanes, None where numpy executes it."""
    builder = _BUILDERS.get(inst.name)
    return builder(inst, layout) if builder else None
