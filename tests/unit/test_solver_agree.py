"""Operand provenance: right kernels hold, each wrong one is named, with its first wrong slot."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from unit.fake_instructions import RDNA3, RDNA3_LOW, RDNA4
from unit.test_solver_interaction import solve

from layoutprobe.errors import UsageError
from layoutprobe.layouts.layout import HOLE, Layout
from layoutprobe.layouts.swizzle import SCHEMES
from layoutprobe.solver.agree import Agreement, agree
from layoutprobe.solver.epilogue import epilogue_codes, solve_epilogue

WAVES = 4
Ints = NDArray[np.signedinteger]
W, L, V, H = np.indices((WAVES, 32, 8, 2))
WD, LD, VD, _ = np.indices((WAVES, 32, 8, 1))
INTERACTION = solve(RDNA3)


BASE = np.arange(WAVES)[:, None] * np.array([[16, 0]])
ORIGINS = {"A": BASE, "B": BASE[:, ::-1], "D": BASE}


def layout(matrix: str, row: Ints, col: Ints) -> Layout:
    """Wave w works on rows 16w of A and D, and on columns 16w of B."""
    shape = {"A": (64, 16), "B": (16, 64), "D": (64, 16)}[matrix]
    inside = (row >= 0) & (row < shape[0]) & (col >= 0) & (col < shape[1])
    row, col = np.where(inside, row, HOLE), np.where(inside, col, HOLE)
    return Layout(matrix, shape, row.astype(np.int32), col.astype(np.int32), 32 if matrix == "D" else 16)


K = 2 * V + H
A = layout("A", 16 * W + L % 16, K)
B = layout("B", K, 16 * W + L % 16)
D = layout("D", 16 * WD + 2 * VD + LD // 16, LD % 16)


def test_the_standard_kernel_holds_exactly() -> None:
    result = agree(A, B, D, INTERACTION)
    assert result.holds
    assert result.relation == "holds exactly"
    assert result.findings == ()
    assert result.assumed == ()
    for name, given in (("A", A), ("B", B), ("D", D)):
        assert not result.mismatch[name].any()
        live = INTERACTION.live[name]
        assert np.array_equal(result.needed[name].row, np.where(live, given.row, HOLE))
        assert np.array_equal(result.needed[name].col, np.where(live, given.col, HOLE))


@pytest.mark.parametrize(
    ("order", "axis"),
    [
        (lambda k: 15 - k, "K"),
        (lambda k: k ^ 1, "K"),
        (lambda k: k ^ 8, "K"),
        (lambda k: k * 5 % 16, "K"),
    ],
)
def test_a_joint_k_permutation_is_a_result_of_its_own(order: Callable[[Ints], Ints], axis: str) -> None:
    result = agree(layout("A", A.row, order(K)), layout("B", order(K), B.col), D, INTERACTION)
    assert result.relation == f"holds modulo a joint permutation of {axis}"
    assert result.findings == ()
    assert not any(mask.any() for mask in result.mismatch.values())


def test_joint_permutations_of_m_and_n() -> None:
    rows = layout("A", 16 * W + 15 - L % 16, K), layout("D", 16 * WD + 15 - 2 * VD - LD // 16, LD % 16)
    assert agree(rows[0], B, rows[1], INTERACTION).gauge == ("M",)
    assert not agree(rows[0], B, D, INTERACTION).holds
    cols = layout("B", K, 16 * W + (L + 3) % 16), layout("D", D.row, (LD + 3) % 16)
    assert agree(A, cols[0], cols[1], INTERACTION).gauge == ("N",)
    assert not agree(A, cols[0], D, INTERACTION).holds


def test_dead_copies_do_not_count() -> None:
    """Lane 16's copy of row 0 is read by no output: what it holds is not a finding of this law."""
    row = A.row.copy()
    row[:, 16] = HOLE
    assert agree(layout("A", row, A.col), B, D, INTERACTION).holds
    row[:, 17] = HOLE
    assert not agree(layout("A", row, A.col), B, D, INTERACTION).holds


def swizzled_once(written: str, read: str) -> Layout:
    at = SCHEMES[read].index(A.row.astype(np.int64), A.col.astype(np.int64), A.shape)
    row, col = SCHEMES[written].inverse(at, A.shape)
    return layout("A", row, col)


