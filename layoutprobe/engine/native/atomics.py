"""Templates of atomics: what they make of memory is traced from numpy's operation, and done lane after lane."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from layoutprobe.engine.native.emit import Emitter, c_type
from layoutprobe.engine.native.forms import Form
from layoutprobe.engine.native.memory import addressed
from layoutprobe.engine.native.template import WHOLE, Layout, Template
from layoutprobe.engine.native.tracing import UntraceableError, cast, source, trace
from layoutprobe.isa.inst import Inst, Operand
from layoutprobe.semantics.atomics import Update, compares_first, update_of
from layoutprobe.semantics.operands import DTYPES

_DATA, _COMPARE, _TARGET = 1, 4, 5
"""Entries of a record's offsets that hold numbers of VGPRs. The others are those of a store."""


def atomic_template(inst: Inst, layout: Layout) -> Template | None:
    """The template of an atomic, None where numpy executes it."""
    found = update_of(inst.name)
    if found is None:
        return None
    verb, update, kind = found
    size = np.dtype(DTYPES[kind]).itemsize
    store, operands = addressed(inst, size, layout), _operands(inst, verb, size)
    if store is None or store.form is None or operands is None:
        return None
    data, compare = operands
    returns = bool(inst.dst)
    if returns and (inst.dst[0].kind != "v" or 4 * inst.dst[0].regs < size):
        return None
    try:
        text = _text(inst.name.partition("_")[0], "address_sv" in store.form.text, update, kind, returns)
    except UntraceableError:
        return None
    offsets = [*store.offsets, *[0] * (_TARGET + 1 - len(store.offsets))]
    offsets[_DATA], offsets[_COMPARE] = data.index, compare.index
    if returns:
        offsets[_TARGET] = inst.dst[0].index
    form = Form(text, (), ())
    writes = ((Operand("v", inst.dst[0].index, size // 4, 8 * size), WHOLE),) if returns else ()
    return replace(
        store,
        symbol=form.symbol,
        offsets=tuple(offsets),
        reads=(*store.reads, data, compare),
        writes=writes,
        form=form,
        line=None,
        undefined=0,
    )


def _operands(inst: Inst, verb: str, size: int) -> tuple[Operand, Operand] | None:
    """What is given and what is compared with, as `semantics.atomics` takes them."""
    regs = size // 4
    if inst.name.startswith("ds_"):
        data, compare = inst.src[1], inst.src[-1] if len(inst.src) > 2 else inst.src[1]
        if compares_first(inst.name):
            data, compare = compare, data
    else:
        data = inst.src[0] if inst.name.startswith("buffer_") else inst.src[1]
        both = verb == "cmpswap"
        if data.regs < regs * (1 + both):
            return None
        compare = replace(data, index=data.index + regs * both, regs=regs)
    fit = all(o.kind == "v" and o.regs >= regs for o in (data, compare))
    return (data, compare) if fit else None


_PLACES = {
    "ds": "if (!lds_at(c, RV(0) + i->k[0], {size}, ex, &at)) STOP(SLOW);",
    "global": "int met = global_at(c, i, {address}(w, i), {size}, ex, 0, 1, &at);",
    "flat": "int met = global_at(c, i, {address}(w, i), {size}, ex, 0, 1, &at);",
    "buffer": "Reach r = reach(w, i, {size}, ex); if (!r.plain) STOP(SLOW);"
    " mask beyond = ex & ~r.inside; ex = r.inside;"
    " if (!ex) {{ {beyond} NEXT; }} int met = global_at(c, i, r.at, {size}, ex, 0, 1, &at);",
}


def _text(space: str, scalar_base: bool, update: Update, kind: str, returns: bool) -> str:
    """The form's body. Bits that memory has undefined, and addresses that are not plain, are numpy's."""
    dtype = np.dtype(DTYPES[kind])
    size, type_ = dtype.itemsize, c_type(dtype)
    emitter = Emitter()
    given = [source(name, dtype, wide=False) for name in ("old", "data", "compare")]
    (result,) = trace(update, given)
    value = emitter.value(cast(result, dtype))
    bits = "u64" if size == 8 else "u32"
    lane = "pair_of(w, i->o[{0}], l)" if size == 8 else "vgpr(w, i->o[{0}])[l]"
    memory = "lds" if space == "ds" else "arena"
    body = [f"{type_} {name} = AS({type_}, ({bits}){lane.format(at)});"
            for name, at in (("data", _DATA), ("compare", _COMPARE))]  # fmt: skip
    if returns:
        keep = [
            f"vgpr(w, i->o[{_TARGET}] + {n})[l] = (u32)(AS({bits}, old) >> {32 * n});"
            for n in range(size // 4)
        ]
    else:
        keep = []
    beyond = (
        f"zero_lanes(w, i->o[{_TARGET}], {size}, PLAIN, beyond);" if returns and space == "buffer" else ""
    )
    place = _PLACES[space].format(
        size=size, address="address_sv" if scalar_base else "address_vv", beyond=beyond
    )
    shadow = f"any_undefined(c->{memory}_shadow, &at, {size})"
    if space != "ds":
        shadow = f"met == OUTSIDE || (met == UNDEFINED && {shadow})"
    return "\n  ".join([
        "mask ex = EX; if (!ex) NEXT;",
        "Places at;",
        place,
        f"if (unlikely(crooked(&at, {size}) || {shadow})) STOP(SLOW);",
        f"if (!SIFT({'lds' if space == 'ds' else 'global'}, &at, {size}, COUNTED, ex)) STOP(SLOW);",
        beyond,
        "for (mask m = ex; m; m &= m - 1) { u32 l = (u32)__builtin_ctzll(m);",
        f"{type_} *p = ({type_} *)(c->{memory} + at.base + at.at[l]), old = *p;",
        *body, *emitter.lines, *keep, f"*p = {value}; }}",
    ])  # fmt: skip
