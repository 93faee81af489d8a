"""Atomic operations on LDS and global memory. Lanes that meet at one address take turns, in
order of wave and lane; the order on a card is unspecified."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from msgspec import Struct

from layoutprobe.isa.inst import VGPR0, Inst, Operand
from layoutprobe.isa.kind import Kind
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.memory import Addresses
from layoutprobe.machine.registers import Array
from layoutprobe.numbers import element_type
from layoutprobe.semantics import floats
from layoutprobe.semantics.access import (
    lds_base,
    lds_place,
    notify,
    refuse_readonly,
    undefined_guard,
)
from layoutprobe.semantics.operands import DTYPES, join64, reader, settle
from layoutprobe.semantics.registry import Executor, register_alias, register_binder, supported
from layoutprobe.semantics.spaces import Places, buffer_places, flat_places, global_places

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
    # Plain comparisons, as AMD's text has them: a NaN in memory stays, a NaN operand changes nothing.
    "fmin": lambda old, data, _: np.where(data < old, data, old),
    "fmax": lambda old, data, _: np.where(data > old, data, old),
    # CDNA.
    "mskor": lambda old, clear, given: (old & ~clear) | given,
    "wrap": lambda old, data, other: np.where(old >= data, old - data, old + other),
    # RDNA4.
    "min_num": lambda old, data, _: floats.minimum_number(data, old),
    "max_num": lambda old, data, _: floats.maximum_number(data, old),
    "cond_sub": lambda old, data, _: np.where(old >= data, old - data, old),
    "sub_clamp": lambda old, data, _: np.where(old < data, old.dtype.type(0), old - data),
    "pk_add_f16": lambda old, data, _: _by_halves(old, data, np.float16),
    "pk_add_bf16": lambda old, data, _: _by_halves(old, data, None),
}


_BF16 = element_type("bf16")


def _by_halves(old: Array, data: Array, dtype: type[np.float16] | None) -> Array:
    """Sums of both halves of uint32 words: as f16, or as bf16 where no type is given."""
    if dtype is not None:
        halves = [np.ascontiguousarray(w).view(np.uint16).view(dtype) for w in (old, data)]
        return (halves[0] + halves[1]).view(np.uint32)
    high, low = np.uint32(0xFFFF0000), np.uint32(16)
    sums = [
        _BF16.encode((old << shift & high).view(np.float32) + (data << shift & high).view(np.float32))
        for shift in (low, np.uint32(0))
    ]
    return sums[0].astype(np.uint32) | sums[1].astype(np.uint32) << low


_AT_ONCE: dict[str, np.ufunc] = {"add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and,
                                 "or": np.bitwise_or, "xor": np.bitwise_xor}  # fmt: skip
"""Operations whose turns commute: without a returned value they need no turns."""
_BITS = {4: np.uint32, 8: np.uint64}
_NAMED: dict[str, tuple[str, str]] = {}
"""Mnemonic -> operation and type."""


def update_of(name: str) -> tuple[str, Update, str] | None:
    """Operation of a mnemonic, what it makes of memory, and the type of its numbers; None of what is no atomic."""
    if name not in _NAMED:
        return None
    verb, kind = _NAMED[name]
    return verb, _UPDATES[verb], kind


def compares_first(name: str) -> bool:
    """The first data operand is what an LDS atomic compares with, and the second the new value (CDNA)."""
    return name.startswith("ds_cmpst_")


def _bind_as(name: str, bind: Callable[[str, str, Inst], Executor], verb: str, kind: str) -> None:
    _NAMED[name] = verb, kind
    register_binder(name, partial(bind, verb, kind))


def _alias(name: str, known: str) -> None:
    _NAMED[name] = _NAMED[known]
    register_alias(name, known)


class _Operands(Struct, frozen=True, eq=False):
    """What the lanes that take part bring: one entry per lane, in order of wave and lane.

    Attributes:
        data: the operand, of the operation's type.
        compare: what cmpswap compares with; `data` for the others.
        undefined: bool, an undefined bit is among them.
    """

    data: Array
    compare: Array
    undefined: Array


def _operands(
    c: Cohort, mask: Array, kind: str, data: tuple[Operand, int], compare: tuple[Operand, int]
) -> _Operands:
    """Values of the active lanes; an operand comes with the first of its registers that counts."""
    places = [operand.index + first for operand, first in (data, compare)]
    wide = np.dtype(DTYPES[kind]).itemsize // 4
    values = [_join(c.u, at, wide)[mask].view(DTYPES[kind]) for at in places]
    bad = np.zeros(values[0].shape, np.bool_)
    registers = [at + j for at in places for j in range(wide)]
    if any(c.undef >> VGPR0 + r & 1 for r in registers):
        for register in registers:
            bad |= c.shadow.u[register][mask] != 0
    return _Operands(values[0], values[1], bad)


def _join(registers: list[Array], index: int, wide: int) -> Array:
    return join64(registers[index], registers[index + 1]) if wide == 2 else registers[index]


def _apply(
    place: Addresses, verb: str, kind: str, given: _Operands, *, returns: bool
) -> tuple[Array, Array] | None:
    """Update memory; the old values and their undefined bits, when asked for."""
    dtype = DTYPES[kind]
    size = np.dtype(dtype).itemsize
    cells = place.memory.data.views[size].view(dtype)
    index = place.offsets[place.mask] // size
    place.memory.tracked |= bool(given.undefined.any())
    if not returns and verb in _AT_ONCE and kind[0] != "f":
        _AT_ONCE[verb].at(cells, index, given.data)
        if place.memory.tracked:
            _spoil(place.memory.shadow.views[size], index, given.undefined)
        return None
    old, old_bits = np.empty(index.shape, dtype), np.zeros(index.shape, _BITS[size])
    left = np.arange(index.size)
    while left.size:
        _, first = np.unique(index[left], return_index=True)
        turn = left[first]
        at = index[turn]
        old[turn] = cells[at]
        cells[at] = _UPDATES[verb](old[turn], given.data[turn], given.compare[turn])
        if place.memory.tracked:
            shadow = place.memory.shadow.views[size]
            old_bits[turn] = shadow[at]
            if verb == "swap":
                shadow[at] = 0
            _spoil(shadow, at, given.undefined[turn])
        left = np.delete(left, first)
    return old, old_bits


def _spoil(shadow: Array, index: Array, undefined: Array) -> None:
    """A result that depends on an undefined bit, of memory or of an operand, is undefined as a whole."""
    bad = undefined | (shadow[index] != 0)
    shadow[index[bad]] = np.iinfo(shadow.dtype).max


def _return(c: Cohort, target: Operand, old: tuple[Array, Array], mask: Array) -> None:
    values, undefined = (
        np.ascontiguousarray(a).view(np.uint32).reshape(a.size, a.itemsize // 4) for a in old
    )
    for j in range(values.shape[1]):
        register = target.index + j
        c.u[register][mask] = values[:, j]
        if c.undef >> VGPR0 + register & 1 or undefined[:, j].any():
            c.shadow.u[register][mask] = undefined[:, j]
            settle(c, VGPR0 + register)


def _bind_lds(verb: str, kind: str, inst: Inst) -> Executor:
    address = reader(inst.src[0], "u32")
    offset = inst.mods.get("offset0", 0) | inst.mods.get("offset1", 0) << 8
    size = np.dtype(DTYPES[kind]).itemsize
    target = inst.dst[0] if inst.dst else None
    guard = undefined_guard(inst, (inst.src[0],), "an LDS address")
    compared_first = compares_first(inst.name)

    def execute(c: Cohort) -> None:
        guard(c)
        place = lds_place(c, inst, lds_base(c, address(c.regs)), offset, size, atomic=True)
        if place is None:
            return
        notify(c, inst, place, size)
        # DS_CMPSTORE: data0 is the new value, data1 the value to compare with. CDNA's has them the other way.
        data, compare = (inst.src[1], 0), (inst.src[-1] if len(inst.src) > 2 else inst.src[1], 0)
        if compared_first:
            data, compare = compare, data
        given = _operands(c, place.mask, kind, data, compare)
        old = _apply(place, verb, kind, given, returns=target is not None)
        if target is not None and old is not None:
            _return(c, target, old, place.mask)

    return execute


def _bind_vector(find: Callable[[Inst, int], Places], verb: str, kind: str, inst: Inst) -> Executor:
    """Global, flat and buffer atomics."""
    size = np.dtype(DTYPES[kind]).itemsize
    target = inst.dst[0] if inst.dst else None
    buffer = Kind.BUFFER in inst.kind
    data = inst.src[0] if buffer else inst.src[1]
    comparand = size // 4 if verb == "cmpswap" else 0  # register of the data at which it starts
    places = find(inst, size)

    def update(c: Cohort, place: Addresses) -> None:
        refuse_readonly(c, inst, place)
        notify(c, inst, place, size)
        given = _operands(c, place.mask, kind, (data, 0), (data, comparand))
        old = _apply(place, verb, kind, given, returns=target is not None)
        if target is not None and old is not None:
            _return(c, target, old, place.mask)

    def execute(c: Cohort) -> None:
        found = [place for place in places(c) if place is not None]
        if target is not None and buffer:  # what is out of range gives 0
            beyond = c.exec & ~found[0].mask if found else c.exec
            zeros = np.zeros(int(beyond.sum()), _BITS[size])
            _return(c, target, (zeros, zeros), beyond)
        for place in found:
            update(c, place)

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
                _bind_as(f"ds_{local}_{kind}", _bind_lds, verb, kind)
            _bind_as(f"ds_{local}_rtn_{kind}", _bind_lds, verb, kind)
            if verb != "rsub":
                _bind_as(f"global_atomic_{spoken}_{kind}", partial(_bind_vector, global_places), verb, kind)
    for verb, kind, suffix in (
        ("min_num", "f32", "min_num{}_f32"),
        ("max_num", "f32", "max_num{}_f32"),
        ("cond_sub", "u32", "cond_sub{}_u32"),
        ("sub_clamp", "u32", "sub_clamp{}_u32"),
        ("pk_add_f16", "u32", "pk_add{}_f16"),
        ("pk_add_bf16", "u32", "pk_add{}_bf16"),
    ):
        _bind_as(f"ds_{suffix.format('')}", _bind_lds, verb, kind)
        _bind_as(f"ds_{suffix.format('_rtn')}", _bind_lds, verb, kind)
        _bind_as(f"global_atomic_{suffix.format('')}", partial(_bind_vector, global_places), verb, kind)


def _register_older() -> None:
    spoken = {"add": "u", "sub": "u", "smin": "i", "umin": "u", "smax": "i", "umax": "u", "and": "b", "or": "b",
              "xor": "b", "swap": "b", "cmpswap": "b", "inc": "u", "dec": "u"}  # fmt: skip
    forms = [
        (f"{name}{suffix}", name[1:] if name[1:] in ("min", "max") else name, f"{sign}{bits}")
        for name, sign in spoken.items()
        for suffix, bits in (("", 32), ("_x2", 64))
    ]
    forms += [("add_f32", "add", "f32"), ("add_f64", "add", "f64"), ("min_f64", "fmin", "f64"),
              ("max_f64", "fmax", "f64")]  # fmt: skip
    forms += [(f"pk_add_{kind}", f"pk_add_{kind}", "u32") for kind in ("f16", "bf16")]
    spaces = {"global": global_places, "flat": flat_places, "buffer": buffer_places}
    for space, find in spaces.items():
        for name, verb, kind in forms:
            if not supported(f"{space}_atomic_{name}"):
                _bind_as(f"{space}_atomic_{name}", partial(_bind_vector, find), verb, kind)
    for kind in ("b32", "b64"):
        _alias(f"ds_wrxchg_rtn_{kind}", f"ds_storexchg_rtn_{kind}")
        for form in ("", "_rtn"):
            _alias(f"ds_cmpst{form}_{kind}", f"ds_cmpstore{form}_{kind}")
            _bind_as(f"ds_mskor{form}_{kind}", _bind_lds, "mskor", kind)
    _bind_as("ds_wrap_rtn_b32", _bind_lds, "wrap", "u32")
    for name, verb in (("add", "add"), ("min", "fmin"), ("max", "fmax")):
        for form in ("", "_rtn"):
            _bind_as(f"ds_{name}{form}_f64", _bind_lds, verb, "f64")


_register()
_register_older()
