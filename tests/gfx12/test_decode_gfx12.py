"""The decoder of RDNA4 against the compiler's own text, instruction by instruction and field by field."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from msgspec import Struct
from msgspec.structs import replace
from oracle.asm_render import Fields, from_inst, from_text, message
from oracle.asm_text import AsmInst, parse_asm
from oracle.listings import CORPUS, code_bytes

from layoutprobe.codeobj.elf import load
from layoutprobe.errors import CodeObjectError
from layoutprobe.isa.decode import decode_kernel, decode_one
from layoutprobe.isa.dialect import Dialect, known
from layoutprobe.isa.inst import Inst
from layoutprobe.toolchain.compile import compile_hip

MATRIX = {"attention", "gemm_f16", "gemm_i8", "wmma_types"}
"""Sources that name matrix instructions of RDNA3."""
LANES_32 = {"lane_ops"}
"""Sources that need waves of 32 lanes."""
SYSTEM = {"misc_system", "hardware"}
"""Sources that read hardware registers and clocks, whose names this reader of assembly does not know."""
SOURCES = [path for path in CORPUS if path.stem not in MATRIX | SYSTEM]
OWN = sorted((Path(__file__).parents[1] / "emulator" / "kernels").glob("*.hip"))
KERNELS = [*SOURCES, *(path for path in OWN if path.stem not in SYSTEM)]

# Its operand is a hint, printed in words that the parser does not know.
_WAIT_ALU = re.compile(r"^(\s*s_wait_alu)\s.*$", re.MULTILINE)
_SCOPES = ("SCOPE_CU", "SCOPE_SE", "SCOPE_DEV", "SCOPE_SYS")
_HINTS = {"TH_LOAD_RT": 0, "TH_LOAD_NT": 1, "TH_STORE_NT": 1, "TH_ATOMIC_RETURN": 1, "TH_LOAD_LU": 3}


class Pair(Struct, frozen=True):
    """One instruction, as the compiler wrote it and as it was decoded."""

    source: str
    text: AsmInst
    inst: Inst
    expected: Fields


def expected(line: AsmInst, inst: Inst, place: dict[str, int]) -> Fields:
    """What a line says, with the words of RDNA4 for caches and waits as the decoder spells them."""
    modifiers = {k: v for k, v in line.modifiers.items() if k not in ("th", "scope")}
    if line.mnemonic == "s_wait_alu":
        return Fields(line.mnemonic, (), {"simm16": inst.mods["simm16"]})

    def resolve(name: str) -> int:
        if name.startswith("sendmsg("):
            return message(name)
        symbol, _, part = name.split("@") if "@" in name else (name, "", "")
        half, _, addend = part.partition("+")
        value = place[symbol] + (int(addend) - inst.pc - 4 if part else 0)
        return value >> 32 if half == "hi" else value

    fields = from_text(replace(line, modifiers=modifiers), inst.encoding, resolve)
    found = dict(fields.modifiers)
    if "th" in line.modifiers:
        found["th"] = _HINTS[line.modifiers["th"]]
    if "scope" in line.modifiers:
        found["scope"] = _SCOPES.index(line.modifiers["scope"])
    return replace(fields, modifiers={k: v for k, v in found.items() if v})


def decoded(inst: Inst) -> Fields:
    """What the decoder says, less what it adds for the semantics alone."""
    fields = from_inst(inst)
    return replace(
        fields, modifiers={k: v for k, v in fields.modifiers.items() if k not in ("glc", "wave_wide")}
    )


@cache
def pairs(path: Path, wave_size: int) -> tuple[Pair, ...]:
    """All functions of a source, decoded linearly in step with their text."""
    flag = "-mwavefrontsize64" if wave_size == 64 else "-mno-wavefrontsize64"
    compiled = compile_hip(path, target="gfx1200", flags=(flag,))
    with io.BytesIO(compiled.data) as stream:
        table = ELFFile(stream).get_section_by_name(".symtab")
        symbols = {s.name: s["st_value"] for s in table.iter_symbols()}
    code, dialect = load(compiled.data), Dialect(known("gfx1201"), wave_size)

    def in_step() -> Iterator[Pair]:
        for function in parse_asm(_WAIT_ALU.sub(r"\1", compiled.assembly)).values():
            pc, insts = symbols[function.name], []
            for line in function.insts:
                while pc % (1 << line.align):
                    filler = decode_one(code_bytes(code, pc), pc, dialect)
                    assert filler.name == "s_nop"
                    pc = filler.next_pc
                insts.append(decode_one(code_bytes(code, pc), pc, dialect))
                pc = insts[-1].next_pc
            addresses = [*(inst.pc for inst in insts), pc]
            place = symbols | {label: addresses[at] for label, at in function.labels.items()}
            for line, inst in zip(function.insts, insts, strict=True):
                yield Pair(path.stem, line, inst, expected(line, inst, place))

    return tuple(in_step())


@pytest.mark.parametrize("wave_size", [32, 64])
@pytest.mark.parametrize("path", KERNELS, ids=lambda p: p.stem)
def test_every_instruction_is_the_compilers_own(path: Path, wave_size: int) -> None:
    if wave_size == 64 and path.stem in LANES_32:
        with pytest.raises(Exception, match="wavefrontsize32"):
            pairs(path, wave_size)
        return
    wrong = [
        f"line {pair.text.line}\n  compiler: {pair.expected}\n  decoder:  {decoded(pair.inst)}"
        for pair in pairs(path, wave_size)
        if decoded(pair.inst) != pair.expected
    ]
    assert not wrong, f"{len(wrong)}:\n" + "\n".join(wrong[:10])


@pytest.mark.long
def test_the_corpus_covers_what_is_new() -> None:
    every = [pair for path in SOURCES for pair in pairs(path, 32)]
    names = {half.name for pair in every for half in (pair.inst, *pair.inst.pair)}
    assert len(every) > 8_000
    assert len(names) > 450
    assert {"s_wait_kmcnt", "s_wait_loadcnt", "s_wait_dscnt", "s_barrier_signal", "global_inv"} <= names
    assert {"v_min_num_f32", "s_load_u8", "s_load_b96", "v_max_num_f32", "s_add_co_u32"} <= names
    assert {pair.inst.encoding for pair in every} >= {
        "GLOBAL",
        "FLAT",
        "SCRATCH",
        "MUBUF",
        "DS",
        "SMEM",
        "VOPD",
    }
    assert {name for pair in every for name in pair.expected.modifiers} >= {"th", "scope", "offset", "offen"}


def test_a_target_without_tables_is_refused_in_words() -> None:
    code = load(compile_hip(KERNELS[-1], target="gfx1200").data)
    kernel = next(iter(code.kernels.values()))
    for target in ("gfx1250", "gfx1170", "gfx1030", "gfx90a", "", "gfx12-5-generic"):
        with pytest.raises(CodeObjectError, match="cannot be decoded"):
            decode_kernel(replace(code, target=target), kernel)
    for target in ("gfx1201", "gfx12-generic"):
        assert decode_kernel(replace(code, target=target), kernel)
