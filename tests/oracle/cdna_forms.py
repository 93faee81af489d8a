"""Lines of assembly for every mnemonic of GFX9, in every class of operand that AMD's table gives it.

Right and wrong ones: clang's assembler chooses. What the table calls a VGPR or AccVGPR is tried as both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from functools import cache
from typing import Any

from layoutprobe.arch import Isa
from layoutprobe.isa.mnemonics import table

Info = Mapping[str, tuple[Any, int, Any]]

_ORDER = (
    *("vdst", "sdst", "sdata", "addr", "scale", "src0", "ssrc0", "vsrc0", "src1", "vsrc1", "ssrc1", "src2"),
    *(
        "vdata",
        "data",
        "data0",
        "data1",
        "vaddr",
        "sbase",
        "srsrc",
        "saddr",
        "soffset",
        "simm16",
        "scale_src0",
    ),
    "scale_src1",
)
_WIDE = (1, 2, 3, 4, 6, 8, 16, 32)


def span(file: str, first: int, bits: int) -> str:
    """A register, or the tuple that begins with it."""
    count = max(1, bits // 32)
    return f"{file}{first}" if count == 1 else f"{file}[{first}:{first + count - 1}]"


def _spellings(kind: str, bits: int, at: int) -> list[str]:
    """What an operand of a class can be; the first is an ordinary register."""
    vector, scalar = span("v", 32 * at, bits), span("s", 8 + 8 * at, bits)
    acc = span("a", 32 * at + 4, bits)
    special = ["vcc", "exec"] if bits == 64 else ["m0", "vcc_lo", "exec_hi", "ttmp4", "flat_scratch_lo"]
    constants = ["-4", "0.5", "64"]
    match kind.removeprefix("OPR_"):
        case "VGPR" | "SRC_VGPR" | "VGPR_OR_LDS":
            return [vector]
        case "ACCVGPR" | "SRC_ACCVGPR":
            return [acc]
        case "VGPR_OR_ACCVGPR" | "SRC_VGPR_OR_ACCVGPR":
            return [vector, acc]
        case "SRC_VGPR_OR_ACCVGPR_OR_CONST":
            return [vector, acc, *constants]
        case "SRC" | "SRC_NOLIT" | "SRC_SIMPLE" | "SRC_NOLDS":
            return [vector, scalar, *special, *constants, "0x12345678", "0x1234", acc]
        case "SSRC" | "SSRC_NOLIT" | "SSRC_LANESEL" | "SMEM_OFFSET":
            return [scalar, *special, *constants, "0x12345678"]
        case "SREG" | "SREG_NOVCC" | "SDST":
            return [scalar, *special]
        case "SIMM16" | "SIMM8" | "SIMM4":
            return ["0x7", "0x1234"]
        case "WAITCNT":
            return ["vmcnt(3) lgkmcnt(7)", "vmcnt(62) expcnt(2)", "lgkmcnt(0)"]
        case "HWREG":
            return ["hwreg(HW_REG_MODE, 0, 4)"]
        case "SENDMSG":
            return ["sendmsg(MSG_INTERRUPT)"]
        case "LABEL":
            return ["4"]
    raise KeyError(kind)


@cache
def operations(isa: Isa) -> tuple[tuple[str, str, Info], ...]:
    """(class of operations, mnemonic, operands) of every entry of the decoder's table."""
    enums = vars(table(isa.encodings.table, "enum"))
    operands = table(isa.encodings.table, "operands").OPERANDS
    found = []
    for name, value in enums.items():
        if name.endswith("Op") and isinstance(value, type) and issubclass(value, Enum):
            for op in value:
                mnemonic = op.name.lower().removesuffix("_e32").removesuffix("_e64")
                mnemonic = isa.encodings.renamed.get(mnemonic, mnemonic)
                found.append((name.removesuffix("Op"), mnemonic, operands.get(op, {})))
    return tuple(found)


def candidates(isa: Isa) -> Iterator[tuple[str, str]]:
    """(mnemonic, line)."""
    for encoding, name, info in operations(isa):
        for line in dict.fromkeys(_lines(encoding, name, info)):
            yield name, line


def _lines(encoding: str, name: str, info: Info) -> Iterator[str]:
    widths = {field: entry[1] for field, entry in info.items()}
    if encoding in ("FLAT", "GLOBAL", "SCRATCH"):
        yield from _flat(encoding, name, info)
    elif encoding in ("MUBUF", "MTBUF"):
        yield from _buffer(name, info)
    elif encoding == "SMEM":
        yield from _scalar_memory(name, widths)
    else:
        fields = [field for field in _ORDER if field in info]
        choices = [_spellings(info[f][2].name, widths[f], at) for at, f in enumerate(fields)]
        for operands in one_at_a_time(choices):
            yield from _ordinary(encoding, name, operands)


