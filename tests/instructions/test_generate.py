"""`layoutprobe generate`: for every dense instruction code that the gate holds, and none that it does not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from examples import THOROUGH

from layoutprobe import instructions
from layoutprobe.arch import find, matrix_form
from layoutprobe.cli.main import main
from layoutprobe.codegen import fragments
from layoutprobe.errors import ProbeError, UsageError
from layoutprobe.gate import generated
from layoutprobe.gate.gate import check
from layoutprobe.layouts.swizzle import SCHEMES, of_bits

TARGETS = ("gfx1151", "gfx1201", "gfx942", "gfx950")


def cases() -> Iterator[tuple[str, str, int, int]]:
    """(target, instruction, wave, op_sel) of dense instructions that one call executes."""
    for target in TARGETS:
        for form in find(target).matrix.values():
            if form.builtin and form.blocks == 1 and min(form.bits, form.b_bits) >= 8:
                for wave in form.waves:
                    yield from ((target, form.spelling, wave, opsel) for opsel in form.opsels(wave))


def with_schemes() -> Iterator[tuple[str, str, int, int, str]]:
    """Each with one scheme after the other; with all of them where everything is tried."""
    names = ("none", "padded", "xor", "xor-vector")
    for at, case in enumerate(cases()):
        yield from ((*case, lds) for lds in (names if THOROUGH > 1 else names[at % 4 : at % 4 + 1]))


def test_there_are_as_many_as_the_tables_say() -> None:
    counted = {target: sum(case[0] == target for case in cases()) for target in TARGETS}
    assert counted == {"gfx1151": 14, "gfx1201": 18, "gfx942": 19, "gfx950": 31}


@pytest.mark.few(6)
@pytest.mark.parametrize(("target", "instruction", "wave", "opsel", "lds"), list(with_schemes()))
def test_the_gate_holds_it(target: str, instruction: str, wave: int, opsel: int, lds: str) -> None:
    form = find(target).matrix[instruction]
    m, n, k = form.shape
    solved = instructions.solve(instruction, arch=target, wave=wave, opsel=opsel)
    if any(of_bits(SCHEMES[lds], bits).refusal((m, k)) for bits in (form.bits, form.b_bits)):
        with pytest.raises(UsageError, match="cannot lie in LDS"):
            generated.generate(solved, lds)
        return
    header = next(iter(generated.generate(solved, lds).values()))
    assert f"constexpr unsigned M = {m}, N = {n}, K = {k}, LANES = {wave};" in header


@pytest.mark.few(2)
@pytest.mark.parametrize("instruction", ["v_wmma_f32_16x16x16_bf16", "v_wmma_i32_16x16x16_iu8"])
@pytest.mark.parametrize("wave", [32, 64])
def test_the_files_alone_are_enough(instruction: str, wave: int, tmp_path: Path) -> None:
    files = generated.generate(instructions.solve(instruction, wave=wave), "padded")
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    (manifest,) = tmp_path.glob("*.toml")
    verdict = check(manifest).verdicts[0]
    held = {result.check for result in verdict.results if result.status == "holds"}
    assert {"operand-provenance", "epilogue", "numerics", "swizzle", "races", "memory"} <= held
    assert not verdict.findings
    assert not verdict.undecided


WRONG = {
    "A's runs of k exchanged": ("const unsigned k = 8*i;", "const unsigned k = 8*(1 - i);", 1),
    "rows of D as on another generation": ("row = 2*i + lane / 16", "row = i + 8*(lane / 16)", 1),
    "A by columns": ("const unsigned row = lane % 16;", "const unsigned row = lane / 2 % 16;", 1),
    "the swizzle on one side": ("lds[place_b(col, k)]", "lds[col * K + k]", 1),
    "C not added": ("_w32(a, b, c)", "_w32(a, b, D{})", 1),
}


@pytest.mark.parametrize("fault", WRONG)
def test_what_does_not_hold_is_not_shown(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right, wrong, count = WRONG[fault]
    made = fragments.header

    def broken(helpers: fragments.Helpers, proof: tuple[str, ...]) -> str:
        text = made(helpers, proof)
        assert right in text
        return text.replace(right, wrong, count)

    monkeypatch.setattr(generated, "header", broken)
    with pytest.raises(ProbeError, match="do not hold"):
        generated.generate(instructions.solve("v_wmma_f32_16x16x16_f16"), "xor-vector")


@pytest.mark.parametrize(
    ("instruction", "target", "why"),
    [
        ("v_mfma_f32_4x4x4_16b_f16", "gfx942", "several blocks"),
        ("v_wmma_i32_16x16x16_iu4", "gfx1151", "smaller than a byte"),
        ("v_swmmac_f32_16x16x32_f16", "gfx1201", "more than A, B and C"),
    ],
)
def test_what_there_are_no_helpers_for_is_refused(
    instruction: str, target: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["generate", instruction, "--arch", target]) == 2
    assert why in capsys.readouterr().err


def test_the_command_writes_what_the_next_one_checks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["generate", "v_wmma_f32_16x16x16_bf16", "--lds", "padded", "-o", str(tmp_path / "new")]) == 0
    assert main(["check", str(tmp_path / "new" / "wmma_f32_16x16x16_bf16.toml")]) == 0
    capsys.readouterr()
    assert main(["generate", "v_wmma_f32_16x16x16_bf16", "--lds", "padded"]) == 0
    assert capsys.readouterr().out == (tmp_path / "new" / "wmma_f32_16x16x16_bf16.h").read_text()


@pytest.mark.parametrize(
    ("instruction", "target", "told"),
    [("v_mfma_f32_32x32x8_f16", "gfx942", True), ("v_mfma_f32_16x16x16_f16", "gfx942", False)],
)
def test_a_scheme_that_moves_nothing_is_said_to(instruction: str, target: str, told: bool) -> None:
    """A line of 8 halves is one chunk of 16 bytes; of 16 halves two, which are exchanged."""
    solved = instructions.solve(instruction, target)
    helpers = fragments.Helpers(solved, matrix_form(target, instruction), SCHEMES["xor-vector"])
    text = fragments.header(helpers, ())
    assert ("lies as without a scheme: xor-vector keeps" in text) is told


def test_an_unknown_scheme_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", "v_wmma_f32_16x16x16_f16", "--lds", "xor_vector"]) == 2
    assert "did you mean xor-vector?" in capsys.readouterr().err
