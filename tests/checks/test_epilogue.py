"""Epilogue: every element of C once, from its slot, and nothing outside C."""

from __future__ import annotations

from pathlib import Path

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
    line,
    only,
    plain,
    tiled,
)

from layoutprobe.checks import epilogue, memory

NAME = epilogue.NAME
ROW, COL = "row = block_m + wave_m + 2 * v + lane / 16,", "col = block_n + wave_n + lane % 16;"
STORE = "C[at] ="


def row(new: str) -> Edit:
    return ROW, f"row = block_m + wave_m + {new},"


def col(new: str) -> Edit:
    return COL, f"col = block_n + wave_n + {new};"


MISPLACED = {
    # Fault: edit, words, lane that stores, expected element, where it went.
    "rows of RDNA4": (
        row("v + lane / 16 * 8"),
        "each half-wave stores 8 consecutive rows (row = vgpr + 8*(lane / 16), as on RDNA4)",
        *(0, "C[2][0]", "C[1][0]"),
    ),
    "half-waves exchanged": (
        row("2 * v + 1 - lane / 16"),
        "the half-waves are exchanged: lanes 0-15 store what lanes 16-31 should",
        *(0, "C[0][0]", "C[1][0]"),
    ),
    "half-wave left out": (
        row("2 * v"),
        "both half-waves store to the same rows: VGPR n is taken for row 2n",
        *(16, "C[1][0]", "C[0][0]"),
    ),
    "C transposed": (
        ("(size_t)row * N + col", "(size_t)col * N + row"),
        "C is stored transposed: rows and columns are exchanged",
        *(0, "C[2][0]", "C[0][2]"),
    ),
    "rows shifted by one": (
        row("(2 * v + lane / 16 + 1) % 16"),
        "rows of a tile of C are stored",
        0,
        "C[0][0]",
        "C[1][0]",
    ),
    "columns exchanged": (
        col("(lane % 16 ^ 1)"),
        "columns of a tile of C are stored to other columns: 0 1 2 3 4 5 6 7 ... go to 1 0 3 2 5 4 7 6 ...",
        *(0, "C[0][0]", "C[0][1]"),
    ),
    "registers exchanged": (
        ("alpha * acc[v]", "alpha * acc[v ^ 1]"),
        "rows of a tile of C are stored to other rows: 0 1 2 3 4 5 6 7 ... go to 2 3 0 1 6 7 4 5 ...",
        *(0, "C[0][0]", "C[2][0]"),
    ),
}


NUMERICS = {"rows of RDNA4": "half-waves store 8 consecutive rows", "C transposed": "C is stored transposed"}
"""What the values alone tell."""


@pytest.mark.few(1)
@pytest.mark.parametrize("name", MISPLACED)
def test_a_misplaced_accumulator_is_shown_at_its_store(tmp_path: Path, name: str) -> None:
    edit, words, lane, expected, observed = MISPLACED[name]
    results = tiled(tmp_path, edit, sizes=(INTERIOR,))
    finding = only(results[NAME])
    assert words in finding.what
    place = finding.place
    assert (place.kernel, place.line) == ("gemm", line(tmp_path, STORE))
    assert place.instruction.startswith("global_store_b32")
    assert (place.workgroup, place.wave, place.lane) == ((0, 0, 0), 0, lane)
    assert (finding.expected, finding.observed) == (expected, f"stored to {observed}")
    matrix = f"v_wmma_f32_16x16x16_f16 at {line(tmp_path, 'acc = __builtin')}"
    assert finding.related_text.startswith(f"computed by {matrix} (wave 0, lane {lane}, VGPR v")
    assert finding.hint.endswith("; v_wmma_f32_16x16x16_f16 has D[2*vgpr + lane / 16][lane % 16]")
    assert results["operand-provenance"].status == "holds", "what is added up is right"
    numerics = only(results["numerics"]).what
    assert NUMERICS.get(name, "C is wrong on small integers: nearly all elements are wrong") in numerics


