"""The instructions of a program, each as the form that executes it, or as one for numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from layoutprobe.engine.native.forms import Form, form_of, shape_of
from layoutprobe.engine.native.rows import Row, rows_of
from layoutprobe.engine.native.template import (
    HIGH_HALF,
    LOW_HALF,
    WHOLE,
    Layout,
    Template,
    registers_of,
)
from layoutprobe.engine.native.templates import template_of
from layoutprobe.engine.native.tracing import UntraceableError
from layoutprobe.isa.inst import Inst, Operand
from layoutprobe.machine.observer import Moves
from layoutprobe.machine.program import Executor, Program

_forms: dict[tuple[object, ...], Form | None] = {}
"""Forms by the shape of the instruction and lanes of a wave; None of what cannot be traced."""


@dataclass(frozen=True)
class Watched:
    """Of which events observers are told.

    C writes down what blocks it runs, and of the accesses of these kinds those that it knows to write down
    (`Template.line`). Of the others numpy tells, which executes them, as it does moves of VGPRs that M0 picks
    (`indexed`); for a matrix instruction waves stop, so that observers are told before and after C executes it. At
    instructions that some want to be told of before they are executed (`stops`, PCs) waves stop, too.
    """

    block: bool = False
    access: Moves = Moves.NONE
    matrix: bool = False
    stops: frozenset[int] = frozenset()
    indexed: bool = False


@dataclass(frozen=True)
class Step:
    """One instruction of a block, ready to be written into a record.

    Attributes:
        symbol: the C function; "F_slow" for what numpy executes.
        offsets, immediates: entries of the record.
        reads: ranges of registers (first, number) that must be defined.
        writes: ranges of registers and how they are defined.
        template: what it was made of, if of a template.
        copies: it does no more than copy registers, each to one of `writes`: `reads` may hold undefined bits.
    """

    inst: Inst
    executor: Executor
    symbol: str = "F_slow"
    offsets: tuple[int, ...] = ()
    immediates: tuple[int, ...] = ()
    reads: tuple[tuple[int, int], ...] = ()
    writes: tuple[tuple[int, int, int], ...] = ()
    template: Template | None = None
    copies: bool = False


@dataclass(frozen=True, eq=False)
class Steps:
    """The instructions of a program, made ready once for all who watch it in one way or another."""

    program: Program
    bodies: Mapping[int, Sequence[Executor]]
    layout: Layout
    forms: dict[str, Form] = field(default_factory=dict)
    _known: dict[int, Step] = field(default_factory=dict)

    def step(self, inst: Inst, executor: Executor) -> Step:
        """An instruction's step."""
        if inst.pc not in self._known:
            self._known[inst.pc] = self._made(inst, executor)
        return self._known[inst.pc]

    def _made(self, inst: Inst, executor: Executor) -> Step:
        template = template_of(inst, self.layout)
        if template is not None:
            if template.form is not None:
                self.forms[template.symbol] = template.form
            return Step(
                inst, executor, template.symbol, template.offsets, template.immediates,
                _ranges(template.reads), tuple((*registers_of(o), kind) for o, kind in template.writes), template,
            )  # fmt: skip
        rows = rows_of(inst, executor, self.layout.lanes)
        form = self._form(inst, rows) if rows else None
        if form is None:
            return Step(inst, executor)
        self.forms[form.symbol] = form
        offsets, immediates = form.fill(rows, self.layout.lanes, self.layout.vgprs_at)
        reads = _ranges([o for row in rows for o in row.sources])
        writes = tuple((*registers_of(o), _defines(o)) for row in rows for o in row.targets)
        # What DPP leaves unwritten depends on the lanes: numpy keeps count of that.
        partly = any(row.lanes is not None for row in rows)
        return Step(inst, executor, form.symbol, tuple(offsets), tuple(immediates),
                    (*reads, *((f, n) for f, n, _ in writes if partly)), writes,
                    copies=all(row.copies for row in rows) and any(n for _, n in reads))  # fmt: skip

    def _form(self, inst: Inst, rows: Sequence[Row]) -> Form | None:
        key = (self.layout.lanes, *shape_of(inst))
        if key not in _forms:
            try:
                _forms[key] = form_of(inst, rows, self.layout.lanes)
            except UntraceableError:
                _forms[key] = None
        return _forms[key]


def numbers_in(
    form: str, offsets: tuple[int, ...], inst: Inst, execute: Executor, layout: Layout
) -> tuple[int, ...]:
    """The immediates with which a form executes another instruction.

    Args:
        form, offsets: symbol of the form, and the registers that its record names.
        inst: what stood there before.
        execute: what the other instruction does.
        layout: of the waves.

    Raises:
        UntraceableError: the other instruction has another form or other registers.
    """
    rows = () if inst.pair else rows_of(inst, execute, layout.lanes)
    if not rows:
        raise UntraceableError("no row")
    other = form_of(inst, rows, layout.lanes)
    registers, numbers = other.fill(rows, layout.lanes, layout.vgprs_at)
    if other.symbol != form or tuple(registers) != offsets:
        raise UntraceableError("another form, or other registers")
    return tuple(numbers)


def _ranges(operands: Sequence[Operand]) -> tuple[tuple[int, int], ...]:
    return tuple(registers_of(o) for o in operands)


def _defines(operand: Operand) -> int:
    if operand.kind == "v" and operand.bits == 16:
        return HIGH_HALF if operand.hi else LOW_HALF
    return WHOLE
