"""Numerics: the contract's result, rounding apart, and how a wrong one is described."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from checks.gemm_lab import (
    INTERIOR,
    KERNELS,
    RAGGED,
    SIZES,
    Edit,
    buffers,
    checked,
    direct,
    edited,
    only,
    plain,
    tiled,
)
from msgspec.structs import replace

from layoutprobe.checks import numerics, operand_provenance
from layoutprobe.gate.session import check_kernel
from layoutprobe.manifest.model import Tolerance
from layoutprobe.manifest.read import read_manifest
from layoutprobe.trace.gemm_faults import Product, explaining, lines_moved, where_wrong

NAME = numerics.NAME
SUM = "alpha * acc[v] + (beta != 0 ? beta * C[at] : 0.0f)"


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("edit", "words"),
    [
        ((SUM, "alpha * acc[v]"), "beta * C is missing"),
        ((SUM, "alpha * acc[v] + C[at]"), "C is added without beta"),
        ((SUM, "acc[v] + (beta != 0 ? beta * C[at] : 0.0f)"), "alpha is missing"),
        ((SUM, "beta * acc[v] + alpha * C[at]"), "alpha and beta are exchanged"),
    ],
)
def test_a_known_fault_is_recognised_by_its_result(tmp_path: Path, edit: Edit, words: str) -> None:
    finding = only(tiled(tmp_path, edit, sizes=(INTERIOR,), checks=(numerics.CHECK,))[NAME])
    assert finding.what.startswith("C is wrong on small integers: ")
    assert words in finding.what


def test_the_first_wrong_element_and_the_size_of_the_error(tmp_path: Path) -> None:
    """One element is off by exactly 8, and nothing else is."""
    edit = (SUM, f"{SUM} + (row == 5 && col == 7 ? 8.0f : 0.0f)")
    result = tiled(tmp_path, edit, sizes=(RAGGED,), checks=(numerics.CHECK,))[NAME]
    finding = only(result)
    assert str(finding.place.element) == "C[5][7]"
    assert finding.count == 1
    observed, rest = finding.observed.split("; ")
    assert float(observed) == float(finding.expected) + 8
    assert rest.startswith(f"{100 / (40 * 57):.3g} % of C is wrong, max abs error 8, ")
    assert result.metrics["C, integers: max abs error"] == "8"


def test_an_error_that_integers_hide_shows_on_normal_numbers(tmp_path: Path) -> None:
    """Halves are rounded away: small integers are exact, normal numbers are not."""
    edit = (SUM, "(float)(int)(alpha * acc[v] + (beta != 0 ? beta * C[at] : 0.0f))")
    finding = only(tiled(tmp_path, edit, sizes=(INTERIOR,), checks=(numerics.CHECK,))[NAME])
    assert finding.what.startswith("C is wrong on normal numbers: ")


def test_an_element_without_a_value_is_wrong_whatever_its_bits(tmp_path: Path) -> None:
    edit = ("if (row < M && col < N) C[", "if (row < M && col < N && row != 3) C[")
    finding = only(direct(tmp_path, edits=(edit,), sizes=(RAGGED,))[NAME])
    assert "the wrong elements are never stored" in finding.what
    assert finding.observed.startswith("undefined; ")
    assert (str(finding.place.element), finding.count) == ("C[3][0]", 57)


TYPES = [("f16", "f32"), ("bf16", "f32"), ("f16", "f16"), ("bf16", "bf16"), ("u8", "i32"), ("f16", "f16")]
"""By the kernel's FORM; the last one accumulates in f32."""


@pytest.mark.few(1)
@pytest.mark.parametrize("form", range(6))
def test_every_type_of_matrix_instruction_is_followed(tmp_path: Path, form: int) -> None:
    results = direct(tmp_path, form=form, types=TYPES[form], sizes=(RAGGED,))
    assert [result.status for result in results.values()] == ["holds"] * 3, results


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("form", "more"),
    [
        (0, "RESULT(acc, v) + 1"),
        (2, "RESULT(acc, v) + Output(2)"),
        (3, "(short)(RESULT(acc, v) + 128)"),  # the next power of two
        (4, "RESULT(acc, v) + 1"),
    ],
)
def test_no_tolerance_hides_an_error_beyond_rounding(tmp_path: Path, form: int, more: str) -> None:
    edit = ("Output(RESULT(acc, v))", more)
    checks = (numerics.CHECK,)
    result = direct(tmp_path, form=form, types=TYPES[form], edits=(edit,), sizes=(RAGGED,), checks=checks)[
        NAME
    ]
    assert result.status == "finding"


