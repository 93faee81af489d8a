"""From what meets to layouts: rows, columns and k of every slot of a matrix instruction.

An A slot and the D slots that it enters share a row; a B slot and the D slots that it enters
share a column; an A slot and the B slots that it meets share a k, or (sparse) a group of four k, of
which the value of the index operand names the one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.errors import ProbeError
from layoutprobe.layouts.instruction import Gauge
from layoutprobe.layouts.layout import HOLE, Layout
from layoutprobe.solver.classes import Labels, components
from layoutprobe.solver.gauge import gauge_of
from layoutprobe.solver.hotsets import PLACES, Bench, Execute, Extents, Terms, find_terms
from layoutprobe.solver.lines import block_of, name_k, name_lines, not_a_product, stack
from layoutprobe.solver.sparse import find_index, kinds_of
from layoutprobe.solver.verify import verify

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Names:
    """Lines of every slot, by number of the slot; HOLE where no output depends on it.

    Attributes:
        a_row, b_col, d_row, d_col: rows and columns.
        a_k: of A, its column: k, or in compressed A 2 * group + which of the two kept.
        b_k: of B, its row: the dense k.
        rules: "M", "N", "K" -> how the names were given, in words.
    """

    a_row: Ints
    a_k: Ints
    b_k: Ints
    b_col: Ints
    d_row: Ints
    d_col: Ints
    rules: Mapping[str, str]

    __repr__ = brief


@dataclass(frozen=True, eq=False)
class Solved:
    """A matrix instruction as its executions show it.

    Attributes:
        extents: of the operands.
        shape: (M, N, K).
        terms: every product seen.
        names: lines of the slots.
        index: int64 [term]: slot of two bits of the index operand that tells the k of the
            term's A; numbered lane, field. Empty where A is dense.
        gauge: which renamings no execution can tell apart.
        launches: executions by purpose.
    """

    extents: Extents
    shape: tuple[int, int, int]
    terms: Terms
    names: Names
    index: Ints
    gauge: Gauge
    launches: Mapping[str, int]

    __repr__ = brief

    def layouts(self) -> dict[str, Layout]:
        """ "A", "B", "C", "D" and, if sparse, "index" -> element of every live slot."""
        names, terms = self.names, self.terms
        m, n, k = self.shape
        c_row, c_col = (np.full(self.extents.count("D"), HOLE, np.int64) for _ in range(2))
        c_row[terms.c], c_col[terms.c] = names.d_row[terms.c_to], names.d_col[terms.c_to]
        found = {
            "A": self._layout("A", (m, k // 2 if self.extents.sparse else k), names.a_row, names.a_k),
            "B": self._layout("B", (k, n), names.b_k, names.b_col),
            "C": self._layout("C", (m, n), c_row, c_col),
            "D": self._layout("D", (m, n), names.d_row, names.d_col),
        }
        if self.extents.sparse:
            row, col = (np.full(self.extents.lanes * 16, HOLE, np.int64) for _ in range(2))
            row[self.index], col[self.index] = names.a_row[terms.a], names.a_k[terms.a]
            axes = (1, self.extents.lanes, 1, 16)
            found["index"] = Layout(
                "index",
                (m, k // 2),
                row.astype(np.int32).reshape(axes),
                col.astype(np.int32).reshape(axes),
                2,
            )
        return found

    def _layout(self, operand: str, shape: tuple[int, int], row: Ints, col: Ints) -> Layout:
        axes = (1, *self.extents.slots(operand))
        bits = self.extents.bits("D" if operand == "C" else operand)
        return Layout(
            operand, shape, row.astype(np.int32).reshape(axes), col.astype(np.int32).reshape(axes), bits
        )

    def readers(self) -> dict[str, NDArray[np.int32]]:
        """Per operand: bit g is set when an output in lanes [16g, 16g + 16) reads the slot."""
        terms, extents = self.terms, self.extents
        per_lane = extents.count("D") // extents.lanes
        group = np.int32(1) << (terms.d // per_lane // 16).astype(np.int32)
        of_c = np.int32(1) << (terms.c_to // per_lane // 16).astype(np.int32)
        read = {
            "A": (terms.a[None], group[None], extents.slots("A")),
            "B": (terms.b, np.broadcast_to(group, terms.b.shape), extents.slots("B")),
            "C": (terms.c[None], of_c[None], extents.slots("C")),
            "D": (terms.d[None], group[None], extents.slots("D")),
        }
        if extents.sparse:
            read["index"] = (self.index[None], group[None], (extents.lanes, 1, 16))
        found = {}
        for name, (slot, bits, axes) in read.items():
            flags = np.zeros(int(np.prod(axes)), np.int32)
            np.bitwise_or.at(flags, slot, bits)
            found[name] = flags.reshape(1, *axes)
        return found


def solve_instruction(extents: Extents, shape: tuple[int, int, int], execute: Execute) -> Solved:
    """Layouts of a matrix instruction.

    Args:
        extents: registers and element types of its operands.
        shape: (M, N, K) as documented; what is found must fill it.
        execute: runs the instruction.

    Raises:
        ProbeError: it is no matrix product of that shape.
    """
    bench = Bench(extents, execute)
    terms = find_terms(bench)
    names, block = _named(extents, shape, terms)
    index = np.zeros(0, np.int64)
    if extents.sparse:
        index = find_index(bench, terms, names.b_k % 4)
    verify(bench, terms, index)
    gauge = gauge_of(terms, (names.a_row, names.a_k), (names.b_k, names.b_col), *block, shape)
    return Solved(extents, shape, terms, names, index, gauge, bench.launches)


def _named(extents: Extents, shape: tuple[int, int, int], terms: Terms) -> tuple[Names, tuple[int, str]]:
    """Lines of all slots; and the number of blocks, and along what they are stacked."""
    m, n, _ = shape
    n_a, n_b, n_d = (extents.count(operand) for operand in "ABD")
    settings = len(terms.b)
    every_b, every_d = terms.b.ravel(), np.tile(terms.d, settings)
    row_a, row_d = components(terms.a, terms.d, n_a, n_d)
    col_b, col_d = components(every_b, every_d, n_b, n_d)
    k_a, k_b = components(np.tile(terms.a, settings), every_b, n_a, n_b)
    block_row, stacked, blocks = stack(row_d, col_d, shape)
    block_col = block_of(col_d, row_d, block_row)
    block_k = block_of(k_a, row_a, block_row)
    rows, row_rule = name_lines(
        row_a, extents.slots("A"), block_row, m, blocks if stacked == "columns" else 1
    )
    cols, col_rule = name_lines(col_b, extents.slots("B"), block_col, n, blocks if stacked == "rows" else 1)
    lines, k_rule = name_k(k_a, extents.slots("A"), block_k, m if "modulo" in row_rule else 0)
    a_k, b_k = _filled(lines, k_a), _filled(lines, k_b)
    if extents.sparse:
        kind = kinds_of(terms)
        a_k, b_k = _sparse_k(terms, kind, a_k, b_k)
        k_rule = "group of four " + k_rule + "; k in its group = value of the index that selects it"
    names = Names(
        a_row=_filled(rows, row_a),
        a_k=a_k,
        b_k=b_k,
        b_col=_filled(cols, col_b),
        d_row=_filled(rows, row_d),
        d_col=_filled(cols, col_d),
        rules={"M": f"row of A = {row_rule}", "N": f"column of B = {col_rule}", "K": k_rule},
    )
    _check(terms, names, shape, extents.sparse)
    return names, (blocks, stacked)


def _filled(names: Ints, labels: Labels) -> Ints:
    return np.where(labels >= 0, names[labels], HOLE)


def _sparse_k(terms: Terms, kind: Ints, a_group: Ints, b_group: Ints) -> tuple[Ints, Ints]:
    """Columns of compressed A, and dense k of B, from groups and the places that the index names."""
    a_k, b_k = np.full_like(a_group, HOLE), np.full_like(b_group, HOLE)
    a_k[terms.a] = 2 * a_group[terms.a] + kind
    for setting, b in enumerate(terms.b):
        dense = 4 * b_group[b] + np.array(PLACES)[kind, setting]
        if ((b_k[b] != HOLE) & (b_k[b] != dense)).any():
            raise ProbeError("One slot of B is selected by two values of the index")
        b_k[b] = dense
    return a_k, b_k


def _check(terms: Terms, names: Names, shape: tuple[int, int, int], sparse: bool) -> None:
    """Every output must be a sum over all k (or all elements that A kept), each once."""
    m, n, k = shape
    kept = k // 2 if sparse else k
    a_row, a_k, d_row, d_col = (
        names.a_row[terms.a], names.a_k[terms.a], names.d_row[terms.d], names.d_col[terms.d],
    )  # fmt: skip
    if int(a_k.max()) >= kept or int(d_row.max()) >= m or int(d_col.max()) >= n:
        raise not_a_product(shape, "more lines than the shape has")
    term = (d_row * n + d_col) * kept + a_k
    if (a_row != d_row).any() or np.unique(term).size != m * n * kept or term.size != m * n * kept:
        raise not_a_product(shape, f"{term.size} products; some outputs miss a k, or have one twice")
    for b in terms.b:
        if (names.b_col[b] != d_col).any() or (not sparse and (names.b_k[b] != a_k).any()):
            raise not_a_product(shape, "slots of B that belong to several columns or k")
    if np.unique(terms.d).size != m * n:
        raise not_a_product(shape, f"{np.unique(terms.d).size} outputs")


__all__ = ["Names", "Solved", "solve_instruction"]
