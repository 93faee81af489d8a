"""The TTGIR of the Triton objects beside what they do: it agrees, and with one attribute changed it is refuted.

`make_triton.py` wrote text and object from one compilation; Triton is not needed here.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from third_party.ttgir_changes import Change, changes

from layoutprobe.claims.ttgir import parse_ttgir, read_ttgir
from layoutprobe.cli.main import main
from layoutprobe.errors import UsageError
from layoutprobe.inspector.inspect import Inspection, inspect
from layoutprobe.layouts.declared import Declared, Distribution
from layoutprobe.numbers import digit_base
from layoutprobe.report.declared import AGREES, REFUTED, Agreement
from layoutprobe.solver.declared import misfit
from layoutprobe.trace.tiles import garbled

HERE = Path(__file__).parent
FILES = {f"{path.parent.name}/{path.stem}": path for path in sorted(HERE.glob("triton*/*.ttgir"))}
PRODUCTS = [name for name in FILES if "attention" not in name]
SHARED = {"swizzled_shared", "amd_rotating_shared", "padded_shared"}

UNSEEN = {
    # Kernel: definition, or operand, and the attribute of which no change is seen. An attention's second product
    # takes what the first one computed, and its result is divided before it is stored: neither can be followed.
    "triton/attention-causal-bf16": {"shared2", "shared3"},
    "triton/attention-f16": {"shared2", "shared3"},
    "triton_gfx942/attention-causal-bf16": {"opIdx = 0, parent = #mma"},
    "triton_gfx942/attention-f16": {"shared2", "shared3", "opIdx = 0, parent = #mma1", "mma1"},
    "triton_gfx950/attention-causal-bf16": {"opIdx = 0, parent = #mma1"},
    "triton_gfx950/attention-f16": {"shared2", "shared3", "opIdx = 0, parent = #mma1", "mma1"},
}
OF_MMA = {"amd_mfma.warpsPerCTA", "amd_mfma.tilesPerWarp"}
"""What of the second product's unit only its result and its left operand would show."""


@cache
def kernel_of(name: str) -> Inspection:
    return inspect(FILES[name].parent / "layoutprobe.toml", FILES[name].stem)


@cache
def beside(name: str) -> Agreement:
    return kernel_of(name).beside(read_ttgir(FILES[name]))


def meaning(declared: Declared) -> list[Any]:
    """All that the text says of layouts, however it says it."""
    found = []
    for dot in declared.dots:
        m, n, k = dot.shape
        layouts = [(sorted(x.registers), x.lanes, x.waves) for x in (*dot.operands, dot.result)]
        places = [
            sorted(one.places(shape).tobytes() for one in side)
            for side, shape in zip(dot.shared, ((m, k), (k, n)), strict=True)
        ]
        found.append((dot.unit.version, dot.unit.shape, dot.unit.transposed, layouts, places))
    return found


def subject_of(change: Change) -> str:
    """The definition or the operand that was changed."""
    return change.what.removeprefix("#").partition(", kWidth" if change.what.startswith("op") else " =")[0]


@pytest.mark.all_in_ci
@pytest.mark.few(3)
@pytest.mark.parametrize("name", FILES)
def test_the_text_agrees_with_the_object(name: str) -> None:
    found = beside(name)
    assert found.verdict == AGREES, [part for part in found.parts if part.agrees is False]
    assert not found.problems
    assert not found.open
    assert all(one.times > 0 for one in found.multiplied)
    if name in PRODUCTS:  # nothing of a product is left out
        assert [one.number for one in found.multiplied] == [s.number for s in kernel_of(name).sites.sites]
        parts = {part.name for part in found.parts if part.agrees}
        assert {"instruction", "operand 0 (A)", "operand 1 (B)", "result (C)"} <= parts
        assert all(part.agrees for part in found.parts)
        tiles = {part.name for part in found.tiles}
        assert tiles == {"tiles of A in LDS", *([] if "accvgprs" in name else ["tiles of B in LDS"])}


def test_what_of_attention_is_left_out_is_said() -> None:
    for name in sorted(set(FILES) - set(PRODUCTS)):
        left = {part.name.partition(" (")[0]: part.why for part in beside(name).parts if part.agrees is None}
        assert "computed" in left["operand 0"]
        assert "no product" in left["result"]
        assert set(left) <= {"operand 0", "result", "tiles of v in LDS"}
        assert "could not be compared" in beside(name).sentence


