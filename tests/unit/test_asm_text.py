"""The parser of assembly text, judged by the assembler: what it read must assemble to the same bytes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from oracle.asm_fields import delay_alu, dpp_ctrl, swizzle_offset, waitcnt
from oracle.asm_text import AsmInst, AsmSyntax, Operand, parse_asm, parse_line, parse_operand, render

CORPUS = Path(__file__).parents[1] / "oracle" / "corpus"
CLANG = [sys.executable, "-m", "ziglang", "clang"]
HIP = ["-x", "hip", "--cuda-device-only", "--offload-arch=gfx1151", "-nogpulib", "-nogpuinc", "-O3", "-S"]
ASSEMBLE = ["-c", "-x", "assembler", "--target=amdgcn-amd-amdhsa", "-mcpu=gfx1151"]

SNIPPET = """
	.text
	.globl	k
	.p2align	8
	.type	k,@function
k:                                      ; @k
.Lfunc_begin0:
	.loc	0 9 9 prologue_end              ; k.hip:9:9
	s_load_b64 s[10:11], s[0:1], 0x10
	;DEBUG_VALUE: k:C <- undef
	v_dual_mov_b32 v8, 0 :: v_dual_and_b32 v67, 64, v1
	.p2align	6
.LBB0_1:                                ; =>This Inner Loop Header
	v_fma_mix_f32 v3, -v1, |v2|, v4 op_sel_hi:[1,0,1]
	s_waitcnt vmcnt(0) lgkmcnt(1)
	s_cbranch_scc1 .LBB0_1
; %bb.2:
	v_max_f16_e64 v9.h, v11.l, v11.l clamp
	s_cbranch_execz .LBB0_3
	s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)
	s_endpgm
.LBB0_3:
	.section	.rodata,"a",@progbits
	.amdhsa_kernel k
		.amdhsa_group_segment_fixed_size 0
	.end_amdhsa_kernel
	.text
.Lfunc_end0:
	.size	k, .Lfunc_end0-k