def one_at_a_time(choices: Sequence[Sequence[str]]) -> Iterator[list[str]]:
    """Every spelling of every operand, the others being ordinary; and all of each operand's second."""
    ordinary = [spellings[0] for spellings in choices]
    yield ordinary
    for at, spellings in enumerate(choices):
        for spelling in spellings[1:]:
            yield [*ordinary[:at], spelling, *ordinary[at + 1 :]]
    yield [spellings[min(1, len(spellings) - 1)] for spellings in choices]


_DPP = (
    "quad_perm:[0,1,0,3] row_mask:0xa bank_mask:0x5",
    "row_shr:3 row_mask:0xf bank_mask:0x3 bound_ctrl:0",
    "row_bcast:15 row_mask:0xa bank_mask:0xf",
    "row_bcast:31 row_mask:0xc bank_mask:0xf",
    "wave_shr:1 row_mask:0xf bank_mask:0xf",
    "row_mirror row_mask:0xf bank_mask:0xf",
    "row_half_mirror row_mask:0xf bank_mask:0xf",
    "row_newbcast:7 row_mask:0xf bank_mask:0xf",
)
_SDWA = (
    "dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_2 src1_sel:WORD_0",
    "dst_sel:BYTE_3 dst_unused:UNUSED_SEXT src0_sel:DWORD src1_sel:BYTE_1",
    "dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1",
    "src0_sel:WORD_1 src1_sel:BYTE_3",
)


def _ordinary(encoding: str, name: str, operands: list[str]) -> Iterator[str]:
    text = ", ".join(operands)
    yield f"{name} {text}"
    match encoding:
        case "VOP1" | "VOP2" | "VOPC":
            yield from _short(encoding, name, operands)
        case "VOP3" | "VOP3SD":
            yield from _long(name, operands)
        case "VOP3P" | "VOP3PX2":
            yield from _packed(name, operands)
        case "DS":
            for tail in ("offset:65535", "offset:256", "offset0:255 offset1:1", "gds"):
                yield f"{name} {text} {tail}"
            for part in (2, 3):
                yield f"{name} {', '.join(operands[:part])} offset:8"


def _short(encoding: str, name: str, operands: list[str]) -> Iterator[str]:
    masks = ([], ["vcc"]) if encoding != "VOP1" else ([],)
    for before in masks:
        head = [*before, *operands] if encoding == "VOPC" else [*operands[:1], *before, *operands[1:]]
        for after in masks:
            line = ", ".join([*head, *after])
            yield f"{name}_e32 {line}"
            yield from (f"{name}_dpp {line} {control}" for control in _DPP)
            yield from (f"{name}_sdwa {line} {selects}" for selects in _SDWA)
            yield f"{name}_sdwa {line} clamp mul:2 {_SDWA[0]}"
    if encoding == "VOPC":
        yield f"{name}_sdwa s[6:7], {', '.join(operands)} {_SDWA[-1]}"
    for at in range(encoding != "VOPC", len(operands)):
        if operands[at].startswith("v"):
            for style in ("-{}", "|{}|", "sext({})"):
                changed = [*operands[:at], style.format(operands[at]), *operands[at + 1 :]]
                head = ["vcc", *changed] if encoding == "VOPC" else changed
                yield f"{name}_sdwa {', '.join(head)} {_SDWA[-1]}"
                yield f"{name}_dpp {', '.join(head)} {_DPP[1]}"


def _long(name: str, operands: list[str]) -> Iterator[str]:
    for head in (operands, [*operands[:1], "s[6:7]", *operands[1:]]):
        text = ", ".join(head)
        yield f"{name}_e64 {text}"
        yield f"{name}_e64 {text}, s[10:11]"
        for tail in ("clamp", "mul:2", "div:2 clamp"):
            yield f"{name}_e64 {text} {tail}"
        for bits in ("[1,0]", "[0,1]", "[0,1,0]", "[0,0,1,0]", "[1,0,0,1]", "[0,0,1]"):
            yield f"{name}_e64 {text} op_sel:{bits}"
    for at in range(1, len(operands)):
        for style in ("-{}", "|{}|", "-|{}|"):
            changed = [*operands[:at], style.format(operands[at]), *operands[at + 1 :]]
            yield f"{name}_e64 {', '.join(changed)}"
    for mask in ("vcc", "s[6:7]"):  # a comparison's destination stands in no table
        yield f"{name}_e64 {', '.join([mask, *operands])}"


