"""Memory instructions: raw fields -> instruction."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from layoutprobe.isa.fields import NONE, Fields
from layoutprobe.isa.inst import NULL, Inst, Operand
from layoutprobe.isa.kind import Kind
from layoutprobe.isa.transposing import exchange_of

_TO_LDS = "_load_lds_"
"""Loads from memory to LDS: they write no register, though AMD's table has their field."""


def _smem(f: Fields) -> Inst:
    if "sdata" not in f.raw.operands or "prefetch" in f.name:
        return f.inst((), ())
    if "sbase" not in f.raw.operands:
        return f.inst((f.operand("sdata"),), ())
    soffset, offset = f.register(f.code("soffset"), 32, "U32"), f.offset("SMEM")
    if "imm" in f.fields:
        soffset, offset = _scalar_offset(f)
    return f.inst((f.operand("sdata"),), (f.operand("sbase"), soffset), offset=offset, glc=f.mod("glc"))


def _scalar_offset(f: Fields) -> tuple[Operand, int]:
    """GFX9: two bits tell whether a register, a number or both are added to the base (CDNA3 ISA guide, SMEM)."""
    if f.mod("soffset_en"):
        return f.register(f.code("soffset"), 32, "U32"), f.offset("SMEM") if f.mod("imm") else 0
    if f.mod("imm"):
        return Operand("s", NULL, 1, 32, "U32"), f.offset("SMEM")
    return f.register(f.mod("offset") & 0x7F, 32, "U32"), 0


def _ds(f: Fields) -> Inst:
    names = f.raw.operands
    dst = (f.data("vdst"),) if "vdst" in names else ()
    src = tuple(f.operand(n) if n == "addr" else f.data(n) for n in ("addr", "data0", "data1") if n in names)
    mods = {name: f.mod(name) for name in ("offset0", "offset1", "gds")}
    if "permute" in f.name:
        mods["wave_wide"] = int(f.rules.wave_wide_permute)
    return f.inst(dst, src, **mods)


def _flat(f: Fields) -> Inst:
    names = f.raw.operands
    saddr_code = f.fields["saddr"].offset
    saddr = (
        NONE
        if saddr_code == f.rules.no_address or f.encoding == "FLAT"
        else f.register(saddr_code, 32 if f.encoding == "SCRATCH" else 64, "ANY")
    )
    vaddr, vdata = f.rules.address, f.rules.data
    if vaddr not in names:  # cache control
        return f.inst((), (), scope=f.mod("scope"))
    addr_bits = 64 if f.encoding == "FLAT" or (f.encoding == "GLOBAL" and saddr.kind == "none") else 32
    addr = f.register(f.fields[vaddr].offset, addr_bits, "ANY")
    if f.encoding == "SCRATCH" and not f.mod("sve"):
        addr = NONE
    mods = _cache_policy(f)
    mods["offset"] = f.offset(f.encoding)
    loads = "vdst" in names and _TO_LDS not in f.name
    dst = (f.data("vdst"),) if loads and (Kind.ATOMIC not in f.kind or mods["glc"]) else ()
    if dst and "_cmpswap_" in f.name and f.rules.compared_width:
        # The table gives the width of the data: new value and comparand.
        dst = (replace(dst[0], regs=dst[0].regs // 2, bits=dst[0].bits // 2),)
    if dst and (exchange := exchange_of(f.name, f.mask_bits)):
        # The table gives the width of what a lane fetches, whatever it gets of that.
        dst = (replace(dst[0], regs=exchange.words, bits=32 * exchange.words),)
    data = (f.data(vdata),) if vdata in names else ()
    return f.inst(dst, (addr, *data, saddr), **mods)


def _cache_policy(f: Fields) -> dict[str, int]:
    """What an access asks of the caches; "glc" on an atomic asks for the old value."""
    returns = int(Kind.ATOMIC in f.kind and f.mod(f.rules.old_value) & 1)
    return {"glc": returns} | {name: f.mod(name) for name in f.rules.cache_policy}


def _buffer(f: Fields) -> Inst:
    names = f.raw.operands
    if "vdata" not in names:  # cache control
        return f.inst((), (), **_cache_policy(f))
    flags = {name: f.mod(name) for name in ("offen", "idxen", "tfe", "lds")} | _cache_policy(f)
    flags["offset"] = f.offset("MUBUF")
    vaddr = f.register(f.fields["vaddr"].offset, 32 * (flags["offen"] + flags["idxen"]), "ANY")
    if not flags["offen"] and not flags["idxen"]:
        vaddr = NONE
    data = f.data("vdata")
    rsrc = f.register(f.code(f.rules.resource), 128, "ANY")
    soffset = f.register(f.fields["soffset"].offset, 32, "U32")
    if Kind.LOAD in f.kind:
        # A load to LDS writes no register, though its field is there.
        return f.inst(() if flags["lds"] else (data,), (vaddr, rsrc, soffset), **flags)
    returns = (data,) if Kind.ATOMIC in f.kind and flags["glc"] else ()
    if returns and "_cmpswap" in f.name:  # one field for new value and comparand, and for the old value
        returns = (replace(data, regs=data.regs // 2, bits=data.bits // 2),)
    return f.inst(returns, (data, vaddr, rsrc, soffset), **flags)


ASSEMBLE: dict[str, Callable[[Fields], Inst]] = {
    "SMEM": _smem,
    "DS": _ds,
    "FLAT": _flat,
    "GLOBAL": _flat,
    "SCRATCH": _flat,
    "MUBUF": _buffer,
}
"""By encoding, as RDNA3 names it."""
