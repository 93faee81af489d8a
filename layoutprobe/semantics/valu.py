"""The engine of vector ALU instructions: reads, computes, writes, and tracks undefined bits.

What an instruction computes stands in the tables of `int_ops`, `float_ops`, `compare_ops` and
`packed_ops`; this module gives each of them operands, modifiers, DPP, EXEC and definedness.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from msgspec.structs import replace

from layoutprobe.isa.inst import Inst, Operand
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.faults import fault
from layoutprobe.machine.registers import Array
from layoutprobe.semantics.definedness import Rule, any_undefined
from layoutprobe.semantics.dpp import LaneMap, lane_map
from layoutprobe.semantics.op import Compute, Op, modified
from layoutprobe.semantics.operands import (
    DTYPES,
    Reader,
    define,
    reader,
    register_mask,
    sign_modifier,
    width_of,
    write_shadow,
    writer,
    writes_exec,
)
from layoutprobe.semantics.registry import (
    Executor,
    UnsupportedFormError,
    instruction,
    register_alias,
    register_binder,
)
from layoutprobe.semantics.sdwa import sub_dword

OPS: dict[str, Op] = {}
"""Every VALU operation by mnemonic."""


def vop(
    name: str,
    results: str,
    sources: str,
    compute: Compute,
    rule: Rule = any_undefined,
    *,
    implicit: str = "",
    saturate: Compute | None = None,
) -> None:
    """Register one VALU mnemonic; types are separated by spaces."""
    op = Op(
        name, tuple(results.split()), tuple(sources.split()), compute, rule, tuple(implicit.split()), saturate
    )
    OPS[name] = op
    register_binder(name, lambda inst: bind_valu(op, inst))


def renamed(name: str, known: str) -> None:
    """Register one mnemonic that does what another, registered before, does."""
    register_alias(name, known)
    if known in OPS:
        OPS[name] = replace(OPS[known], name=name)


def bind_valu(op: Op, inst: Inst) -> Executor:
    """Executor of one VALU instruction."""
    if op.results == ("mask",) and len(inst.dst) == 2:
        op = _to_both(op)
    if "dst_sel" in inst.mods:
        return bind_valu(*sub_dword(op, inst))
    execution = Execution(op, inst)
    plain = execution.lanes is None and not execution.compute.post
    # Not `op.compute`: clamp saturates.
    if plain and isinstance(execution.compute.compute, np.ufunc) and op.results[0] in ("u32", "i32", "f32"):
        return Straight(execution)
    return execution


def _to_both(op: Op) -> Op:
    """V_CMPX of CDNA writes its mask to a register and to EXEC."""

    def compute(*sources: Array) -> tuple[Array, Array]:
        mask = op.compute(*sources)
        return mask, mask

    def rule(values: Sequence[Array], shadows: Sequence[Array], widths: Sequence[int]) -> Sequence[Array]:
        return (*op.rule(values, shadows, widths[:1]),) * 2

    return replace(op, results=("mask", "mask"), compute=compute, rule=rule)


class Straight:
    """The fast path of an execution: one ufunc straight into the destination register."""

    def __init__(self, execution: Execution) -> None:
        self.execution = execution
        self._compute: Any = execution.compute.compute
        self._index = execution.dst[0].index
        self._column = {"u32": "u", "i32": "i", "f32": "f"}[execution.op.results[0]]
        self._first, *rest = execution.readers
        self._second = rest[0] if rest else None

    def __call__(self, c: Cohort) -> None:
        """Execute the instruction for a cohort."""
        if c.undef & self.execution.touched or not c.full:
            self.execution(c)
            return
        out = getattr(c, self._column)[self._index]
        if self._second is None:
            self._compute(self._first(c.regs), out=out)
        else:
            self._compute(self._first(c.regs), self._second(c.regs), out=out)


class Execution:
    """One bound VALU instruction. Calling it executes it for a cohort.

    Attributes:
        op, inst: what is computed, and the instruction.
        sources, kinds: what it reads, and as which types.
        dst: what it writes.
        lanes: its DPP permutation of source 0.
        fetched: neg and abs of source 0 under DPP, where the readers leave them out.
        compute, rule: as the instruction's modifiers have them.
        touched: bits of `Cohort.undef` that matter to it.
    """

    def __init__(self, op: Op, inst: Inst) -> None:
        self.op, self.inst = op, inst
        self.dst = inst.dst
        self.sources = sources = inst.src + tuple(inst.dst[: len(op.implicit)])
        self.kinds = kinds = op.sources + op.implicit
        if len(sources) != len(kinds):
            raise UnsupportedFormError(f"{inst.name} with {len(inst.src)} sources")
        self.lanes: LaneMap | None = lane_map(inst)
        self.writes_exec = writes_exec(inst)
        self.readers = [reader(s, k) for s, k in zip(sources, kinds, strict=True)]
        self.fetched: Callable[[Array], Array] | None = None
        if self.lanes is not None:
            # neg and abs act on what DPP fetched: a lane that reads zero sees -0 under neg.
            self.fetched = sign_modifier(sources[0], kinds[0])
            self.readers[0] = reader(replace(sources[0], neg=False, abs=False), kinds[0])
        self.writers = [writer(d, k) for d, k in zip(self.dst, op.results, strict=True)]
        self.touched = 0
        for operand in (*sources, *self.dst):
            self.touched |= register_mask(operand)
        self.compute = modified(op, inst)
        self.rule = self.compute.rule

    @cached_property
    def shadow_readers(self) -> list[Reader]:
        """Undefined bits of the sources: most instructions never ask."""
        return [reader(s, k, shadow=True) for s, k in zip(self.sources, self.kinds, strict=True)]

    def __call__(self, c: Cohort) -> None:
        """Execute the instruction for a cohort."""
        if self.lanes is None:
            self._execute(c, None)
        else:
            readable = self.lanes.readable(c)
            self.lanes.restricted(c, readable, lambda: self._execute(c, readable))
            if self.writes_exec:  # V_CMPX: the lanes that were active before are not to be restored
                c.refresh_exec()

    def _execute(self, c: Cohort, readable: Array | None) -> None:
        undefined = self.undefined(c, readable) if c.undef & self.touched else None
        self.commit(c, self.results(c, readable), undefined)

    def results(self, c: Cohort, readable: Array | None = None) -> Sequence[Array]:
        """The values that the instruction is about to write.

        Args:
            c: the cohort.
            readable: with DPP, the lanes whose source may be read.
        """
        return self.compute(*self._values(c, readable))

    def undefined(self, c: Cohort, readable: Array | None = None) -> Sequence[Array] | None:
        """Undefined bits of the results; None when all sources are defined."""
        shadows = [read(c.shadow) for read in self.shadow_readers]
        if self.lanes is not None and readable is not None:
            shadows[0] = self.lanes.permute(shadows[0], readable)
        if not any(s.any() for s in shadows):
            return None
        widths = [width_of(k) if k != "mask" else 1 for k in self.op.results]
        undefined = self.rule(self._values(c, readable), shadows, widths)
        if self.writes_exec and (undefined[0] & c.exec).any():
            raise fault(
                c,
                self.inst,
                "the set of active lanes depends on an undefined value",
                undefined[0] & c.exec,
                kind="undefined-control",
            )
        return undefined

    def _outputs(self) -> list[tuple[Operand, str]]:
        return list(zip(self.dst, self.op.results, strict=True))

    def _values(self, c: Cohort, readable: Array | None) -> list[Array]:
        values = [read(c.regs) for read in self.readers]
        if self.lanes is not None and readable is not None:
            values[0] = self.lanes.permute(values[0], readable)
            if self.fetched is not None:
                values[0] = self.fetched(values[0])
        return values

    def commit(self, c: Cohort, results: Sequence[Array], undefined: Sequence[Array] | None) -> None:
        """Write results and their definedness."""
        outputs = self._outputs()
        for (operand, kind), write, value in zip(outputs, self.writers, results, strict=True):
            dtype = DTYPES.get(kind)
            write(c, value if dtype is None or value.dtype == dtype else value.astype(dtype))
            if undefined is None and c.undef & self.touched:
                define_result(c, operand, kind)
        if undefined is not None:
            for (operand, kind), bits in zip(outputs, undefined, strict=True):
                write_shadow(c, operand, kind, bits)


def define_result(c: Cohort, operand: Operand, kind: str) -> None:
    """Mark a result as defined, only its half when it is 16 bits wide."""
    if operand.kind == "v" and operand.bits == 16:
        write_shadow(c, operand, kind, np.zeros((1, 1), np.uint16))
    else:
        define(c, operand)


@instruction("v_nop", "v_pipeflush")
def _nop(inst: Inst) -> None:
    return None
