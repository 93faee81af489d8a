"""One decoded instruction, as plain data that no vendor library is needed to read."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field
from msgspec.structs import force_setattr

from layoutprobe.isa.kind import Kind, kind_of

OperandKind = Literal["v", "a", "s", "const", "literal", "none"]

VCC_LO = 106
NULL = 124
M0 = 125
EXEC_LO = 126
EXEC_HI = 127
SCC = 128
"""Register number of SCC in the unified numbering (SGPRs 0..127, SCC, VGPRs from 256, AccVGPRs from 512)."""
VGPR0 = 256
ACC0 = 512
"""AccVGPRs have numbers of their own: v7 and a7 are two registers. CDNA keeps both in one file, the AccVGPRs
behind the VGPRs at the kernel's accum_offset (CDNA3 ISA guide, 3.6.4): row `accum_offset + n` holds a`n`."""


FLOAT_CONSTANTS = {240: 0.5, 241: -0.5, 242: 1.0, 243: -1.0, 244: 2.0, 245: -2.0, 246: 4.0, 247: -4.0,
                   248: 0.15915494309189532}  # fmt: skip
"""Inline constants that are no integers, by their encoding."""


class Operand(Struct, frozen=True):
    """One operand.

    Attributes:
        kind: "v" VGPR, "a" AccVGPR, "s" SGPR or special scalar register, "const" inline constant,
            "literal" 32-bit literal, "none" absent.
        index: number of the VGPR or AccVGPR; SGPR encoding (106 is vcc_lo, 126 exec_lo); or the encoding of the
            inline constant (128..208 integers, 235..238 apertures, 240..248 floats, 253 SCC).
        regs: number of 32-bit registers.
        bits: width of the value in bits (16 for a half, 64 for a pair); of a 16-bit result that clears the
            other half of its register, 32.
        fmt: number format as AMD's machine-readable ISA names it: "F16", "U32", "PK2_F16"...
        value: the literal.
        hi: the operand is the upper half of its VGPR.
        neg, abs: source modifiers; for packed operands neg applies to the low half.
        neg_hi: packed operands: negate the high half.
        sel, sel_hi: packed operands: which half feeds the low and the high result.
    """

    kind: OperandKind
    index: int = 0
    regs: int = 1
    bits: int = 32
    fmt: str = "B32"
    value: int = 0
    hi: bool = False
    neg: bool = False
    abs: bool = False
    neg_hi: bool = False
    sel: bool = False
    sel_hi: bool = True

    @property
    def number(self) -> int | None:
        """The signed integer that it stands for; None for a register and for a constant that is none."""
        if self.kind == "literal":
            value = self.value & 0xFFFFFFFF
            return value - (value >> 31 << 32)
        if self.kind != "const" or not 128 <= self.index <= 208:
            return None
        return self.index - 128 if self.index <= 192 else 192 - self.index

    def registers(self) -> range:
        """The 32-bit registers of this operand: SGPRs as encoded, VGPRs from VGPR0, AccVGPRs from ACC0."""
        if self.kind == "v":
            return range(VGPR0 + self.index, VGPR0 + self.index + self.regs)
        if self.kind == "a":
            return range(ACC0 + self.index, ACC0 + self.index + self.regs)
        if self.kind == "s" and self.index != NULL:
            return range(self.index, self.index + self.regs)
        return range(0)


class Inst(Struct, frozen=True):
    """One instruction at its address.

    Attributes:
        pc: virtual address in the code object.
        size: bytes.
        name: mnemonic in lower case without the encoding suffix ("v_add_f32").
        encoding: "VOP2", "SOPP", "DS"...
        dst: destinations in the order of the assembly (VOP3SD has two; stores have none).
        src: sources in the order of the assembly.
        mods: everything else by name: simm16, offset, offset0, offset1, clamp, omod, opsel,
            dpp8, dpp_ctrl, row_mask, bank_mask, bound_ctrl, fi, saddr_null, glc...
        pair: for a dual instruction, its two halves X and Y.
        kind: what it is; always worked out from the mnemonic.
    """

    pc: int
    size: int
    name: str
    encoding: str
    dst: tuple[Operand, ...] = ()
    src: tuple[Operand, ...] = ()
    mods: dict[str, int] = field(default_factory=dict)
    pair: tuple[Inst, ...] = ()
    kind: Kind = Kind(0)

    def __post_init__(self) -> None:
        force_setattr(self, "kind", kind_of(self.name))

    @property
    def next_pc(self) -> int:
        """Address of the instruction that follows."""
        return self.pc + self.size

    @property
    def to_lds(self) -> bool:
        """It loads from memory to LDS, and writes no register."""
        return "_load_lds_" in self.name or bool(self.mods.get("lds"))

    @property
    def branch_target(self) -> int:
        """Target of a SOPP branch: simm16 counts dwords from the next instruction."""
        offset = self.mods["simm16"]
        return self.next_pc + 4 * (offset - 0x10000 if offset & 0x8000 else offset)