@pytest.mark.long
@pytest.mark.parametrize("form", [2, 3])
def test_sums_in_16_bits_hide_no_small_factor(tmp_path: Path, form: int) -> None:
    """Off by a sixteenth: less than what rounding could do if all roundings pointed the same way."""
    more = {
        2: "Output(RESULT(acc, v)) * _Float16(1.0625f)",
        3: "Output(__builtin_bit_cast(unsigned, __builtin_bit_cast(float, RESULT(acc, v) << 16) * 1.0625f) >> 16)",
    }
    edit = ("Output(RESULT(acc, v))", more[form])
    checks = (numerics.CHECK,)
    for size in ("M = 16, N = 16, K = 16", INTERIOR, "M = 16, N = 16, K = 1024"):
        result = direct(tmp_path, form=form, types=TYPES[form], edits=(edit,), sizes=(size,), checks=checks)[
            NAME
        ]
        assert result.status == "finding", size
        right = direct(tmp_path, form=form, types=TYPES[form], sizes=(size,), checks=checks)[NAME]
        assert right.status == "holds", right


@pytest.mark.long
def test_an_instruction_that_never_runs_loosens_nothing(tmp_path: Path) -> None:
    dead = """
  if (K < 0) {
    short16 x;
    for (int i = 0; i < 16; ++i) x[i] = A[i] > _Float16(1);
    x = __builtin_amdgcn_wmma_bf16_16x16x16_bf16_w32(x, x, x, false);
    acc[0] = x[0];
  }
"""
    at = "#pragma unroll\n  for (int v = 0; v < 8; ++v) {"
    edits = [(at, dead + at), ("Output(RESULT(acc, v))", "RESULT(acc, v) * 1.03f")]
    result = direct(tmp_path, edits=edits, sizes=("M = 40, N = 57, K = 75",), checks=(numerics.CHECK,))[NAME]
    assert result.status == "finding"
    sound = direct(tmp_path, edits=edits[:1], sizes=(RAGGED,), checks=(numerics.CHECK,))[NAME]
    assert sound.status == "holds"


@pytest.mark.long
def test_sums_in_f16_without_a_matrix_instruction_are_no_fault(tmp_path: Path) -> None:
    def of(*edits: Edit) -> str:
        result = checked(
            tmp_path,
            edited((KERNELS / "gemm_unusual.hip").read_text(), edits),
            buffers(c_role="out") + "".join(SCALARS),
            grid='["N // 16", "M // 16"]',
            block=32,
            sizes=("M = 32, N = 48, K = 256",),
            defines="SCALAR = 1",
            checks=(numerics.CHECK,),
        )
        return result[NAME].status

    half = [
        ("float sum = 0;", "_Float16 sum = 0;"),
        ("sum += (float)A[row * K + k] * (float)B[k * N + n];", "sum += A[row * K + k] * B[k * N + n];"),
    ]
    assert of(*half) == "holds"
    assert of(*half, ("C[row * N + n] = sum;", "C[row * N + n] = sum * 1.05f;")) == "finding"


SCALARS = [f'{{ name = "{x}", role = "scalar", dtype = "i32", value = "{x}" }},' for x in "MNK"]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "sum_",
    [
        "(alpha != 0 ? alpha : 1.0f) * acc[v] + (beta != 0 ? beta * C[at] : 0.0f)",
        "alpha * acc[v] + (beta > 0 ? beta * C[at] : 0.0f)",
        "(alpha < 0 ? -alpha : alpha) * acc[v] + (beta != 0 ? beta * C[at] : 0.0f)",
        "(_Float16)alpha * acc[v] + (beta != 0 ? beta * C[at] : 0.0f)",
    ],
)
def test_other_factors_than_those_of_the_contract_are_tried(tmp_path: Path, sum_: str) -> None:
    """All are right for alpha 2 and beta 3."""
    finding = only(tiled(tmp_path, (SUM, sum_), sizes=(RAGGED,), checks=(numerics.CHECK,))[NAME])
    assert " with alpha " in finding.what


