"""Transposing LDS reads of CDNA4: every lane fetches what its address names, then lanes exchange elements.

Who gets what is in isa/transposing.py. What must hold for the result to be stated: CDNA4 ISA guide, "LDS transpose
reads", and LLVM.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from layoutprobe.isa.inst import Inst
from layoutprobe.isa.transposing import Exchange, exchange_of, transposing_names
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.faults import fault
from layoutprobe.machine.memory import Addresses
from layoutprobe.machine.registers import Array
from layoutprobe.semantics.access import lds_base, lds_place, notify, undefined_guard
from layoutprobe.semantics.operands import define, reader, settle
from layoutprobe.semantics.registry import Executor, register_binder

LANES = 64
"""Of a wave, on every target that has these instructions."""


def exchanged(payload: Array, exchange: Exchange) -> Array:
    """What the lanes get: uint32 [wave, lane, dword] of what they fetched, of the same shape."""
    waves, lanes, dwords = payload.shape
    stream = np.unpackbits(np.ascontiguousarray(payload).view(np.uint8), axis=-1, bitorder="little")
    elements = stream.reshape(waves, lanes, -1, exchange.bits)[:, exchange.lane, exchange.element]
    packed = np.packbits(elements.reshape(waves, lanes, -1), axis=-1, bitorder="little")
    return packed.view(np.uint32).reshape(waves, lanes, dwords)


def _bind(exchange: Exchange, inst: Inst) -> Executor:
    size = exchange.size
    address, target = reader(inst.src[0], "u32"), inst.dst[0]
    offset = inst.mods.get("offset0", 0) | inst.mods.get("offset1", 0) << 8
    guard = undefined_guard(inst, (inst.src[0],), "an LDS address")
    odd = exchange.bits != 6 and target.index % 2

    def execute(c: Cohort) -> None:
        if odd:
            what = f"a transposing read fills registers from v{target.index} on, an odd one"
            raise fault(c, inst, what, c.exec, expected="an even first register", kind="transpose-register")
        if not c.full:
            raise fault(c, inst, "a transposing read while lanes are off", ~c.exec, expected="EXEC all ones",
                        hint="lanes of 16 exchange what they read: move the read out of the divergent code",
                        kind="transpose-exec")  # fmt: skip
        guard(c)
        place = lds_place(c, inst, lds_base(c, address(c.regs)), offset, size)
        if place is None:
            return
        _refuse_misaligned(c, inst, place, offset, exchange.unit)
        notify(c, inst, place, size, store=False)
        _write(
            c,
            target.index,
            exchanged(place.memory.data.gather(place.offsets, size, place.low_bits), exchange),
            c.u,
        )
        if not place.memory.tracked:
            define(c, target)
            return
        undefined = place.memory.shadow.gather(place.offsets, size, place.low_bits)
        _write(c, target.index, exchanged(undefined, exchange), c.shadow.u)
        for register in target.registers():
            settle(c, register)

    return execute


def _refuse_misaligned(c: Cohort, inst: Inst, place: Addresses, offset: int, unit: int) -> None:
    if not place.low_bits & unit - 1:
        return
    local = place.offsets - c.lds_base
    bad = local & unit - 1 != 0
    what = f"misaligned transposing read of {unit} bytes"
    hint = "check the row stride, the offset, and how the array is aligned"
    expected = f"a multiple of {unit}"
    raise fault(c, inst, what, bad, address=local, expected=expected, hint=hint, kind="lds-alignment")


def _write(c: Cohort, index: int, values: Array, registers: list[Array]) -> None:
    for j in range(values.shape[-1]):
        registers[index + j][...] = values[..., j]


for _name in transposing_names():
    _exchange = exchange_of(_name, LANES)
    assert _exchange is not None
    register_binder(_name, partial(_bind, _exchange))
