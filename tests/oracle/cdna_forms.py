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
            return ["4", "-7"]
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


_DROPPED = {"v_pk_fmac_f16": ("sext(", "op_sel"), "v_div_scale_f32": ("|",), "v_div_scale_f64": ("|",)}
"""What the assembler takes and drops, since the encoding has no room for it."""


def candidates(isa: Isa) -> Iterator[tuple[str, str]]:
    """(mnemonic, line)."""
    for encoding, name, info in operations(isa):
        for line in dict.fromkeys(_lines(encoding, name, info)):
            if not any(part in line for part in _DROPPED.get(name, ())):
                yield name, line


def _lines(encoding: str, name: str, info: Info) -> Iterator[str]:
    yield from (f"{name} {operands}" for operands in _EXTRA.get(name, ()))
    widths = {field: entry[1] for field, entry in info.items()}
    if encoding in ("FLAT", "GLOBAL", "SCRATCH"):
        yield from _flat(encoding, name, info)
    elif encoding in ("MUBUF", "MTBUF"):
        yield from _buffer(name, info)
    elif encoding == "SMEM":
        yield from _scalar_memory(name, widths)
    else:
        fields = [field for field in _ORDER if field in info]
        if name.startswith("s_setreg"):
            fields.reverse()
        choices = [_spellings(info[f][2].name, widths[f], at) for at, f in enumerate(fields)]
        first, *others = one_at_a_time(choices)
        yield from _ordinary(encoding, name, _masked(encoding, name, first, fields))
        for operands in others:
            yield f"{name} {', '.join(_masked(encoding, name, operands, fields))}"


_EXTRA = {
    "s_setreg_imm32_b32": ("hwreg(HW_REG_MODE, 0, 4), 0x12345",),
    "s_atc_probe": ("1, s[2:3], 0x8",),
    "s_atc_probe_buffer": ("1, s[4:7], 0x8",),
    "s_dcache_discard": ("s[2:3], 0x10",),
    "s_dcache_discard_x2": ("s[2:3], 0x10",),
    "v_madak_f16": ("v0, v1, v2, 0x1234", "v0, s1, v2, 0x1234"),
    "v_madmk_f16": ("v0, v1, 0x1234, v2",),
    "v_mfma_f32_16x16x8_xf32": (
        *("v[0:3], v[4:5], a[6:7], v[8:11]", "a[0:3], a[4:5], v[6:7], a[8:11]"),
        *("a[0:3], v[4:5], v[6:7], 1.0", "v[0:3], v[4:5], v[6:7], -3"),
    ),
    "v_mfma_f32_32x32x4_xf32": (
        *("v[0:15], v[24:25], a[26:27], v[28:43]", "a[0:15], a[4:5], v[6:7], a[16:31]"),
        *("a[0:15], v[4:5], v[6:7], 1.0", "v[0:15], v[24:25], v[6:7], -3", "a[0:15], a[4:5], a[6:7], 1.0"),
    ),
}
"""Of mnemonics whose operands AMD's table has not, or has otherwise."""
_CARRY_IN = ("v_addc_co", "v_subb_co", "v_subbrev_co")


def _masked(encoding: str, name: str, operands: list[str], fields: Sequence[str]) -> list[str]:
    """The operands with those masks that the text shows and AMD's table of VOP2 and VOPC does not."""
    if encoding == "VOPC" or (encoding == "VOP3" and name.startswith("v_cmp")):
        return operands if "vdst" in fields else ["vcc", *operands]
    if encoding != "VOP2":
        return operands
    out = ["vcc"] if "_co_" in name else []
    into = ["vcc"] if name.startswith((*_CARRY_IN, "v_cndmask")) else []
    return [*operands[:1], *out, *operands[1:], *into]


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
            yield from _short(name, operands)
        case "VOP3" | "VOP3SD":
            yield from _long(name, operands)
        case "VOP3P" | "VOP3PX2":
            yield from _packed(name, operands)
        case "DS":
            for tail in ("offset:65535", "offset:256", "offset0:255 offset1:1", "gds"):
                yield f"{name} {text} {tail}"
            for part in (2, 3):
                yield f"{name} {', '.join(operands[:part])} offset:8"
    if name.startswith(("v_fmaak", "v_madak")):
        yield f"{name} {text}, 0x12345"
    if name.startswith(("v_fmamk", "v_madmk")):
        yield f"{name} {', '.join(operands[:2])}, 0x12345, {operands[2]}"


