"""What we solve by execution against AMD's matrix instruction calculator, cell by cell.

The order of K is a convention of AMD's document: execution can only know it up to a permutation
applied to A and B together. So one permutation is taken from A, and must then serve B as well.
"""

from __future__ import annotations

import csv
import lzma
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import layoutprobe
from layoutprobe.layouts.layout import HOLE, Layout
from layoutprobe.layouts.swizzle import SCHEMES

INSTRUCTION = "v_wmma_f32_16x16x16_f16"
Cells = dict[tuple[int, int, int], tuple[int, int]]
"""(lane, vgpr, bit) -> (row, col)."""


@pytest.fixture(scope="module")
def tables(shared_file: Callable[[str], Path]) -> dict[str, Cells]:
    """AMD's tables of the instruction in wave32, by matrix."""
    found: dict[str, Cells] = defaultdict(dict)
    with lzma.open(shared_file("oracle/rdna3.csv.xz"), "rt") as lines:
        for line in csv.DictReader(lines):
            if line["instruction"] == INSTRUCTION and line["wave"] == "32" and line["opsel"] == "0":
                slot = (int(line["lane"]), int(line["vgpr"]), int(line["bit_lo"]))
                assert slot not in found[line["matrix"]], "two elements in one slot"
                found[line["matrix"]][slot] = (int(line["row"]), int(line["col"]))
    assert {m: len(t) for m, t in found.items()} == {"A": 512, "B": 512, "C": 256, "D": 256}
    return found


def cells(
    layout: Layout, wave: int, row0: int, col0: int
) -> Iterator[tuple[tuple[int, int, int], tuple[int, int]]]:
    """Slots of one wave that hold an element, relative to the wave's tile."""
    for lane, vgpr, field in np.argwhere(~layout.holes[wave]):
        at = (wave, lane, vgpr, field)
        slot = (int(lane), int(vgpr), int(field) * layout.field_bits)
        yield slot, (int(layout.row[at]) - row0, int(layout.col[at]) - col0)


def order_of_k(a: Cells, solved: Cells) -> NDArray[np.int64]:
    """AMD's k -> ours, from A; fails where A does not define one permutation."""
    order = np.full(16, HOLE)
    for slot, (_, k) in solved.items():
        theirs = a[slot][1]
        assert order[theirs] in (HOLE, k), f"slot {slot}: k {theirs} is both {order[theirs]} and {k}"
        order[theirs] = k
    assert sorted(order) == list(range(16))
    return order


@pytest.mark.parametrize("scheme", SCHEMES)
def test_operands_as_loaded_are_amds(scheme: str, tables: dict[str, Cells]) -> None:
    a, b = (layoutprobe.dump(m, lds=scheme).loaded for m in "AB")
    for wave in range(a.waves):
        found_a, found_b = dict(cells(a, wave, 16 * wave, 0)), dict(cells(b, wave, 0, 16 * wave))
        order = order_of_k(tables["A"], found_a)
        assert found_a == {slot: (i, order[k]) for slot, (i, k) in tables["A"].items()}
        assert found_b == {slot: (order[k], j) for slot, (k, j) in tables["B"].items()}


@pytest.mark.parametrize("matrix", ["C", "D"])
def test_accumulators_as_stored_are_amds(matrix: str, tables: dict[str, Cells]) -> None:
    stored = layoutprobe.dump(matrix).loaded
    for wave in range(stored.waves):
        assert dict(cells(stored, wave, 16 * wave, 0)) == tables[matrix]


def test_what_the_instruction_needs_is_amds(tables: dict[str, Cells]) -> None:
    """From the interaction alone: no probe of ours loaded or stored anything by a layout."""
    needed = {m: layoutprobe.dump(m).needed for m in "ABCD"}
    found = {m: dict(cells(layout, 0, 0, 0)) for m, layout in needed.items() if layout is not None}
    order = order_of_k(tables["A"], found["A"])
    # Execution shows one copy of A, and AMD's documents the other: together, AMD's whole table.
    assert found["A"] == {slot: (i, order[k]) for slot, (i, k) in tables["A"].items()}
    live = layoutprobe.dump("A").live
    assert live is not None
    read = [found["A"][lane, vgpr, 16 * half] for lane, vgpr, half in np.argwhere(live[0]).tolist()]
    assert len(read) == 256
    assert set(read) == {(i, k) for i in range(16) for k in range(16)}, "every element is read once"
    assert found["B"] == {slot: (order[k], j) for slot, (k, j) in tables["B"].items()}
    assert found["C"] == tables["C"]
    assert found["D"] == tables["D"]