@pytest.mark.few(3)
@pytest.mark.parametrize("name", FILES)
def test_a_text_with_one_attribute_changed_is_refuted(name: str) -> None:
    """Or it says the same in other words, and agrees: no execution tells such texts apart."""
    original = meaning(read_ttgir(FILES[name]))
    seen, unseen = set(), set()
    for change in changes(FILES[name].read_text()):
        try:
            declared = parse_ttgir(change.text, "changed.ttgir")
        except UsageError:  # Triton refuses this kWidth, too
            assert change.attribute == "dot_op.kWidth"
            continue
        found = kernel_of(name).beside(declared)
        if meaning(declared) == original:
            assert found.verdict == AGREES, change.what
        elif found.verdict != REFUTED:
            assert found.verdict == AGREES
            assert name not in PRODUCTS, change.what
            kind = change.attribute.partition(".")[0]
            assert kind in SHARED or change.attribute in {"dot_op.kWidth", *OF_MMA}, change.what
            unseen.add(subject_of(change))
        else:
            assert found.exit_code == 1
            assert any(part.agrees is False and part.why for part in found.parts)
            seen.add(change.attribute)
    assert unseen == UNSEEN.get(name, set())
    unit = "amd_mfma" if "gfx9" in name else "amd_wmma"
    flag = "isTransposed" if unit == "amd_mfma" else "isTranspose"
    assert {f"{unit}.version", f"{unit}.{flag}", f"{unit}.instrShape"} <= seen
    assert unit == "amd_wmma" or "dot_op.kWidth" in seen


def test_the_changes_are_of_every_attribute() -> None:
    kinds = {change.attribute for name in FILES for change in changes(FILES[name].read_text())}
    assert kinds == {
        *(f"amd_mfma.{key}" for key in ("version", "isTransposed", "warpsPerCTA", "instrShape", "tilesPerWarp")),
        *(f"amd_wmma.{key}" for key in ("version", "isTranspose", "instrShape", "ctaLayout")),
        *(f"swizzled_shared.{key}" for key in ("vec", "perPhase", "maxPhase", "order", "kind")),
        *(f"amd_rotating_shared.{key}" for key in ("vec", "perPhase", "maxPhase", "order", "kind")),
        *(f"padded_shared.{key}" for key in ("interval", "padding", "offset")),
        "dot_op.kWidth",
    }  # fmt: skip


def test_k_of_a_lane_is_seen_where_lanes_share_it_and_nowhere_else() -> None:
    """kWidth: lanes of gfx942 hold parts of k, those of gfx1151 all of it."""
    for name, old, new, verdict in (
        ("triton_gfx942/gemm-f16", "kWidth = 4", "kWidth = 8", REFUTED),
        ("triton/gemm-f16", "kWidth = 16", "kWidth = 8", AGREES),
    ):
        found = kernel_of(name).beside(parse_ttgir(FILES[name].read_text().replace(old, new), "x.ttgir"))
        assert found.verdict == verdict
        assert any("kWidth" in line for line in found.unseen) == (verdict == AGREES)
        if verdict == REFUTED:
            told = [part.why for part in found.parts if part.agrees is False]
    assert "wave 0, lane 32, v0.lo of the operand holds A[0][4]; as declared it is A[0][8]" in told


def test_the_text_of_another_kernel_is_refuted() -> None:
    kernel = kernel_of("triton_gfx942/gemm-f16")
    for other, why in (
        ("triton_gfx942/gemm-bf16", "16x16x16"),
        ("triton_gfx942/gemm-f16-waves-per-eu", "2 waves"),
        ("triton_gfx950/gemm-f16-swizzled", "gfx950"),
    ):
        found = kernel.beside(read_ttgir(FILES[other]))
        assert found.verdict == REFUTED
        assert any(why in text for text in (*found.problems, *(part.why for part in found.parts))), other


def test_a_product_of_transposes_is_no_false_alarm() -> None:
    """Where the text does not tell which pointer an operand comes from, B turned on the left is possible, too."""
    name = "triton_gfx942/gemm-f16-accvgprs"
    text = FILES[name].read_text().replace("isTransposed = true", "isTransposed = false")
    assert kernel_of(name).beside(parse_ttgir(text, "x.ttgir")).verdict == REFUTED
    hidden = text.replace("tt.func ", "tt.hidden ")
    found = kernel_of(name).beside(parse_ttgir(hidden, "x.ttgir"))
    assert found.exit_code == 2
    assert "B turned on the left" in found.sentence


