"""The fields of one raw instruction, and the operands that they name."""

from __future__ import annotations

import re
from typing import Any

from msgspec.structs import replace

from layoutprobe.arch.isa import Encodings
from layoutprobe.isa.dialect import Dialect
from layoutprobe.isa.inst import M0, VCC_LO, Inst, Operand
from layoutprobe.isa.kind import kind_of

NONE = Operand("none")
RESERVED = frozenset([*range(209, 235), 239, *range(249, 253), 254])
"""Encodings that name no source (RDNA3 ISA guide, "Operand encodings"); DPP markers are taken before."""
_TRUE16_ENCODINGS = ("VOP1", "VOP2", "VOPC")
_ACC_FILE = ("OPR_ACCVGPR", "OPR_SRC_ACCVGPR")
"""Operands that are AccVGPRs without saying so."""
_VECTOR = ("VOP1", "VOP2", "VOP3", "VOP3P")
_SDWA = ("dst_sel", "dst_unused", "src0_sel", "src1_sel", "src0_sext", "src1_sext")
_NUMBERS = ("OPR_SIMM4", "OPR_SIMM8")
_SMALL_FLOATS = re.compile("v_cvt_.*(fp8|bf8)")
_SCALAR_FILE = ("OPR_SREG", "OPR_SREG_NOVCC", "OPR_SDST")


