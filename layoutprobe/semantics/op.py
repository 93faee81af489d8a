"""What one mnemonic of the vector ALU computes, and what its output modifiers make of that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from msgspec import Struct

from layoutprobe.isa.inst import Inst
from layoutprobe.machine.registers import Array
from layoutprobe.semantics.definedness import Rule, any_undefined, carry_upward
from layoutprobe.semantics.registry import UnsupportedFormError

Compute = Callable[..., Any]


class Op(Struct, frozen=True):
    """What one VALU mnemonic computes.

    Attributes:
        name: mnemonic.
        results: type per destination ("mask" for a bit per lane).
        sources: type per source; a trailing "dst" entry in `implicit` reads the destination.
        compute: function of the source arrays; a tuple when there are several results.
        rule: undefined bits of the results from values and undefined bits of the sources.
        implicit: types of sources that the encoding leaves out: ("f32",) when the old
            destination is the last source (fmac).
        saturate: what to compute instead under `clamp`, for integers.
    """

    name: str
    results: tuple[str, ...]
    sources: tuple[str, ...]
    compute: Compute
    rule: Rule = any_undefined
    implicit: tuple[str, ...] = ()
    saturate: Compute | None = None


class Modified(Struct, frozen=True):
    """An operation under the modifiers of one instruction.

    Attributes:
        compute: as of `Op`.
        post: what clamp and omod do to the first result, in order.
        rule: as of `Op`.
    """

    compute: Compute
    post: tuple[Callable[[Array], Array], ...]
    rule: Rule

    def __call__(self, *sources: Array) -> tuple[Array, ...]:
        """Every result."""
        out = self.compute(*sources)
        results: tuple[Array, ...] = out if isinstance(out, tuple) else (out,)
        for change in self.post:
            results = (change(results[0]), *results[1:])
        return results


def modified(op: Op, inst: Inst) -> Modified:
    """The operation as clamp and omod of the instruction have it."""
    mods, kind = inst.mods, op.results[0]
    post: list[Callable[[Array], Array]] = []
    if omod := mods.get("omod", 0):
        if not kind.startswith("f"):
            raise UnsupportedFormError(f"{inst.name} with an output multiplier")
        factor = {1: 2.0, 2: 4.0, 3: 0.5}[omod]
        post.append(lambda value: value * value.dtype.type(factor))
    if not mods.get("clamp", 0):
        return Modified(op.compute, tuple(post), op.rule)
    if kind.startswith("f"):
        return Modified(op.compute, (*post, clamp_unit), op.rule)
    if op.saturate is None:
        raise UnsupportedFormError(f"{inst.name} with clamp")
    # Saturation looks at the whole sum: an undefined bit may change every bit.
    return Modified(op.saturate, tuple(post), any_undefined if op.rule is carry_upward else op.rule)


def clamp_unit(value: Array) -> Array:
    """Float clamp to [0, 1]; NaN becomes 0 (DX10_CLAMP, the compiler's default)."""
    return np.nan_to_num(np.clip(value, value.dtype.type(0), value.dtype.type(1)), copy=False, nan=0.0)