def _short(name: str, operands: list[str]) -> Iterator[str]:
    text = ", ".join(operands)
    yield f"{name}_e32 {text}"
    yield from (f"{name}_dpp {text} {control}" for control in _DPP)
    yield from (f"{name}_sdwa {text} {selects}" for selects in _SDWA)
    yield f"{name}_sdwa {text} clamp mul:2 {_SDWA[0]}"
    yield f"{name}_sdwa {', '.join(['s[6:7]', *operands[1:]])} {_SDWA[-1]}"
    for at in range(1, len(operands)):
        if operands[at].startswith("v") and operands[at] != "vcc":
            for style in ("-{}", "|{}|", "sext({})", "s6"):
                changed = [*operands[:at], style.format(operands[at]), *operands[at + 1 :]]
                yield f"{name}_sdwa {', '.join(changed)} {_SDWA[-1]}"
                if style.startswith(("sext", "s6")):
                    continue
                yield f"{name}_dpp {', '.join(changed)} {_DPP[1]}"


_BYTE_OF_RESULT = (
    *("v_cvt_sr_fp8", "v_cvt_sr_bf8", "v_cvt_scalef32_sr_fp8", "v_cvt_scalef32_sr_bf8"),
    *("v_cvt_scalef32_pk_fp4_f16", "v_cvt_scalef32_pk_fp4_bf16"),
)
"""Of their op_sel, bits 2 and 3 choose a byte of the destination."""


def _long(name: str, operands: list[str]) -> Iterator[str]:
    text = ", ".join(operands)
    yield f"{name}_e64 {text}"
    lists = 4 if name.startswith(_BYTE_OF_RESULT) else len(operands)
    for tail in ("clamp", "mul:2", "div:2 clamp"):
        yield f"{name}_e64 {text} {tail}"
    for bits in _lists(lists):
        yield f"{name}_e64 {text} op_sel:{bits}"
    for at in range(1, len(operands)):
        for style in ("-{}", "|{}|", "-|{}|"):
            changed = [*operands[:at], style.format(operands[at]), *operands[at + 1 :]]
            yield f"{name}_e64 {', '.join(changed)}"
    if "bitop3" in name:
        yield from (f"{name} {text} bitop3:{truth}" for truth in ("0xc8", "0x1", "0x35 op_sel:[1,0,1,1]"))
    if operands[:1] == ["vcc"]:
        yield f"{name}_e64 {', '.join(['s[6:7]', *operands[1:]])}"


def _lists(length: int) -> list[str]:
    """Lists of bits: one of them set, and all."""
    rows = [[int(at == one) for at in range(length)] for one in range(length)]
    return [f"[{','.join(map(str, row))}]" for row in (*rows, [1] * length)]


def _packed(name: str, operands: list[str]) -> Iterator[str]:
    text = ", ".join(operands)
    sources = 3 if "scale" in name else len(operands) - 1
    for bits in _lists(sources):
        for modifier in ("op_sel", "op_sel_hi", "neg_lo", "neg_hi", "neg"):
            yield f"{name} {text} {modifier}:{bits}"
        yield f"{name} {text} op_sel:{bits} op_sel_hi:{bits}"
    for tail in (
        ()
        if "f8f6f4" in name
        else ("clamp", "cbsz:1", "cbsz:2 abid:1", "cbsz:1 abid:1 blgp:3", "blgp:1", "blgp:4", "blgp:7")
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
                kept = [o.replace("v", file) for o in (operands[0], operands[3])]
                text = ", ".join([kept[0], *sources, kept[1], *operands[4:]])
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
    policies = [p for p in _POLICY if "sc1" not in p or not name.endswith("_f64")]  # clang drops it there
    for file in ("v", "a"):
        dst = f"{span(file, 20, width.get('vdst', 32))}, "
        data = f", {span(file, 8, width['data'])}" if "data" in width else ""
        half = f"{span(file, 20, width.get('vdst', 32) // 2)}, "
        for head in dict.fromkeys(("", dst, half) if "atomic" in name else ("", dst)):
            for place in places:
                yield f"{name} {head}{place.format(data)}"
                yield f"{name} {head}{place.format(data)} sc0"
            for tail in (*offsets, *policies):
                yield f"{name} {head}{places[0].format(data)} {tail}"
                yield f"{name} {head}{places[0].format(data)} offset:8 {tail} sc0"


def _buffer(name: str, info: Info) -> Iterator[str]:
    yield name
    width = info["vdata"][1] if "vdata" in info else 32
    for file in ("v", "a"):
        for place in (
            *("off, s[4:7], s8", "v1, s[4:7], 0 offen", "v1, s[4:7], m0 idxen"),
            *("v[2:3], s[4:7], s8 idxen offen", "off, ttmp[4:7], -4"),
        ):
            for tail in ("offset:4095 sc0", *_POLICY):
                yield f"{name} {span(file, 20, width)}, {place} {tail}"
    for place in ("off, s[4:7], s8", "v1, s[4:7], 0 offen", "v1, s[4:7], m0 idxen"):
        for tail in ("lds", "offset:128 lds", "offset:8 sc0 nt lds"):
            yield f"{name} {place} {tail}"