def test_a_kernel_that_multiplies_by_any_beta_is_right(tmp_path: Path) -> None:
    result = tiled(tmp_path, (SUM, "alpha * acc[v] + beta * C[at]"), checks=(numerics.CHECK,))[NAME]
    assert result.status == "holds"
    assert "alpha -1.5 and beta 0" in result.reason
    (said,) = result.reserved
    assert said.startswith("C is NaN where beta is 0 and C was NaN")


def test_a_kernel_that_leaves_c_where_beta_is_0_has_no_such_reservation(tmp_path: Path) -> None:
    assert tiled(tmp_path, checks=(numerics.CHECK,))[NAME].reserved == ()


HALF_MASKED = (
    "in ? A[from_m * a_row + (k0 + k) * a_col] : Element(0)",
    "A[(from_m * a_row + (k0 + k) * a_col) % (M * K)]",
)


def test_a_foreign_element_times_a_masked_zero_is_found(tmp_path: Path) -> None:
    """Only B is masked beyond K: the next row's elements are multiplied by zeros."""
    checks = (numerics.CHECK,)
    finding = only(direct(tmp_path, edits=(HALF_MASKED,), sizes=(RAGGED,), checks=checks)[NAME])
    assert finding.rule.id == "numerics/foreign-element"
    assert "a foreign element, harmless only while finite" in finding.what
    assert str(finding.place.element).startswith("C[2]")  # the row before one with an infinity in its first k


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "edit",
    [
        ("in ? A[from_m * a_row + (k0 + k) * a_col] : Element(0)", "A[from_m * a_row + min(k0 + k, K - 1) * a_col]"),
        ("in ? B[(k0 + k) * b_row + from_n * b_col] : Element(0)", "B[min(k0 + k, K - 1) * b_row + from_n * b_col]"),
        ("in ? B[(k0 + k) * b_row + from_n * b_col] : Element(0)",
         "k0 + k <= K ? B[(k0 + k) % K * b_row + from_n * b_col] : Element(0)"),
    ],
    ids=["A clamped", "B clamped", "B one too far"],
)  # fmt: skip
def test_an_address_at_the_edge_of_k_reads_a_foreign_element(tmp_path: Path, edit: tuple[str, str]) -> None:
    """The other operand is zero beyond K: infinity at the last k, or at the first, arrives as NaN."""
    finding = only(direct(tmp_path, edits=(edit,), sizes=(RAGGED,), checks=(numerics.CHECK,))[NAME])
    assert finding.rule.id == "numerics/foreign-element"
    assert finding.observed.startswith("nan")


def test_whole_steps_read_no_foreign_element(tmp_path: Path) -> None:
    result = direct(tmp_path, edits=(HALF_MASKED,), sizes=(INTERIOR,), checks=(numerics.CHECK,))[NAME]
    assert result.status == "holds"
    assert "nonfinite" in result.reason


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("stored", "rule"),
    [
        ("__builtin_fmaxf(RESULT(acc, v), -1e30f)", "numerics/lost-nonfinite"),
        ("(RESULT(acc, v) > 1e9f ? 1e9f : RESULT(acc, v))", "numerics/wrong-values"),  # 2**40 times 2**40
    ],
)
def test_values_at_the_ends_of_the_range_arrive(tmp_path: Path, stored: str, rule: str) -> None:
    edit = ("Output(RESULT(acc, v))", stored)
    types, checks = ("bf16", "f32"), (numerics.CHECK,)
    finding = only(direct(tmp_path, form=1, types=types, edits=(edit,), sizes=(RAGGED,), checks=checks)[NAME])
    assert finding.rule.id == rule


