"""The decoder against the compiler's own text and against the assembler, line by line and field by field."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import pytest
from msgspec.structs import replace

from layoutprobe.codeobj.model import CodeObject
from layoutprobe.isa.decode import decode_kernel, decode_one
from layoutprobe.isa.dialect import Dialect
from layoutprobe.isa.inst import Inst
from layoutprobe.semantics import registry
from layoutprobe.semantics.valu import OPS
from layoutprobe.toolchain.compile import compile_hip
from oracle.asm_forms import assemble_accepted, other_forms, valu_forms
from oracle.asm_render import from_inst, from_text, message
from oracle.asm_text import parse_line
from oracle.listings import (
    COMPARED,
    CORPUS,
    SEEDS,
    TARGET,
    all_pairs,
    code_bytes,
    corpus,
    differences,
    distinct_pairs,
    unreached,
)

Insts = dict[int, Inst]


def test_every_instruction_is_the_compilers_own() -> None:
    pairs = all_pairs()
    wrong = differences(pairs)
    assert not wrong, f"{len(wrong)} of {len(pairs)}:\n" + "\n".join(wrong[:10])


def test_nothing_was_skipped() -> None:
    """Counted another way: lines of the text that begin with a tab and the mnemonic of a family."""
    assert len(CORPUS) >= 36
    assert len(all_pairs()) > 15_000
    assert len({pair.text.mnemonic for pair in all_pairs()}) > 500
    families = ("\ts_", "\tv_", "\tds_", "\tglobal_", "\tbuffer_", "\tflat_", "\tscratch_")
    sources = {path.stem: path for path in CORPUS} | {f"gemm/{path.stem}": path for path in COMPARED}
    assert len(SEEDS) >= 13
    counted = Counter(pair.source for pair in all_pairs())
    for name, path in sources.items():
        lines = compile_hip(path, target=TARGET).assembly.splitlines()
        assert counted[name] == sum(line.startswith(families) for line in lines), name


def test_every_encoding_and_every_kind_of_modifier_occurs() -> None:
    pairs = all_pairs()
    encodings = {pair.inst.encoding for pair in pairs}
    assert encodings == {
        *("SOP1", "SOP2", "SOPC", "SOPK", "SOPP", "SMEM", "DS", "FLAT", "GLOBAL", "SCRATCH", "MUBUF"),
        *("VOP1", "VOP2", "VOPC", "VOP3", "VOP3SD", "VOP3P", "VOPD"),
    }
    modifiers = {name for pair in pairs for name in pair.expected.modifiers}
    assert modifiers == {
        *("offset", "offset0", "offset1", "offen", "glc", "simm16", "hwreg", "target", "clamp"),
        *(
            "op_sel",
            "op_sel_hi",
            "neg_lo",
            "neg_hi",
            "dpp_ctrl",
            "dpp8",
            "row_mask",
            "bank_mask",
            "bound_ctrl",
        ),
    }  # the rest (omod, fi, slc, dlc, idxen) is in `forms`
    operands = Counter(kind for pair in pairs for kind in operand_kinds(pair.inst))
    wanted = {
        *("v", "v.h", "v tuple", "s", "s tuple", "vcc", "exec", "null"),
        *("integer", "float", "literal", "neg", "abs"),
    }
    assert not [kind for kind in wanted if not operands[kind]], operands


def operand_kinds(inst: Inst) -> Iterator[str]:
    for half in (inst, *inst.pair):
        for operand in (*half.dst, *half.src):
            yield operand.kind + (" tuple" if operand.regs > 1 else "")
            yield from (name for name in ("neg", "abs") if getattr(operand, name))
            if operand.kind == "v" and operand.hi:
                yield "v.h"
            if operand.kind == "s":
                yield {106: "vcc", 126: "exec", 124: "null"}.get(operand.index, "s")
            if operand.kind == "const":
                yield "float" if 240 <= operand.index <= 248 else "integer"


def test_what_control_flow_reaches_is_what_the_compiler_wrote(monkeypatch: pytest.MonkeyPatch) -> None:
    """Following the branches finds every instruction of every kernel, and nothing between them."""
    kernels = 0
    for listed in corpus():
        text = {pair.inst.pc: pair.inst for pair in listed.pairs}

        def decoded(
            data: bytes, pc: int, dialect: Dialect, code: CodeObject = listed.code, known: Insts = text
        ) -> Inst:
            """Decoding takes long, and was compared above."""
            assert data == code_bytes(code, pc)
            return known[pc] if pc in known else decode_one(data, pc, dialect)

        monkeypatch.setattr("layoutprobe.isa.decode.decode_one", decoded)
        for kernel in listed.code.kernels.values():
            reached = decode_kernel(listed.code, kernel)
            assert reached.keys() <= text.keys() | listed.nops
            assert all(text[pc] == inst for pc, inst in reached.items() if pc in text)
            left = unreached(kernel, text, reached)
            calls = any("setpc" in inst.name or "swappc" in inst.name for inst in reached.values())
            assert calls or not left, f"{kernel.name}: {left}"
            kernels += 1
    assert kernels > 150


# What the assembler accepts beyond that.


@pytest.fixture(scope="module")
def forms(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, Inst, int]]:
    """(line, decoded instruction, bytes) of every legal form of every mnemonic with semantics."""
    candidates: list[str] = []
    for name in registry.names():
        candidates += valu_forms(OPS[name]) if name in OPS else other_forms(name)
    taken = assemble_accepted(candidates, tmp_path_factory.mktemp("forms"))
    ends = (*taken.addresses[1:], len(taken.code))
    return [
        (line, decode_one(taken.code[pc : pc + 16], pc), end - pc)
        for line, pc, end in zip(taken.lines, taken.addresses, ends, strict=True)
    ]


def test_every_form_of_every_mnemonic_with_semantics(forms: list[tuple[str, Inst, int]]) -> None:
    wrong, seen = [], set()
    for line, inst, size in forms:
        expected = from_text(parse_line(line), inst.encoding, message)
        if from_inst(inst) != expected or inst.size != size:
            wrong.append(
                f"{line} ({size} bytes)\n  text:    {expected}\n  decoder: {from_inst(inst)} ({inst.size})"
            )
        seen |= {half.name for half in inst.pair} | {"v_dual" if inst.pair else inst.name}
    assert not wrong, f"{len(wrong)}:\n" + "\n".join(wrong[:10])
    assert len(forms) > 15_000
    assert set(registry.names()) - seen == set()


def test_forms_reach_what_the_corpus_does_not(forms: list[tuple[str, Inst, int]]) -> None:
    """DPP8 and DPP16 in all encodings, output modifiers, cache bits, halves of every true16 operand."""
    modifiers = Counter((inst.encoding, name) for _, inst, _ in forms for name in inst.mods)
    for encoding in ("VOP1", "VOP2", "VOPC", "VOP3", "VOP3SD", "VOP3P"):
        needed = ("dpp8", "dpp_ctrl", "fi") if encoding != "VOP3P" else ()
        assert all(modifiers[encoding, name] for name in needed), encoding
    for found in (
        ("VOP3", "omod"),
        ("VOP3", "clamp"),
        ("GLOBAL", "slc"),
        ("GLOBAL", "dlc"),
        ("MUBUF", "idxen"),
    ):
        assert modifiers[found], found


# The comparison can fail.


def swap_sources(inst: Inst) -> Inst:
    return replace(inst, src=(inst.src[1], inst.src[0], *inst.src[2:]))


def on_source(at: int, **changes: object) -> Callable[[Inst], Inst]:
    def mutate(inst: Inst) -> Inst:
        sources = list(inst.src)
        sources[at] = replace(sources[at], **changes)
        return replace(inst, src=tuple(sources))

    return mutate


def flip(inst: Inst, attribute: str) -> Inst:
    """One bit of the first VGPR source turned."""
    at = next(i for i, o in enumerate(inst.src) if o.kind == "v")
    return on_source(at, **{attribute: not getattr(inst.src[at], attribute)})(inst)


def has_vgpr_source(inst: Inst) -> bool:
    return any(o.kind == "v" for o in inst.src)


Mutant = tuple[Callable[[Inst], bool], Callable[[Inst], Inst]]


def modifier_dropped(name: str) -> Mutant:
    def applies(inst: Inst) -> bool:
        return inst.mods.get(name, 0) != 0

    return applies, lambda inst: replace(inst, mods={k: v for k, v in inst.mods.items() if k != name})


MUTANTS: dict[str, Mutant] = {
    "sources swapped": (
        lambda i: (
            len(i.src) > 1 and i.src[0].index != i.src[1].index and {o.kind for o in i.src[:2]} == {"v"}
        ),
        swap_sources,
    ),
    "destination one on": (
        lambda i: bool(i.dst) and i.dst[0].kind == "v",
        lambda i: replace(i, dst=(replace(i.dst[0], index=i.dst[0].index + 1), *i.dst[1:])),
    ),
    "destination too wide": (
        lambda i: bool(i.dst) and i.dst[0].kind == "v",
        lambda i: replace(i, dst=(replace(i.dst[0], regs=i.dst[0].regs + 1), *i.dst[1:])),
    ),
    "wrong half of a source": (has_vgpr_source, lambda i: flip(i, "hi")),
    "wrong half of the destination": (
        lambda i: bool(i.dst) and i.dst[0].kind == "v",
        lambda i: replace(i, dst=(replace(i.dst[0], hi=not i.dst[0].hi), *i.dst[1:])),
    ),
    "negation dropped": (
        lambda i: bool(i.src) and i.src[0].neg,
        on_source(0, neg=False),
    ),
    "absolute value dropped": (lambda i: bool(i.src) and i.src[0].abs, on_source(0, abs=False)),
    "negation added": (
        lambda i: has_vgpr_source(i) and i.encoding.startswith("VOP"),
        lambda i: flip(i, "neg"),
    ),
    "packed half": (lambda i: i.encoding == "VOP3P" and has_vgpr_source(i), lambda i: flip(i, "sel")),
    "packed high half": (lambda i: i.encoding == "VOP3P" and has_vgpr_source(i), lambda i: flip(i, "sel_hi")),
    "packed negation": (lambda i: i.encoding == "VOP3P" and has_vgpr_source(i), lambda i: flip(i, "neg_hi")),
    "literal": (
        lambda i: bool(i.src) and i.src[0].kind == "literal",
        lambda i: on_source(0, value=i.src[0].value ^ 1)(i),
    ),
    "constant": (
        lambda i: bool(i.src) and i.src[0].kind == "const",
        lambda i: on_source(0, index=i.src[0].index ^ 1)(i),
    ),
    "SGPR": (
        lambda i: bool(i.src) and i.src[0].kind == "s" and i.src[0].index < 100,
        lambda i: on_source(0, index=i.src[0].index + 2)(i),
    ),
    "mnemonic": (lambda i: not i.pair, lambda i: replace(i, name=i.name + "x")),
    "branch target": (
        lambda i: i.name.startswith(("s_branch", "s_cbranch")),
        lambda i: replace(i, mods={"simm16": i.mods["simm16"] + 1 & 0xFFFF}),
    ),
    "dual halves swapped": (
        lambda i: bool(i.pair) and i.pair[0].name == i.pair[1].name,
        lambda i: replace(i, pair=i.pair[::-1]),
    ),
    **{
        f"{name} dropped": modifier_dropped(name)
        for name in (
            *("offset", "offset0", "offset1", "glc", "clamp", "opsel", "opsel_hi", "dpp_ctrl", "dpp8"),
            *("row_mask", "bank_mask", "bound_ctrl", "offen"),
        )
    },
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_decoder_that_is_wrong_is_caught_every_time(name: str) -> None:
    applies, mutate = MUTANTS[name]
    affected = [pair for pair in distinct_pairs() if applies(pair.inst)]
    assert affected, "the corpus has no instruction to which this mutation applies"
    assert len(differences(affected, mutate)) == len(affected)
