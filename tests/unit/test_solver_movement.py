"""Movement, epilogue and coverage: every slot named, holes and doubts told apart."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from layoutprobe.errors import UsageError
from layoutprobe.layouts.layout import HOLE, UNKNOWN, Layout
from layoutprobe.patterns import load_pattern
from layoutprobe.report.layout import Coverage
from layoutprobe.solver.coverage import coverage
from layoutprobe.solver.epilogue import epilogue_codes, solve_epilogue, store_findings
from layoutprobe.solver.movement import solve_cells, solve_movement
from layoutprobe.solver.observe import Observation, join_fields, split_fields

W, L, V, H = np.indices((4, 32, 8, 2))
ROW, COL = 16 * W + L % 16, 2 * V + H
SHAPE = (64, 16)


def dump(spec: str, carrier: str, row: NDArray[np.int64] = ROW, col: NDArray[np.int64] = COL) -> Observation:
    """What a kernel with the given layout leaves in its registers; row HOLE leaves 0xFFFF."""
    pattern = load_pattern(spec)
    coded = pattern.encode(SHAPE, carrier)
    held = np.where(row == HOLE, 0xFFFF, coded[np.maximum(row, 0), np.maximum(col, 0)])
    return Observation(pattern, carrier, join_fields(held.astype(np.uint32)))


@pytest.mark.parametrize(
    "specs",
    [
        [("rowcol", "raw16")],
        [("random", "raw16")],
        [("row-coded", "f16"), ("col-coded", "f16")],
        [("rowbyte", "raw16"), ("rowxorcol", "raw16")],
        [("rowbyte", "raw16"), ("rowaddcol", "raw16")],
        [("row*16 + col", "raw16")],
    ],
)
def test_layout_is_found(specs: list[tuple[str, str]]) -> None:
    scrambled = np.random.default_rng(3).permuted(np.arange(64 * 16).repeat(2).reshape(ROW.shape))
    for row, col in ((ROW, COL), np.divmod(scrambled, 16)):
        found = solve_movement([dump(*spec, row, col) for spec in specs], "A", SHAPE, 16)
        assert found.layout == Layout("A", SHAPE, row.astype(np.int32), col.astype(np.int32), 16)
        assert not found.ambiguous.any()
        assert (found.candidates == 1).all()


def test_one_axis_is_reported_as_one_axis() -> None:
    found = solve_movement([dump("row-coded", "f16")], "A", SHAPE, 16)
    assert not found.layout.holes.any(), "an element is there, we only do not know which"
    assert not found.layout.identified
    assert np.array_equal(found.layout.row, ROW)
    assert (found.layout.col == UNKNOWN).all()
    assert found.layout.element((2, 5, 3, 1)) == "A[37][?]"
    assert coverage(found.layout) is None
    assert (found.candidates == 16).all()


def test_unknown_codes_and_undefined_bits_are_told_apart() -> None:
    row = ROW.copy()
    row[1, 5] = HOLE
    observation = dump("rowcol", "raw16", row)
    mask = np.zeros(ROW.shape, np.uint32)
    mask[0, 7, 2, 1] = 1 << 9
    observation = Observation(observation.pattern, "raw16", observation.raw, join_fields(mask))
    found = solve_movement([observation], "A", SHAPE, 16)
    expected = np.zeros(ROW.shape, np.bool_)
    expected[0, 7, 2, 1] = True
    assert np.array_equal(found.undefined, expected)
    expected[1, 5] = True
    assert np.array_equal(found.layout.holes, expected)
    strange = (found.candidates == 0) & ~found.undefined
    assert np.argwhere(strange)[0].tolist() == [1, 5, 0, 0]
    assert strange.sum() == 16


def test_contradicting_patterns_leave_a_hole() -> None:
    """Codes that exist one by one, but not together, name no element."""
    found = solve_movement(
        [dump("rowbyte", "raw16", np.full_like(ROW, 3)), dump("rowaddcol", "raw16", np.full_like(ROW, 60))],
        "A",
        SHAPE,
        16,
    )
    assert found.layout.holes.all()
    assert (found.candidates == 0).all()


def test_misfits_are_refused() -> None:
    with pytest.raises(UsageError, match="does not fit the elements"):
        solve_movement([dump("rowcol", "raw16")], "A", SHAPE, 8)
    right = dump("rowcol", "raw16")
    wide = Observation(right.pattern, "raw16", right.raw.astype(np.uint64))
    with pytest.raises(UsageError, match="Not a register dump"):
        solve_movement([wide], "A", SHAPE, 16)
    half = Observation(right.pattern, "raw16", right.raw[:2])
    with pytest.raises(UsageError, match="different shapes"):
        solve_movement([right, half], "A", SHAPE, 16)


@pytest.mark.parametrize("bits", [4, 8, 16, 32])
def test_fields(bits: int) -> None:
    raw = np.random.default_rng(bits).integers(0, 1 << 32, (3, 5, 32), np.uint32)
    slots = split_fields(raw, bits)
    assert slots.shape == (3, 32, 5, 32 // bits)
    assert np.array_equal(join_fields(slots), raw)
    for wave, vgpr, lane, field in ((0, 0, 0, 0), (2, 4, 31, 32 // bits - 1), (1, 3, 17, 0)):
        word = int(raw[wave, vgpr, lane])
        assert slots[wave, lane, vgpr, field] == word >> bits * field & ((1 << bits) - 1)


def test_cells_of_dwords() -> None:
    coded = load_pattern("rowcol").encode((4, 4), "raw16").ravel()
    halves = np.concatenate([coded[::-1], [0xFFFF, 0xFFFF]]).astype(np.uint16)
    mask = np.zeros(18, np.uint16)
    mask[3] = 1
    cells = solve_cells(
        [Observation(load_pattern("rowcol"), "raw16", halves.view("<u4"), mask.view("<u4"))], (4, 4), 16
    )
    expected = np.arange(16)[::-1]
    row, col = np.append(expected // 4, [HOLE, HOLE]), np.append(expected % 4, [HOLE, HOLE])
    row[3] = col[3] = HOLE
    assert np.array_equal(cells.row, row)
    assert np.array_equal(cells.col, col)
    assert np.flatnonzero(cells.undefined).tolist() == [3]


def epilogue_of(
    row: NDArray[np.int64], col: NDArray[np.int64]
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    codes = epilogue_codes(4, 8, 32)
    slots = split_fields(codes, 32)
    stored = np.full((64, 16), 0xDEADBEEF, np.uint32)
    inside = (row < 64) & (col < 16)
    stored[row[inside], col[inside]] = slots[inside]
    return stored, codes


WD, LD, VD, FD = np.indices((4, 32, 8, 1))


def test_epilogue() -> None:
    row, col = 16 * WD + 2 * VD + LD // 16, LD % 16
    stored, codes = epilogue_of(row, col)
    found = solve_epilogue(stored, codes, sentinel=0xDEADBEEF)
    assert found.layout == Layout("D", (64, 16), row.astype(np.int32), col.astype(np.int32), 32)
    assert (found.stores == 1).all()
    assert store_findings(found) == ()


def test_epilogue_that_ignores_the_half_wave() -> None:
    row, col = 16 * WD + VD, LD % 16
    stored, codes = epilogue_of(row, col)
    found = solve_epilogue(stored, codes, sentinel=0xDEADBEEF)
    # The later lanes win, so lanes 0-15 reach nothing, and rows 8-15 of each tile are not written.
    assert np.array_equal(found.stores == 0, LD < 16)
    assert np.array_equal(found.unwritten, np.indices((64, 16))[0] % 16 >= 8)
    assert [finding.count for finding in store_findings(found)] == [512, 512]


def test_epilogue_doubles_and_foreign_values() -> None:
    row, col = 16 * WD + 2 * VD + LD // 16, LD % 16
    stored, codes = epilogue_of(row, col)
    stored[5, 5], stored[9, 9] = stored[3, 3], 12345
    undefined = np.zeros_like(stored)
    undefined[0, 0] = 1
    found = solve_epilogue(stored, codes, undefined)
    slot = tuple(np.argwhere((row == 3) & (col == 3))[0])
    assert found.stores[slot] == 2
    assert (found.layout.row[slot], found.layout.col[slot]) == (3, 3)
    assert np.argwhere(found.foreign).tolist() == [[9, 9]]
    assert np.argwhere(found.unwritten).tolist() == [[0, 0]]
    lost = {(int(row[tuple(s)]), int(col[tuple(s)])) for s in np.argwhere(found.stores == 0)}
    assert lost == {(5, 5), (9, 9), (0, 0)}
    assert len(store_findings(found)) == 4
    with pytest.raises(UsageError):
        solve_epilogue(stored, np.zeros_like(codes))


def test_epilogue_codes_are_numbers_without_zero() -> None:
    codes = epilogue_codes(4, 8, 32)
    assert np.array_equal(codes.view(np.float32).ravel(), np.arange(1, 1025))


def table(row: NDArray[np.int64], col: NDArray[np.int64] = COL) -> Layout:
    return Layout("A", SHAPE, row.astype(np.int32), np.where(row == HOLE, HOLE, col).astype(np.int32), 16)


@pytest.mark.parametrize(
    ("names", "carrier", "twins"),
    [
        (["row-coded", "col-coded"], "f16", ""),
        (["rowcol"], "raw16", ""),
        (["row-coded"], "f16", "A[0][0] and A[0][1]"),
        (["rowaddcol"], "raw16", "A[0][1] and A[1][0]"),
        (["rowaddcol", "rowxorcol"], "raw16", "A[0][1] and A[1][0]"),
        (["rowaddcol", "rowcol"], "raw16", ""),
    ],
)
def test_which_elements_the_patterns_leave_apart(names: list[str], carrier: str, twins: str) -> None:
    dump = np.zeros((1, 8, 32), np.uint32)
    observed = [Observation(load_pattern(name), carrier, dump) for name in names]
    moved = solve_movement(observed, "A", (16, 16), 16)
    assert moved.twins == twins
    codes = [pattern.pattern.encode((16, 16), carrier).ravel().tolist() for pattern in observed]
    assert (len(set(zip(*codes, strict=True))) == 256) == (twins == "")


def covered(layout: Layout) -> Coverage:
    found = coverage(layout)
    assert found is not None
    return found


def test_coverage() -> None:
    whole = covered(table(ROW))
    assert (whole.elements, whole.seen, whole.copies, whole.missing_rows, whole.fold) == (
        1024,
        1024,
        (2, 2),
        (),
        "",
    )
    folded = covered(table(16 * W + L % 8))
    assert folded.fold == "rows fold by 8"
    assert folded.copies == (4, 4)
    assert folded.missing_rows == tuple(row for row in range(64) if row % 16 >= 8)
    columns = covered(table(ROW, COL % 4 + COL // 8 * 8))
    assert columns.fold == "columns fold by 4"
    assert columns.missing_cols == (4, 5, 6, 7, 12, 13, 14, 15)
    assert covered(table(np.where(L % 16 < 8, ROW, HOLE))).fold == "", (
        "missing, but nothing repeats in its place"
    )
    nothing = covered(table(np.full_like(ROW, HOLE)))
    assert (nothing.seen, nothing.copies) == (0, (0, 0))