COPIED = {
    # Fault: value stored instead of alpha * acc[v]; elements, of which the first; whose accumulator.
    "a register for all rows": ("alpha * acc[0]", 64 * 64 * 7 // 8, "C[2][0]", "C[0][0]"),
    "one row": ("alpha * acc[v == 5 ? 4 : v]", 64 * 64 // 8, "C[10][0]", "C[8][0]"),
    "one lane of one tile": (
        "alpha * (v == 5 && lane == 9 && row < 16 && col < 16 ? acc[4] : acc[v])",
        *(1, "C[10][9]", "C[8][9]"),
    ),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("name", COPIED)
def test_an_accumulator_stored_to_several_elements(tmp_path: Path, name: str) -> None:
    """Also where one of them is the right one."""
    value, count, element, other = COPIED[name]
    finding = only(tiled(tmp_path, ("alpha * acc[v]", value), sizes=(INTERIOR,))[NAME])
    assert finding.what.startswith("elements of C hold the accumulator of another element")
    assert finding.place.line == line(tmp_path, STORE)
    assert (str(finding.place.element), finding.count) == (element, count)
    assert finding.observed.startswith(f"that of {other}, which ")
    lane = finding.place.lane
    matrix = f"v_wmma_f32_16x16x16_f16 at {line(tmp_path, 'acc = __builtin')}"
    assert finding.related_text.startswith(
        f"computed by {matrix} (wave {finding.place.wave}, lane {lane}, VGPR v"
    )


def test_a_constant_is_no_accumulator(tmp_path: Path) -> None:
    """Zero too: nothing of the kernel says where it should have come from."""
    edit = ("alpha * acc[v]", "alpha * (v == 5 && lane == 9 ? 0.f : acc[v])")
    result = tiled(tmp_path, edit, sizes=(INTERIOR,))[NAME]
    assert result.status == "undecided", result
    assert "but 16 hold no accumulator's value" in result.reason


def test_elements_that_are_never_written(tmp_path: Path) -> None:
    results = tiled(tmp_path, ("row < M && col < N", "row < M && col < N - 1"))
    finding = only(results[NAME])
    assert finding.what.startswith(
        "elements of C are never written: column 63 (64 of 4096): the last column is left out"
    )
    assert (str(finding.place.element), finding.count) == ("C[0][63]", 64 + 40)
    assert results["operand-provenance"].status == "holds"


def test_a_block_that_is_not_launched(tmp_path: Path) -> None:
    source = (Path(__file__).parent / "kernels" / "gemm_unusual.hip").read_text()
    arguments = buffers(c_role="out") + "".join(
        f"""
    {{ name = "{name}", role = "scalar", dtype = "i32", value = "{name}" }},"""
        for name in "MNK"
    )
    results = checked(
        tmp_path,
        source,
        arguments,
        grid='["N // 16", "M // 16 - 1"]',
        block=32,
        sizes=("M = 48, N = 32, K = 16", "M = 32, N = 32, K = 16"),
    )
    assert only(results[NAME]).what == (
        "elements of C are never written: rows 32-47 (512 of 1536); a workgroup stores 16 x 16 elements, and the "
        "launch has 2 x 2 x 1 workgroups where C has 3 x 2 tiles"
    )
    assert only(results["numerics"]).what.startswith("C is wrong on small integers")


def test_a_lane_may_store_its_own_element_again(tmp_path: Path) -> None:
    """A kernel that clears C before it stores to it, say."""
    store = "C[row * c_row + col] = Output(RESULT(acc, v));"
    clear = "*(volatile Output*)&C[row * c_row + col] = 0;"
    result = direct(tmp_path, edits=[(store, f"{{ {clear} {store} }}")])[NAME]
    assert result.status == "holds", result


SHIFTED = (
    ("m = blockIdx.y * 16 + line, n =", "top = min((int)blockIdx.y * 16, M - 16), m = top + line, n ="),
    ("row = blockIdx.y * 16 + apart", "row = top + apart"),
)
"""The last tile begins where it still fits, so that the rows of its neighbour are stored again."""


def test_overlapping_tiles_may_store_equal_values(tmp_path: Path) -> None:
    result = direct(tmp_path, edits=SHIFTED, sizes=(RAGGED,))[NAME]
    assert result.status == "holds", result
    assert f"{40 * 57} elements written, {8 * 57} of them again, with equal values" in result.reason


def test_elements_that_are_written_twice_name_both_writers(tmp_path: Path) -> None:
    """Values are right: the second store comes later, and is that of the accumulator."""
    early = "    if (wave == 1 && v == 0 && lane == 0) C[row * N + 5] = 0;\n    if (row < M"
    results = tiled(tmp_path, ("    if (row < M", early), sizes=(INTERIOR,))
    finding = only(results[NAME])
    assert finding.what.startswith(
        "elements of C are written more than once: rows 0, 32 of column 5 (2 of 4096)"
    )
    assert str(finding.place.element) == "C[0][5]"
    assert finding.expected == "one store"
    there = finding.related[0].place.line
    assert {finding.place.line, there} == {line(tmp_path, "C[row * N + 5] = 0"), line(tmp_path, STORE)}
    assert finding.observed == "3 stores"
    assert finding.related[0].role == "written by"


def test_a_store_outside_every_buffer(tmp_path: Path) -> None:
    results = tiled(tmp_path, ("if (row < M && col < N)", ""), sizes=(RAGGED,))
    beyond, outside = results[NAME].findings
    assert beyond.rule.id == "epilogue/beyond-edge"
    assert beyond.expected.startswith("no store, as there is no C[")
    assert outside.what.endswith(" is stored, and C has M = 40 rows")
    assert "of 4 bytes outside every allocation" in outside.observed
    assert {beyond.place.line, outside.place.line} == {line(tmp_path, STORE)}
    assert "buffer C (9120 bytes)" in outside.observed
    assert results["operand-provenance"].status == "holds", "the store is dropped, and the run goes on"
    assert results["numerics"].status == "finding"


def test_a_bounds_test_that_is_off_by_one(tmp_path: Path) -> None:
    results = tiled(tmp_path, ("row < M && col < N", "row < M && col <= N"), sizes=(RAGGED,))
    finding = results[NAME].findings[0]
    assert finding.rule.id == "epilogue/beyond-edge"
    assert finding.what == "column 57 of C, which does not exist, is stored to other elements"
    assert finding.place.line == line(tmp_path, STORE)


def test_a_store_into_the_padding_between_rows(tmp_path: Path) -> None:
    edit = ("if (row < M && col < N)", "if (row < M && col < N + 1)")
    results = direct(tmp_path, padding=3, edits=(edit,), sizes=(RAGGED,))
    finding = only(results[NAME])
    assert finding.what == "the kernel stores into the padding between rows of C"
    assert finding.place.line == line(tmp_path, "C[row * c_row + col] =")
    assert (finding.place.buffer_byte, finding.count) == (57 * 4, 40)


def test_a_store_into_an_input(tmp_path: Path) -> None:
    edit = (
        "C[row * c_row + col] =",
        "if (m == 0 && v == 0) ((Element*)A)[n] = Element(1);\n    C[row * c_row + col] =",
    )
    results = direct(tmp_path, edits=(edit,), sizes=(INTERIOR,))
    assert any(f.what == "the kernel stores into A, which is an input" for f in results[NAME].findings)
    found = next(f for f in results[NAME].findings if "an input" in f.what)
    assert found.place.line == line(tmp_path, "((Element*)A)[n]")
    assert memory.NAME not in results


# What holds, and what cannot be decided.


def test_counts_and_places_hold(tmp_path: Path) -> None:
    reason = tiled(tmp_path)[NAME].reason
    assert "4096 elements written once" in reason
    assert f"{40 * 57} elements written once" in reason


def test_atomics_that_add_parts_are_one_store_each(tmp_path: Path) -> None:
    result = plain(tmp_path, "gemm_splitk", "ATOMIC", block=64, initial="zero")[NAME]
    assert result.status == "holds", result
    assert "several accumulators are added up" in result.reason


TWO_SUMS = {
    "right": (),
    "columns exchanged": (("C[row * N + l]", "C[row * N + (l ^ 1)]"),),
    "one is left out": (("even += odd", "even += 0 * odd"),),
    "one twice": (("even += odd", "even += even"),),
}


@pytest.mark.parametrize("name", TWO_SUMS)
def test_sums_of_a_few_elements_are_no_numbers_of_other_slots(tmp_path: Path, name: str) -> None:
    """With four elements all that two accumulators add up to was the number of some slot: a right C was said to be
    stored to other places."""
    source = edited((KERNELS / "gemm_two_sums.hip").read_text(), TWO_SUMS[name])
    results = checked(
        tmp_path,
        source,
        buffers(c_role="out") + SIZES,
        grid='["1", "1"]',
        block=32,
        sizes=("M = 2, N = 2, K = 17",),
    )
    found = {check for check, result in results.items() if result.status == "finding"}
    assert found if TWO_SUMS[name] else not found, results
    if not found:
        assert "several accumulators are added up" in results[NAME].reason


@pytest.mark.parametrize(
    ("store", "status"), [("C[r * N + col]", "holds"), ("C[r * N + (col ^ 1)]", "finding")]
)
def test_operands_that_are_computed_on_the_way_do_not_say_where_right_values_belong(
    tmp_path: Path, store: str, status: str
) -> None:
    """Of three products of halves, codes of operands gave others: a right C was said to be stored to other places."""
    source = edited((KERNELS / "gemm_three_products.hip").read_text(), [("C[r * N + col]", store)])
    result = checked(
        tmp_path,
        source,
        buffers("f32", "f32", c_role="out") + SIZES,
        grid='["(N + 15) // 16", "(M + 15) // 16"]',
        block=32,
        sizes=("M = 3, N = 33, K = 32",),
        checks=(epilogue.CHECK,),
    )[NAME]
    assert result.status == status, result


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("define", "status", "words"),
    [
        (
            "SCALAR",
            "holds",
            "written once; the kernel has no matrix instruction, so there are no slots to follow",
        ),
        ("ACTIVATION", "holds", "1536 elements written once"),
        ("DEQUANTISED", "undecided", "the operands of some matrix instructions cannot be followed"),
    ],
)
def test_an_epilogue_that_computes_is_undecided(tmp_path: Path, define: str, status: str, words: str) -> None:
    result = plain(tmp_path, "gemm_unusual", define)[NAME]
    assert result.status == status, result
    assert words in result.reason
    assert "1536 elements written once" in result.reason
