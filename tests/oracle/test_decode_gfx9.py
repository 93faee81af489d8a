"""The decoder of CDNA3 and CDNA4 against the assembler and the compiler, and against each other's opcodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import replace
from sampling import one_in

from layoutprobe.errors import CodeObjectError
from layoutprobe.isa.decode import decode_kernel, decode_one
from layoutprobe.isa.dialect import Dialect, known
from layoutprobe.isa.inst import ACC0, Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.isa.mnemonics import mnemonics
from oracle.asm_fields import WAITCNT
from oracle.asm_forms import Accepted, assemble_accepted
from oracle.asm_render import Fields, from_inst, from_text, message
from oracle.asm_text import parse_line
from oracle.cdna_forms import candidates
from oracle.listings import CORPUS, Listing, Pair, differences, listing, unreached
from oracle.test_decode import MUTANTS, Mutant, modifier_dropped, on_source

TARGETS = ("gfx950", "gfx942")
OWN = sorted((Path(__file__).parent / "corpus_gfx9").glob("*.hip"))
MATRIX_OF_GFX11 = {"attention", "gemm_f16", "gemm_i8", "wmma_types"}
OF_GFX10 = {"half_packed", "lane_ops"}
NOT_READ = "tbuffer_"
"""Typed buffer instructions, which no compiler of kernels writes: refused, see `isa.decode`."""
SPELLED_ALONE = ("s_atc_probe", "s_dcache_discard", "s_set_gpr_idx_on", "s_setreg_imm32_b32")
"""Operands of an odd kind: these are known by name."""
ONLY_950 = {"gfx950"}
"""Sources for one target."""


class Form(Struct, frozen=True):
    """A line that the assembler took, and its bytes."""

    line: str
    data: bytes
    size: int


def dialect(target: str) -> Dialect:
    return Dialect(known(target), 64)


@cache
def proposed() -> tuple[tuple[str, str], ...]:
    """(mnemonic, line): all; in a sample of each mnemonic the first line and every eighth behind it."""
    each = groupby(candidates(known("gfx950")), key=itemgetter(0))
    return tuple(line for _, lines in each for line in one_in(8, list(lines)))


@pytest.fixture(scope="module")
def taken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Accepted]:
    """What the assembler takes for each target."""
    lines = [line for _, line in proposed() if not line.startswith(NOT_READ)]
    return {t: assemble_accepted(lines, tmp_path_factory.mktemp(t), t) for t in TARGETS}


def forms_of(accepted: Accepted) -> list[Form]:
    ends = (*accepted.addresses[1:], len(accepted.code))
    return [
        Form(line, accepted.code[pc : pc + 16], end - pc)
        for line, pc, end in zip(accepted.lines, accepted.addresses, ends, strict=True)
    ]


def expected(line: str, inst: Inst) -> Fields:
    fields = from_text(parse_line(line), inst.encoding, message, WAITCNT["gfx9"])
    if Kind.BRANCH in inst.kind:  # the number of dwords stands where a label would
        modifiers = dict(fields.modifiers)
        words = (modifiers.pop("simm16") ^ 0x8000) - 0x8000
        return replace(fields, modifiers=modifiers | {"target": inst.pc + 4 + 4 * words})
    return fields


def shown(inst: Inst) -> Fields:
    """The halves of 16-bit registers are spelled in op_sel; the operands must say the same."""
    opsel = inst.mods.get("opsel", 0)
    halves = [o.hi for o in inst.dst[:1]], [o.hi for o in inst.src]
    spelled = all(opsel >> 3 & 1 for hi in halves[0] if hi) and all(
        opsel >> at & 1 for at, hi in enumerate(halves[1]) if hi
    )
    assert spelled, inst
    mods = dict(inst.mods)
    table = 0
    if "bitop3" in inst.name:  # its truth table lies in the fields of the modifiers
        parts = (
            sum(o.neg << at for at, o in enumerate(inst.src)),
            sum(o.abs << at for at, o in enumerate(inst.src)),
        )
        table = parts[0] | parts[1] << 3 | mods.pop("omod", 0) << 6
        mods |= {"bitop3": table} if table else {}
    plain: dict[str, Any] = {"hi": False} | ({"neg": False, "abs": False} if table else {})
    dst, src = (tuple(replace(o, **plain) for o in operands) for operands in (inst.dst, inst.src))
    return from_inst(replace(inst, dst=dst, src=src, mods=mods))


@pytest.mark.long
@pytest.mark.parametrize("target", TARGETS)
def test_every_form_of_every_mnemonic(taken: dict[str, Accepted], target: str) -> None:
    forms, wrong, seen = forms_of(taken[target]), [], set()
    for form in forms:
        inst = decode_one(form.data, 0x1000, dialect(target))
        if form.line.startswith(SPELLED_ALONE):
            pass
        elif shown(inst) != expected(form.line, inst) or inst.size != form.size:
            wrong.append(f"{form.line}\n  text: {expected(form.line, inst)}\n  decoder: {shown(inst)}")
        seen.add(inst.name)
    assert not wrong, f"{len(wrong)}:\n" + "\n".join(wrong[:10])
    assert len(forms) > 25_000
    left = {name for name in mnemonics(known(target)) - seen if not name.startswith(NOT_READ)}
    assert not left, "mnemonics of the decoder's table that no line of the assembler reached"
    assert not {name for name in seen if name not in mnemonics(known(target))}
    plain = {n for n in seen if n.startswith(("v_mfma_", "v_smfmac_")) and "scale" not in n}
    assert len(plain) == {"gfx942": 46, "gfx950": 66}[target]


@pytest.mark.long
@pytest.mark.parametrize("target", TARGETS)
def test_every_matrix_instruction_takes_accvgprs(taken: dict[str, Accepted], target: str) -> None:
    found: dict[str, set[str]] = {}
    for form in forms_of(taken[target]):
        inst = decode_one(form.data, 0, dialect(target))
        if inst.encoding in ("MAI", "VOP3PX2"):
            kinds = found.setdefault(inst.name, set())
            kinds |= {f"{letter} {operand.kind}" for letter, operand in zip("ABC", inst.src, strict=False)}
            kinds |= {f"D {inst.dst[0].kind}"}
            assert all(ACC0 <= r < ACC0 + 256 for o in inst.src if o.kind == "a" for r in o.registers())
    assert len(found) >= 46
    for name, kinds in found.items():
        third = {"C v"} if name.startswith("v_smfmac") else {"C v", "C a", "C const"}
        assert kinds == {"A v", "A a", "B v", "B a", "D v", "D a"} | third, name


@pytest.mark.few(1)
@pytest.mark.parametrize(("target", "other"), [TARGETS, TARGETS[::-1]])
def test_what_the_target_lacks_is_refused(taken: dict[str, Accepted], target: str, other: str) -> None:
    """The bytes of the other target's own instructions are an error with PC, never another instruction."""
    own = set(taken[target].lines)
    names = {line: name for name, line in proposed()}
    lacking = {names[line] for line in taken[other].lines} - {names[line] for line in own}
    assert len(lacking) == {"gfx942": 98, "gfx950": 2}[target]
    for form in forms_of(taken[other]):
        if names[form.line] in lacking:
            with pytest.raises(CodeObjectError, match="no known instruction") as error:
                decode_one(form.data, 0x40, dialect(target))
            assert error.value.where["PC"] == "0x40"