def test_a_kernel_that_gives_up_range_for_good_reason_is_not_tried(tmp_path: Path) -> None:
    """f32 in memory, multiplied as f16."""
    edits = [("const Element* A, const Element* B", "const float* A, const float* B")]
    result = direct(tmp_path, types=("f32", "f32"), edits=edits, sizes=(RAGGED,), checks=(numerics.CHECK,))
    assert "nonfinite" not in result[NAME].reason
    assert result[NAME].status in ("holds", "finding")


@pytest.mark.long
def test_a_kernel_without_matrix_instructions_is_compared_all_the_same(tmp_path: Path) -> None:
    result = plain(tmp_path, "gemm_unusual", "SCALAR", checks=(numerics.CHECK,))[NAME]
    assert result.status == "holds"
    assert plain(tmp_path, "gemm_unusual", "RESCALED", checks=(numerics.CHECK,))[NAME].status == "finding"


@pytest.mark.parametrize(("role", "status"), [("out", "undecided"), ("inout", "holds")])
def test_an_output_that_the_contract_does_not_name_is_not_judged(
    tmp_path: Path, role: str, status: str
) -> None:
    extra = f'{{ name = "extra", role = "{role}", dtype = "f32", shape = [16] }},'
    numbers = "".join(f'{{ name = "{x}", role = "scalar", dtype = "i32", value = "{x}" }},' for x in "MNK")
    result = checked(
        tmp_path,
        edited(
            (KERNELS / "gemm_unusual.hip").read_text(), [("int N, int K)", "int N, int K, float* extra)")]
        ),
        buffers(c_role="out") + numbers + extra,
        grid='["N // 16", "M // 16"]',
        block=32,
        sizes=("M = 16, N = 16, K = 32",),
        checks=(numerics.CHECK,),
    )[NAME]
    assert result.status == status, result
    assert ("not judged: extra" in result.reason) == (status == "undecided")


@pytest.mark.few(1)
@pytest.mark.parametrize("size", ["M = 1, N = 1, K = 1", "M = 1, N = 40, K = 3", "M = 17, N = 1, K = 33"])
def test_the_smallest_sizes_are_decided(tmp_path: Path, size: str) -> None:
    for results in (direct(tmp_path, sizes=(size,)), tiled(tmp_path, sizes=(size,))):
        assert {name: result.status for name, result in results.items()} == dict.fromkeys(results, "holds")


def test_places_in_words() -> None:
    wrong = np.zeros((64, 64), np.bool_)
    wrong[:, 63] = True
    assert where_wrong(wrong) == "wrong: column 63 (64 of 4096)"
    wrong[3:5] = True
    assert where_wrong(wrong) == f"wrong: {64 + 128 - 2} of 4096"
    odd = np.zeros((64, 64), np.bool_)
    odd[1::2] = True
    assert where_wrong(odd) == "wrong in every tile of 16 in rows 1, 3, 5, 7, 9, 11, 13, 15"
    edge = np.zeros((40, 57), np.bool_)
    edge[:, 56] = True
    assert where_wrong(edge) == "only the last column is wrong, beyond the last whole tile of 16"
    flat = np.arange(40) // 3 == 1
    assert where_wrong(flat) == "wrong: elements 3-5 (3 of 40)", "what has one axis has no columns"
    assert where_wrong(np.ones((2, 2), np.bool_)) == "all elements are wrong"


def test_rows_and_columns_that_stand_in_each_others_places() -> None:
    wanted = np.arange(12.0).reshape(4, 3)
    assert lines_moved(wanted[[0, 2, 1, 3]], wanted) == (
        "rows of the result stand in each other's places: row 1 holds what belongs to 2, "
        "row 2 holds what belongs to 1"
    )
    assert "column 0 holds what belongs to 1, column 1" in lines_moved(wanted[:, [1, 0, 2]], wanted)
    assert lines_moved(wanted[[0, 2, 2, 2]], wanted) == "", "one row taken for all is another fault"
    assert lines_moved(wanted[[0, 2, 1, 3]] + np.eye(4, 3), wanted) == ""


