"""Immediate fields that assembly text spells out in words: waits, delays, DPP controls, swizzles.

The numbers are those of the "RDNA3.5" Instruction Set Architecture, AMD: S_WAITCNT, S_DELAY_ALU, the
table of DPP_CTRL values, and DS_SWIZZLE's offset.
"""

from __future__ import annotations

import re

from .asm_text import AsmInst, AsmSyntax

_INSTID = ["NO_DEP", *(f"VALU_DEP_{i}" for i in (1, 2, 3, 4)), *(f"TRANS32_DEP_{i}" for i in (1, 2, 3))]
_INSTID += ["FMA_ACCUM_CYCLE_1", *(f"SALU_CYCLE_{i}" for i in (1, 2, 3))]
_INSTSKIP = ["SAME", "NEXT", *(f"SKIP_{i}" for i in (1, 2, 3, 4))]
_DPP_BASES = {
    **{"row_shl": 0x100, "row_shr": 0x110, "row_ror": 0x120, "row_share": 0x150, "row_xmask": 0x160},
    **{"wave_shl": 0x12F, "wave_rol": 0x133, "wave_shr": 0x137, "wave_ror": 0x13B, "row_newbcast": 0x150},
}
_ROW_BROADCASTS = {"15": 0x142, "31": 0x143}
_SELECTS = ("BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD")
_UNUSED = ("UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE")

Pieces = tuple[tuple[int, int], ...]
WAITCNT: dict[str, dict[str, Pieces]] = {
    "gfx11": {"expcnt": ((0, 3),), "lgkmcnt": ((4, 6),), "vmcnt": ((10, 6),)},
    "gfx9": {"expcnt": ((4, 3),), "lgkmcnt": ((8, 4),), "vmcnt": ((0, 4), (14, 2))},
}
"""Lowest bit and width of the parts of a counter's field, lowest part first."""


def waitcnt(inst: AsmInst, fields: dict[str, Pieces] = WAITCNT["gfx11"]) -> int:
    """SIMM16 of an s_waitcnt: a counter that is not named is not waited for, its field is all ones."""
    word = 0
    for name, pieces in fields.items():
        count = int(inst.modifiers.get(name, "-1"))
        for at, width in pieces:
            word |= (count & (1 << width) - 1) << at
            count >>= width
    return word


def delay_alu(inst: AsmInst) -> int:
    """SIMM16 of an s_delay_alu."""
    first, skip, second = (inst.modifiers.get(k) for k in ("instid0", "instskip", "instid1"))
    word = _INSTID.index(first) if first else 0
    word |= (_INSTSKIP.index(skip) if skip else 0) << 4
    return word | (_INSTID.index(second) if second else 0) << 7


def dpp_ctrl(inst: AsmInst) -> int | None:
    """DPP_CTRL of a DPP16 instruction; None if it has no lane pattern."""
    modifiers = inst.modifiers
    if "quad_perm" in modifiers:
        return sum(
            int(lane) << (2 * i) for i, lane in enumerate(modifiers["quad_perm"].strip("[]").split(","))
        )
    if "row_mirror" in modifiers:
        return 0x140
    if "row_half_mirror" in modifiers:
        return 0x141
    if "row_bcast" in modifiers:
        return _ROW_BROADCASTS[modifiers["row_bcast"]]
    for name, base in _DPP_BASES.items():
        if name in modifiers:
            return base + int(modifiers[name])
    return None


def sdwa(inst: AsmInst) -> dict[str, int]:
    """The selects of an SDWA instruction; where the text says nothing, a whole dword, and the rest is kept."""
    found = {}
    for name in ("dst_sel", "src0_sel", "src1_sel"):
        found[name] = _SELECTS.index(inst.modifiers.get(name, "DWORD"))
    found["dst_unused"] = _UNUSED.index(inst.modifiers.get("dst_unused", "UNUSED_PRESERVE"))
    if inst.mnemonic.startswith("v_cmp"):
        del found["dst_sel"], found["dst_unused"]
    elif len(inst.operands) == 2:
        del found["src1_sel"]
    return found


def swizzle_offset(inst: AsmInst) -> int:
    """The offset of a ds_swizzle_b32, spelt as a number or as a `swizzle(...)` macro.

    Raises:
        AsmSyntax: for a macro that this module does not know.
    """
    text = inst.modifiers.get("offset", "0")
    match = re.fullmatch(r"swizzle\((\w+),(.*)\)", text)
    if match is None:
        return int(text, 0)
    if match[1] == "BITMASK_PERM":
        return _bitmask(match[2].strip('"'))
    numbers = [int(n, 0) for n in match[2].split(",")]
    match match[1]:
        case "QUAD_PERM":
            return 0x8000 | sum(lane << (2 * i) for i, lane in enumerate(numbers))
        case "SWAP":
            return _masks(31, 0, numbers[0])
        case "REVERSE":
            return _masks(31, 0, numbers[0] - 1)
        case "BROADCAST":
            return _masks(32 - numbers[0], numbers[1], 0)
        case "ROTATE":
            return 0xC000 | numbers[0] << 10 | numbers[1] << 5
        case "FFT":
            return 0xE000 | numbers[0]
    raise AsmSyntax(f"line {inst.line}: no swizzle {text!r}")


def _bitmask(pattern: str) -> int:
    """One letter per bit of the lane number, highest first: 0, 1, p(reserve), i(nvert)."""
    keep = int("".join("1" if c in "pi" else "0" for c in pattern), 2)
    ones = int("".join("1" if c == "1" else "0" for c in pattern), 2)
    flip = int("".join("1" if c == "i" else "0" for c in pattern), 2)
    return _masks(keep, ones, flip)


def _masks(keep: int, ones: int, flip: int) -> int:
    return keep | ones << 5 | flip << 10
