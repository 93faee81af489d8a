"""What a matrix instruction was found to do with every slot of its operands.

The names of rows, columns and k cannot be observed: permuting k in A and B together changes no
product. How far a layout is known is therefore part of the result, as its `Gauge`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.capture.capture import Evidence
from layoutprobe.layouts.layout import Layout

AXES = ("M", "N", "K")


class AxisGauge(Struct, frozen=True):
    """Which renamings of the lines of one axis no execution can tell apart.

    Attributes:
        axis: "M", "N" or "K".
        lines: how many lines have names (16 rows, 32 k).
        units: how many things permute freely: the lines themselves, or groups of lines.
        unit: lines of such a group: 1, or 4 for the sparse k, where the value of the index
            operand names the four of a group.
        copies: sets of outputs that share no copy of an operand along this axis; each could be
            renamed by itself. 1 where all outputs meet the same slots.
        operands: the operands that a renaming changes together, as "A and B".
        within: the lines of a group permute freely, too: k that share a scale.
    """

    axis: str
    lines: int
    units: int
    unit: int = 1
    copies: int = 1
    operands: str = ""
    within: bool = False

    @property
    def free(self) -> bool:
        """Whether some joint permutation is unobservable."""
        return self.units > 1 or self.copies > 1 or self.within

    def __str__(self) -> str:
        what = f"{self.units} {'lines' if self.unit == 1 else f'groups of {self.unit} lines'}"
        what += " and of the lines of a group" if self.within else ""
        each = f", in each of {self.copies} copies separately" if self.copies > 1 else ""
        return f"{self.axis}: any joint permutation of {what} in {self.operands}{each}"


class Gauge(Struct, frozen=True):
    """What execution leaves open, axis by axis; computed from what was seen to meet.

    Attributes:
        axes: "M", "N", "K" -> renamings of that axis.
        blocks: groups of outputs that share no copy of an operand; 1 where every slot is needed by
            the whole matrix.
        stacked: "rows" or "columns": along which the blocks make up the matrix; "products" where each
            is one of its own, on the diagonal; "" for one block.
    """

    axes: Mapping[str, AxisGauge]
    blocks: int = 1
    stacked: str = ""

    def __getitem__(self, axis: str) -> AxisGauge:
        return self.axes[axis]

    def __str__(self) -> str:
        return "; ".join(str(self.axes[axis]) for axis in AXES)


class InstructionLayout(Struct, frozen=True, eq=False):
    """The layout of a matrix instruction, solved by executing it.

    Layouts have one wave: axes [1, lane, vgpr, field]. A of a sparse instruction is the compressed
    matrix, M x K/2: column 2g and 2g+1 are the elements kept of group g (dense k 4g to 4g+3). Its
    "index" operand has the same shape and fields of two bits: the place in its group, 0 to 3, of
    that element of A. B is always dense, K x N.

    Attributes:
        instruction: mnemonic.
        arch: target of the code object that was run.
        wave: lanes of a wave, 32 or 64.
        opsel: op_sel of the instruction as AMD's documents number it: 4 selects the upper half of
            16-bit C and D; for the sparse instructions, the index key.
        shape: (M, N, K); K is the dense one.
        operands: "A", "B", "C", "D", and "index" of the sparse instructions -> element of every
            slot under `convention`; HOLE in slots that hold none.
        live: the same keys -> bool, axes of the layout: an output depends on the slot. A slot that
            has an element but is not live is a copy that no output was seen to read.
        readers: the same keys -> int32, axes of the layout: bit g is set when an output in lanes
            [16g, 16g+16) reads the slot; 0 where none does.
        kept: bool, axes of D: the slot keeps what the destination held before.
        gauge: which renamings no execution can tell apart.
        convention: how the lines of M, N and K got their names, in words.
        ambiguity: what execution cannot tell, in words.
        launches: executions of the instruction that the solution rests on, one wave each.
        evidence: of the captures.
        arithmetic: "ieee" or "silicon", the mode of an emulated run; "" on a card.
        toolchain: what compiled the probe, and the digest of its code object.
        sources: what of the result is a document's word and not seen, in words, by subject.
    """

    instruction: str
    arch: str
    wave: int
    opsel: int
    shape: tuple[int, int, int]
    operands: Mapping[str, Layout]
    live: Mapping[str, NDArray[np.bool_]]
    readers: Mapping[str, NDArray[np.int32]]
    kept: NDArray[np.bool_]
    gauge: Gauge
    convention: str
    ambiguity: str
    launches: int
    evidence: Evidence
    arithmetic: str = "ieee"
    toolchain: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)

    __repr__ = brief

    @property
    def sparse(self) -> bool:
        """Whether A is compressed and an index operand tells its k."""
        return "index" in self.operands