def _packed(name: str, operands: list[str]) -> Iterator[str]:
    text = ", ".join(operands)
    for tail in (
        *("op_sel:[1,0]", "op_sel:[0,1] op_sel_hi:[1,0]", "neg_lo:[1,0]", "neg_hi:[0,1]", "clamp"),
        *("op_sel:[1,0,0]", "op_sel:[0,1,1] op_sel_hi:[1,0,1]", "op_sel_hi:[0,1,0] clamp"),
        *("neg_lo:[1,1,0]", "neg_lo:[0,0,1] neg_hi:[1,1,0]"),
        *("cbsz:1", "cbsz:2 abid:1", "cbsz:1 abid:1 blgp:3", "blgp:1", "blgp:4", "blgp:7", "neg:[1,0,1]"),
        *("op_sel:[1,0,0] op_sel_hi:[0,1,0]", "op_sel:[1,1,0] op_sel_hi:[1,1,0]"),
    ):
        yield f"{name} {text} {tail}"
    if "f8f6f4" in name:
        yield from _by_format(name, operands)


def _by_format(name: str, operands: list[str]) -> Iterator[str]:
    """Every pair of formats, with tuples as wide as they are."""
    registers = (8, 8, 6, 6, 4)
    for a, wide_a in enumerate(registers):
        for b, wide_b in enumerate(registers):
            for file in ("v", "a"):
                sources = [span(file, 32, 32 * wide_a), span(file, 64, 32 * wide_b)]
                text = ", ".join([operands[0], *sources, *operands[3:]])
                for tail in ("", " op_sel:[1,0,0] op_sel_hi:[0,1,0]") if "scale" in name else ("",):
                    yield f"{name} {text}{tail} cbsz:{a} blgp:{b}"


def _scalar_memory(name: str, widths: Mapping[str, int]) -> Iterator[str]:
    yield name
    data, base = span("s", 8, widths.get("sdata", 32)), span("s", 4, widths.get("sbase", 64))
    yield f"{name} {data}"
    for tail in ("0x0", "0x1234 glc", "-0x10", "s3", "m0 glc", "s3 offset:0x10", "0xfffff"):
        yield f"{name} {data}, {base}, {tail}"
    yield f"{name} vcc, {base}, 0x8"


_POLICY = ("", "sc0", "nt", "sc1", "sc0 nt sc1")


def _flat(encoding: str, name: str, info: Info) -> Iterator[str]:
    width = {field: entry[1] for field, entry in info.items()}
    places: tuple[str, ...] = {
        "FLAT": ("v[2:3]{}",),
        "GLOBAL": ("v[2:3]{}, off", "v2{}, s[4:5]", "v2{}, vcc"),
        "SCRATCH": ("v2{}, off", "off{}, s4", "v2{}, s4", "off{}, off", "off{}, vcc_hi"),
    }[encoding]
    offsets = ("", "offset:4095") if encoding == "FLAT" else ("", "offset:4095", "offset:-4096", "offset:-1")
    yield name
    for file in ("v", "a"):
        dst = f"{span(file, 20, width.get('vdst', 32))}, "
        data = f", {span(file, 8, width['data'])}" if "data" in width else ""
        half = f"{span(file, 20, width.get('vdst', 32) // 2)}, "
        for place in places:
            for offset in offsets:
                for policy in _POLICY if offset in ("", "offset:-1") else ("",):
                    for head in ("", dst, half):
                        yield f"{name} {head}{place.format(data)} {offset} {policy}"


def _buffer(name: str, info: Info) -> Iterator[str]:
    yield name
    width = info["vdata"][1] if "vdata" in info else 32
    for file in ("v", "a"):
        for place in (
            *("off, s[4:7], s8", "v1, s[4:7], 0 offen", "v1, s[4:7], m0 idxen"),
            *("v[2:3], s[4:7], s8 idxen offen", "off, ttmp[4:7], -4"),
        ):
            for offset in ("", "offset:4095"):
                for policy in _POLICY:
                    yield f"{name} {span(file, 20, width)}, {place} {offset} {policy}"
    for place in ("off, s[4:7], s8", "v1, s[4:7], 0 offen", "v1, s[4:7], m0 idxen"):
        for tail in ("lds", "offset:128 lds", "offset:8 sc0 nt lds"):
            yield f"{name} {place} {tail}"
