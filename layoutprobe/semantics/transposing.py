"""Transposing loads: every lane fetches what its address names, then lanes exchange elements.

Who gets what is in isa/transposing.py. What must hold for the result to be stated: CDNA4 ISA guide, "LDS transpose
reads", and LLVM.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from layoutprobe.isa.inst import Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.isa.transposing import Exchange, exchange_of, transposing_names
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.faults import fault
from layoutprobe.machine.memory import BASE_ADDRESS, Addresses
from layoutprobe.machine.registers import Array
from layoutprobe.semantics.access import (
    global_place,
    lds_base,
    lds_place,
    notify,
    undefined_guard,
    vector_address,
)
from layoutprobe.semantics.operands import define, reader, settle
from layoutprobe.semantics.registry import Executor, register_binder

Place = Callable[[Cohort, Exchange], Addresses | None]


def exchanged(payload: Array, exchange: Exchange) -> Array:
    """What the lanes get: uint32 [wave, lane, dword] of what they fetched."""
    waves, lanes, _ = payload.shape
    stream = np.unpackbits(np.ascontiguousarray(payload).view(np.uint8), axis=-1, bitorder="little")
    elements = stream.reshape(waves, lanes, -1, exchange.bits)[:, exchange.lane, exchange.element]
    packed = np.packbits(elements.reshape(waves, lanes, -1), axis=-1, bitorder="little")
    return packed.view(np.uint32).reshape(waves, lanes, exchange.words)


def _bind(inst: Inst, given: Exchange | None = None) -> Executor:
    """`given`: another exchange than the instruction's own."""
    place_of = _in_lds(inst) if Kind.LDS in inst.kind else _in_memory(inst)
    target = inst.dst[0]

    def execute(c: Cohort) -> None:
        exchange = given or exchange_of(inst.name, c.exec.shape[1])
        assert exchange is not None
        _refuse(c, inst, exchange)
        place = place_of(c, exchange)
        if place is None:
            return
        if place.lost is None or place.mask.any():
            notify(c, inst, place, exchange.size, store=False)
        at = place.offsets, exchange.size, place.low_bits
        payload = place.memory.data.gather(*at)
        _write(target.index, exchanged(payload, exchange), c.u)
        undefined = place.memory.undefined(*at)
        if place.lost is not None:
            undefined = np.zeros_like(payload) if undefined is None else undefined
            undefined[place.lost] = 0xFFFFFFFF
        if undefined is None:
            define(c, target)
            return
        _write(target.index, exchanged(undefined, exchange), c.shadow.u)
        for register in target.registers():
            settle(c, register)

    return execute


def _refuse(c: Cohort, inst: Inst, exchange: Exchange) -> None:
    """What no compiler makes, and no document explains."""
    first = inst.dst[0].index
    if exchange.even and first % 2:
        what = f"a transposing read fills registers from v{first} on, an odd one"
        raise fault(c, inst, what, c.exec, expected="an even first register", kind="transpose-register")
    if not c.full:
        hint = (
            f"lanes of {exchange.together} exchange what they read: move the read out of the divergent code"
        )
        raise fault(c, inst, "a transposing read while lanes are off", ~c.exec, expected="EXEC all ones", hint=hint,
                    kind="transpose-exec" if Kind.LDS in inst.kind else "transpose-exec-global")  # fmt: skip


def _in_lds(inst: Inst) -> Place:
    address = reader(inst.src[0], "u32")
    offset = inst.mods.get("offset0", 0) | inst.mods.get("offset1", 0) << 8
    guard = undefined_guard(inst, (inst.src[0],), "an LDS address")

    def place_of(c: Cohort, exchange: Exchange) -> Addresses | None:
        guard(c)
        place = lds_place(c, inst, lds_base(c, address(c.regs)), offset, exchange.size)
        if place is not None and place.low_bits & exchange.unit - 1:
            raise _misaligned(c, inst, exchange.unit, place.offsets - c.lds_base, place.mask, "lds-alignment")
        return place

    return place_of


def _in_memory(inst: Inst) -> Place:
    address = vector_address(inst)
    guard = undefined_guard(inst, (inst.src[0], inst.src[-1]), "an address")

    def place_of(c: Cohort, exchange: Exchange) -> Addresses | None:
        naming = c.exec.copy()
        naming[:, exchange.naming :] = False
        with c.restricted(naming):
            guard(c)
        whole = exchange.naming == c.exec.shape[1]
        place = global_place(c, inst, address(c), exchange.size, None if whole else naming)
        if place is not None and place.low_bits & exchange.unit - 1:
            at = place.offsets + BASE_ADDRESS
            raise _misaligned(c, inst, exchange.unit, at, place.mask, "alignment")
        return place

    return place_of


def _misaligned(c: Cohort, inst: Inst, unit: int, at: Array, named: Array, kind: str) -> Exception:
    bad = (at & unit - 1 != 0) & named
    what = f"misaligned transposing read of {unit} bytes"
    hint = "check the row stride, the offset, and how the array is aligned"
    return fault(c, inst, what, bad, address=at, expected=f"a multiple of {unit}", hint=hint, kind=kind)


def _write(index: int, values: Array, registers: list[Array]) -> None:
    for j in range(values.shape[-1]):
        registers[index + j][...] = values[..., j]


for _name in transposing_names():
    register_binder(_name, _bind)
