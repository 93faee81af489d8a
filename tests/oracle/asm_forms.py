"""Lines of assembly for every mnemonic that the emulator executes, in every form that the assembler takes.

Compiled kernels show the forms that a compiler likes. This module proposes many more, right and wrong
ones, and lets clang's assembler choose: what it refuses is dropped, what it accepts comes back with
its bytes and the address of every line.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path

from elftools.elf.elffile import ELFFile
from msgspec import Struct

from layoutprobe.semantics.op import Op
from oracle.listings import TARGET

_ASSEMBLE = (
    "-c",
    "-x",
    "assembler",
    "--target=amdgcn-amd-amdhsa",
    "-fno-color-diagnostics",
    "-fno-caret-diagnostics",
)
_ERROR = re.compile(r"^[^\n]*forms\.s:(\d+):\d+: error", re.MULTILINE)


class Accepted(Struct, frozen=True):
    """Lines that the assembler took, with their addresses in `code`."""

    lines: tuple[str, ...]
    addresses: tuple[int, ...]
    code: bytes


def assemble_accepted(candidates: Iterable[str], folder: Path, target: str = TARGET) -> Accepted:
    """Assemble those of the candidates that are legal on a target."""
    lines = list(dict.fromkeys(candidates))
    refused = {int(n) - 1 for n in _ERROR.findall(_assemble(lines, folder, target).stderr)}
    lines = [line for i, line in enumerate(lines) if i not in refused]
    done = _assemble([f"l{i}: {line}" for i, line in enumerate(lines)], folder, target)
    if done.returncode:
        raise RuntimeError(done.stderr[:2000])
    with (folder / "forms.o").open("rb") as stream:
        elf = ELFFile(stream)
        symbols = {s.name: s["st_value"] for s in elf.get_section_by_name(".symtab").iter_symbols()}
        code = elf.get_section_by_name(".text").data()
    return Accepted(tuple(lines), tuple(symbols[f"l{i}"] for i in range(len(lines))), code)


def _assemble(lines: list[str], folder: Path, target: str) -> subprocess.CompletedProcess[str]:
    source = folder / "forms.s"
    source.write_text("\n".join(lines) + "\n")
    command = (
        sys.executable,
        "-m",
        "ziglang",
        "clang",
        *_ASSEMBLE,
        f"-mcpu={target}",
        str(source),
        "-o",
        str(folder / "forms.o"),
    )
    return subprocess.run(command, capture_output=True, text=True, check=False)


# Vector ALU: the operation's own types say what its operands look like.

_SPELLINGS = {
    16: ("v{}.l", "v{}.h", "s{}", "0.5", "-4", "0x1234"),
    32: ("v{}", "s{}", "-4", "0.5", "0x12345678", "m0", "ttmp4"),
    64: ("v[{}:{}]", "s[{}:{}]", "-4", "0.5", "0x12345678", "vcc"),
}
_LITERAL = ("v_fmaak", "v_fmamk")  # one source is a literal, even where a short constant would do
_DPP = (
    "quad_perm:[0,1,0,3] row_mask:0xa bank_mask:0x5",
    "row_shr:3 row_mask:0xf bank_mask:0x3 bound_ctrl:1",
    "row_xmask:5 row_mask:0xe bank_mask:0xf fi:1",
    "dpp8:[7,1,2,3,4,5,6,0]",
    "dpp8:[0,1,2,3,4,5,7,6] fi:1",
)


def valu_forms(op: Op) -> Iterator[str]:
    """Candidates for one operation of the table of vector ALU operations."""
    # v_div_fmas reads vcc_lo, and the text does not say so.
    kinds = op.sources[:3] if op.name.startswith("v_div_fmas") else op.sources
    widths = [_width(kind) for kind in kinds]
    target = [_destination(kind) for kind in op.results]
    targets = [[]] if op.name.startswith("v_cmpx") else [list(t) for t in product(*target)]
    first = [_registers(kind, 4 + 8 * i) for i, kind in enumerate(kinds)]
    low = [f[0] for f in first]
    for dst in targets:
        yield from _plain(op.name, dst, low, _DPP if dst is targets[0] else _DPP[:1])
        for high in range(len(first) if 16 in widths else 0):  # which 16-bit source is the upper half
            yield from _plain(op.name, dst, [f[high == i] for i, f in enumerate(first)], _DPP[1:4:2])
    for place, width in enumerate(widths):
        for text in ("0x1234",) if op.name.startswith(_LITERAL) else _SPELLINGS.get(width, ("s6",)):
            sources = list(low)
            sources[place] = text.format(40 + 4 * place, 41 + 4 * place)
            yield _line(op.name, targets[0], sources)
    yield from _signs(op.name, targets[-1], low)
    if op.results in (("u32",), ("i32",), ("f32",)) and not {16, 64} & set(widths):
        yield from _dual(op, first)


def signed_forms(op: Op) -> Iterator[str]:
    """Candidates with source and output modifiers, once on low and once on high halves."""
    kinds = op.sources[:3] if op.name.startswith("v_div_fmas") else op.sources
    targets = [] if op.name.startswith("v_cmpx") else [_destination(kind)[0] for kind in op.results]
    for half in (0, 1):
        yield from _signs(op.name, targets, [_registers(k, 4 + 8 * i)[half] for i, k in enumerate(kinds)])


def _dual(op: Op, first: list[list[str]]) -> Iterator[str]:
    name = "v_dual_" + op.name.removeprefix("v_")
    for count in (len(first), len(first) - 1):  # cndmask leaves vcc_lo out
        for sources in ([f[0] for f in first[:count]], ["s5", *(f[0] for f in first[1:count])]):
            yield f"{_line(name, ['v7'], sources)} :: v_dual_mov_b32 v8, v3"
            yield f"v_dual_mov_b32 v6, s9 :: {_line(name, ['v9'], sources)}"
        for literal in range(count):
            sources = [f[0] for f in first[:count]]
            sources[literal] = "0x12345678"
            yield f"{_line(name, ['v7'], sources)} :: v_dual_mov_b32 v8, v3"


def _plain(name: str, dst: list[str], sources: list[str], controls: Sequence[str]) -> Iterator[str]:
    for plain, dpp in (("_e32", "_dpp"), ("_e64", "_e64_dpp")):
        yield _line(name + plain, dst, sources)
        for control in controls:
            yield f"{_line(name + dpp, dst, sources)} {control}"


def _signs(name: str, dst: list[str], sources: list[str]) -> Iterator[str]:
    for modifier in ("clamp", "mul:2", "mul:4", "div:2", "clamp mul:4"):
        yield f"{_line(name + '_e64', dst, sources)} {modifier}"
    # VOP3SD has no room for absolute values; the assembler takes and drops them.
    styles = ("-{}",) if len(dst) > 1 else ("-{}", "|{}|", "-|{}|")
    for place, style in product(range(len(sources)), styles):
        signed = list(sources)
        signed[place] = style.format(sources[place])
        yield _line(name + "_e64", dst, signed)
        yield f"{_line(name + '_dpp', dst, signed)} {_DPP[1]}"
        yield f"{_line(name + '_e64_dpp', dst, signed)} {_DPP[2]}"


def _width(kind: str) -> int:
    return 0 if kind == "mask" else int(kind[1:])


def _registers(kind: str, index: int) -> list[str]:
    """A register operand, and another spelling of it."""
    width = _width(kind)
    if width == 0:
        return ["vcc_lo", f"s{index}"]
    if width == 64:
        return [f"v[{index}:{index + 1}]"] * 2
    return [f"v{index}.l", f"v{index}.h"] if width == 16 else [f"v{index}"] * 2


def _destination(kind: str) -> list[str]:
    return {0: ["vcc_lo", "s3", "null"], 16: ["v2.l", "v2.h"], 32: ["v2"], 64: ["v[2:3]"]}[_width(kind)]


def _line(name: str, dst: list[str], sources: list[str]) -> str:
    return f"{name} {', '.join([*dst, *sources])}"


# Everything else: proposed by the family that the name belongs to.

_SCALAR_32 = ("s4", "vcc_lo", "exec_lo", "m0", "17", "-5", "0.5", "0x12345678")
_SCALAR_64 = ("s[4:5]", "vcc", "exec", "17", "-5", "0x12345678")
_PACKED = {
    2: (
        "op_sel:[1,0]",
        "op_sel:[0,1] op_sel_hi:[1,0]",
        "op_sel_hi:[0,1]",
        "neg_lo:[1,0]",
        "neg_hi:[1,0]",
        "neg_lo:[0,1] neg_hi:[1,1]",
        "neg_hi:[0,1] clamp",
    ),
    3: (
        *("op_sel:[1,0,0]", "op_sel:[0,1,1] op_sel_hi:[1,0,1]", "op_sel:[0,0,1]", "op_sel_hi:[0,1,0] clamp"),
        *("neg_lo:[1,0,0]", "neg_lo:[1,1,0]", "neg_lo:[0,0,1] neg_hi:[1,1,0]"),
    ),
}
_SIGNED_MIX = (
    "v5, v6, v7",
    "-v5, v6, v7",
    "v5, |v6|, -v7",
    "-|v5|, v6, v7",
    "s5, v6, 1.0",
    "v5, v6, 0x42f60000",
)


def other_forms(name: str) -> Iterator[str]:
    """Candidates for a mnemonic that is not in the table of vector ALU operations."""
    yield name
    if name.startswith("v_"):
        yield from _other_vector(name)
    elif name.startswith("ds_"):
        yield from _lds(name)
    elif name.startswith(("global_", "flat_", "scratch_", "buffer_")):
        yield from _memory(name)
    elif name.startswith("s_"):
        yield from _scalar(name)


def _other_vector(name: str) -> Iterator[str]:
    if name.startswith("v_fma_mix"):
        for sources, bits in product(
            _SIGNED_MIX, ("", "op_sel_hi:[1,0,1]", "op_sel:[0,1,0] op_sel_hi:[1,1,0] clamp")
        ):
            yield f"{name} v2, {sources} {bits}"
        return
    if name.startswith("v_wmma"):
        spans = [(f"v[16:{16 + n - 1}]", f"v[24:{24 + n - 1}]") for n in (2, 4, 8)]
        for (a, b), c, bits in product(spans, ("v[0:7]", "v[8:15]", "1.0", "-3"), ("", *_PACKED[3])):
            yield f"{name} v[0:7], {a}, {b}, {c} {bits}"
        return
    for sources in ("v5, v6", "s5, v6", "v5, 2", "v5, 0x12345678", "v5, v6, v7", "v5, s6, v7", "v5, v6, -3"):
        for bits in ("", *_PACKED[sources.count(",") + 1]):
            yield f"{name} v2, {sources} {bits}"
    for operands in (
        "v2, v3",
        "s2, v3",
        "s2, v3, s4",
        "s2, v3, 31",
        "v2, s3, s4",
        "v2, 7, m0",
        "v2, 0x77, s4",
    ):
        yield f"{name} {operands}"
    for operands, bits in product(
        ("v2, v3, s4, s5", "v2, v3, 1, -1"), ("", "op_sel:[1,0]", "op_sel:[0,1]", "op_sel:[1,1]")
    ):
        yield f"{name} {operands} {bits}"


def _span(first: int, registers: int) -> str:
    return f"v{first}" if registers == 1 else f"v[{first}:{first + registers - 1}]"


def _data_registers(name: str) -> int:
    """Registers of the data, from the width that the name ends in."""
    match = re.search(r"[biuf](\d+)$", name)
    return max(1, int(match[1]) // 32) if match else 1


def _lds(name: str) -> Iterator[str]:
    n = _data_registers(name)
    data, more, pair = _span(8, n), _span(12, n), _span(8, 2 * n)
    shapes: tuple[str, ...] = (
        "v1",
        f"{data}, v1",
        f"{pair}, v1",
        f"v1, {data}",
        f"v1, {data}, {more}",
        f"{more}, v1, {data}",
    )
    for shape in (*shapes, f"{more}, v1, {data}, {_span(16, n)}"):
        for offset in (
            "",
            "offset:65535",
            "offset:256",
            "offset0:255 offset1:1",
            "offset1:7",
            "offset:swizzle(SWAP,16)",
        ):
            yield f"{name} {shape} {offset}"


def _memory(name: str) -> Iterator[str]:
    n = _data_registers(name)
    data, pair = _span(8, n), _span(8, 2 * n)
    tails = ("", "offset:4095 glc", "offset:-4096 slc dlc", "offset:8 glc slc dlc")
    if name.startswith("buffer_"):
        places: tuple[str, ...] = (
            "off, s[4:7], s8",
            "v1, s[4:7], 0 offen",
            "v1, s[4:7], m0 idxen",
            "v[2:3], s[4:7], s8 idxen offen",
        )
        for place, tail in product(places, tails):
            yield f"{name} {data}, {place} {tail}"
        return
    places = {
        "global": ("v1{}, s[4:5]", "v[2:3]{}, off"),
        "flat": ("v[2:3]{}",),
        "scratch": ("v1{}, off", "off{}, s4", "v1{}, s4", "off{}, off"),
    }[name.partition("_")[0]]
    for place, tail in product(places, tails):
        yield f"{name} {data}, {place.format('')} {tail}"  # a load
        for stored in (data, pair):  # a store, an atomic, and one that returns
            yield f"{name} {place.format(', ' + stored)} {tail}"
            yield f"{name} {_span(20, n)}, {place.format(', ' + stored)} {tail}"


def _scalar(name: str) -> Iterator[str]:
    if "load" in name:
        spans = ("s8", "s[8:9]", "s[8:11]", "s[8:15]", "s[8:23]", "vcc_lo", "vcc")
        tails = ("0x0", "0x1234 glc", "-0x10", "s3", "null", "m0 glc", "s3 offset:0x10")
        for target, base, tail in product(spans, ("s[4:5]", "s[4:7]"), tails):
            yield f"{name} {target}, {base}, {tail}"
        return
    for target in ("s2", "s[2:3]", "vcc_lo", "vcc", "exec_lo", "m0", "null"):
        yield f"{name} {target}"
    if name not in ("s_waitcnt", "s_delay_alu"):
        yield from (f"{name} {number}" for number in ("0", "7", "0x1234", "-9"))
    yield f"{name} null, 0x12"
    wide = "64" in name
    for source in _SCALAR_64 + (_SCALAR_32 if not wide or "bit" in name or "mov" in name else ()):
        if not name.startswith("s_cmp_"):
            yield from (f"{name} {target}, {source}" for target in ("s2", "s[2:3]", "vcc_lo"))
        for second in ("s[6:7]" if wide else "s7", "s6", "0x12345678"):
            yield f"{name} {source}, {second}"
            if name.startswith("s_cmp"):
                continue
            for target in ("s[2:3]", "vcc") if wide else ("s2", "null"):
                yield f"{name} {target}, {source}, {second}"
                if "fmaak" in name:
                    yield f"{name} {target}, {source}, {second}, 0x12345678"
                if "fmamk" in name:
                    yield f"{name} {target}, {source}, 0x12345678, {second}"
    yield f"{name} sendmsg(MSG_DEALLOC_VGPRS)"
    yield f"{name} vmcnt(3) lgkmcnt(7)"
    yield f"{name} instid0(VALU_DEP_2) | instskip(SKIP_1) | instid1(TRANS32_DEP_1)"
