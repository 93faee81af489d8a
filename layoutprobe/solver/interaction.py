"""Interaction: what a matrix instruction does with its slots, observed by executing it.

Whoever can execute the instruction on registers of the solver's choice (a probe, the instruction
alone, a file that somebody recorded) gets one answer, from which everything is read: what meets,
the element that each slot must hold, who reads it, and how far all that is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.layouts.instruction import Gauge
from layoutprobe.layouts.layout import HOLE, Layout
from layoutprobe.solver.bench import Bench, Execute, Extents
from layoutprobe.solver.gauge import gauge_of
from layoutprobe.solver.hotsets import Meetings, find_meetings
from layoutprobe.solver.lines import Names, Shape, names_of
from layoutprobe.solver.scales import BYTES, by_blocks, find_scales
from layoutprobe.solver.sparse import FIELDS, find_index
from layoutprobe.solver.verify import ask_random, verify

Ints = NDArray[np.int64]

GROUP = 16
"""Lanes that one bit of `readers` stands for."""

NO_READER = -1
BOTH_HALVES = 2
"""What `half_waves` says of slots that no output reads, and that outputs of both half-waves read."""

OWN_ORDER = {
    "M": "rows as this kernel orders them in A and D alike",
    "N": "columns as this kernel orders them in B and D alike",
    "K": "k as this kernel orders it in A and B alike",
}


def rules_in_words(rules: Mapping[str, str]) -> str:
    """How the lines of every axis ("M", "N", "K") got their names; one rule for all is said once."""
    told = [rules[axis].partition(" ") for axis in "MNK"]
    if len({how for _, _, how in told}) == 1:
        *names, last = (name for name, _, _ in told)
        return f"{', '.join(names)} and {last} {told[0][2]}"
    return "; ".join(rules[axis] for axis in "MNK")


"""What names the lines of an axis along which a kernel permutes jointly."""


class Interaction(Struct, frozen=True, eq=False, dict=True):
    """What the instruction was found to do with its slots. Layouts have one wave.

    Attributes:
        shape: (M, N, K) of the instruction, as documented.
        meetings: every product that was seen.
        needed: "A", "B", "C", "D" and, if sparse, "index" -> the element each slot must hold, under
            `rules`; HOLE in slots that no output depends on. Sparse A is the compressed matrix, M x
            K/2, and B the dense one. Of several products: see `Shape`. "scale A" and "scale B" of a scaled
            one: row and block of k, block of k and column.
        index: int64 [product]: slot of two bits of the index operand that tells the k of the
            product's A; numbered lane, field. Empty where A is dense.
        gauge: which renamings no execution can tell apart.
        scales: "A", "B" -> int64 [product]: byte of the scale registers that scales the product; numbered
            lane, byte. Empty where nothing is scaled.
        rules: "M", "N", "K" -> how the lines of that axis got their names, in words.
        launches: executions by purpose.
    """

    shape: tuple[int, int, int]
    meetings: Meetings
    needed: Mapping[str, Layout]
    index: Ints
    gauge: Gauge
    rules: Mapping[str, str]
    launches: Mapping[str, int]
    scales: Mapping[str, Ints] = field(default_factory=dict)

    __repr__ = brief

    @cached_property
    def live(self) -> Mapping[str, NDArray[np.bool_]]:
        """Some output depends on the slot; keys and axes of `needed`."""
        return {name: ~layout.holes for name, layout in self.needed.items()}

    @cached_property
    def readers(self) -> Mapping[str, NDArray[np.int32]]:
        """Bit g is set when an output in lanes [16g, 16g + 16) reads the slot; as `live`."""
        met = self.meetings
        per_lane = self.needed["D"].row[0, 0].size
        group = np.int32(1) << (met.d // per_lane // GROUP).astype(np.int32)
        of_c = np.int32(1) << (met.c_to // per_lane // GROUP).astype(np.int32)
        read = {"A": (met.a, group), "B": (met.partners, group), "C": (met.c, of_c), "D": (met.d, group)}
        if "index" in self.needed:
            read["index"] = (self.index, group)
        read |= {f"scale {name}": (byte, group) for name, byte in self.scales.items()}
        found = {}
        for name, (slot, bits) in read.items():
            axes = self.needed[name].row.shape
            flags = np.zeros(int(np.prod(axes)), np.int32)
            np.bitwise_or.at(flags, slot, np.broadcast_to(bits, slot.shape))
            found[name] = flags.reshape(axes)
        return found

    def half_waves(self, name: str) -> NDArray[np.int32]:
        """The half-wave whose outputs read each slot (0 or 1), BOTH_HALVES or NO_READER; as `live`."""
        flags, half = self.readers[name], self.needed[name].lanes // GROUP // 2
        low, high = flags & (1 << half) - 1 > 0, flags >> half > 0
        which = np.select([low & high, low, high], [BOTH_HALVES, 0, 1], NO_READER)
        return which.astype(np.int32)

    @property
    def ambiguity(self) -> str:
        """What execution cannot tell of a dense product, in words."""
        of_k, of_m, of_n = (self._renamed(axis) for axis in "KMN")
        text = f"equal modulo a joint permutation of {of_k}, of {of_m}, and of {of_n}"
        if self.gauge.stacked == "products":
            text += f"; separately for each of {self.gauge.blocks} products"
        elif self.gauge.blocks > 1:
            text += (
                f"; separately for each of {self.gauge.blocks} groups of output {self.gauge.stacked}, "
                "as each reads its own copies"
            )
        return text

    def _renamed(self, axis: str) -> str:
        """What of an axis may be renamed, and in which operands: "K in A and B", "groups of 4 k in A and B"."""
        gauge, scaled = self.gauge[axis], bool(self.scales)
        what = axis if gauge.unit == 1 else f"groups of {gauge.unit} {axis.lower()}"
        what += f" and of the {axis.lower()} in each" if gauge.within else ""
        if axis == "K":
            return f"{what} in A{',' if scaled else ' and'} B{' and their scales' if scaled else ''}"
        operand = "A" if axis == "M" else "B"
        return f"{what} in {operand}{', its scales' if scaled else ''} and D"

    def convention(self, own: Sequence[str] = ()) -> str:
        """How rows, columns and k got their names, in words.

        Args:
            own: axes for which `needed` was replaced by the kernel's own order.
        """
        return rules_in_words({**self.rules, **{axis: OWN_ORDER[axis] for axis in own}})

    def by_register(self) -> Interaction:
        """The same, with a register of C and D as one slot where one half of it keeps what it held.

        A kernel that moves such an accumulator moves the register.
        """
        met, fields = self.meetings, self.needed["D"].fields
        if fields == 1 or not met.kept.any():
            return self
        kept = np.asarray(met.kept.reshape(-1, fields).all(axis=1))
        met = replace(met, d=met.d // fields, c=met.c // fields, c_to=met.c_to // fields, kept=kept)
        whole = {}
        for name in "CD":
            layout = self.needed[name]
            row, col = (axis.max(axis=3, keepdims=True) for axis in (layout.row, layout.col))
            whole[name] = replace(layout, row=row, col=col, field_bits=layout.field_bits * fields)
        return replace(self, meetings=met, needed={**self.needed, **whole})


def solve_instruction(
    extents: Extents, shape: tuple[int, int, int], execute: Execute, products: int = 1
) -> Interaction:
    """What a matrix instruction does with its slots.

    Args:
        extents: registers and element types of its operands.
        shape: (M, N, K) as documented; what is found must fill it.
        execute: runs the instruction.
        products: independent products that it computes, as documented; each has that shape.

    Raises:
        ProbeError: it is no matrix product of that shape.
    """
    bench, whole = Bench(extents, execute), Shape(*shape, products)
    trial = ask_random(bench)
    met = find_meetings(bench)
    names = names_of(extents, whole, met)
    index = find_index(bench, met, names.b_k % 4) if extents.sparse else np.zeros(0, np.int64)
    scales: Mapping[str, Ints] = {}
    block = 0
    if extents.scaled:
        scales = find_scales(bench, met)
        names, block = by_blocks(names, met, scales)
    verify(trial, met, index, scales)
    gauge = gauge_of(met, names, whole, block)
    needed = _layouts(extents, whole, met, names, index) | _scale_layouts(
        extents, whole, met, names, scales, block
    )
    return Interaction(shape, met, needed, index, gauge, names.rules, bench.launches, scales)


def _layouts(extents: Extents, shape: Shape, met: Meetings, names: Names, index: Ints) -> dict[str, Layout]:
    """Element of every live slot."""
    kept = shape.k // 2 if extents.sparse else shape.k
    c_row, c_col = (np.full(extents.count("D"), HOLE, np.int64) for _ in range(2))
    c_row[met.c], c_col[met.c] = names.d_row[met.c_to], names.d_col[met.c_to]
    tables = {
        "A": ((shape.rows, kept), names.a_row, names.a_k),
        "B": ((shape.k, shape.cols), names.b_k, names.b_col),
        "C": ((shape.rows, shape.cols), c_row, c_col),
        "D": ((shape.rows, shape.cols), names.d_row, names.d_col),
    }
    found = {
        name: _layout(name, extent, row, col, extents.slots(name), extents.bits(name))
        for name, (extent, row, col) in tables.items()
    }
    if extents.sparse:
        row, col = (np.full(extents.lanes * FIELDS, HOLE, np.int64) for _ in range(2))
        row[index], col[index] = names.a_row[met.a], names.a_k[met.a]
        found["index"] = _layout("index", (shape.rows, kept), row, col, (extents.lanes, 1, FIELDS), 2)
    return found


def _scale_layouts(
    extents: Extents, shape: Shape, met: Meetings, names: Names, scales: Mapping[str, Ints], block: int
) -> dict[str, Layout]:
    """Line and block of k of every scale that is read."""
    found = {}
    for name, byte in scales.items():
        row, col = (np.full(extents.lanes * BYTES, HOLE, np.int64) for _ in range(2))
        if name == "A":
            row[byte], col[byte] = names.a_row[met.a], names.a_k[met.a] // block
            extent = (shape.rows, shape.k // block)
        else:
            row[byte], col[byte] = names.b_k[met.b] // block, names.b_col[met.b]
            extent = (shape.k // block, shape.cols)
        found[f"scale {name}"] = _layout(f"scale {name}", extent, row, col, (extents.lanes, 1, BYTES), 8)
    return found


def _layout(
    name: str, shape: tuple[int, int], row: Ints, col: Ints, slots: tuple[int, int, int], bits: int
) -> Layout:
    axes = (1, *slots)
    return Layout(name, shape, row.astype(np.int32).reshape(axes), col.astype(np.int32).reshape(axes), bits)


__all__ = ["BOTH_HALVES", "GROUP", "NO_READER", "OWN_ORDER", "Interaction", "solve_instruction"]