UP = L >= 16
WRONG: dict[str, tuple[str, Layout, str]] = {
    "column per lane": ("A", layout("A", 16 * W + K, L % 16), "transposed"),
    "row per lane": ("B", layout("B", L % 16, 16 * W + K), "transposed"),
    "result transposed": ("D", layout("D", 16 * WD + LD % 16, 2 * VD + LD // 16), "transposed"),
    "halves of A swapped": ("A", layout("A", A.row, K ^ 1), "halves-swapped"),
    "halves of B swapped": ("B", layout("B", K ^ 1, B.col), "halves-swapped"),
    "rows of RDNA4": ("D", layout("D", 16 * WD + VD + 8 * (LD // 16), LD % 16), "half-wave-rows"),
    "half-wave ignored": ("D", layout("D", 16 * WD + VD, LD), "half-wave-ignored"),
    "half-waves overlap": ("D", layout("D", 16 * WD + VD, LD % 16), "half-wave-ignored"),
    "store swizzled only": ("A", swizzled_once("xor", "none"), "lds-one-sided"),
    "padded store only": ("A", swizzled_once("padded", "none"), "lds-one-sided"),
    "other swizzle": ("A", swizzled_once("xor-vector", "xor"), "lds-one-sided"),
    "B swizzled by column": ("B", layout("B", K ^ 8 * (L % 2), B.col), "lds-one-sided"),
    "lane for lane % 16": ("A", layout("A", 16 * W + L, K), "half-wave-copy"),
    "upper lanes of A undefined": ("A", layout("A", np.where(UP, HOLE, A.row), K), "half-wave-copy"),
    "upper lanes of B undefined": ("B", layout("B", np.where(UP, HOLE, K), B.col), "half-wave-copy"),
    "one row too far": ("A", layout("A", 16 * W + L % 16 + 1, K), "shifted"),
    "two k too early": ("B", layout("B", K - 2, B.col), "shifted"),
    "k rotated": ("B", layout("B", (K + 1) % 16, B.col), "k-order"),
    "k rotated by its column": ("B", layout("B", (K + B.col) % 16, B.col), "unexplained"),
    "rows fold by 8": ("A", layout("A", 16 * W + L % 8, K), "folded"),
    "k folds by 8": ("B", layout("B", K % 8, B.col), "folded"),
    "rows scrambled": (
        "D",
        layout("D", 16 * WD + (5 * (2 * VD + LD // 16) + 3) % 16, LD % 16),
        "stored-order",
    ),
}


def check(result: Agreement, guilty: str, name: str) -> None:
    assert not result.holds
    assert set(result.diagnoses) == {guilty}, "one root cause, at the operand that has it"
    assert result.diagnoses[guilty].name == name
    assert len(result.findings) == 1


@pytest.mark.parametrize("case", WRONG)
def test_each_failure_is_named(case: str) -> None:
    guilty, wrong, name = WRONG[case]
    right = {"A": A, "B": B, "D": D}
    given = {**right, guilty: wrong}
    result = agree(given["A"], given["B"], given["D"], INTERACTION, ORIGINS)
    check(result, guilty, name)
    differs = (wrong.row != right[guilty].row) | (wrong.col != right[guilty].col)
    expected = differs & INTERACTION.live[guilty]
    assert np.array_equal(result.mismatch[guilty], expected)
    finding = result.findings[0]
    assert finding.count == expected.sum()
    first = np.argwhere(expected)[0]
    slot = tuple(int(x) for x in first)
    assert finding.place == wrong.place(slot)
    assert finding.expected == f"{guilty}[{right[guilty].row[slot]}][{right[guilty].col[slot]}]"
    seen = f"{guilty}[{wrong.row[slot]}][{wrong.col[slot]}]"
    assert finding.observed == (seen if wrong.row[slot] != HOLE else f"no element of {guilty}")


def test_the_seed_bug_in_words() -> None:
    result = agree(WRONG["column per lane"][1], B, D, INTERACTION)
    finding = result.findings[0]
    assert "A is loaded transposed" in finding.what
    assert "A[16*wave + 2*vgpr + half][lane % 16]" in finding.what
    assert str(finding.place) == "wave 0, lane 0, VGPR v0, half high, matrix A"
    assert (finding.expected, finding.observed) == ("A[0][1]", "A[1][0]")


@pytest.mark.parametrize("order", [lambda k: k, lambda k: k ^ 8, lambda k: 15 - k])
def test_an_operand_that_was_not_observed_is_not_judged_by_the_order_of_k(
    order: Callable[[Ints], Ints],
) -> None:
    """Whatever order of k the one operand has, the other may have it too: no finding follows."""
    for a, b in ((layout("A", A.row, order(K)), None), (None, layout("B", order(K), B.col))):
        result = agree(a, b, D, INTERACTION, ORIGINS)
        assert result.findings == ()
        assert result.assumed == ("B" if b is None else "A",)
        # What the unobserved operand would have to hold, in the coordinates of the whole matrix.
        assert np.array_equal(result.needed["B"].row, order(K))
        assert np.array_equal(result.needed["B"].col, B.col)


def test_whole_tiles_are_seen_with_origins() -> None:
    shifted = layout("A", (A.row + 16) % 64, A.col)
    assert agree(shifted, B, D, INTERACTION).holds, "without origins a whole tile cannot be told"
    assert agree(A, B, D, INTERACTION, ORIGINS).holds
    result = agree(shifted, B, D, INTERACTION, ORIGINS)
    assert np.array_equal(result.mismatch["A"], INTERACTION.live["A"].repeat(WAVES, axis=0))
    outside = agree(Layout("A", (96, 16), A.row + 16, A.col, 16), B, D, INTERACTION, ORIGINS)
    check(outside, "A", "shifted")
    assert "16 rows too far" in outside.findings[0].what


@pytest.mark.parametrize("case", ["column per lane", "rows of RDNA4", "lane for lane % 16", "rows fold by 8"])
def test_causes_are_found_without_origins_too(case: str) -> None:
    guilty, wrong, name = WRONG[case]
    given = {"A": A, "B": B, "D": D, guilty: wrong}
    check(agree(given["A"], given["B"], given["D"], INTERACTION), guilty, name)


@pytest.mark.parametrize(("row", "col"), [(16 * WD + VD, LD), (16 * WD + VD, LD % 16)])
def test_epilogues_in_which_stores_overwrite_each_other(row: Ints, col: Ints) -> None:
    """C[row][col] = c[i] with one lane after the other, as memory sees it."""
    codes = epilogue_codes(WAVES, 8, 32)
    memory = np.zeros(64 * 16 + 16, np.uint32)
    for lane in range(32):
        at = (row * 16 + col)[:, lane]
        memory[at.ravel()] = codes.transpose(0, 2, 1)[:, lane].ravel()
    stored = solve_epilogue(memory[: 64 * 16].reshape(64, 16), codes, sentinel=0)
    check(agree(None, None, stored.layout, INTERACTION, ORIGINS), "D", "half-wave-ignored")


def test_one_bad_wave_is_diagnosed_alone() -> None:
    row, col = A.row.copy(), A.col.copy()
    row[2], col[2] = 32 + K[2], L[2] % 16
    result = agree(layout("A", row, col), B, D, INTERACTION)
    check(result, "A", "transposed")
    assert result.findings[0].place.wave == 2
    assert not result.mismatch["A"][[0, 1, 3]].any()


def test_two_causes_are_two_findings() -> None:
    result = agree(WRONG["column per lane"][1], B, WRONG["rows of RDNA4"][1], INTERACTION)
    assert {name: cause.name for name, cause in result.diagnoses.items()} == {
        "A": "transposed",
        "D": "half-wave-rows",
    }
    assert len(result.findings) == 2


def test_a_fault_within_a_permuted_k_blames_the_faulty_operand() -> None:
    order = np.arange(16) * 5 % 16
    col = order[K].copy()
    col[0, 0, 3, :] = col[0, 0, 3, ::-1]
    result = agree(layout("A", A.row, col), layout("B", order[K], B.col), D, INTERACTION)
    assert set(result.diagnoses) == {"A"}
    assert np.argwhere(result.mismatch["A"]).tolist() == [[0, 0, 3, 0], [0, 0, 3, 1]]


def test_missing_operands_are_assumed_and_said_so() -> None:
    assert agree(None, None, D, INTERACTION).assumed == ("A", "B")
    check(agree(None, None, WRONG["rows of RDNA4"][1], INTERACTION), "D", "half-wave-rows")
    assert agree(A, None, None, INTERACTION).holds
    check(agree(WRONG["column per lane"][1], None, None, INTERACTION), "A", "transposed")
    with pytest.raises(UsageError):
        agree(None, None, None, INTERACTION)


def test_other_instructions_are_other_laws() -> None:
    """The same kernel is wrong where the lower lanes alone are read only if those are wrong."""
    low = solve(RDNA3_LOW)
    assert agree(WRONG["upper lanes of A undefined"][1], B, D, low).holds
    with pytest.raises(UsageError, match="not those of the instruction"):
        agree(A, B, D, solve(RDNA4))