"""


def text_sections(source: Path) -> dict[str, bytes]:
    """The code of an assembly file, by section."""
    target = source.with_suffix(".o")
    subprocess.run([*CLANG, *ASSEMBLE, str(source), "-o", str(target)], check=True)
    with target.open("rb") as stream:
        return {s.name: s.data() for s in ELFFile(stream).iter_sections() if s.name.startswith(".text")}


def words_of(lines: list[str], folder: Path) -> list[int]:
    """The first 32-bit word of every instruction, by way of labels between them."""
    source = folder / "lines.s"
    source.write_text("\n".join(f'.section .text.i{i},"ax"\n{line}' for i, line in enumerate(lines)) + "\n")
    sections = text_sections(source)
    return [int.from_bytes(sections[f".text.i{i}"], "little") for i in range(len(lines))]


def test_a_kernel_becomes_a_list_with_resolved_labels() -> None:
    kernel = parse_asm(SNIPPET)["k"]
    assert kernel.is_kernel
    assert [i.mnemonic for i in kernel.insts] == [
        "s_load_b64",
        "v_dual_mov_b32",
        "v_fma_mix_f32",
        "s_waitcnt",
        "s_cbranch_scc1",
        "v_max_f16",
        "s_cbranch_execz",
        "s_sendmsg",
        "s_endpgm",
    ]
    assert [i.target for i in kernel.insts if i.target is not None] == [2, 9]
    assert [i.align for i in kernel.insts] == [0, 0, 6, 0, 0, 0, 0, 0, 0]
    assert kernel.insts[2].line == 14


def test_operands_and_modifiers_stay_apart() -> None:
    load, pair, mix, wait, _, clamp, _, message, _ = parse_asm(SNIPPET)["k"].insts
    assert load.operands == ("s[10:11]", "s[0:1]", "0x10")
    assert pair.operands == ("v8", "0")
    assert pair.half2 is not None
    assert (pair.half2.mnemonic, pair.half2.operands) == ("v_dual_and_b32", ("v67", "64", "v1"))
    assert (mix.operands, mix.modifiers) == (("v3", "-v1", "|v2|", "v4"), {"op_sel_hi": "[1,0,1]"})
    assert (wait.operands, wait.modifiers) == ((), {"vmcnt": "0", "lgkmcnt": "1"})
    assert (clamp.encoding, clamp.modifiers) == ("e64", {"clamp": ""})
    assert message.operands == ("sendmsg(MSG_DEALLOC_VGPRS)",)


@pytest.mark.parametrize(
    ("line", "operands", "modifiers"),
    [
        (
            "global_load_b32 v1, v[1:2], off offset:-12 glc",
            ("v1", "v[1:2]", "off"),
            {"offset": "-12", "glc": ""},
        ),
        ("buffer_load_b32 v9, v7, s[0:3], 0 offen", ("v9", "v7", "s[0:3]", "0"), {"offen": ""}),
        ("scratch_store_b128 off, v[23:26], off", ("off", "v[23:26]", "off"), {}),
        ("s_getreg_b32 s2, hwreg(HW_REG_MODE, 0, 4)", ("s2", "hwreg(HW_REG_MODE, 0, 4)"), {}),
        ("s_add_u32 s2, s2, _ZL5table@rel32@lo+4", ("s2", "s2", "_ZL5table@rel32@lo+4"), {}),
        (
            "v_mov_b32_dpp v8, v12 row_mirror row_mask:0xf",
            ("v8", "v12"),
            {"row_mirror": "", "row_mask": "0xf"},
        ),
        (
            "v_mov_b32_dpp v0, v1 quad_perm:[3,2,1,0] bank_mask:0xf bound_ctrl:1",
            ("v0", "v1"),
            {"quad_perm": "[3,2,1,0]", "bank_mask": "0xf", "bound_ctrl": "1"},
        ),
        (
            'ds_swizzle_b32 v6, v6 offset:swizzle(BITMASK_PERM,"00iii")',
            ("v6", "v6"),
            {"offset": 'swizzle(BITMASK_PERM,"00iii")'},
        ),
        ("ds_add_u32 v1, v2 offset:4 gds", ("v1", "v2"), {"offset": "4", "gds": ""}),
        ("s_endpgm", (), {}),
    ],
)
def test_forms(line: str, operands: tuple[str, ...], modifiers: dict[str, str]) -> None:
    inst = parse_line(line)
    assert (inst.operands, inst.modifiers) == (operands, modifiers)


@pytest.mark.parametrize(
    ("text", "operand"),
    [
        ("v9.h", Operand("vgpr", "v", 9, half="h")),
        ("-v2.l", Operand("vgpr", "v", 2, half="l", neg=True)),
        ("-|v13|", Operand("vgpr", "v", 13, neg=True, abs=True)),
        ("|v[21:22]|", Operand("vgpr", "v", 21, 2, abs=True)),
        ("s[0:15]", Operand("sgpr", "s", 0, 16)),
        ("vcc_lo", Operand("special", "vcc_lo")),
        ("null", Operand("special", "null")),
        ("0xff800000", Operand("int", value=0xFF800000)),
        ("-4", Operand("int", value=-4)),
        ("-2.0", Operand("float", value=-2.0)),
        ("0.15915494", Operand("float", value=0.15915494)),
        ("neg(0x40)", Operand("int", value=64, neg=True)),
        (".LBB0_2", Operand("label", ".LBB0_2")),
        ("sendmsg(MSG_DEALLOC_VGPRS)", Operand("text", "sendmsg(MSG_DEALLOC_VGPRS)")),
    ],
)
def test_normalised_operands(text: str, operand: Operand) -> None:
    assert parse_operand(text) == operand


@pytest.mark.parametrize("line", ["v_mov_b32 v0, v1 nonsense", "a :: b :: c", "[v0], v1", "v0, v1 glc v2"])
def test_what_it_does_not_understand_it_refuses(line: str) -> None:
    with pytest.raises(AsmSyntax):
        parse_line(line)


def test_a_branch_to_nowhere_is_refused() -> None:
    with pytest.raises(AsmSyntax, match="LBB0_7"):
        parse_asm("\t.type f,@function\nf:\n\ts_branch .LBB0_7\n")


@pytest.mark.parametrize(
    "name", ["attention", "control", "dpp", "half_ops", "lane_ops", "lds_widths", "wmma_types"]
)
def test_what_was_read_assembles_to_the_same_bytes(name: str, tmp_path: Path) -> None:
    """The assembler is the judge: nothing that matters was lost, merged or reordered."""
    original = tmp_path / "original.s"
    subprocess.run([*CLANG, *HIP, str(CORPUS / f"{name}.hip"), "-o", str(original)], check=True)
    text = original.read_text()
    lines = text.splitlines()
    for kernel in parse_asm(text).values():
        assert "s_endpgm" in [i.mnemonic for i in kernel.insts]
        for inst in kernel.insts:
            lines[inst.line - 1] = render(inst)
    again = tmp_path / "again.s"
    again.write_text("\n".join(lines) + "\n")
    sections = text_sections(original)
    assert sum(map(len, sections.values())) > 0
    assert text_sections(again) == sections


def test_every_instruction_line_of_a_file_is_read(tmp_path: Path) -> None:
    """Counted another way: lines that begin with a tab and a mnemonic of the ISA's families."""
    target = tmp_path / "k.s"
    subprocess.run([*CLANG, *HIP, str(CORPUS / "lds_widths.hip"), "-o", str(target)], check=True)
    text = target.read_text()
    expected = len(re.findall(r"^\t(?:s|v|ds|global|buffer|flat|scratch)_", text, re.MULTILINE))
    assert sum(len(k.insts) for k in parse_asm(text).values()) == expected