class Fields:
    """The fields of one raw instruction, with makers for operands."""

    def __init__(
        self,
        raw: Any,
        fields: dict[str, Any],
        name: str,
        encoding: str,
        variant: str,
        pc: int,
        dialect: Dialect,
    ) -> None:
        self.raw, self.fields, self.name = raw, fields, name
        self.kind = kind_of(name)
        self.encoding, self.variant, self.pc = encoding, variant, pc
        self.dialect, self.mask_bits = dialect, dialect.wave_size
        self.literal = int(fields.get("literal", 0))

    @property
    def rules(self) -> Encodings:
        """What differs between families."""
        return self.dialect.isa.encodings

    def offset(self, encoding: str) -> int:
        """The immediate offset."""
        name, bits = self.rules.offset[encoding]
        value = self.mod(name)
        return value - (1 << bits) if bits and value >> bits - 1 & 1 else value

    def code(self, name: str) -> int:
        """The encoding in a register field; some of these the package has as plain numbers."""
        value = self.fields[name]
        return int(getattr(value, "offset", value))

    def mod(self, name: str) -> int:
        """A field that is a number, 0 where the encoding has none of that name."""
        return int(self.fields.get(name, 0))

    def operand(self, name: str, *, code: int | None = None, **changes: Any) -> Operand:
        """Operand of a register field, with width and format from AMD's operand table.

        Args:
            name: the field.
            code: encoding to take instead of the field's own.
            changes: attributes that the encoding does not give.
        """
        table = self.raw.operands
        info = table.get(name) or table.get("v" + name) or table.get(name[1:])
        bits = info[1] if info else 32
        bits = self.rules.widths.get(self.name, {}).get(name, bits)
        fmt = info[0].name.removeprefix("FMT_").removeprefix("NUM_") if info else "B32"
        if fmt == "M64":  # a lane mask: one SGPR in wave32, two in wave64
            bits, fmt = self.mask_bits, f"M{self.mask_bits}"
        code = self.fields[name].offset if code is None else code
        file = info[2].name if info else ""
        if file in _NUMBERS:
            return Operand("literal", 0, 1, 32, fmt, value=code)
        if file in _SCALAR_FILE and self.encoding in _VECTOR:  # the package reads the field as a VGPR
            code &= 0xFF
        operand = self.register(code, bits, fmt, **changes)
        if name == "vdst" and self.name in self.rules.cleared:
            operand = replace(operand, bits=32)
        return acc(operand) if file in _ACC_FILE else operand

    def data(self, name: str) -> Operand:
        """Operand of a memory instruction's data, which may lie in AccVGPRs."""
        return acc(self.operand(name)) if self.mod("acc") else self.operand(name)

    def register(self, code: int, bits: int, fmt: str, **changes: Any) -> Operand:
        """Operand of an encoding in the unified numbering of sources (VGPRs from 256)."""
        regs = max(1, bits // 32)
        if code >= 256:
            index, hi = code - 256, False
            if bits == 16 and index >= 128 and self.rules.halves and self.encoding in _TRUE16_ENCODINGS:
                index, hi = index - 128, True
            return replace(Operand("v", index, regs, bits, fmt, hi=hi), **changes)
        if code == 255:
            if "literal" not in self.fields:
                raise ValueError("a literal where none can follow")
            return replace(Operand("literal", 0, regs, bits, fmt, value=self.literal), **changes)
        if self.rules.m0 != M0 and code in (M0, self.rules.m0):
            if code == M0:
                raise ValueError(f"source encoding {code} is reserved")
            code = M0
        if code < 128:
            return replace(Operand("s", code, regs, bits, fmt), **changes)
        if code in RESERVED:
            raise ValueError(f"source encoding {code} is reserved")
        return replace(Operand("const", code, regs, bits, fmt), **changes)

    def mask(self, code: int = VCC_LO) -> Operand:
        """A lane mask in scalar registers."""
        return self.register(code, self.mask_bits, f"M{self.mask_bits}")

    def inst(self, dst: tuple[Operand, ...], src: tuple[Operand, ...], **mods: int) -> Inst:
        """The instruction with these operands, and with those modifiers that are not 0."""
        kept = {key: value for key, value in mods.items() if value}
        if self.rules.fnuz and _SMALL_FLOATS.search(self.name):
            kept["fnuz"] = 1
        return Inst(self.pc, self.raw.size(), self.name, self.encoding, dst, src, kept | self.dpp())

    def dpp(self) -> dict[str, int]:
        """The modifiers of DPP or SDWA, none without them."""
        if self.variant == "DPP8":
            return {
                "dpp8": sum(self.mod(f"lane_sel_{i}") << 3 * i for i in range(8)),
                "fi": int(self._dpp8_fi),
            }
        if self.variant == "DPP16":
            keys = {
                "dpp": "dpp_ctrl",
                "row_mask": "row_mask",
                "bank_mask": "bank_mask",
                "bc": "bound_ctrl",
                "fi": "fi",
            }
            return {new: self.mod(old) for old, new in keys.items()}
        if self.variant.startswith("SDWA"):
            return {name: self.mod(name) for name in _SDWA}
        return {}

    @property
    def _dpp8_fi(self) -> bool:
        return bool(self.fields["src0"].offset == 234)  # 233 is DPP8, 234 is DPP8 with fetch-inactive

    def first_source(self, **changes: Any) -> Operand:
        """src0; with DPP the VGPR that the permutation reads, with SDWA a VGPR or SGPR."""
        if self.variant.startswith("SDWA"):
            return self.operand("src0", code=self._sub_dword("vsrc0", "s0"), **changes)
        if self.variant.startswith("DPP"):
            return self.operand("src0", code=self.fields["vsrc0"].offset, **changes)
        return self.operand("src0", **changes)

    def second_source(self, **changes: Any) -> Operand:
        """vsrc1, which SDWA can make an SGPR."""
        if self.variant.startswith("SDWA"):
            return self.operand("vsrc1", code=self._sub_dword("vsrc1", "s1"), **changes)
        return self.operand("vsrc1", **changes)

    def _sub_dword(self, name: str, scalar: str) -> int:
        """A source of SDWA in the unified numbering: its field has eight bits, and another tells the file."""
        return self.code(name) & 0xFF if self.mod(scalar) else self.code(name)


def acc(operand: Operand) -> Operand:
    """The AccVGPRs of the same numbers, where the operand is in VGPRs."""
    return replace(operand, kind="a") if operand.kind == "v" else operand
