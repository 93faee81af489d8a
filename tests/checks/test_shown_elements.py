"""Products whose operands cannot be followed: green where their outputs show every element, and only there."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks.gemm_lab import KERNELS, SIZES, Edit, Results, buffers, checked, edited

FIRST = "    acc = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(a_low, b, acc);"
SKIPS = """    bool some = false;
    for (int i = 0; i < {}; ++i) some |= a[i] != 0;
    if (!__any(some)) continue;
"""


def results_of(folder: Path, *edits: Edit, size: str = "M = 19, N = 5, K = 50") -> Results:
    return checked(
        folder,
        edited((KERNELS / "gemm_three_products.hip").read_text(), edits),
        buffers("f32", "f32", c_role="out") + SIZES,
        grid='["(N + 15) // 16", "(M + 15) // 16"]',
        block=32,
        sizes=(size,),
        contract='kind = "gemm" }\ntolerance = { absolute = 1e-3, relative = 1e-3',
    )


RIGHT = {
    "split into halves": ((), "they are computed on the way"),
    "steps of zeros are skipped": (((FIRST, SKIPS.format(16) + FIRST),), "depends on the values of A and B"),
}


@pytest.mark.parametrize("name", RIGHT)
def test_outputs_decide_where_operands_cannot_be_followed(tmp_path: Path, name: str) -> None:
    edits, why = RIGHT[name]
    results = results_of(tmp_path, *edits)
    assert {result.status for result in results.values()} == {"holds"}, results
    reason = results["operand-provenance"].reason
    assert "where one factor selects, C shows each element of the other in its place, at every k" in reason
    assert why in reason


BATCHED = """
    { name = "A", role = "in", dtype = "f32", shape = ["G", "M", "K"], matrix = "A" },
    { name = "B", role = "in", dtype = "f32", shape = [SHARED"K", "N"], matrix = "B" },
    { name = "C", role = "out", dtype = "f32", shape = ["G", "M", "N"], matrix = "C" },"""


@pytest.mark.parametrize(
    ("shared", "offset", "right"),
    [("", "", True), ('"G", ', "B += blockIdx.z * K * N; ", True), ('"G", ', "", False)],
)
def test_batches_are_told_apart(tmp_path: Path, shared: str, offset: str, right: bool) -> None:
    begin = "  float8 acc = {};"
    edit = (begin, f"A += blockIdx.z * M * K; C += blockIdx.z * M * N; {offset}\n{begin}")
    results = checked(
        tmp_path,
        edited((KERNELS / "gemm_three_products.hip").read_text(), [edit]),
        BATCHED.replace("SHARED", shared) + SIZES,
        grid='["(N + 15) // 16", "(M + 15) // 16", "G"]',
        block=32,
        sizes=("G = 3, M = 5, N = 7, K = 18",),
        contract='kind = "gemm" }\ntolerance = { absolute = 1e-3, relative = 1e-3',
    )
    assert ({result.status for result in results.values()} == {"holds"}) == right, results


def test_a_step_that_is_skipped_for_its_first_column_is_not_green(tmp_path: Path) -> None:
    """Random numbers hold no column of zeros: values are right, and only inputs that select show it."""
    results = results_of(tmp_path, (FIRST, SKIPS.format(1) + FIRST))
    assert results["numerics"].status == "holds", results
    for name in ("operand-provenance", "epilogue"):
        assert results[name].status == "undecided", results
        assert 'contract = { kind = "reference", function = "ref.py:product" }' in results[name].reason
        assert 'return {"C": inputs["A"] @ inputs["B"]}' in results[name].reason


BIASED = buffers("f32", "f32", c_role="out").replace(
    '{ name = "C"', '{ name = "bias", role = "in", dtype = "f32", shape = ["N"] },\n    { name = "C"'
)
ACTIVATIONS = {"relu": "fmaxf(x, 0.0f)", "silu": "x / (1.0f + __expf(-x))"}


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("col", ["col", "(col ^ 1)"])
def test_what_an_epilogue_makes_of_elements_shows_them_too(tmp_path: Path, activation: str, col: str) -> None:
    """Right kernels were red: their values were not looked at where something is added to a product."""
    store = f"const float x = acc[v] + bias[col]; C[r * N + {col}] = {ACTIVATIONS[activation]};"
    results = checked(
        tmp_path,
        edited(
            (KERNELS / "gemm_three_products.hip").read_text(),
            [
                ("float* C, int M", "const float* bias, float* C, int M"),
                ("C[r * N + col] = acc[v];", f"{{ {store} }}"),
            ],
        ),
        BIASED + SIZES,
        grid='["(N + 15) // 16", "(M + 15) // 16"]',
        block=32,
        sizes=("M = 19, N = 6, K = 50",),
        contract=f'kind = "gemm", bias = "bias", activation = "{activation}" }}\n'
        "tolerance = { absolute = 1e-3, relative = 1e-3",
    )
    assert ({result.status for result in results.values()} == {"holds"}) == (col == "col"), results


def test_outputs_that_show_too_little_are_undecided_and_not_red(tmp_path: Path) -> None:
    store = ("C[r * N + col] = acc[v];", "C[r * N + col] = tanhf(acc[v]);")
    results = checked(
        tmp_path,
        edited((KERNELS / "gemm_three_products.hip").read_text(), [store]),
        buffers("f32", "f32", c_role="out") + SIZES,
        grid='["(N + 15) // 16", "(M + 15) // 16"]',
        block=32,
        sizes=("M = 3, N = 33, K = 32",),
        contract='kind = "gemm", activation = "tanh" }\ntolerance = { absolute = 1e-3, relative = 1e-3',
    )
    assert results["numerics"].status == "holds", results
    for name in ("operand-provenance", "epilogue"):
        assert results[name].status == "undecided", results
        assert 'contract = { kind = "reference"' in results[name].reason


WRONG = {
    "the last k": ("k < K ? A", "k < K - 1 ? A"),
    "two columns exchanged": ("C[r * N + col]", "C[r * N + (col < 2 ? 1 - col : col)]"),
    "a row twice": ("A[row * K + k]", "A[(row & ~1) * K + k]"),
    "k of B alone": ("B[k * N + col]", "B[(k ^ 1) * N + col]"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_with_them_is_red(tmp_path: Path, name: str) -> None:
    results = results_of(tmp_path, WRONG[name])
    assert "finding" in {result.status for result in results.values()}, results