def test_alignment_is_where_the_binary_has_its_nops(tmp_path: Path) -> None:
    source = tmp_path / "aligned.s"
    source.write_text(
        ".text\n.p2align 8\n.type k,@function\nk:\ns_mov_b32 s0, 1\n.p2align 5\ns_mov_b32 s1, 2\n"
    )
    first, second = parse_asm(source.read_text())["k"].insts
    code = text_sections(source)[".text"]
    words = [int.from_bytes(code[i : i + 4], "little") for i in range(0, len(code), 4)]
    nops = words[1:-1]
    assert (first.align, second.align) == (0, 5)
    assert len(words) * 4 - 4 == 1 << second.align
    assert set(nops) == {0xBF800000}


def parsed(lines: list[str]) -> list[AsmInst]:
    return [parse_line(line) for line in lines]


def test_waits_and_delays_have_the_bits_of_the_assembler(tmp_path: Path) -> None:
    waits = ["s_waitcnt vmcnt(3)", "s_waitcnt lgkmcnt(1)", "s_waitcnt vmcnt(0) expcnt(5) lgkmcnt(17)"]
    delays = [
        "s_delay_alu instid0(VALU_DEP_4)",
        "s_delay_alu instid0(TRANS32_DEP_2) | instskip(SKIP_3) | instid1(SALU_CYCLE_3)",
        "s_delay_alu instid0(SALU_CYCLE_1) | instid1(VALU_DEP_2)",
    ]
    words = words_of(waits + delays, tmp_path)
    found = [waitcnt(i) for i in parsed(waits)] + [delay_alu(i) for i in parsed(delays)]
    assert [w & 0xFFFF for w in words] == found
    assert len(set(found)) == len(found)


def test_dpp_controls_have_the_bits_of_the_assembler(tmp_path: Path) -> None:
    patterns = ["quad_perm:[3,0,1,2]", "row_shl:3", "row_shr:15", "row_ror:4", "row_mirror"]
    patterns += ["row_half_mirror", "row_share:9", "row_xmask:6"]
    lines = [f"v_mov_b32_dpp v0, v1 {p} row_mask:0xf bank_mask:0xf" for p in patterns]
    controls = [w >> 40 & 0x1FF for w in words_of(lines, tmp_path)]  # second word: SRC0, then DPP_CTRL
    assert [dpp_ctrl(i) for i in parsed(lines)] == controls
    assert dpp_ctrl(parse_line("v_mov_b32_e32 v0, v1")) is None


def test_swizzles_have_the_bits_of_the_assembler(tmp_path: Path) -> None:
    macros = [
        "swizzle(SWAP,4)",
        "swizzle(REVERSE,8)",
        "swizzle(BROADCAST,8,3)",
        "swizzle(QUAD_PERM,3,1,0,2)",
        'swizzle(BITMASK_PERM,"01pip")',
        "swizzle(ROTATE,1,5)",
        "swizzle(FFT,7)",
        "0x1234",
    ]
    lines = [f"ds_swizzle_b32 v0, v1 offset:{m}" for m in macros]
    assert [swizzle_offset(i) for i in parsed(lines)] == [w & 0xFFFF for w in words_of(lines, tmp_path)]
    with pytest.raises(AsmSyntax):
        swizzle_offset(parse_line("ds_swizzle_b32 v0, v1 offset:swizzle(SHUFFLE,1)"))
