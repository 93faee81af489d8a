"""Transposing LDS reads of CDNA4: every lane fetches what its address names, then 16 lanes exchange elements.

The payloads of 16 lanes, laid end to end, are a matrix of 16 columns, and each lane gets the column of its number.
AMD gives no pseudocode. Sources: Modular's documents for 8 bits, Triton 3.9 (chooseDsReadTrLayout) for 4 bits,
rocjitsu for 16; they agree with one another and with the address pattern of rocRoller's GPU tests for all four
widths. What must hold for the result to be stated: CDNA4 ISA guide, "LDS transpose reads", and LLVM.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from layoutprobe.isa.inst import Inst
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.faults import fault
from layoutprobe.machine.memory import Addresses
from layoutprobe.machine.registers import Array
from layoutprobe.semantics.access import lds_base, lds_place, notify, undefined_guard
from layoutprobe.semantics.operands import define, reader, settle
from layoutprobe.semantics.registry import Executor, UnsupportedFormError, register_binder

GROUP = 16
"""Lanes that exchange elements."""
_WIDTHS = {"b64_tr_b16": (8, 16), "b64_tr_b8": (8, 8), "b64_tr_b4": (8, 4), "b96_tr_b6": (12, 6)}
"""Suffix -> bytes that a lane fetches, and bits of an element."""


def exchanged(payload: Array, bits: int) -> Array:
    """What the lanes get: uint32 [wave, lane, dword] of what they fetched, of the same shape."""
    waves, lanes, dwords = payload.shape
    stream = np.unpackbits(np.ascontiguousarray(payload).view(np.uint8), axis=-1, bitorder="little")
    columns = stream.reshape(waves, lanes // GROUP, -1, GROUP, bits).swapaxes(2, 3)
    packed = np.packbits(np.ascontiguousarray(columns).reshape(waves, lanes, -1), axis=-1, bitorder="little")
    return packed.view(np.uint32).reshape(waves, lanes, dwords)


def _bind(size: int, bits: int, inst: Inst) -> Executor:
    address, target = reader(inst.src[0], "u32"), inst.dst[0]
    offset = inst.mods.get("offset0", 0) | inst.mods.get("offset1", 0) << 8
    guard = undefined_guard(inst, (inst.src[0],), "an LDS address")
    if bits != 6 and target.index % 2:
        raise UnsupportedFormError(f"{inst.name} to an odd register")

    def execute(c: Cohort) -> None:
        if not c.full:
            raise fault(c, inst, "a transposing read while lanes are off", ~c.exec, expected="EXEC all ones",
                        hint="lanes of 16 exchange what they read: move the read out of the divergent code",
                        kind="transpose-exec")  # fmt: skip
        guard(c)
        place = lds_place(c, inst, lds_base(c, address(c.regs)), offset, size)
        if place is None:
            return
        _refuse_misaligned(c, inst, place, offset, 16 if bits == 6 else size)
        notify(c, inst, place, size, store=False)
        _write(
            c,
            target.index,
            exchanged(place.memory.data.gather(place.offsets, size, place.low_bits), bits),
            c.u,
        )
        if not place.memory.tracked:
            define(c, target)
            return
        undefined = place.memory.shadow.gather(place.offsets, size, place.low_bits)
        _write(c, target.index, exchanged(undefined, bits), c.shadow.u)
        for register in target.registers():
            settle(c, register)

    return execute


def _refuse_misaligned(c: Cohort, inst: Inst, place: Addresses, offset: int, unit: int) -> None:
    if not place.low_bits & unit - 1:
        return
    local = place.offsets - c.lds_base
    raise fault(c, inst, f"misaligned transposing read of {unit} bytes", local & unit - 1 != 0, address=local,
                expected=f"a multiple of {unit}", kind="lds-alignment")  # fmt: skip


def _write(c: Cohort, index: int, values: Array, registers: list[Array]) -> None:
    for j in range(values.shape[-1]):
        registers[index + j][...] = values[..., j]


for _suffix, (_size, _bits) in _WIDTHS.items():
    register_binder(f"ds_read_{_suffix}", partial(_bind, _size, _bits))
