"""Atomic operations on LDS and global memory. Lanes that meet at one address take turns, in
order of wave and lane; the order on a card is unspecified."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from layoutprobe.isa.inst import Inst, Operand
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.observer import Place
from layoutprobe.machine.registers import Array
from layoutprobe.semantics import floats
from layoutprobe.semantics.access import (
    global_place,
    lds_base,
    lds_place,
    refuse_readonly,
    undefined_guard,
    vector_address,
)
from layoutprobe.semantics.operands import define, join64, reader
from layoutprobe.semantics.registry import Executor, register_binder

Update = Callable[[Array, Array, Array], Array]
"""(old, data, compare) -> new, all of the operation's type."""

_UPDATES: dict[str, Update] = {
    "add": lambda old, data, _: old + data,
    "sub": lambda old, data, _: old - data,
    "rsub": lambda old, data, _: data - old,
    "min": lambda old, data, _: np.minimum(old, data),
    "max": lambda old, data, _: np.maximum(old, data),
    "and": lambda old, data, _: old & data,
    "or": lambda old, data, _: old | data,
    "xor": lambda old, data, _: old ^ data,
    "swap": lambda old, data, _: data,
    "inc": lambda old, data, _: np.where(old >= data, old.dtype.type(0), old + old.dtype.type(1)),
    "dec": lambda old, data, _: np.where((old == 0) | (old > data), data, old - old.dtype.type(1)),
    "cmpswap": lambda old, data, compare: np.where(old == compare, data, old),
    "fmin": lambda old, data, _: floats.minimum(old, data),
    "fmax": lambda old, data, _: floats.maximum(old, data),
}
_AT_ONCE: dict[str, np.ufunc] = {"add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and,
                                 "or": np.bitwise_or, "xor": np.bitwise_xor}  # fmt: skip
"""Operations whose turns commute: without a returned value they need no turns."""
_DTYPES = {"u32": np.uint32, "i32": np.int32, "b32": np.uint32, "f32": np.float32,
           "u64": np.uint64, "i64": np.int64, "b64": np.uint64}  # fmt: skip


def _apply(place: Place, verb: str, kind: str, data: Array, compare: Array, *, returns: bool) -> Array | None:
    """Update memory; the old values of the lanes that take part, when asked for."""
    dtype = _DTYPES[kind]
    size = np.dtype(dtype).itemsize
    cells = place.memory.data.views[size].view(dtype)
    index = place.offsets[place.mask] // size
    if place.memory.tracked and verb == "swap":
        # Only an overwrite defines memory; what depends on the old value stays as undefined as it was.
        place.memory.shadow.views[size][index] = 0
    if not returns and verb in _AT_ONCE and kind != "f32":
        _AT_ONCE[verb].at(cells, index, data)
        return None
    old = np.empty(index.shape, dtype)
    left = np.arange(index.size)
    while left.size:
        _, first = np.unique(index[left], return_index=True)
        turn = left[first]
        old[turn] = cells[index[turn]]
        cells[index[turn]] = _UPDATES[verb](old[turn], data[turn], compare[turn])
        left = np.delete(left, first)
    return old


def notify(c: Cohort, inst: Inst, place: Place, size: int) -> None:
    """Tell the observer, if there is one, of a read-modify-write."""
    if c.machine.observer is not None:
        c.machine.observer.access(c, inst, place, size, store=True)


def _value(c: Cohort, operand: Operand, kind: str, first: int, mask: Array) -> Array:
    """A 32- or 64-bit value of the active lanes, from the operand's register number `first` on."""
    dtype = _DTYPES[kind]
    index = operand.index + first
    if np.dtype(dtype).itemsize == 8:
        return join64(c.u[index], c.u[index + 1])[mask].view(dtype)
    return c.u[index][mask].view(dtype)


def _return(c: Cohort, target: Operand, old: Array, mask: Array) -> None:
    words = np.ascontiguousarray(old).view(np.uint32).reshape(old.size, -1)
    for j in range(words.shape[1]):
        c.u[target.index + j][mask] = words[:, j]
    define(c, target)


def _bind_lds(verb: str, kind: str, inst: Inst) -> Executor:
    address = reader(inst.src[0], "u32")
    offset = inst.mods.get("offset0", 0) | inst.mods.get("offset1", 0) << 8
    size = np.dtype(_DTYPES[kind]).itemsize
    target = inst.dst[0] if inst.dst else None
    guard = undefined_guard(inst, (inst.src[0],), "an LDS address")

    def execute(c: Cohort) -> None:
        guard(c)
        place = lds_place(c, inst, lds_base(c, address(c.regs)), offset, size, size)
        if place is None:
            return
        notify(c, inst, place, size)
        # DS_CMPSTORE: data0 is the new value, data1 the value to compare with.
        data = _value(c, inst.src[1], kind, 0, place.mask)
        compare = _value(c, inst.src[2], kind, 0, place.mask) if len(inst.src) > 2 else data
        old = _apply(place, verb, kind, data, compare, returns=target is not None)
        if target is not None and old is not None:
            _return(c, target, old, place.mask)

    return execute


def _bind_global(verb: str, kind: str, inst: Inst) -> Executor:
    address = vector_address(inst)
    size = np.dtype(_DTYPES[kind]).itemsize
    target = inst.dst[0] if inst.dst else None
    guard = undefined_guard(inst, (inst.src[0], inst.src[-1]), "an address")

    def execute(c: Cohort) -> None:
        guard(c)
        place = global_place(c, inst, address(c), size)
        if place is None:
            return
        refuse_readonly(c, inst, place)
        notify(c, inst, place, size)
        data = _value(c, inst.src[1], kind, 0, place.mask)
        compare = _value(c, inst.src[1], kind, size // 4, place.mask) if verb == "cmpswap" else data
        old = _apply(place, verb, kind, data, compare, returns=target is not None)
        if target is not None and old is not None:
            _return(c, target, old, place.mask)

    return execute


def _register() -> None:
    for bits in (32, 64):
        kinds = {"add": f"u{bits}", "sub": f"u{bits}", "rsub": f"u{bits}", "inc": f"u{bits}", "dec": f"u{bits}",
                 "and": f"b{bits}", "or": f"b{bits}", "xor": f"b{bits}", "swap": f"b{bits}",
                 "cmpswap": f"b{bits}"}  # fmt: skip
        forms = [*kinds.items(), *((v, f"{s}{bits}") for v in ("min", "max") for s in "ui")]
        if bits == 32:
            forms += [("add", "f32"), ("fmin", "f32"), ("fmax", "f32")]
        for verb, kind in forms:
            spoken = {"fmin": "min", "fmax": "max"}.get(verb, verb)
            local = {"swap": "storexchg", "cmpswap": "cmpstore"}.get(spoken, spoken)
            if verb != "swap":
                register_binder(f"ds_{local}_{kind}", partial(_bind_lds, verb, kind))
            register_binder(f"ds_{local}_rtn_{kind}", partial(_bind_lds, verb, kind))
            if verb != "rsub":
                register_binder(f"global_atomic_{spoken}_{kind}", partial(_bind_global, verb, kind))


_register()
