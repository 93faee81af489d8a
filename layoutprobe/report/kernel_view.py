"""A whole kernel to look into, as plain data: what its page shows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.place import Place, Register
from layoutprobe.report.finding import Finding
from layoutprobe.report.inspection import Sites

Group = tuple[int, int, int]
"""Id of a workgroup in x, y, z."""
COLUMNS = (
    "group",
    "wave",
    "site",
    "iteration",
    "turn",
    "matrix",
    "product",
    "held",
    "held_row",
    "held_col",
    "needed",
    "needed_row",
    "needed_col",
    "wrong",
    "live",
)
"""Of `Moments.rows`: workgroup by its place in `groups`, wave in it, number of the matrix instruction, how often the
wave executed it before, and how many matrix instructions; 0, 1 or 2 for A, B or C; which product of a batch; then
layouts by their place in `layouts`, each with the row and column where it begins, and masks by their place in
`masks`."""


class Moments(Struct, frozen=True, eq=False):
    """What the operands of matrix instructions held in every execution by the waves of some workgroups.

    Attributes:
        groups: the workgroups.
        left_out: workgroups of the launch that are not among them.
        shapes: matrix -> rows and columns of one product.
        layouts: int32 [2, lane, vgpr, field]: row and column of the element of each slot, counted from where the
            layout begins; HOLE where there is none. Many executions share one.
        masks: bool [lane, vgpr, field].
        bits: width of a field, for each layout.
        rows: int32 [operand of an execution, COLUMNS].
        registers: (number of the matrix instruction, matrix) -> its first register, and how many.
    """

    groups: tuple[Group, ...]
    left_out: int
    shapes: Mapping[str, tuple[int, int]]
    layouts: tuple[NDArray[np.int32], ...]
    masks: tuple[NDArray[np.bool_], ...]
    bits: tuple[int, ...]
    rows: NDArray[np.int32]
    registers: Mapping[tuple[int, str], tuple[Register, int]]

    __repr__ = brief


class OutputView(Struct, frozen=True, eq=False):
    """An output of the run on small integers, beside what it should be.

    Attributes:
        name: of the output.
        observed, expected: float32 [row, col]; of a batch, the products below each other.
        wrong, undefined: bool, same axes: off by more than rounding explains; never given a value.
        rows: of one product.
    """

    name: str
    observed: NDArray[np.float32]
    expected: NDArray[np.float32]
    wrong: NDArray[np.bool_]
    undefined: NDArray[np.bool_]
    rows: int

    __repr__ = brief


class Event(Struct, frozen=True):
    """An instruction that a timeline shows: what it is ("load", "barrier"...), its text, and where it stands."""

    kind: str
    text: str
    place: Place


class Contents(Struct, frozen=True, eq=False):
    """What registers and dwords may hold, once each.

    Attributes:
        names: in words.
        tensors: names of the buffers whose elements they are.
        lines: int32 [name, 2]: place in `tensors` and row of the first element of it (of a vector, its only index);
            -1 both where it comes from no element.
    """

    names: tuple[str, ...]
    tensors: tuple[str, ...]
    lines: NDArray[np.int32]

    __repr__ = brief


class HeldOperands(Struct, frozen=True, eq=False):
    """What operands of matrix instructions held by name, where nothing says what they should.

    Attributes:
        why: nothing does.
        contents: what they held.
        letters: names of operands.
        table: int32 [4, operand]: row of the matrix instruction, place in `letters`, first register, how many.
        first_acc: register in which AccVGPRs begin; -1 where there are none.
        held: int32 [register, lane], places in `contents`; operand by operand.
        left_out: executions that would have been too much.
    """

    why: str
    contents: Contents
    letters: tuple[str, ...]
    table: NDArray[np.int32]
    first_acc: int
    held: NDArray[np.int32]
    left_out: int

    __repr__ = brief


class LdsAccesses(Struct, frozen=True, eq=False):
    """Loads and stores of LDS by a workgroup.

    Attributes:
        size: bytes of LDS.
        banks: each a dword wide.
        table: int32 [4, access]: row, 1 for a store, bytes of a lane, place in `patterns`.
        patterns: int32 [pattern, lane], byte of each lane, -1 where it does not access.
        contents: what was stored; nothing where there is too much of it.
        first: int32 [access], where the dwords of a store begin in `held`; -1 of loads, and where it is not known.
        held: int32 [dword, lane], places in `contents`.
    """

    size: int
    banks: int
    table: NDArray[np.int32]
    patterns: NDArray[np.int32]
    contents: Contents
    first: NDArray[np.int32]
    held: NDArray[np.int32]

    __repr__ = brief


class Timeline(Struct, frozen=True, eq=False):
    """What the waves of one workgroup did, in the order in which the emulator executed it, which is no cycle count.

    Attributes:
        group: the workgroup.
        code: the instructions that are events.
        events: int32 [3, event]: row, wave in the workgroup, place in `code`. A row is an instruction of a wave;
            they are numbered through all waves.
        rows: of the whole run, also of instructions that are no events.
        cut: why it does not go on to the end; "" where it does.
        lds: None without LDS.
    """

    group: Group
    code: tuple[Event, ...]
    events: NDArray[np.int32]
    rows: int
    cut: str
    lds: LdsAccesses | None

    __repr__ = brief


class Opened(Struct, frozen=True):
    """What a page shows first; None: it chooses, what is wrong first."""

    matrix: str | None = None
    site: int | None = None
    iteration: int | None = None
    group: Group | None = None
    wave: int | None = None


class KernelView(Struct, frozen=True, eq=False):
    """A kernel at one size.

    Attributes:
        sites: its matrix instructions, and what `check` finds.
        moments: what their operands held.
        output: what came out of it; None where `no_output` says why.
        timeline: of the first workgroup; None where it was not recorded, or is too long.
        sources: file as places name it -> line, counted from 1 -> its text.
        opened: what is shown first.
        toolchain: compiler version, flags, code-object digest.
        held: of what is not judged, what operands hold.
    """

    sites: Sites
    moments: Moments
    output: OutputView | None
    no_output: str
    sources: Mapping[str, Mapping[int, str]]
    timeline: Timeline | None = None
    opened: Opened = field(default_factory=Opened)
    toolchain: Mapping[str, str] = field(default_factory=dict)
    held: HeldOperands | None = None

    __repr__ = brief

    @property
    def exit_code(self) -> int:
        """1 where anything is found, else that of its matrix instructions."""
        return self.sites.exit_code

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What `check` finds at this size: causes, not what follows from them."""
        return self.sites.findings or ()
