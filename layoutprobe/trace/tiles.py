"""What matrix instructions held in all waves of a workgroup at once: elements of the buffers, by execution."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np
from msgspec import Struct

from layoutprobe.brief import brief
from layoutprobe.instructions.meetings import element_types
from layoutprobe.layouts.declared import Ints
from layoutprobe.layouts.layout import HOLE, Layout
from layoutprobe.manifest.coding import Coding
from layoutprobe.numbers import digit_base, element_type
from layoutprobe.observe.matrix import WaveTable
from layoutprobe.solver.product import NOWHERE, UNKNOWN
from layoutprobe.trace.analysis import JudgedExecutions, analysis_of
from layoutprobe.trace.operands import Executions, executions_of
from layoutprobe.trace.problem import NoProductError
from layoutprobe.trace.subject import Subject, UndecidedError

MOST = 512
"""Executions of one instruction that are looked at, each by all waves of a workgroup."""
OTHER = 1 << 40
"""Row and column of an element of another buffer: it fits nowhere."""


class Held(Struct, frozen=True, eq=False):
    """One operand of an instruction in its executions. Coordinates are those of the buffer; axes are
    [execution, wave, lane, slot], and of one execution are the waves of a workgroup that execute it equally often.

    Attributes:
        name: of the buffer; "" where it is not known.
        shape: M, N and K of the instruction.
        row, col: int64; HOLE where nothing is known: zeros, and values that are computed.
        layout: names of the slots.
        why: why it cannot be compared; "" where it can.
        times: how many executions of how many waves these are.
    """

    name: str
    shape: tuple[int, int, int]
    row: Ints
    col: Ints
    layout: Layout
    why: str = ""
    times: int = 0

    __repr__ = brief

    def told(self, at: tuple[int, int, int, int], wanted: tuple[int, int] | None) -> str:
        """A slot in words; `wanted` is the element that belongs there, None where its lane holds no such set."""
        execution, wave, lane, slot = at
        vgpr, field = divmod(slot, self.layout.row.shape[3])
        place = f"wave {wave}, lane {lane}, {self.layout.slot_name(vgpr, field)} of the operand"
        held = self._element(int(self.row[at]), int(self.col[at]))
        if wanted is None:
            rows, cols = (axis[execution, wave, lane].tolist() for axis in (self.row, self.col))
            every = ", ".join(self._element(r, c) for r, c in zip(rows, cols, strict=True) if r != HOLE)
            return f"wave {wave}, lane {lane} holds {every}: as declared these are never in one lane"
        return f"{place} holds {held}; as declared it is {self._element(*wanted)}"

    def _element(self, row: int, col: int) -> str:
        return f"no element of {self.name}" if OTHER in (row, col) else f"{self.name}[{row}][{col}]"


def held_operands(subject: Subject) -> Mapping[int, Mapping[str, Held]]:
    """PC -> "A" and "B" -> what these operands held.

    Raises:
        UndecidedError, RunStoppedError: the kernel cannot be followed.
    """
    kinds, operands = executions_of(subject.coded(), subject.coding)
    elements = _Elements(subject.coding)
    found = {}
    for done in kinds:
        for pc in np.unique(done.pc).tolist():
            at = np.flatnonzero(done.pc == pc)
            types = dict(zip("AB", element_types(done.insts[pc]), strict=True))
            found[pc] = {
                role: _operand(
                    done, at, role, operands.waves, elements, garbled(dtype, subject.coding.code.base)
                )
                for role, dtype in types.items()
            }
    return found


def held_results(subject: Subject) -> Mapping[int, Mapping[str, Held]]:
    """PC -> "D" -> the elements of the product that its results are stored to; empty without a product."""
    try:
        analysis = analysis_of(subject)
    except (NoProductError, UndecidedError):
        return {}
    found = {}
    for judged in analysis.judged:
        done = judged.executions
        for pc in np.unique(done.pc).tolist():
            at = np.flatnonzero(done.pc == pc)
            found[pc] = {"D": _result(judged, at, analysis.operands.waves, analysis.problem.contract.d)}
    return found


class _Elements:
    """Row and column of every number; leading axes are folded into the rows."""

    def __init__(self, coding: Coding) -> None:
        self.names = [name for name, shape in coding.shapes.items() if len(shape) >= 2]
        self.row, self.col, self.buffer = (
            np.full(coding.total + 4, fill, np.int64) for fill in (OTHER, OTHER, -1)
        )
        starts = coding.starts()
        for index, name in enumerate(self.names):
            shape = coding.shapes[name]
            number = np.arange(prod(shape))
            here = slice(starts[name], starts[name] + number.size)
            self.row[here], self.col[here] = np.divmod(number, shape[-1])
            self.buffer[here] = index
        for table in (self.row, self.col):
            table[-4:] = HOLE  # ZERO, UNKNOWN, UNDEFINED


def garbled(dtype: str, base: int) -> str:
    """Why elements of this type do not say which they are, in digits below `base`; "" where they do. Bytes travel as
    they are."""
    kind = element_type(dtype)
    if kind.bits <= 8 or digit_base((dtype,)) >= base:
        return ""
    return f"{dtype} rounds the numbers that the elements of the inputs carry"


def _operand(
    done: Executions, at: Ints, role: str, waves: WaveTable, elements: _Elements, rounded: str
) -> Held:
    live = np.unique(done.geometry.a if role == "A" else done.geometry.b)
    numbers = (done.a if role == "A" else done.b)[at][:, live]
    buffers = elements.buffer[numbers]
    count = np.bincount(buffers[buffers >= 0], minlength=1)
    name = elements.names[int(count.argmax())] if count.any() else ""
    row, col = elements.row[numbers], elements.col[numbers]
    foreign = (buffers >= 0) & (buffers != count.argmax())
    row[foreign] = col[foreign] = OTHER
    why = "" if name else "it holds no elements of the inputs"
    if (numbers == UNKNOWN).any():  # elements that are computed may look like others
        name, why = "", "its values are computed, and no elements of the inputs"
    if rounded:
        name, why = "", rounded
    return _Seats(done, at, waves).held(role, live, row, col, name, why)


def _result(judged: JudgedExecutions, at: Ints, waves: WaveTable, name: str) -> Held:
    done = judged.executions
    chain = judged.factors.chain[at]
    row, col = (x[chain].reshape(at.size, -1).astype(np.int64) for x in (judged.targets.m, judged.targets.n))
    if done.swapped:
        row, col = col, row
    missing = (row == NOWHERE) | (col == NOWHERE)
    row[missing] = col[missing] = HOLE
    why = "its results are stored nowhere that could be followed" if missing.all() else ""
    return _Seats(done, at, waves).held("D", done.geometry.d.ravel(), row, col, name, why)


class _Seats:
    """Places of some executions: those of the waves of one workgroup, each its n-th, are one."""

    def __init__(self, done: Executions, at: Ints, waves: WaveTable) -> None:
        self.instruction = done.instruction
        wave, turn = done.wave[at], done.turn[at]
        order = np.lexsort((turn, wave))
        begins = np.r_[True, np.diff(wave[order]) != 0]
        first = np.maximum.accumulate(np.where(begins, np.arange(order.size), 0))
        before = np.empty(order.size, np.int64)
        before[order] = np.arange(order.size) - first
        group = np.unique(waves.group[wave], axis=0, return_inverse=True)[1].reshape(-1)
        moment = np.unique(np.stack([before, group]), axis=1, return_inverse=True)[1].reshape(-1)
        self.kept = moment < MOST
        self.moment, self.wave = moment[self.kept], waves.index[wave[self.kept]]
        self.waves = int(waves.index.max()) + 1

    def held(self, role: str, slots: Ints, row: Ints, col: Ints, name: str, why: str) -> Held:
        """What slots held, int64 [execution, slot], at these places."""
        layout = self.instruction.needed[role]
        lanes, vgprs, fields = layout.row.shape[1:]
        shape = (int(self.moment.max()) + 1, self.waves, lanes, vgprs * fields)
        placed = []
        for values in (row, col):
            table = np.full((*shape[:2], lanes * vgprs * fields), HOLE, np.int64)
            table[self.moment[:, None], self.wave[:, None], slots[None, :]] = values[self.kept]
            placed.append(table.reshape(shape))
        times = int(self.kept.sum())
        return Held(name, self.instruction.shape, placed[0], placed[1], layout, why, times)
