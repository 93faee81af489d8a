"""`layoutprobe fragment`, on a library of our own with the interface of rocWMMA, whose layouts are known here.

rocWMMA's own headers are not at hand: that these compile is not tested.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from layoutprobe.cli.main import main
from layoutprobe.errors import ProbeError, ToolchainError, UsageError
from layoutprobe.instructions.fragments import fragment_type, solve_fragment
from layoutprobe.layouts.fragment import FragmentLayout

Ints = NDArray[np.int64]
INCLUDE = Path(__file__).parent / "include"


def edition(folder: Path, *macros: str) -> Path:
    """The library with some macros defined."""
    (folder / "rocwmma").mkdir()
    text = "".join(f"#define {macro}\n" for macro in macros)
    text += (INCLUDE / "rocwmma" / "rocwmma.hpp").read_text()
    (folder / "rocwmma" / "rocwmma.hpp").write_text(text)
    return folder


def solved(text: str, arch: str, include: Path = INCLUDE) -> FragmentLayout:
    return solve_fragment(text, arch, include=[include])


CASES: dict[tuple[str, str], tuple[Callable[[Ints, Ints], tuple[Any, Any]], str]] = {
    # Type and target: (row, col) of lane and i, and the instructions.
    ("matrix_a,16,16,16,f16,row_major", "gfx942"): (
        lambda lane, i: (lane % 16, 4 * (lane // 16) + i), "the operand A of v_mfma_f32_16x16x16_f16"),
    ("matrix_a,16,16,16,f16,col_major", "gfx942"): (
        lambda lane, i: (lane % 16, 4 * (lane // 16) + i), "the operand A of v_mfma_f32_16x16x16_f16"),
    ("matrix_b,32,32,8,bf16,row_major", "gfx942"): (
        lambda lane, i: (4 * (lane // 32) + i, lane % 32), "the operand B of v_mfma_f32_32x32x8_bf16"),
    ("matrix_a,16,16,32,i8,row_major", "gfx942"): (
        lambda lane, i: (lane % 16, 8 * (lane // 16) + i), "the operand A of v_mfma_i32_16x16x32_i8"),
    ("matrix_a,16,16,4,f64,row_major", "gfx942"): (
        lambda lane, i: (lane % 16, lane // 16), "the operand A of v_mfma_f64_16x16x4_f64"),
    ("accumulator,32,32,8,f32", "gfx942"): (
        lambda lane, i: (8 * (i // 4) + 4 * (lane // 32) + i % 4, lane % 32), "the operand C of v_mfma_f32_32x32x"),
    ("matrix_a,16,16,16,f16,row_major", "gfx1100"): (
        lambda lane, i: (lane % 16, i), "the operand A of v_wmma_f32_16x16x16_f16"),
    ("matrix_b,16,16,16,bf16,col_major", "gfx1151"): (
        lambda lane, i: (i, lane % 16), "the operand B of v_wmma_f32_16x16x16_bf16"),
    ("accumulator,16,16,16,f32", "gfx1151"): (
        lambda lane, i: (2 * i + lane // 16, lane % 16), "the operand C of v_wmma_f32_16x16x16_f16"),
    ("matrix_a,16,16,16,f16,row_major", "gfx1201"): (
        lambda lane, i: (lane % 16, 8 * (lane // 16) + i), "the operand A of v_wmma_f32_16x16x16_f16"),
    ("accumulator,16,16,16,i32", "gfx1201"): (
        lambda lane, i: (8 * (lane // 16) + i, lane % 16), "the operand C of v_wmma_i32_16x16x16_iu8"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "arch"), CASES)
def test_every_element_of_every_lane(text: str, arch: str) -> None:
    """Against the library's layout, stated here once more; and the instruction whose operand that is."""
    where, operand = CASES[text, arch]
    found = solved(text, arch)
    lane, i = np.indices((found.wave, found.count))
    row, col = (np.broadcast_to(axis, lane.shape) for axis in where(lane, i))
    np.testing.assert_array_equal(found.layout.row[0, :, 0], row)
    np.testing.assert_array_equal(found.layout.col[0, :, 0], col)
    assert found.formula.startswith(found.layout.matrix + "[")
    assert found.is_operand
    assert found.operand.startswith(operand), found.operand
    assert found.evidence.kind == "emulated"


