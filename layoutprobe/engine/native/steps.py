"""The instructions of a program, each as the form that executes it, or as one for numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from layoutprobe.engine.native.forms import Form, form_of, shape_of
from layoutprobe.engine.native.guards import Guard, guard_of_rows, guard_of_template
from layoutprobe.engine.native.rows import Row, rows_of
from layoutprobe.engine.native.template import Layout, Template
from layoutprobe.engine.native.templates import template_of
from layoutprobe.engine.native.tracing import UntraceableError
from layoutprobe.isa.inst import Inst
from layoutprobe.machine.observer import Moves
from layoutprobe.machine.program import Executor, Program

_forms: dict[tuple[object, ...], Form | None] = {}
"""Forms by the shape of the instruction and lanes of a wave; None of what cannot be traced."""
_NOTHING = Guard()


class Watched(Struct, frozen=True):
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


class Step(Struct, frozen=True):
    """One instruction of a block, ready to be written into a record.

    Attributes:
        symbol: the C function; "F_slow" for what numpy executes.
        offsets, immediates: entries of the record.
        guard: what it reads and writes, and what that has to do with undefined bits.
        template: what it was made of, if of a template.
        copies: it does no more than copy registers, each to one that is written.
    """

    inst: Inst
    executor: Executor
    symbol: str = "F_slow"
    offsets: tuple[int, ...] = ()
    immediates: tuple[int, ...] = ()
    guard: Guard = _NOTHING
    template: Template | None = None
    copies: bool = False


class Steps(Struct, frozen=True, eq=False):
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
                inst,
                executor,
                template.symbol,
                template.offsets,
                template.immediates,
                guard_of_template(template),
                template,
            )
        rows = rows_of(inst, executor, self.layout.lanes)
        form = self._form(inst, rows) if rows else None
        if form is None:
            return Step(inst, executor)
        self.forms[form.symbol] = form
        offsets, immediates = form.fill(rows, self.layout.lanes, self.layout.vgprs_at)
        guard = guard_of_rows(inst, rows, form)
        copies = all(row.copies for row in rows) and any(n for _, n, _ in guard.reads)
        return Step(inst, executor, form.symbol, tuple(offsets), tuple(immediates), guard, copies=copies)

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
