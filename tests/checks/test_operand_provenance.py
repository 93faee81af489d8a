"""Operand provenance: what breaks the law is named with lane, register, element and load; all else holds."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from checks.gemm_lab import INTERIOR, RAGGED, Edit, direct, line, only, plain, tiled
from msgspec import Struct

from layoutprobe.checks import operand_provenance

NAME = operand_provenance.NAME
MULTIPLY = "__builtin_amdgcn_wmma_f32_16x16x16_f16_w32"
LOAD_A = "a[k] = a_lds[buffer][(wave_m + lane % 16) * STRIDE + k]"
LOAD_B = "b[k] = b_lds[buffer][(wave_n + lane % 16) * STRIDE + k]"


def a_from(index: str) -> Edit:
    return LOAD_A, f"a[k] = a_lds[buffer][{index}]"


def b_from(index: str) -> Edit:
    return LOAD_B, f"b[k] = b_lds[buffer][{index}]"


# What holds.


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "edits",
    [
        (),
        (
            a_from("(wave_m + lane % 16) * STRIDE + (k ^ 5)"),
            b_from("(wave_n + lane % 16) * STRIDE + (k ^ 5)"),
        ),
        (
            (
                "wave_m = wave / 2 * 16, wave_n = wave % 2 * 16",
                "wave_n = wave / 2 * 16, wave_m = wave % 2 * 16",
            ),
        ),
        (
            a_from("(wave_m + (lane % 16 ^ 3)) * STRIDE + k"),
            ("wave_m + 2 * v + lane / 16, col", "wave_m + ((2 * v + lane / 16) ^ 3), col"),
        ),
    ],
    ids=[
        "as it is",
        "k in one other order in A and B",
        "waves trade tiles",
        "rows permuted in A and C alike",
    ],
)
def test_any_order_that_all_sides_share_holds(tmp_path: Path, edits: tuple[Edit, ...]) -> None:
    results = tiled(tmp_path, *edits, sizes=(RAGGED,))
    assert {name: result.status for name, result in results.items()} == dict.fromkeys(results, "holds")
    # 2 x 2 blocks of 4 waves each, and 3 steps.
    assert results[NAME].reason == "48 executions of matrix instructions"


OWN_ORDER = (
    "    for (int k = 0; k < 16; ++k) {",
    "    for (int slot = 0; slot < 16; ++slot) {\n"
    "      const int k = slot / 2 + ((slot % 2) ^ (lane / 16)) * 8;",
)
"""As AMD's rocWMMA: k = 0, 8, 1, 9, ... in lanes 0-15, and 8, 0, 9, 1, ... in lanes 16-31."""


def test_half_waves_with_orders_of_k_of_their_own_hold_with_a_note(tmp_path: Path) -> None:
    edits = (OWN_ORDER, ("a.element[k]", "a.element[slot]"), ("b.element[k]", "b.element[slot]"))
    results = direct(tmp_path, edits=edits)
    assert {name: result.status for name, result in results.items()} == dict.fromkeys(results, "holds")
    assert "half-waves take k in orders of their own, shared by A and B; 64 exec" in results[NAME].reason


@pytest.mark.few(1)
@pytest.mark.parametrize("wrong", ["A", "B"])
def test_half_waves_whose_orders_of_k_differ_between_a_and_b_are_red(tmp_path: Path, wrong: str) -> None:
    swapped = ("lane / 16)) * 8;", "0)) * 8, twin = slot / 2 + ((slot % 2) ^ (lane / 16)) * 8;")
    loop = (OWN_ORDER[0], OWN_ORDER[1].replace(*swapped))
    stride, line_of = {
        "A": ("a", "from_m * a_row + (k0 + {}) * a_col"),
        "B": ("b", "(k0 + {}) * b_row + from_n * b_col"),
    }[wrong]
    right = "ba"["ab".index(stride)]
    index, twin = line_of.format("k"), line_of.format("twin")
    edits = (
        loop,
        (
            f"{stride}.element[k] = in ? {wrong}[{index}]",
            f"{stride}.element[slot] = k0 + twin < K ? {wrong}[{twin}]",
        ),
        (f"{right}.element[k]", f"{right}.element[slot]"),
    )
    result = direct(tmp_path, edits=edits)[NAME]
    assert result.status == "finding", result
    assert {finding.place.matrix for finding in result.findings} <= {"A", "B"}
    assert not any("[-" in part for f in result.findings for part in (f.what, f.expected, f.observed, f.hint))