def test_slices_that_add_to_other_rows_lack_no_k(tmp_path: Path) -> None:
    """Sums of parts in wrong rows hold no code of an accumulator: what looks like one is chance."""
    source = (KERNELS / "gemm_slices.hip").read_text()
    results = checked(
        tmp_path,
        edited(source, (("quad * 4 + i, col", "i * 4 + quad, col"),)),
        buffers().replace('"C" }', '"C", initial = "zero" }') + SIZES,
        grid='["(M + 15) / 16", "(N + 15) / 16", "(K + 31) / 32"]',
        block=64,
        sizes=("M = 19, N = 37, K = 75",),
        arch="gfx942",
        checks=(operand_provenance.CHECK,),
    )
    (result,) = results.values()
    assert (result.status, result.findings) == ("undecided", ()), result


def test_tiles_are_as_large_as_the_instruction_makes_them() -> None:
    rng = np.random.default_rng(7)
    a, b = rng.integers(1, 9, (64, 96)).astype(np.float64), rng.integers(1, 9, (96, 64)).astype(np.float64)
    turned = np.block([[a[r : r + 32, c : c + 32].T for c in (0, 32, 64)] for r in (0, 32)])
    for tile, said in ((32, ["every 32 x 32 tile of A is transposed"]), (16, [])):
        product = Product(a, b, None, 1.0, 0.0, tile)
        assert [fault.says for fault in explaining(product, turned @ b, 0.0, "f32")] == said
    odd = np.zeros((64, 64), np.bool_)
    odd[31::32] = True
    assert where_wrong(odd, 32) == "wrong in every tile of 32 in rows 31"


@pytest.mark.long
def test_a_headline_says_that_the_tolerance_is_that_of_narrow_sums(tmp_path: Path) -> None:
    """C is f32: sums in f16 are let pass, and not in silence. A tolerance of the manifest says so itself."""

    def reservations(tolerance: Tolerance = Tolerance()) -> list[str]:  # noqa: B008
        (case,) = read_manifest(tmp_path / "layoutprobe.toml").kernels
        small = replace(case, tolerance=tolerance, sizes=({"M": 16, "N": 32, "K": 24},))
        verdict = check_kernel(small, "gfx1151", (numerics.CHECK,))
        assert verdict.results[0].status == "holds"
        return [said for said in verdict.reservations if "tolerance" in said]

    plain(tmp_path, "gemm_unusual", "SCALAR", checks=(numerics.CHECK,))
    assert not reservations()
    source = tmp_path / "kernel.hip"
    narrow = (
        ("float sum = 0", "_Float16 sum = 0"),
        ("(float)A[row * K + k] * (float)B", "A[row * K + k] * B"),
    )
    source.write_text(edited(source.read_text(), narrow))
    assert reservations() == [
        "C (f32) is computed with arithmetic in f16: the tolerance is that of f16, unless the manifest gives one "
        "(`tolerance`)"
    ]
    assert not reservations(Tolerance(0.1, 0.01))
    manifest = tmp_path / "layoutprobe.toml"
    source.write_text(edited(source.read_text(), (("float* C", "_Float16* C"),)))
    manifest.write_text(
        manifest.read_text().replace('"C", role = "out", dtype = "f32"', '"C", role = "out", dtype = "f16"')
    )
    (said,) = reservations()
    assert said.startswith(
        "C is added up in f16: the tolerance is that of such sums, and not of one rounding"
    )
    assert not reservations(Tolerance(0.1, 0.01))


def test_zeros_are_not_blamed_on_a_beta_that_there_is_not() -> None:
    """With no C, and with beta 0, any product with beta is 0: that explains nothing."""
    random = np.random.default_rng(5)
    a, b, c = (random.integers(1, 9, shape).astype(np.float64) for shape in ((16, 24), (24, 16), (16, 16)))
    for product in (Product(a, b, None, 1.5, 0.0), Product(a, b, c, 1.5, 0.0)):
        assert not [fault.says for fault in explaining(product, np.zeros((16, 16)), 0.0, "f32")]