# Instructions of two parts.

F8F6F4 = bytes.fromhex("0000add304112284")  # v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[4:11], v[8:15], v[8:11]
LD_SCALE = bytes.fromhex("0000acd380020418")
IN_FRONT = {
    "another of its kind": F8F6F4,
    "an LDS read": bytes.fromhex("0000fed900000000"),
    "two s_nop": bytes.fromhex("000080bf000080bf"),
}


@pytest.mark.parametrize("what", IN_FRONT)
def test_a_scaled_matrix_instruction_is_known_by_both_its_parts(what: str) -> None:
    first = decode_one(IN_FRONT[what] + F8F6F4, 0, dialect("gfx950"))
    assert "scale" not in first.name
    assert first.size == (4 if what == "two s_nop" else 8)
    assert decode_one(F8F6F4 + bytes(8), 0, dialect("gfx950")).name == "v_mfma_f32_16x16x128_f8f6f4"


def test_its_first_part_alone_is_no_instruction(taken: dict[str, Accepted]) -> None:
    scaled = next(f for f in forms_of(taken["gfx950"]) if "v_mfma_scale" in f.line)
    assert scaled.size == 16
    for rest in (bytes(8), b"", bytes.fromhex("000080bf000080bf"), LD_SCALE):
        with pytest.raises(CodeObjectError, match="no known instruction"):
            decode_one(scaled.data[:8] + rest, 0, dialect("gfx950"))


def test_no_other_family_reads_these_bytes_as_its_own() -> None:
    """A literal where none can follow, a marker that the family has not, and M0's other number."""
    for words in ("0500d1d1ff000000", "e9020002e4000000", "fa02007c00000000", "7d0280be"):
        with pytest.raises(CodeObjectError, match="no known instruction"):
            decode_one(bytes.fromhex(words), 0, dialect("gfx942"))


# Compiled kernels.