@pytest.mark.few(1)
@pytest.mark.parametrize(("orders", "transposed"), [(("col", "row"), True), (("col", "col"), False)])
def test_any_order_of_the_matrices_in_memory_holds(
    tmp_path: Path, orders: tuple[str, str], *, transposed: bool
) -> None:
    results = direct(tmp_path, orders=orders, padding=3, transposed=transposed, sizes=(RAGGED,))
    assert [results[name].status for name in results] == ["holds"] * 3, results
    assert ("computes C transposed" in results[NAME].reason) == transposed


@pytest.mark.few(1)
@pytest.mark.parametrize("define", ["", "ATOMIC"])
def test_partial_sums_are_followed(tmp_path: Path, define: str) -> None:
    results = plain(tmp_path, "gemm_splitk", define, block=64, initial="zero" if define else "")
    assert results[NAME].status == "holds", results[NAME]
    assert "several accumulators are added up" in results[NAME].reason


# What does not.


class Wrong(Struct, frozen=True):
    """A planted fault, and what the finding must say of its first slot."""

    edits: tuple[Edit, ...]
    words: str
    matrix: str
    lane: int
    half: str
    expected: str
    observed: str


def of_a(index: str, *finding: Any) -> Wrong:
    return Wrong((a_from(index),), *finding)


def of_b(index: str, *finding: Any) -> Wrong:
    return Wrong((b_from(index),), *finding)


WRONG = {
    "A down a column": of_a(
        "(wave_m + k) * STRIDE + lane % 16",
        "A is loaded transposed: a lane holds a column of A where the instruction reads a row",
        *("A", 0, "high", "A[0][1]", "A[1][0]"),
    ),
    "B along a row": of_b(
        "(wave_n + k) * STRIDE + lane % 16",
        "B is loaded transposed: a lane holds a row of B where the instruction reads a column",
        *("B", 0, "high", "B[1][0]", "B[0][1]"),
    ),
    "halves of a VGPR in A": of_a(
        "(wave_m + lane % 16) * STRIDE + (k ^ 1)",
        "the fields within every VGPR are in reverse order",
        *("A", 0, "low", "A[0][0]", "A[0][1]"),
    ),
    "16 bytes of B": of_b(
        "(wave_n + lane % 16) * STRIDE + (k ^ 8)",
        "neighbouring groups of 8 k are exchanged",
        *("B", 0, "low", "B[0][0]", "B[8][0]"),
    ),
    "half-waves of A": of_a(
        "(wave_m + lane % 16) * STRIDE + (k ^ lane / 16 * 4)",
        "the upper half-wave holds no copy of A: lanes 16-31 hold other elements",
        *("A", 17, "low", "A[1][0]", "A[1][4]"),
    ),
    "lane / 2 in B": of_b(
        "(wave_n + lane / 2) * STRIDE + k",
        "the half-waves hold different elements of B, and no copies",
        *("B", 1, "low", "B[0][1]", "B[0][0]"),
    ),
    "rows of A folded": of_a(
        "(wave_m + lane % 8) * STRIDE + k",
        "rows fold by 8: row r+8 holds row r",
        *("A", 8, "low", "A[8][0]", "A[0][0]"),
    ),
    "tile of the other wave": of_a(
        "((wave_m ^ 16) + lane % 16) * STRIDE + k",
        "waves hold the tile of A that belongs to another wave",
        *("A", 0, "low", "A[0][0]", "A[16][0]"),
    ),
    "A of the other buffer": Wrong(
        ((LOAD_A, LOAD_A.replace("[buffer]", "[buffer ^ 1]")),),
        "A holds elements of another K step than its partner",
        *("A", 0, "low", "A[0][0]", "A[0][16]"),
    ),
}


