"""Contracts of selection: A = I with B coded, zeros, and ranges of rows; wrong kernels that each of them names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from checks.gemm_lab import KERNELS, Edit, buffers, checked, direct, edited, only
from sampling import one_in

from layoutprobe.checks import numerics
from layoutprobe.errors import UsageError
from layoutprobe.gate.session import check_kernel
from layoutprobe.manifest.read import read_manifest
from layoutprobe.report.gate import CheckResult

INTERIOR, RAGGED = "M = 32, N = 64, K = 64", "M = 40, N = 57, K = 83"
_REST = """
    { name = "M", role = "scalar", dtype = "i32", value = "M" },
    { name = "N", role = "scalar", dtype = "i32", value = "N" },
    { name = "K", role = "scalar", dtype = "i32", value = "K" },
    { name = "alpha", role = "scalar", dtype = "f32", value = "alpha" },
    { name = "beta", role = "scalar", dtype = "f32", value = "beta" },"""
ALL = "identity = true, zeros = true, ranges = 16"


def judged(
    folder: Path, *edits: Edit, asks: str = ALL, sizes: Sequence[str] = one_in(2, (RAGGED, INTERIOR))
) -> CheckResult:
    """What numerics says of the tiled GEMM with edits."""
    return checked(
        folder,
        edited((KERNELS / "gemm_tiled.hip").read_text(), edits),
        buffers() + _REST,
        grid='["(N + 31) // 32", "(M + 31) // 32"]',
        block=128,
        sizes=sizes,
        contract=f'kind = "gemm", alpha = 2.0, beta = 3.0{", " if asks else ""}{asks}',
        checks=(numerics.CHECK,),
    )[numerics.NAME]


STORE_B = (
    "b_lds[buffer][b_col * STRIDE + b_row] = b_in ? B[(k0 + b_row) * N + block_n + b_col] : _Float16(0);"
)
ROW, FOUND = "b_in ? B[(k0 + b_row) * N + block_n + b_col]", "b_in ? B[({}) * N + block_n + {}]"


def other(row: str = "k0 + b_row", col: str = "b_col") -> Edit:
    """B from another place."""
    return ROW, FOUND.format(row, col)


def test_a_correct_kernel_holds_and_says_what_was_asked(tmp_path: Path) -> None:
    result = judged(tmp_path)
    assert result.status == "holds"
    assert result.reason.endswith("and with A = 0, B = 0, A = I by rows and columns, ranges of 16 rows of B")


def test_what_is_not_asked_is_not_said(tmp_path: Path) -> None:
    result = judged(tmp_path, asks="", sizes=(INTERIOR,))
    assert result.status == "holds"
    assert "A = I" not in result.reason


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("edit", "rule", "words"),
    [
        (other("k0 + b_row % 8"), "other-row", "rows fold by 8: row r shows row r & ~8; rows 8-15, 24-31"),
        (other("k0 + (b_row ^ 4)"), "other-row", "row r shows row r ^ 4"),
        (other(col="(b_col ^ 8)"), "other-column", "column r shows column r ^ 8"),
        (("acc = __builtin", "if (k0 != 16) acc = __builtin"), "not-one-row", "shows nothing of B"),
        (("b[k] = b_lds", "b[k] = (k0 == 0 && k == 0 ? 2 : 1) * b_lds"), "not-one-row", "no single element"),
    ],
)
def test_the_identity_names_rows_and_columns(tmp_path: Path, edit: Edit, rule: str, words: str) -> None:
    finding = only(judged(tmp_path, edit, asks="identity = true", sizes=(INTERIOR,)))
    assert finding.rule.id == f"numerics/{rule}"
    assert words in finding.what


def test_the_element_that_stands_in_a_wrong_place(tmp_path: Path) -> None:
    finding = only(judged(tmp_path, other("k0 + (b_row ^ 4)"), asks="identity = true", sizes=(INTERIOR,)))
    assert (str(finding.place.element), finding.expected, finding.observed) == (
        "C[0][0]",
        "B[0][0]",
        "B[4][0]",
    )
    assert finding.count == 32 * 64


def test_rows_of_an_earlier_step_leak(tmp_path: Path) -> None:
    """The address of a prefetch is that of the step before, from the second pass on."""
    late = other("(k0 >= 32 ? k0 - DEPTH : k0) + b_row")
    finding = only(judged(tmp_path, late, asks=ALL, sizes=(INTERIOR,)))
    assert finding.rule.id == "numerics/leaks-between-rows"
    assert "only rows 16-31 of B not zero, other rows of C are not zero" in finding.what
    alone = only(judged(tmp_path, late, asks="identity = true", sizes=(INTERIOR,)))
    assert alone.rule.id == "numerics/other-row"


def test_a_fold_within_a_range_does_not_leak(tmp_path: Path) -> None:
    assert judged(tmp_path, other("k0 + b_row % 8"), asks="ranges = 16", sizes=(INTERIOR,)).findings[
        0
    ].rule.id == ("numerics/wrong-values")


@pytest.mark.parametrize("asks", ["zeros = true", ALL])
def test_zeros_show_what_else_is_added(tmp_path: Path, asks: str) -> None:
    """The lanes that compute column 3 begin with 1."""
    edit = ("float8 acc = {};", "float8 acc = {}; acc[1] = lane % 16 == 3 ? 1.0f : 0.0f;")
    finding = only(judged(tmp_path, edit, asks=asks, sizes=(INTERIOR,)))
    assert finding.rule.id == "numerics/not-zero"
    assert finding.what.startswith("C is not zero where A is all zeros")
    assert str(finding.place.element) == "C[2][3]"


def test_a_factor_keeps_its_own_name(tmp_path: Path) -> None:
    edit = ("alpha * acc[v] +", "acc[v] +")
    assert only(judged(tmp_path, edit, sizes=(INTERIOR,))).rule.id == "numerics/wrong-factor"


REFERENCE = 'kind = "reference", function = "r.py:f", zeros = { B = "C" }'


@pytest.mark.parametrize(
    ("contract", "words"),
    [
        ('kind = "reference", function = "r.py:f", zeros = { Q = "C" }', "inputs without `values`: A, B"),
        ('kind = "reference", function = "r.py:f", zeros = { A = "B" }', "C"),
        ('kind = "gemm", ranges = 0', "1"),
        ('kind = "gemm", identity = 1', "true or false"),
        ('kind = "none", zeros = true', "zeros"),
    ],
)
def test_contracts_that_make_no_sense(tmp_path: Path, contract: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        checked(tmp_path, "", buffers(c_role="out") + _REST, grid='"M"', block=32, contract=contract)
    assert words in str(caught.value)


def test_a_chosen_input_may_not_be_given(tmp_path: Path) -> None:
    fixed = buffers(c_role="out").replace('matrix = "B"', 'matrix = "B", values = "i0"')
    with pytest.raises(UsageError, match=r"contract\.identity") as caught:
        checked(tmp_path, "", fixed + _REST, grid='"M"', block=32, contract='kind = "gemm", identity = true')
    assert "without `values`" in str(caught.value)


def test_other_forms_of_the_product_hold(tmp_path: Path) -> None:
    """Sums in f32, f16 and i32."""
    asks = 'kind = "gemm", identity = true, zeros = true, ranges = 16'
    for form, types in ((0, ("f16", "f32")), (2, ("f16", "f16")), (4, ("u8", "i32"))):
        found = direct(tmp_path, form=form, types=types, sizes=(INTERIOR,), contract=asks)
        assert found[numerics.NAME].status == "holds", form


def test_the_manifest_that_was_written_can_be_read(tmp_path: Path) -> None:
    judged(tmp_path, sizes=(INTERIOR,))
    (case,) = read_manifest(tmp_path / "layoutprobe.toml").kernels
    assert (case.contract.identity, case.contract.ranges, case.contract.zeros) == (True, 16, True)  # type: ignore[union-attr]


PV = Path(__file__).parents[2] / "probes" / "gemm" / "cdna"
READ = "read_transposed<8>(&lds[swizzled(row, block * I::DIM + byte_named<8>())]);"


def attention(folder: Path, *edits: tuple[str, str, str]) -> CheckResult:
    """What numerics says of the PV stage, fp8 over two tiles of V, with edits (file, old text, new text)."""
    for path in PV.glob("*.h*"):
        (folder / path.name).write_text(path.read_text())
    for file, old, new in edits:
        (folder / file).write_text(edited((folder / file).read_text(), [(old, new)]))
    (table,) = (one for one in (PV / "layoutprobe.toml").read_text().split("[[kernel]]") if '"pv.hip"' in one)
    sizes = "sizes = [{ M = 70, N = 128, K = 128 }]\nblock = [256]\n"
    kept = table[: table.index("sizes = [")] + sizes + table[table.index("argument = [") :]
    asks = 'contract = { kind = "gemm", identity = true, ranges = 64, zeros = true }'
    kept = kept.replace('contract = { kind = "gemm" }', asks)
    (folder / "layoutprobe.toml").write_text("[[kernel]]" + kept)
    (case,) = read_manifest(folder / "layoutprobe.toml").kernels
    (result,) = check_kernel(case, "gfx950", (numerics.CHECK,)).results
    return result


def test_the_pv_stage_of_an_attention_kernel_holds(tmp_path: Path) -> None:
    result = attention(tmp_path)
    assert result.status == "holds", result
    assert "P = 0, V = 0, P = I by rows and columns, ranges of 64 rows of V" in result.reason


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("edit", "rule", "words"),
    [
        (
            (
                "pv.h",
                READ,
                READ.replace("byte_named<8>())]", "byte_named<8>()) ^ (row & 8) << 1]"),
            ),
            "other-column",
            "rows are right, and columns of V are not",
        ),
        (
            (
                "pv.hip",
                "prefetch(&V[(size_t)(key + KEYS) * HEAD], fetch_at)",
                "prefetch(&V[(size_t)key * HEAD], fetch_at)",
            ),
            "leaks-between-rows",
            "only rows 0-63 of V not zero, other rows of O are not zero: rows 64-69 (768 of 8960)",
        ),
        (
            ("pv.h", "const int row = permuted(row_named<8>(part));", "const int row = row_named<8>(part);"),
            "other-row",
            "shows other rows of V",
        ),
        (
            (
                "pv.h",
                "= raw.pair[block][part];",
                "= raw.pair[block & ~1][part];",
            ),
            "other-column",
            "columns fold by 32: column r shows column r & ~32",
        ),
    ],
)
def test_faults_of_the_pv_stage_are_named(
    tmp_path: Path, edit: tuple[str, str, str], rule: str, words: str
) -> None:
    finding = only(attention(tmp_path, edit))
    assert finding.rule.id == f"numerics/{rule}"
    assert words in finding.what
