"""dump, roundtrip and epilogue on RDNA4, and with bf16: layouts cell by cell; wrong kernels are red."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from mutants.wrong_kernels import Mutant

from layoutprobe import dump, epilogue, roundtrip
from layoutprobe.layouts.swizzle import SCHEMES
from layoutprobe.report.layout import LayoutReport

TARGETS = [("gfx1200", "f16"), ("gfx1200", "bf16"), ("gfx1201", "f16"), ("gfx1151", "bf16")]

# AMD matrix instruction calculator, rdna3 and rdna4: k of slot (lane, VGPR, half) of A and B, and row of D.
K_OF = {
    "gfx11": lambda lane, v, h: 2 * v + h + 0 * lane,
    "gfx12": lambda lane, v, h: 8 * (v // 2) + 4 * (lane // 16) + 2 * (v % 2) + h,
}
ROW_OF = {
    "gfx11": lambda lane, v: 2 * v + lane // 16,
    "gfx12": lambda lane, v: 8 * (lane // 16) + v,
}


@pytest.mark.parametrize(("target", "dtype"), TARGETS)
@pytest.mark.parametrize("matrix", "ABCD")
def test_every_slot_is_that_of_the_documents(matrix: str, target: str, dtype: str) -> None:
    report = dump(matrix, lds="xor", arch=target, dtype=dtype)
    assert report.exit_code == 0, report.findings
    assert (report.arch, report.instruction) == (target, f"v_wmma_f32_16x16x16_{dtype}")
    vgprs = {"gfx11": 8, "gfx12": 4}[target[:5]] if matrix in "AB" else 8
    wave, lane, v, h = np.indices((4, 32, vgprs, 2 if matrix in "AB" else 1))
    line, k, row = lane % 16, K_OF[target[:5]](lane, v, h), ROW_OF[target[:5]](lane, v)
    wanted = {"A": (16 * wave + line, k), "B": (k, 16 * wave + line)}.get(matrix, (16 * wave + row, line))
    needed = report.needed
    assert needed is not None
    for layout in (report.loaded, needed):
        assert np.array_equal(layout.row, wanted[0])
        assert np.array_equal(layout.col, wanted[1])
    assert not report.mismatch.any()


@pytest.mark.parametrize(("lds", "dtype"), list(product(SCHEMES, ("f16", "bf16"))))
@pytest.mark.parametrize("matrix", "AB")
def test_every_scheme_is_green(matrix: str, lds: str, dtype: str) -> None:
    for report in (
        roundtrip(lds, arch="gfx1200", dtype=dtype, matrix=matrix),
        dump(matrix, lds=lds, arch="gfx1200", dtype=dtype),
    ):
        assert (report.exit_code, report.findings) == (0, ())


def test_the_epilogue_by_itself() -> None:
    report = epilogue(arch="gfx1201")
    assert (report.exit_code, report.findings) == (0, ())
    assert report.closed_form == "D[16*wave + 8*(lane / 16) + vgpr][lane % 16]"


# Wrong kernels.

LOAD = "const int k = thread_id() % kLanes / 16 * 4;"
CALL = "Fragment {0} = load_fragment({0}_lds, wave * 16 + lane % 16);"


def _operand(operand: str, after: str) -> tuple[str, str]:
    load = CALL.format(operand)
    return load, f"{load} {after.format(operand)}"


MUTANTS = {
    # Probe, old and new text: matrix, words, first wrong element expected and observed.
    "rows as on gfx11": (
        ("epilogue", "v + lane / 16 * 8", "2 * v + lane / 16"), "D", "row = 2*vgpr + lane / 16, as on RDNA3",
        ("D[1][0]", "D[2][0]"),
    ),
    "operands replicated as on gfx11": (
        ("operand", LOAD, "const int k = 0;"), "A", "", ("A[0][4]", "A[0][0]"),
    ),
    "A of one half-wave in the other": (
        ("operand", *_operand("a", "if (lane >= 16) {0} = Fragment{{}};")), "A", "", ("A[0][4]", None),
    ),
    "B in contiguous k": (
        ("operand", CALL.format("b"), "Fragment b = bits<Fragment>(*(const u16x8*)&b_lds[lds_index<kK>("
         "wave * 16 + lane % 16, lane / 16 * 8)]);"), "B", "", ("B[8][0]", "B[4][0]"),
    ),
    "the halves of A swapped": (
        ("operand", *_operand("a", "{0} = __builtin_shufflevector({0}, {0}, 1, 0, 3, 2, 5, 4, 7, 6);")),
        *("A", "", ("A[0][0]", "A[0][1]")),
    ),
    "B of the neighbouring wave": (
        ("operand", CALL.format("b"), CALL.format("b").replace("wave * 16", "(wave ^ 1) * 16")),
        *("B", "another wave", ("B[0][0]", "B[0][16]")),
    ),
}  # fmt: skip


def _planted(case: str, folder: Path, dtype: str = "f16") -> tuple[LayoutReport, str]:
    edit, matrix, *_ = MUTANTS[case]
    probes = Mutant(case, *edit).plant(folder)
    return dump(matrix, arch="gfx1200", dtype=dtype, probes=probes), matrix


@pytest.mark.few(1)
@pytest.mark.parametrize("case", MUTANTS)
def test_a_wrong_kernel_is_red(case: str, tmp_path: Path) -> None:
    report, matrix = _planted(case, tmp_path)
    assert report.exit_code == 1
    finding = report.findings[0]
    _, _, words, (expected, observed) = MUTANTS[case]
    assert finding.place.matrix == matrix
    assert words in finding.what
    assert finding.expected.startswith(expected)
    assert observed is None or finding.observed.startswith(observed)
    assert report.mismatch.any()


def test_k_in_another_order_is_right_if_both_share_it(tmp_path: Path) -> None:
    """8 contiguous k in each half-wave, as several libraries load them."""
    old = "lds_index<kK>(row, k + 8)"
    probes = Mutant("first", "operand", LOAD, LOAD.replace("* 4", "* 8")).plant(tmp_path / "1")
    source = probes / "operand.hip"
    assert source.read_text().count(old) == 1
    source.write_text(source.read_text().replace(old, "lds_index<kK>(row, k + 4)"))
    report = dump("A", arch="gfx1200", probes=probes)
    assert (report.exit_code, report.findings) == (0, ())
    assert report.closed_form == "A[16*wave + lane % 16][8*(lane / 16) + 2*vgpr + half]"


def test_bf16_mutants_are_red_too(tmp_path: Path) -> None:
    report, _ = _planted("the halves of A swapped", tmp_path, "bf16")
    assert report.exit_code == 1
