"""Every matrix instruction, executed as real code and solved, against AMD's calculator cell by cell."""

from __future__ import annotations

import numpy as np
import pytest

from instructions.calculator import HOLE, tables
from instructions.card import Card
from layoutprobe import arch, instructions
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.errors import UsageError
from layoutprobe.instructions import InstructionLayout, Prober, Variant
from layoutprobe.instructions.probe import build
from layoutprobe.isa.store import load_instructions

VARIANTS = [*instructions.variants("gfx1151"), *instructions.variants("gfx1200")]
EMULATOR = EmulatorBackend()


def name_of(variant: Variant) -> str:
    return f"{variant.arch}-{variant.kernel}-w{variant.wave}"


def check(result: InstructionLayout, variant: Variant) -> None:
    expected = tables(variant)
    assert set(result.operands) == set(expected)
    for name, table in expected.items():
        layout = result.operands[name]
        assert layout.row[0].shape == table.row.shape, name
        assert np.array_equal(layout.row[0], table.row), name
        assert np.array_equal(layout.col[0], table.col), name


@pytest.mark.parametrize("variant", VARIANTS, ids=name_of)
def test_layouts_are_the_calculators(variant: Variant) -> None:
    """Names are the document's as well: the solver's renamed by one permutation for each axis."""
    result = instructions.result_of(Prober(variant, EMULATOR))
    check(result, variant)
    assert result.evidence.kind == "emulated"
    assert result.toolchain["code_object"]
    assert (result.arch, result.wave, result.opsel) == (variant.arch, variant.wave, variant.opsel)


@pytest.mark.parametrize("variant", VARIANTS, ids=name_of)
def test_a_card_with_these_tables_gives_the_same(variant: Variant) -> None:
    """The solver, without the emulator's semantics: the card multiplies by the tables alone."""
    card = Card(variant, tables(variant))
    result = instructions.result_of(Prober(variant, card))
    check(result, variant)
    assert result.evidence.kind == "measured"
    assert result.launches == card.waves


def test_the_lists_are_amds() -> None:
    assert len(instructions.names("gfx1151")) == 6
    assert len(instructions.names("gfx1200")) == 22
    assert instructions.names("gfx1200") == instructions.names("gfx1201")
    rdna4 = " ".join(instructions.names("gfx1200"))
    for mix in ("fp8_fp8", "fp8_bf8", "bf8_fp8", "bf8_bf8"):
        assert f"v_wmma_f32_16x16x16_{mix}" in rdna4
        assert f"v_swmmac_f32_16x16x32_{mix}" in rdna4
    for name in ("v_wmma_i32_16x16x32_iu4", "v_swmmac_i32_16x16x64_iu4"):
        assert name in rdna4


@pytest.mark.parametrize("target", ["gfx1151", "gfx1200", "gfx1201"])
@pytest.mark.parametrize("wave", [32, 64])
def test_the_probe_executes_the_instruction_named(target: str, wave: int) -> None:
    """The code object's own bytes: one matrix instruction a kernel, that one, with its registers."""
    code, _ = build(target, wave)
    kernels = {v.kernel: v for v in instructions.variants(target) if v.wave == wave}
    assert kernels.keys() <= set(code.kernels)
    for variant in kernels.values():
        kernel = code.kernel(variant.kernel)
        found = [
            i for i in load_instructions(code, kernel).values() if i.name.startswith(("v_wmma", "v_swmmac"))
        ]
        assert [i.name for i in found] == [variant.form.name]
        assert found[0].mods.get("opsel", 0) == variant.opsel
        registers = {name: table.row.shape[1] for name, table in tables(variant).items()}
        last = registers.get("index", registers["C"])
        assert [o.regs for o in found[0].src] == [registers["A"], registers["B"], last]
        assert found[0].dst[0].regs == registers["D"]


@pytest.mark.parametrize("opsel", [0, 4])
@pytest.mark.parametrize("wave", [32, 64])
@pytest.mark.parametrize("name", ["v_wmma_f16_16x16x16_f16", "v_wmma_bf16_16x16x16_bf16"])
def test_the_other_half_of_d_stays(name: str, wave: int, opsel: int) -> None:
    result = instructions.solve(name, "gfx1151", wave, opsel, backend=EMULATOR)
    half = opsel // 4
    assert (result.operands["D"].row[..., half] != HOLE).all()
    assert (result.operands["D"].row[..., 1 - half] == HOLE).all()
    assert not result.kept[..., half].any()
    assert result.kept[..., 1 - half].all()


@pytest.mark.parametrize("wave", [32, 64])
def test_each_output_reads_the_copies_of_its_own_lanes(wave: int) -> None:
    result = instructions.solve("v_wmma_f32_16x16x16_f16", wave=wave, backend=EMULATOR)
    groups = wave // 16
    lane = np.arange(wave)[:, None, None]
    live = np.broadcast_to(lane % 16 % groups == lane // 16, (wave, 8, 2))
    assert np.array_equal(result.live["A"][0], live), "row i in lanes of group i % groups"
    assert np.array_equal(result.readers["A"][0], np.where(live, 1 << lane // 16, 0))
    assert result.live["B"].all()
    assert np.array_equal(result.readers["B"][0], np.broadcast_to(1 << lane // 16, (wave, 8, 2)))
    assert (result.gauge.blocks, result.gauge.stacked) == (groups, "rows")


def test_names_that_do_not_exist_are_refused() -> None:
    with pytest.raises(UsageError, match="no matrix instruction"):
        instructions.solve("v_wmma_f32_16x16x16_fp8_fp8", "gfx1151")
    with pytest.raises(UsageError, match="op_sel"):
        instructions.solve("v_wmma_f32_16x16x16_f16", "gfx1151", opsel=4)
    with pytest.raises(UsageError, match="lanes"):
        instructions.solve("v_wmma_f32_16x16x16_f16", "gfx1151", wave=16)
    with pytest.raises(UsageError, match="unknown arch"):
        instructions.names("gfx1")
    assert arch.find("gfx1201").matrix_form("v_swmmac_i32_16x16x64_iu4").opsels(32) == (0,)
