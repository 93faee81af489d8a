"""Loads of CDNA that go from global memory to LDS and write no register.

Lane l of the wave writes at M0 + the instruction's offset + l * size, wherever it reads: M0 is the same for all
lanes, and the offset counts for both addresses. Sources: CDNA4 ISA guide, "LDS DMA", of which M0[17:2] holds for
global loads and M0[17:0] for buffer loads; LLVM (hasLDSLoadB96_B128); compiled kernels, for lanes that lie close.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from layoutprobe.isa.inst import M0, Inst, Operand
from layoutprobe.isa.kind import Kind
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.memory import Addresses, Store
from layoutprobe.machine.registers import Array
from layoutprobe.semantics.access import (
    Width,
    extended,
    lds_base,
    lds_place,
    notify,
    older_width,
    undefined_guard,
)
from layoutprobe.semantics.operands import reader
from layoutprobe.semantics.registry import Executor, UnsupportedFormError, register_binder
from layoutprobe.semantics.spaces import buffer_places, global_places

_SUFFIXES = ("ubyte", "sbyte", "ushort", "sshort", "dword", "dwordx3", "dwordx4")
_M0_BITS = {Kind.GLOBAL: 0x3FFFC, Kind.BUFFER: 0x3FFFF}


def bind_direct(width: Width, inst: Inst) -> Executor:
    """Executor of a load to LDS; bytes and halves fill a dword each."""
    space = Kind.BUFFER if Kind.BUFFER in inst.kind else Kind.GLOBAL
    if width.half is not None:
        raise UnsupportedFormError(f"{inst.name} to LDS")
    find = buffer_places if space is Kind.BUFFER else global_places
    sources = find(inst, width.size)
    where = Operand("s", M0)
    m0, guard = reader(where, "u32"), undefined_guard(inst, (where,), "an LDS address")
    offset, size, kept = inst.mods.get("offset", 0), max(4, width.size), np.uint32(_M0_BITS[space])

    def target(c: Cohort) -> Addresses | None:
        lanes = np.arange(c.size, dtype=np.int64) * size
        at = (m0(c.regs) & kept).astype(np.int64) + lanes
        return lds_place(c, inst, lds_base(c, at), offset, size)

    def execute(c: Cohort) -> None:
        guard(c)
        source, to = sources(c)[0], target(c)
        if to is None:
            return
        if source is not None:
            notify(c, inst, source, width.size, store=False)
        _move(c, source, to, width, size)
        notify(c, inst, to, size)

    return execute


def _move(c: Cohort, source: Addresses | None, to: Addresses, width: Width, size: int) -> None:
    """Data and undefined bits; a lane whose buffer address is out of range brings zeros."""

    def brought(store: Store | None) -> list[Array]:
        if source is None or store is None:
            return [np.zeros(int(c.exec.sum()), np.uint32)] * (size // 4)
        words = store.gather(source.offsets, width.size, source.low_bits)
        if width.signed:
            words = extended(words, width)
        return [np.where(source.mask, words[..., j], 0)[c.exec].astype(np.uint32) for j in range(size // 4)]

    offsets = to.offsets[c.exec]
    to.memory.data.scatter(offsets, size, to.low_bits, brought(source.memory.data if source else None))
    undefined = brought(source.memory.shadow if source and source.memory.tracked else None)
    to.memory.tracked |= any(bits.any() for bits in undefined)
    if to.memory.tracked:
        to.memory.shadow.scatter(offsets, size, to.low_bits, undefined)


for _suffix in _SUFFIXES:
    register_binder(f"global_load_lds_{_suffix}", partial(bind_direct, older_width(_suffix)))