@cache
def listings(target: str) -> tuple[Listing, ...]:
    shared = [path for path in CORPUS if path.stem not in MATRIX_OF_GFX11 | OF_GFX10]
    own = [path for path in OWN if path.stem == target or path.stem not in ONLY_950]
    return tuple(listing(path.stem, path, {}, target=target) for path in (*shared, *own))


def pairs(target: str) -> list[Pair]:
    return [pair for listed in listings(target) for pair in listed.pairs]


def differing(found: Sequence[Pair], change: Callable[[Inst], Inst] = lambda inst: inst) -> list[str]:
    return differences(found, change, shown)


@pytest.mark.few(1)
@pytest.mark.parametrize("target", one_in(2, TARGETS))
def test_every_instruction_is_the_compilers_own(target: str) -> None:
    wrong = differing(pairs(target))
    assert not wrong, f"{len(wrong)} of {len(pairs(target))}:\n" + "\n".join(wrong[:10])
    assert len(pairs(target)) > 9_000
    names = {pair.inst.name for pair in pairs(target)}
    assert len(names) > 350
    wanted = {"ds_read_b64", "global_load_dwordx4", "v_addc_co_u32", "v_lshl_add_u64", "s_movk_i32"}
    wanted |= {"v_mfma_f32_16x16x16_f16", "v_mfma_f32_32x32x8_f16", "v_mfma_f64_16x16x4_f64", "v_pk_fma_f32"}
    wanted |= {"global_load_lds_dword", "v_accvgpr_read_b32"}
    if target == "gfx950":
        wanted |= {"v_mfma_scale_f32_16x16x128_f8f6f4", "v_mfma_f32_16x16x128_f8f6f4", "ds_read_b64_tr_b8"}
        wanted |= {"global_load_lds_dwordx4", "v_mfma_f32_16x16x32_f16", "v_mfma_f32_32x32x64_f8f6f4"}
    assert not wanted - names
    encodings = {pair.inst.encoding for pair in pairs(target)}
    assert encodings >= {"SOPK", "SMEM", "DS", "FLAT", "GLOBAL", "SCRATCH", "MUBUF", "VOP3SD", "MAI", "VOP3P"}


@pytest.mark.parametrize("target", one_in(2, TARGETS))
def test_what_control_flow_reaches_is_what_the_compiler_wrote(target: str) -> None:
    for listed in listings(target):
        text = {pair.inst.pc: pair.inst for pair in listed.pairs}
        for kernel in listed.code.kernels.values():
            reached = decode_kernel(listed.code, kernel)
            assert reached.keys() <= text.keys() | listed.nops
            calls = any("setpc" in inst.name or "swappc" in inst.name for inst in reached.values())
            assert calls or not unreached(kernel, text, reached)


# The comparison can fail.


def other_file(inst: Inst) -> Inst:
    """The first operand of C's file is taken for one of the other."""
    at = 2
    kind = {"v": "a", "a": "v"}[inst.src[at].kind]
    return on_source(at, kind=kind)(inst)


FAULTS: dict[str, Mutant] = {
    "AccVGPR for VGPR": (
        lambda i: i.encoding == "MAI" and i.src[2].kind in ("v", "a"),
        other_file,
    ),
    "tuple as wide as of fp8": (
        lambda i: "f8f6f4" in i.name and i.src[0].regs < 8,
        lambda i: on_source(0, regs=8)(i),
    ),
    "scale taken from the next register": (
        lambda i: i.encoding == "VOP3PX2" and i.src[3].kind == "v",
        lambda i: on_source(3, index=i.src[3].index + 1)(i),
    ),
    "carry out dropped": (
        lambda i: "_co_" in i.name and i.encoding == "VOP2",
        lambda i: replace(i, dst=i.dst[:1]),
    ),
    **{f"{name} dropped": modifier_dropped(name) for name in ("cbsz", "blgp", "sc0", "src0_sel", "dpp_ctrl")},
}
SHARED = (
    *("sources swapped", "destination one on", "destination too wide", "negation dropped", "literal"),
    *("constant", "SGPR", "mnemonic", "branch target", "offset dropped", "offset1 dropped"),
)


@pytest.mark.parametrize("name", [*FAULTS, *SHARED])
def test_a_decoder_that_is_wrong_is_caught_every_time(name: str) -> None:
    applies, mutate = (FAULTS | MUTANTS)[name]
    found = {(p.inst.encoding, repr(p.expected)): p for p in pairs("gfx950")}
    affected = [pair for pair in found.values() if applies(pair.inst)]
    assert affected, "the corpus has no instruction to which this mutation applies"
    assert len(differing(affected, mutate)) == len(affected)