def test_a_longer_k_is_several_instructions() -> None:
    """16 k of each group of lanes are four operands of four, each with k of its own."""
    found = solved("matrix_a,16,16,64,f16,row_major", "gfx942")
    assert found.is_operand
    assert found.operand.startswith(
        "the operands A of 4 x v_mfma_f32_16x16x16_f16, 4 elements of x each, with k in"
    )


def test_another_order_of_k_is_said(tmp_path: Path) -> None:
    found = solved("matrix_a,16,16,16,f16,row_major", "gfx942", edition(tmp_path, "WRONG_RUN"))
    assert found.layout.col[0, 16, 0].tolist() == [1, 5, 9, 13]
    assert found.is_operand
    assert "with k in another order" in found.operand


@pytest.mark.parametrize("arch", ["gfx942", "gfx1100"])
def test_what_is_no_operand_is_said(tmp_path: Path, arch: str) -> None:
    found = solved("matrix_a,16,16,16,f16,row_major", arch, edition(tmp_path, "SHIFTED"))
    assert found.layout.row[0, 15, 0, 0] == 0
    assert not found.is_operand
    assert found.operand.startswith("not the operand A of one matrix instruction, nor of several")


def test_a_type_that_the_target_lacks_is_said() -> None:
    found = solved("matrix_a,16,16,4,f64,row_major", "gfx1201")
    assert "the target has none of this type" in found.operand


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["fragment", "matrix_a,16,16,16,f16,row_major", "--include", str(INCLUDE), "--arch", "gfx942"]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "A[lane % 16][4*(lane / 16) + i]" in said
    assert "lane 17" in said
    assert main([*words, "--format", "json"]) == 0
    body = json.loads(capsys.readouterr().out)
    assert (body["schema"], body["row"][17], body["col"][17]) == ("fragment/1", [1] * 4, [4, 5, 6, 7])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("matrix_a,16,16", "names no fragment"),
        ("matrix_c,16,16,16,f16,row_major", "'matrix_c' is unknown"),
        ("matrix_a,16,16,16,f17,row_major", "'f17' is unknown"),
        ("matrix_a,16,16,16,f16,diagonal", "'diagonal' is unknown"),
        ("matrix_a,16,16,16,f16", "has an order"),
        ("matrix_a,16,x,16,f16,row_major", "M, N and K are numbers"),
        ("matrix_a,16,16,99999,f16,row_major", "M, N and K are numbers"),
    ],
)
def test_what_is_no_type_is_refused(text: str, expected: str) -> None:
    with pytest.raises(UsageError, match=expected):
        fragment_type(text)


def test_without_the_library_the_error_says_what_to_bring() -> None:
    with pytest.raises(ToolchainError, match=r"rocwmma/rocwmma\.hpp"):
        solve_fragment("matrix_a,16,16,16,f16,row_major", "gfx942")
    with pytest.raises(UsageError, match="no such folder of headers"):
        solve_fragment("matrix_a,16,16,16,f16,row_major", "gfx942", include=[Path("/nowhere")])


def test_elements_that_are_changed_while_they_are_loaded_are_refused(tmp_path: Path) -> None:
    folder = edition(tmp_path)
    header = folder / "rocwmma" / "rocwmma.hpp"
    header.write_text(header.read_text().replace("f.x[i] = data[", "f.x[i] = 3 * data["))
    with pytest.raises(ProbeError, match="no element of the matrix"):
        solved("matrix_a,16,16,16,i8,row_major", "gfx942", folder)
