"""Every WMMA of gfx11 as execution shows it, against AMD's matrix instruction calculator, cell by cell.

The order of K is a convention of AMD's document: execution knows it up to a permutation applied to A
and B together. So one permutation is read off A, and must then serve B as well.
"""

from __future__ import annotations

import csv
import lzma
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from layoutprobe import instructions
from layoutprobe.layouts.instruction import InstructionLayout
from layoutprobe.layouts.layout import Layout

Key = tuple[str, int, int]
"""Instruction, wave, op_sel."""
Cells = dict[tuple[int, int, int], tuple[int, int]]
"""(lane, vgpr, lowest bit) -> (row, col)."""

VARIANTS = [(v.form.name, v.wave, v.opsel) for v in instructions.variants("gfx1151")]


@pytest.fixture(scope="module")
def tables(shared_file: Callable[[str], Path]) -> dict[Key, dict[str, Cells]]:
    """AMD's tables by variant and matrix. A and B do not depend on op_sel, and are listed for 0 alone."""
    found: dict[Key, dict[str, Cells]] = defaultdict(lambda: defaultdict(dict))
    with lzma.open(shared_file("oracle/rdna3.csv.xz"), "rt") as lines:
        for line in csv.DictReader(lines):
            cells = found[line["instruction"], int(line["wave"]), int(line["opsel"])][line["matrix"]]
            slot = (int(line["lane"]), int(line["vgpr"]), int(line["bit_lo"]))
            assert slot not in cells, "two elements in one slot"
            cells[slot] = (int(line["row"]), int(line["col"]))
    for (name, wave, opsel), by_matrix in found.items():
        for matrix in "AB":
            by_matrix[matrix] = found[name, wave, 0][matrix] if opsel else by_matrix[matrix]
    assert sorted(found) == sorted(VARIANTS), "the document and the product list other variants"
    assert sum(len(cells) for v in found.values() for cells in v.values()) == 32768
    return found


def cells(layout: Layout) -> Cells:
    """Slots that hold an element."""
    return {
        (int(lane), int(vgpr), int(part) * layout.field_bits): (
            int(layout.row[0, lane, vgpr, part]),
            int(layout.col[0, lane, vgpr, part]),
        )
        for lane, vgpr, part in np.argwhere(~layout.holes[0])
    }


def check(result: InstructionLayout, tables: dict[str, Cells]) -> None:
    found = {name: cells(layout) for name, layout in result.operands.items()}
    order: dict[int, int] = {}
    for slot, (_, k) in tables["A"].items():
        assert order.setdefault(k, found["A"][slot][1]) == found["A"][slot][1], "A orders k in two ways"
    assert sorted(order.values()) == sorted(order) == list(range(result.shape[2]))
    assert found["A"] == {slot: (row, order[k]) for slot, (row, k) in tables["A"].items()}
    assert found["B"] == {slot: (order[k], col) for slot, (k, col) in tables["B"].items()}
    assert found["C"] == tables["C"]
    assert found["D"] == tables["D"]


@pytest.mark.parametrize(("name", "wave", "opsel"), VARIANTS)
def test_every_cell_is_amds(name: str, wave: int, opsel: int, tables: dict[Key, dict[str, Cells]]) -> None:
    result = instructions.solve(name, "gfx1151", wave, opsel)
    check(result, tables[name, wave, opsel])
    # Of each element of A one copy is read, and every copy of B.
    assert result.live["A"].sum() == 16 * 16
    assert result.live["B"].sum() == 16 * 16 * wave // 16


@pytest.mark.parametrize("matrix", "ABCD")
def test_a_wrong_cell_is_seen(matrix: str, tables: dict[Key, dict[str, Cells]]) -> None:
    """The comparison can fail: two elements of one table change places."""
    key = VARIANTS[0]
    wrong = {name: dict(table) for name, table in tables[key].items()}
    first, *_, second = list(wrong[matrix])[:101]
    swapped = wrong[matrix]
    swapped[first], swapped[second] = swapped[second], swapped[first]
    with pytest.raises(AssertionError):
        check(instructions.solve(key[0], "gfx1151", *key[1:]), wrong)