def test_a_text_that_multiplies_transposes_itself_agrees() -> None:
    """Where it says that its left operand is loaded from B, nothing is open; here by its pointers, exchanged."""
    name = "triton_gfx942/gemm-f16-accvgprs"
    text = FILES[name].read_text().replace("isTransposed = true", "isTransposed = false")
    first, second = text.index("%a_ptr: "), text.index("%b_ptr: ")
    exchanged = f"{text[:first]}%b_ptr: {text[first + 8 : second]}%a_ptr: {text[second + 8 :]}"
    found = kernel_of(name).beside(parse_ttgir(exchanged, "x.ttgir"))
    assert (found.verdict, found.open) == (AGREES, ())
    assert kernel_of(name).beside(parse_ttgir(text, "x.ttgir")).verdict == REFUTED


def test_elements_that_an_instruction_rounds_are_not_compared() -> None:
    """Numbers in f32 do not fit into xf32: no element of such an operand could be told."""
    base = digit_base(("f32",))
    assert "xf32 rounds" in garbled("xf32", base)
    assert not any(garbled(dtype, digit_base((dtype,))) for dtype in ("f32", "xf32", "f16", "bf16"))
    assert not garbled("fp8", 255)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = FILES["triton_gfx942/gemm-f16"]
    assert main(["claim", "--ttgir", str(path)]) == 0
    assert "agrees with the emulator (emulated) at all 4 matrix instructions" in capsys.readouterr().out
    changed = tmp_path / "other.ttgir"
    changed.write_text(path.read_text().replace("warpsPerCTA = [2, 2], instr", "warpsPerCTA = [4, 1], instr"))
    given = ["--manifest", str(path.parent / "layoutprobe.toml"), "--kernel", "gemm-f16"]
    assert (
        main(["claim", "--ttgir", str(changed), *given, "--size", "M=64,N=64,K=64", "--format", "json"]) == 1
    )
    told = json.loads(capsys.readouterr().out)
    assert (told["schema"], told["verdict"], told["exit_code"]) == ("layoutprobe.ttgir/1", "refuted", 1)
    wrong = [part for one in told["instructions"] for part in one["parts"] if part["agrees"] is False]
    assert len(told["instructions"]) == 4
    assert wrong
    assert [one["kind"] for one in told["evidence"]] == ["emulated"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["claim"], "nothing is claimed"),
        (["claim", "A: frag[i] = A[lane][i]", "--kernel", "gemm"], "--kernel has no effect without --ttgir"),
        (["claim", "--ttgir", "TTGIR", "A: frag[i] = A[lane][i]"], "a claim has no effect with --ttgir"),
        (["claim", "--ttgir", "TTGIR", "--exact"], "--exact has no effect with --ttgir"),
        (["claim", "--ttgir", "TTGIR", "--kernel", "none"], "none"),
        (["claim", "--ttgir", "none.ttgir"], "no such TTGIR"),
    ],
)
def test_wrong_usage_ends_in_words(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(FILES["triton_gfx942/gemm-f16"])
    assert main([path if word == "TTGIR" else word for word in arguments]) == 2
    assert says in capsys.readouterr().err


def test_registers_that_no_tile_has_in_one_lane_are_told() -> None:
    """Two slots of one lane that are farther apart than any registers of the layout."""
    layout = Distribution((4, 4), ((0, 1), (0, 2)), ((1, 0), (2, 0)), ())
    row, col = np.broadcast_arrays(np.arange(4)[None, None, :, None], np.array([0, 1])[None, None, None, :])
    assert misfit(row + 4, col + 8, layout) is None
    apart = misfit(row, col * 3 + 1, layout)
    assert apart is None, "1 and 4 lie in a tile that begins at 1"
    wrong = misfit(row, col * 4, layout)
    assert wrong is not None
    assert wrong.wanted is None
    moved = np.where(np.arange(4)[None, None, :, None] == 2, col ^ 1, col)
    wrong = misfit(row, moved, layout)
    assert wrong is not None
    assert (wrong.at, wrong.wanted) == ((0, 0, 2, 0), (2, 0))
