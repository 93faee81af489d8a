"""Every wrong kernel must turn the report red with the right cause, and every right one green."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import mutants.wrong_kernels as wrong
import numpy as np
import pytest
from mutants.wrong_kernels import Mutant

from layoutprobe import dump, epilogue, roundtrip
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.errors import ExecutionError, UsageError
from layoutprobe.layouts.swizzle import SCHEMES
from layoutprobe.report.layout import LayoutReport

ONE_SIDED = [wrong.SWIZZLE_ON_STORE_ONLY, wrong.SWIZZLE_ON_LOAD_ONLY]
SWIZZLES = [name for name in SCHEMES if name.startswith("xor")]

# The documented fragment layouts, as formulas of (wave, lane, vgpr, half). Source: AMD Matrix
# Instruction Calculator, rdna3, v_wmma_f32_16x16x16_f16; wave w has the diagonal tile (w, w).
DOCUMENTED: dict[str, Callable[..., tuple[np.ndarray, np.ndarray]]] = {
    "A": lambda w, lane, v, h: (16 * w + lane % 16, 2 * v + h),
    "B": lambda w, lane, v, h: (2 * v + h, 16 * w + lane % 16),
    "C": lambda w, lane, v, h: (16 * w + 2 * v + lane // 16, lane % 16),
    "D": lambda w, lane, v, h: (16 * w + 2 * v + lane // 16, lane % 16),
}


def assert_red(report: LayoutReport, check: str, words: str) -> None:
    assert report.exit_code == 1
    first = report.findings[0]
    assert first.check == check
    assert words in first.what
    assert first.hint
    assert first.expected != first.observed
    assert first.count == report.mismatch.sum() > 0


def assert_documented(report: LayoutReport) -> None:
    """Every slot holds what the documents say, and every live slot needs just that."""
    grid = np.indices(report.loaded.row.shape)
    row, col = DOCUMENTED[report.matrix](*grid)
    assert np.array_equal(report.loaded.row, row)
    assert np.array_equal(report.loaded.col, col)
    assert report.needed is not None
    assert report.live is not None
    live = report.live
    # A lane's copy of A serves the outputs of its own half-wave, which holds rows of one parity.
    assert np.array_equal(live, row % 2 == grid[1] // 16 if report.matrix == "A" else np.ones_like(live))
    # Yet both copies are needed: AMD's documents ask for them, and no card has been measured.
    assert np.array_equal(report.needed.row, row)
    assert np.array_equal(report.needed.col, col)
    assert report.needed_form == report.closed_form != ""


@pytest.mark.parametrize("lds", SCHEMES)
@pytest.mark.parametrize("matrix", DOCUMENTED)
def test_unmutated_probes_are_green(matrix: str, lds: str, backend: EmulatorBackend) -> None:
    report = dump(matrix, lds, backend=backend)
    assert report.findings == ()
    assert report.exit_code == 0
    assert_documented(report)


def test_unmutated_epilogue_is_green(backend: EmulatorBackend) -> None:
    report = epilogue(backend=backend)
    assert report.exit_code == 0
    assert_documented(report)


OPERAND_CAUSES: dict[Callable[[str], Mutant], str] = {
    wrong.transposed: "is loaded transposed: a lane holds a ",
    wrong.unreplicated: "the upper half-wave holds no copy of ",
    wrong.upper_half_zero: "the upper half-wave holds no copy of ",
    wrong.swapped_halves: "the fields within every VGPR are in reverse order",
    wrong.swapped_k_groups: "neighbouring groups of 8 k are exchanged",
    wrong.wrong_wave: "that belongs to another wave",
}


@pytest.mark.parametrize("lds", ["none", "xor-vector"])
@pytest.mark.parametrize("operand", ["a", "b"])
@pytest.mark.parametrize("edit", OPERAND_CAUSES, ids=lambda edit: edit.__name__)
def test_wrong_operand_loads(
    edit: Callable[[str], Mutant], operand: str, lds: str, workshop: Path, backend: EmulatorBackend
) -> None:
    probes = edit(operand).plant(workshop)
    report = dump(operand.upper(), lds, backend=backend, probes=probes)
    assert_red(report, "operand-layout", OPERAND_CAUSES[edit])
    assert report.findings[0].place.matrix == operand.upper()
    assert len(report.findings) == 1, "one root cause, one finding"
    # The other operand is right, and its own table says so; the finding still shows.
    other = dump("B" if operand == "a" else "A", lds, backend=backend, probes=probes)
    assert not other.mismatch.any()
    assert other.findings == report.findings


def test_swapped_halves_hold_exactly_the_other_half(workshop: Path, backend: EmulatorBackend) -> None:
    """The table, and not only the diagnosis, is that of the mutant."""
    report = dump("A", backend=backend, probes=wrong.swapped_halves("a").plant(workshop))
    w, lane, v, h = np.indices(report.loaded.row.shape)
    assert np.array_equal(report.loaded.row, 16 * w + lane % 16)
    assert np.array_equal(report.loaded.col, 2 * v + 1 - h)


def test_joint_k_permutation_is_no_fault(workshop: Path, backend: EmulatorBackend) -> None:
    """Both operands exchange the same k: the sum is the same, and the report says what it saw."""
    probes = wrong.JOINT_K_PERMUTATION.plant(workshop)
    for matrix in "AB":
        report = dump(matrix, backend=backend, probes=probes)
        assert report.exit_code == 0
        assert report.ambiguity.endswith("this kernel holds modulo a joint permutation of K")
        k = report.loaded.col if matrix == "A" else report.loaded.row
        _, _, v, h = np.indices(k.shape)
        assert np.array_equal(k, (2 * v + h) ^ 8)
        assert report.needed == report.loaded
        assert "k as this kernel orders it" in report.convention
        assert "ascends" not in report.convention


@pytest.mark.parametrize("lds", SWIZZLES)
@pytest.mark.parametrize(
    "mutant", [wrong.SWIZZLE_ON_STORE_ONLY, wrong.SWIZZLE_ON_LOAD_ONLY], ids=lambda m: m.name
)
def test_swizzle_on_one_side_only(mutant: Mutant, lds: str, workshop: Path, backend: EmulatorBackend) -> None:
    report = dump("A", lds, backend=backend, probes=mutant.plant(workshop))
    assert_red(report, "operand-layout", f"LDS is written with the scheme `none` and read with `{lds}`")


@pytest.mark.parametrize(
    "mutant", [wrong.SWIZZLE_ON_STORE_ONLY, wrong.SWIZZLE_ON_LOAD_ONLY], ids=lambda m: m.name
)
def test_without_a_swizzle_the_same_edit_is_right(
    mutant: Mutant, workshop: Path, backend: EmulatorBackend
) -> None:
    report = dump("A", "none", backend=backend, probes=mutant.plant(workshop))
    assert report.exit_code == 0
    assert_documented(report)


@pytest.mark.parametrize(("step", "read"), [("+ 1", 17), ("- 1", 15), ("+ kChunk", 24)])
def test_wrong_load_stride(step: str, read: int, workshop: Path, backend: EmulatorBackend) -> None:
    probes = wrong.wrong_stride(f"lds_stride(kK) {step}").plant(workshop)
    report = dump("A", backend=backend, probes=probes)
    assert_red(report, "operand-layout", f"LDS rows are written 16 elements apart and read {read} apart")
    padded = dump("A", "padded", backend=backend, probes=probes)
    assert_red(padded, "operand-layout", f"LDS rows are written 24 elements apart and read {read + 8} apart")


def test_load_beyond_lds_is_an_error_with_its_place(workshop: Path, backend: EmulatorBackend) -> None:
    with pytest.raises(ExecutionError, match="beyond the allocation") as caught:
        dump("B", backend=backend, probes=wrong.BEYOND_LDS.plant(workshop))
    assert "operand.hip" in str(caught.value.where["line"])
    assert caught.value.where["instruction"] == "ds_load_b128"


@pytest.mark.parametrize(
    ("mutant", "words"),
    [
        (
            wrong.RDNA4_ROWS,
            "stores 8 consecutive rows (row = vgpr + 8*(lane / 16), as on RDNA4)",
        ),
        (wrong.C_TRANSPOSED, "D is stored transposed"),
        (wrong.C_OF_NEIGHBOUR, "waves hold the tile of D that belongs to another wave"),
    ],
    ids=lambda value: value.name if isinstance(value, Mutant) else "",
)
def test_wrong_epilogues(mutant: Mutant, words: str, workshop: Path, backend: EmulatorBackend) -> None:
    probes = mutant.plant(workshop)
    assert_red(epilogue(backend=backend, probes=probes), "epilogue", words)
    assert_red(dump("C", backend=backend, probes=probes), "epilogue", words)
    # Loads are right; yet the kernel as a whole is not, and no command calls it green.
    loads = dump("A", backend=backend, probes=probes)
    assert loads.exit_code == 1
    assert not loads.mismatch.any()


@pytest.mark.parametrize("lds", SWIZZLES)
def test_roundtrip_tells_a_wrong_store_from_a_wrong_load(
    lds: str, workshop: Path, backend: EmulatorBackend
) -> None:
    load = roundtrip(lds, backend=backend, probes=wrong.ROUNDTRIP_STORE_ONLY.plant(workshop))
    assert_red(load, "lds-load", f"LDS follows the scheme `{lds}`, but the load follows `none`")
    store = roundtrip(lds, backend=backend, probes=wrong.ROUNDTRIP_LOAD_ONLY.plant(workshop))
    assert store.exit_code == 1
    assert store.findings[0].check == "lds-store"
    assert "LDS was filled by scheme none: row*16 + col" in store.findings[0].observed


@pytest.mark.parametrize("lds", SCHEMES)
def test_roundtrip_of_the_wrong_row(lds: str, workshop: Path, backend: EmulatorBackend) -> None:
    report = roundtrip(lds, backend=backend, probes=wrong.ROUNDTRIP_ROW_SHIFT.plant(workshop))
    assert_red(report, "lds-load", "the load returns other elements than it asks for")
    assert report.mismatch.all()


def test_a_mutant_that_no_longer_applies_fails(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="stands 0 times"):
        Mutant("stale", "operand", "this text is not there", "").plant(tmp_path / "zero")
    with pytest.raises(AssertionError, match=r"stands \d+ times"):
        Mutant("vague", "operand", "wave", "").plant(tmp_path / "many")


def test_a_dead_copy_that_differs_breaks_the_documented_replication(
    workshop: Path, backend: EmulatorBackend
) -> None:
    """The emulated outputs are right, and yet no document allows it."""
    report = dump("A", backend=backend, probes=wrong.dead_copy_lost("a").plant(workshop))
    assert_red(report, "replication", "the copies of A in lanes")
    w, lane, v, h = np.indices(report.loaded.row.shape)
    # A register that was merely cleared holds no element, not even A[0][0].
    assert np.array_equal(report.mismatch, lane % 2 != lane // 16)
    assert report.findings[0].observed == "no element of A"
    assert report.findings[0].expected == "A[1][0], as in lane 17"
    assert "unmeasured" in report.findings[0].hint
    # What the copy should hold stands beside it: the element of the other half-wave.
    assert report.needed is not None
    assert np.array_equal(report.needed.row, 16 * w + lane % 16)
    assert np.array_equal(report.needed.col, 2 * v + h)


@pytest.mark.parametrize("shown", DOCUMENTED)
def test_a_lost_copy_shows_whatever_is_asked_for(
    shown: str, workshop: Path, backend: EmulatorBackend
) -> None:
    report = dump(shown, backend=backend, probes=wrong.dead_copy_lost("a").plant(workshop))
    assert report.exit_code == 1
    assert report.findings[0].check == "replication"
    assert report.findings[0].place.matrix == "A"


@pytest.mark.parametrize("operand", ["a", "b"])
@pytest.mark.parametrize("shown", DOCUMENTED)
def test_no_green_while_an_operand_is_in_doubt(
    shown: str, operand: str, workshop: Path, backend: EmulatorBackend
) -> None:
    """Only the rows of A, or the columns of B, are coded: no pattern tells all elements apart."""
    probes = wrong.transposed(operand).plant(workshop)
    pattern = "row-coded" if operand == "a" else "col-coded"
    report = dump(shown, pattern=pattern, backend=backend, probes=probes)
    assert "the patterns do not tell all elements of A and of B apart" in report.undecided
    # The codes that arrived are none that the needed elements have: that much is certain.
    assert report.exit_code == 1
    assert report.findings[0].place.matrix == operand.upper()


@pytest.mark.parametrize("pattern", ["row-coded", "col-coded"])
@pytest.mark.parametrize("shown", DOCUMENTED)
def test_doubt_about_a_right_kernel_is_no_finding(
    shown: str, pattern: str, workshop: Path, backend: EmulatorBackend
) -> None:
    """Not even where the kernel orders k in its own way."""
    for probes in (None, wrong.JOINT_K_PERMUTATION.plant(workshop)):
        report = dump(shown, pattern=pattern, backend=backend, probes=probes)
        assert report.findings == ()
        assert report.exit_code == 2


@pytest.mark.parametrize("pattern", ["row*16 + col", "col*16 + row", "row + col"])
@pytest.mark.parametrize("shown", DOCUMENTED)
def test_a_pattern_with_equal_codes_is_refused(shown: str, pattern: str) -> None:
    with pytest.raises(UsageError, match="does not tell two elements"):
        dump(shown, pattern=pattern)


@pytest.mark.parametrize("lds", SCHEMES)
def test_roundtrip_of_b(lds: str, workshop: Path, backend: EmulatorBackend) -> None:
    """B lies transposed in LDS, and the same faults are told apart."""
    report = roundtrip(lds, matrix="B", backend=backend)
    assert report.exit_code == 0
    w, lane, v, h = np.indices(report.loaded.row.shape)
    assert np.array_equal(report.loaded.row, 8 * (lane // 16) + 2 * v + h)
    assert np.array_equal(report.loaded.col, 16 * w + lane % 16)
    shifted = wrong.ROUNDTRIP_ROW_SHIFT.plant(workshop)
    assert_red(roundtrip(lds, matrix="B", backend=backend, probes=shifted), "lds-load", "the load returns")
    if lds in SWIZZLES:
        edit = Mutant(
            "B unswizzled", "roundtrip", "lds_index<kCols>(b_col + i, b_row)", "(b_col + i) * 16 + b_row"
        )
        store = roundtrip(lds, matrix="B", backend=backend, probes=edit.plant(workshop))
        assert store.findings[0].check == "lds-store"
        assert "LDS was filled by scheme none: col*16 + row" in store.findings[0].observed
