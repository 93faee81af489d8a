"""Bound executors of the numpy engine, as rows: what is read, what is written, and the function between.

Which instructions are rows is decided by their executors (`semantics`); all others have templates
(`templates`), or stay with numpy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from layoutprobe.isa.inst import EXEC_LO, SCC, Inst, Operand
from layoutprobe.machine.program import Executor
from layoutprobe.semantics.cross_lane import BySize
from layoutprobe.semantics.definedness import Rule
from layoutprobe.semantics.dpp import LaneMap
from layoutprobe.semantics.packed_ops import EitherArithmetic
from layoutprobe.semantics.registry import bind
from layoutprobe.semantics.salu import ScalarExecution
from layoutprobe.semantics.salu_exec import SaveExec
from layoutprobe.semantics.valu import Execution, Straight

FLAG = "flag"
"""Type of SCC, beside those of `semantics.operands`."""
_SCC = Operand("s", SCC)


class Row(Struct, frozen=True):
    """One instruction's computation.

    Attributes:
        sources, kinds: operands that are read, and their types.
        targets, results: operands that are written, and their types.
        compute: values of the sources -> one value per target.
        scalar: one value for the wave, EXEC plays no part.
        lanes: DPP's permutation of source 0.
        fetched: neg and abs, where they act on what DPP fetched.
        copies: 32 bits are copied as they are, undefined ones too.
        rule: which bits of the results are undefined; None where numpy alone knows.
    """

    sources: tuple[Operand, ...]
    kinds: tuple[str, ...]
    targets: tuple[Operand, ...]
    results: tuple[str, ...]
    compute: Callable[..., Sequence[Any]]
    scalar: bool = False
    lanes: LaneMap | None = None
    fetched: Callable[[Any], Any] | None = None
    copies: bool = False
    rule: Rule | None = None


def rows_of(inst: Inst, executor: Executor, lanes: int) -> tuple[Row, ...]:
    """The rows of an instruction: two of a dual one, none where it is no row."""
    parts = [bind(half) for half in inst.pair] if inst.pair else [executor]
    rows = [_row(part, lanes) for part in parts]
    return tuple(row for row in rows if row is not None) if all(rows) else ()


def _row(executor: Executor | None, lanes: int) -> Row | None:
    if isinstance(executor, BySize):
        executor = executor.rows[lanes]
    if isinstance(executor, EitherArithmetic):
        executor = executor.ieee
    if isinstance(executor, Straight):
        executor = executor.execution
    if isinstance(executor, Execution):
        return _vector(executor)
    if isinstance(executor, ScalarExecution):
        return _scalar(executor)
    return _save_exec(executor) if isinstance(executor, SaveExec) else None


def _vector(execution: Execution) -> Row:
    sources = execution.sources
    if execution.lanes is not None:
        sources = (replace(sources[0], neg=False, abs=False), *sources[1:])
    return Row(
        sources,
        execution.kinds,
        execution.dst,
        execution.op.results,
        execution.compute,
        lanes=execution.lanes,
        fetched=execution.fetched,
        copies=_copies(execution),
        rule=None if execution.writes_exec else execution.rule,
    )


def _copies(execution: Execution) -> bool:
    """Whether it is a plain V_MOV_B32, of a whole instruction or half of a dual one."""
    how = execution.compute
    alone = execution.lanes is None and execution.kinds == ("b32",) and not how.post
    source = execution.sources[0]
    return alone and how.compute is np.positive and not (source.neg or source.abs)


def _scalar(execution: ScalarExecution) -> Row:
    reads = execution.scc.startswith("read")
    has_value = execution.target is not None and execution.scc != "only"
    has_flag = execution.scc not in ("", "read")

    def compute(*values: Any) -> list[Any]:
        value, flag = execution.results(*values)
        return ([value] if has_value else []) + ([flag] if has_flag else [])

    return Row(
        execution.sources + ((_SCC,) if reads else ()),
        execution.kinds + ((FLAG,) if reads else ()),
        ((execution.target,) if execution.target is not None and has_value else ())
        + ((_SCC,) if has_flag else ()),
        ((execution.result,) if has_value else ()) + ((FLAG,) if has_flag else ()),
        compute,
        scalar=True,
    )


def _save_exec(execution: SaveExec) -> Row:
    target, kind = execution.target, execution.kind
    active = Operand("s", EXEC_LO, target.regs, target.bits)

    def compute(source: Any, before: Any) -> tuple[Any, Any, Any]:
        after = execution.function(source, before)
        return before if execution.keep else after, after != 0, after

    return Row(
        (execution.source, active),
        (kind, kind),
        (target, _SCC, active),
        (kind, FLAG, kind),
        compute,
        scalar=True,
    )
