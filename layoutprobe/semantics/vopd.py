"""VOPD: two VALU operations in one instruction. Both read their sources before either writes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from layoutprobe.isa.inst import Inst
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.registers import Array
from layoutprobe.semantics.operands import register_mask
from layoutprobe.semantics.registry import Executor, UnsupportedFormError, bind, instruction
from layoutprobe.semantics.valu import OPS, Execution


@instruction("v_dual")
def _dual(inst: Inst) -> Executor:
    x, y = inst.pair
    x_feeds_y = register_mask(x.dst[0]) & _source_mask(y)
    y_feeds_x = register_mask(y.dst[0]) & _source_mask(x)
    if x_feeds_y and y_feeds_x:
        return _at_once(inst)
    # One of the orders lets the first write without the second noticing.
    first, second = (bind(y), bind(x)) if x_feeds_y else (bind(x), bind(y))
    if first is None or second is None:
        raise UnsupportedFormError(inst.name)

    def in_order(c: Cohort) -> None:
        first(c)
        second(c)

    return in_order


def _at_once(inst: Inst) -> Executor:
    """Each half reads what the other writes: a swap."""
    both = tuple(Execution(OPS[half.name], half) for half in inst.pair)

    def execute(c: Cohort) -> None:
        undefined = [_copied(e.undefined(c)) if c.undef & e.touched else None for e in both]
        results = [tuple(np.array(value) for value in e.results(c)) for e in both]
        for execution, values, bits in zip(both, results, undefined, strict=True):
            execution.commit(c, values, bits)

    return execute


def _copied(undefined: Sequence[Array] | None) -> list[Array] | None:
    """Undefined bits that may be views of registers which the first half is about to write."""
    return None if undefined is None else [np.array(bits) for bits in undefined]


def _source_mask(inst: Inst) -> int:
    mask = 0
    for operand in inst.src:
        mask |= register_mask(operand)
    return mask