@pytest.mark.few(2)
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_operand_is_named(tmp_path: Path, name: str) -> None:
    fault = WRONG[name]
    results = tiled(tmp_path, *fault.edits, sizes=(INTERIOR,))
    finding = only(results[NAME])
    place = finding.place
    assert fault.words in finding.what
    small = fault.matrix.lower()
    load, store = line(tmp_path, f" {small}[k] ="), line(tmp_path, f"= {small}_in ?")
    assert (place.kernel, place.matrix, place.line) == ("gemm", fault.matrix, load), "which is to blame"
    assert place.instruction.startswith("ds_load")
    assert (finding.expected, finding.observed) == (fault.expected, fault.observed)
    used = finding.related[-1]
    assert (used.role, used.place.line) == ("used by", line(tmp_path, "acc = __builtin"))
    assert used.place.instruction == "v_wmma_f32_16x16x16_f16"
    assert (used.place.workgroup, used.place.wave) == ((0, 0, 0), 0)
    assert (used.place.matrix, used.place.lane) == (fault.matrix, fault.lane)
    assert used.place.named()["half"] == fault.half
    # The load that wrote the register, the store that wrote the LDS byte, and the load before it.
    steps = [other for other in reversed(finding.related[:-1]) if other.role != "computed by"]
    assert [step.role for step in steps] == ["loaded by", "stored by", "loaded by"], finding.related_text
    assert steps[0].place.pc == place.pc
    assert finding.flow == finding.related
    assert [step.place.line for step in steps] == [load, store, store]
    assert [re.sub(r"_\w+", "", step.place.instruction) for step in steps] == ["ds", "ds", "global"]
    byte = steps[0].place.lds_byte
    assert byte is not None
    assert byte // 4 == lds_byte_of(fault.observed) // 4
    assert steps[1].place.lane == steps[2].place.lane, "the lane that stored it had loaded it"
    assert results["numerics"].status == "finding"
    assert results["epilogue"].status == "holds", "where C goes is right"


def lds_byte_of(element: str) -> int:
    """Where the tiled kernel keeps an element of the first block tile: buffers by turns, A before B."""
    row, col = (int(part) for part in element[2:-1].split("]["))
    line_, k = (row, col) if element[0] == "A" else (col, row)
    bytes_a = 2 * 32 * 24 * 2
    return (element[0] == "B") * bytes_a + k // 16 % 2 * 32 * 24 * 2 + line_ * 24 * 2 + k % 16 * 2


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("matrix", "lanes", "lacking"),
    [("A", "lane >= 16", "lower"), ("B", "lane < 16", "upper"), ("B", "lane >= 16", "lower")],
)
def test_a_missing_copy_is_found_in_the_half_wave_that_lacks_it(
    tmp_path: Path, matrix: str, lanes: str, lacking: str
) -> None:
    """Both copies are read, each by every other row of C; a zero there is as wrong as any element."""
    old = LOAD_A if matrix == "A" else LOAD_B
    target, source = old.split(" = ")
    results = tiled(tmp_path, (old, f"{target} = {lanes} ? {source} : _Float16(0)"), sizes=(INTERIOR,))
    finding = only(results[NAME])
    assert f"the {lacking} half-wave holds no copy of {matrix}" in finding.what
    lane = finding.place.lane
    assert isinstance(lane, int)
    assert (lane >= 16) == (lacking == "upper")
    element = f"A[{lane % 16}][0]" if matrix == "A" else f"B[0][{lane % 16}]"
    assert (finding.expected, finding.observed) == (element, "zero")
    needed = {"A": "A[lane % 16][2*vgpr + half]", "B": "B[2*vgpr + half][lane % 16]"}[matrix]
    assert finding.hint.endswith(f"; v_wmma_f32_16x16x16_f16 needs {needed}")
    assert finding.place.line == line(tmp_path, f" {matrix.lower()}[k] =")
    assert finding.related[-1].place.line == line(tmp_path, "acc = __builtin")


