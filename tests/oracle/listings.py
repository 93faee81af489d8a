"""Compiled kernels with their text and their decoded instructions side by side."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from elftools.elf.elffile import ELFFile
from examples import probe_names, probe_target
from msgspec import Struct
from sampling import one_in

from layoutprobe.arch import TARGETS
from layoutprobe.assets import asset_dir
from layoutprobe.codeobj.elf import load
from layoutprobe.codeobj.model import CodeObject, Kernel
from layoutprobe.isa.decode import decode_one
from layoutprobe.isa.dialect import Dialect, known
from layoutprobe.isa.inst import Inst
from layoutprobe.isa.mnemonics import mnemonics
from layoutprobe.layouts.swizzle import SCHEMES
from layoutprobe.probing.spec import INSTRUCTION, load_spec
from layoutprobe.toolchain.compile import compile_hip
from oracle.asm_fields import WAITCNT
from oracle.asm_render import Fields, from_inst, from_text, message
from oracle.asm_text import AsmInst, AsmKernel, parse_asm

TARGET = "gfx1151"
SEEDS = sorted((asset_dir("probes") / "gemm" / "seeds").glob("*.hip"))
COMPARED = one_in(4, SEEDS)
"""A corpus of many like instructions: a part of it shows the same."""
CORPUS = sorted((Path(__file__).parent / "corpus").glob("*.hip"))


class Pair(Struct, frozen=True):
    """One instruction, as the compiler wrote it and as it was decoded."""

    source: str
    text: AsmInst
    inst: Inst
    expected: Fields


class Listing(Struct, frozen=True, eq=False):
    """One compiled source: its code object, and every instruction of its text beside the decoded one."""

    name: str
    code: CodeObject
    pairs: list[Pair]
    nops: frozenset[int]
    """Addresses of the `s_nop` that `.p2align` put in."""


def probe_builds() -> Iterator[tuple[str, dict[str, int]]]:
    """Every shipped probe for this target, in every variant that its declaration allows.

    test_decode_gfx9.py and test_decode_gfx12.py have the instructions of the others.
    """
    for name in probe_names():
        spec = load_spec(name)
        if probe_target(name) != TARGET or INSTRUCTION in spec.defines:
            continue
        variants: list[dict[str, int]] = [{}]
        if "LDS_SCHEME" in spec.defines:
            variants = [{"LDS_SCHEME": scheme.device_define} for scheme in SCHEMES.values()]
        for define, values in spec.define_values.items():
            variants = [v | {define: value} for v in variants for value in values.values()]
        for define in set(spec.defines) - set(spec.define_values) - {"LDS_SCHEME"}:
            variants = [v | {define: value} for v in variants for value in (0, 1)]
        for variant in variants:
            yield name, variant


@cache
def corpus() -> tuple[Listing, ...]:
    """All kernels of the corpus, of the GEMMs, and of the probes."""
    listings = [listing(path.stem, path, {}) for path in CORPUS]
    listings += [listing(f"gemm/{path.stem}", path, {}) for path in COMPARED]
    for name, defines in one_in(3, list(probe_builds())):
        spec = load_spec(name)
        listings.append(listing(f"{name} {defines}", spec.source, defines, spec.include))
    return tuple(listings)


@cache
def small_code() -> CodeObject:
    """A code object for tests that want any one."""
    return load(compile_hip(CORPUS[0], target=TARGET).data)


def listing(
    name: str, path: Path, defines: Mapping[str, int], include: Path | None = None, target: str = TARGET
) -> Listing:
    """Compile, then decode linearly, in step with the text."""
    folders = () if include is None else (include,)
    compiled = compile_hip(path, target=target, defines=defines, include_dirs=folders)
    with io.BytesIO(compiled.data) as stream:
        table = ELFFile(stream).get_section_by_name(".symtab")
        symbols = {s.name: s["st_value"] for s in table.iter_symbols()}
    code = load(compiled.data)
    dialect = Dialect(known(target), TARGETS[target].wave_size)
    pairs: list[Pair] = []
    nops: set[int] = set()
    for function in parse_asm(compiled.assembly).values():
        insts = in_step(code, function, symbols[function.name], nops, dialect)
        pairs += compare_function(name, function, insts, symbols, dialect)
    return Listing(name, code, pairs, frozenset(nops))


def in_step(
    code: CodeObject, function: AsmKernel, pc: int, nops: set[int], dialect: Dialect | None = None
) -> list[Inst]:
    """One decoded instruction per line; alignment is the only thing that the text leaves out."""
    insts = []
    for line in function.insts:
        while pc % (1 << line.align):
            filler = decode_one(code_bytes(code, pc), pc, dialect)
            assert filler.name == "s_nop"
            nops.add(pc)
            pc = filler.next_pc
        inst = decode_one(code_bytes(code, pc), pc, dialect)
        insts.append(inst)
        pc = inst.next_pc
    return insts


def compare_function(
    source: str, function: AsmKernel, insts: list[Inst], symbols: Mapping[str, int], dialect: Dialect
) -> Iterator[Pair]:
    waits = WAITCNT["gfx9" if "s_waitcnt_vscnt" not in mnemonics(dialect.isa) else "gfx11"]
    end = insts[-1].next_pc if insts else 0
    for line, inst in zip(function.insts, insts, strict=True):

        def place(name: str, inst: Inst = inst) -> int:
            if name in function.labels:
                at = function.labels[name]
                return insts[at].pc if at < len(insts) else end
            if name.startswith("sendmsg("):
                return message(name)
            symbol, _, part = name.split("@")  # table@rel32@lo+4, relative to the literal itself
            half, _, addend = part.partition("+")
            value = symbols[symbol] + int(addend) - (inst.pc + 4)
            return value >> 32 if half == "hi" else value

        yield Pair(source, line, inst, from_text(line, inst.encoding, place, waits))


def code_bytes(code: CodeObject, pc: int) -> bytes:
    segment = next(s for s in code.segments if s.executable and 0 <= pc - s.address < len(s.data))
    return segment.data[pc - segment.address : pc - segment.address + 16]


def unreached(kernel: Kernel, text: Mapping[int, Inst], reached: Mapping[int, Inst]) -> list[str]:
    """What the compiler wrote into a kernel and no path reaches, but for the end that it puts behind a trap."""
    behind = {inst.next_pc for inst in reached.values() if inst.name == "s_trap"}
    inside = {pc: inst.name for pc, inst in text.items() if kernel.entry <= pc < kernel.entry + kernel.size}
    left = [pc for pc in inside if pc not in reached]
    return [inside[pc] for pc in left if not (pc in behind and inside[pc] == "s_endpgm")]


def all_pairs() -> list[Pair]:
    return [pair for listed in corpus() for pair in listed.pairs]


@cache
def distinct_pairs() -> tuple[Pair, ...]:
    """One of each instruction, whatever its address and source."""
    found = {(pair.inst.encoding, repr(pair.expected)): pair for pair in all_pairs()}
    return tuple(found.values())


def differences(
    pairs: Sequence[Pair],
    change: Callable[[Inst], Inst] = lambda inst: inst,
    shown: Callable[[Inst], Fields] = from_inst,
) -> list[str]:
    """Every instruction whose decoded form does not say what the compiler wrote."""
    found = []
    for pair in pairs:
        decoded = shown(change(pair.inst))
        if decoded != pair.expected:
            found.append(
                f"{pair.source} line {pair.text.line}\n  compiler: {pair.expected}\n  decoder:  {decoded}"
            )
    return found