def test_a_copy_that_no_output_reads_must_be_there_as_well(tmp_path: Path) -> None:
    """Row 0 of C reads lane 0 of A. C is right without the copy in lane 16; what a card does is unknown."""
    target, source = LOAD_A.split(" = ")
    edit = (LOAD_A, f"{target} = lane % 2 == lane / 16 ? {source} : _Float16(0)")
    results = tiled(tmp_path, edit, sizes=(INTERIOR,))
    finding = only(results[NAME])
    assert finding.what.startswith("the copies of A in lanes 1 and 17 differ")
    assert (finding.place.lane, finding.expected, finding.observed) == (
        1,
        "A[1][0], as in lane 17",
        "zero",
    )
    assert "unmeasured" in finding.hint
    assert results["numerics"].status == "holds"


@pytest.mark.long
def test_garbage_beyond_the_last_k_is_wrong_in_both_operands_only(tmp_path: Path) -> None:
    """Where one operand holds zeros there, nothing is added, while the other one is finite."""
    a = (
        ("k0 + a_col < K;", "true;"),
        ("A[(block_m + a_row) * K + k0 + a_col]", "A[min((block_m + a_row) * K + k0 + a_col, M * K - 1)]"),
    )
    b = (
        ("k0 + b_row < K && ", ""),
        ("B[(k0 + b_row) * N + block_n + b_col]", "B[min((k0 + b_row) * N + block_n + b_col, K * N - 1)]"),
    )
    for edits in (a, b):
        results = tiled(tmp_path, *edits, sizes=(RAGGED,))
        found = {f.rule.id for result in results.values() for f in result.findings}
        assert found <= {"numerics/foreign-element"}
        assert {r.status for r in results.values() if r.check != "numerics"} == {"holds"}
    both = tiled(tmp_path, *a, *b, sizes=(RAGGED,))[NAME]
    assert [finding.what for finding in both.findings] == [
        f"slots of {name} beyond the edge of the matrix hold elements where zeros belong" for name in "AB"
    ]
    assert [finding.expected for finding in both.findings] == [
        f"zero, as there is no {element}" for element in ("A[0][35]", "B[35][0]")
    ]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("edit", "words", "numerics"),
    [
        (
            ("k0 < K; k0 += DEPTH", "k0 + DEPTH < K; k0 += DEPTH"),
            "k 48-63 never added",
            "the last 16 of 64 k are missing",
        ),
        (("stage(0, 0)", "stage(0, DEPTH)"), "k 0-15 never added, k 16-31 added more than once", "wrong"),
        (
            ("    acc = __builtin", f"    if (k0 == 16) acc = {MULTIPLY}(a, b, acc);\n    acc = __builtin"),
            "k 16-31 added more than once",
            "all elements are wrong",
        ),
    ],
    ids=["last step left out", "first step from the second", "a step added twice"],
)
def test_every_k_is_added_once(tmp_path: Path, edit: Edit, words: str, numerics: str) -> None:
    results = tiled(tmp_path, edit, sizes=(INTERIOR,))
    finding = only(results[NAME])
    assert finding.what.startswith(f"the sum over k is not complete: {words}")
    assert finding.expected == "every k from 0 to 63 once"
    one_sided = not ("never added" in words and "more than once" in words)
    at = line(tmp_path, "for (int k0 =") if one_sided else line(tmp_path, "    acc = __builtin")
    assert finding.place.line == at
    assert numerics in only(results["numerics"]).what


# What cannot be decided is said.


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("define", "status", "words"),
    [
        ("SCALAR", "skipped", "the kernel has no matrix instruction"),
        ("DEQUANTISED", "undecided", "B: values that are computed, and no elements of the inputs"),
        ("ACTIVATION", "holds", "executions of matrix instructions"),
        ("RESCALED", "undecided", "the kernel computes on it in between"),
    ],
)
def test_what_cannot_be_followed_is_undecided(tmp_path: Path, define: str, status: str, words: str) -> None:
    result = plain(tmp_path, "gemm_unusual", define)[NAME]
    assert result.status == status, result
    assert words in result.reason
    if define == "DEQUANTISED":
        assert line(tmp_path, "    acc = __builtin") in result.reason
