"""Random but reproducible forms of a mnemonic: encodings, operand kinds, modifiers, register contents."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from itertools import product

import numpy as np
from msgspec.structs import replace

from layoutprobe.isa.inst import EXEC_LO, NULL, VCC_LO, Inst, Operand
from oracle.edges import DOUBLE_ROUNDING, draw, patterns
from oracle.encode import DPP8, DPP8_FI, DPP16, LITERAL, SDWA, Encoding, encodings
from oracle.harness import U32, Image
from oracle.language import current
from oracle.operands import FLOAT_MODIFIERS, MASKS, saturating, width_of

SOURCE_VGPRS = (2, 4, 6)
TARGET_VGPRS = (8, 10, 4)
SOURCE_SGPRS = (2, 4, 6, VCC_LO, 12)
SCALAR_TARGETS = (14, 2, 10, VCC_LO, NULL)
MASK_REGISTERS = (20, 22, VCC_LO)
DPP_CONTROLS = (
    0x1B, 0xE4, 0x00, 0x4E, *range(0x101, 0x110), *range(0x111, 0x120), *range(0x121, 0x130), 0x140, 0x141,
    *range(0x150, 0x160), *range(0x160, 0x170),
)  # fmt: skip
EXEC_MASKS = (0xFFFFFFFF, 0xFFFFFFFE, 0x00FF7F01, 0x12345678, 0x80000000, 0x0000FFFF, 0xA5A5A5A5)
_WHOLE = ("v_fmac", "v_fmaak", "v_fmamk", "v_dot", "v_cvt_f32_fp8", "v_cvt_f32_bf8", "v_cvt_pk_f32")
"""Without SDWA, or with another meaning of it."""
_NO_OMOD = ("v_rcp", "v_rsq", "v_sqrt", "v_exp", "v_log", "v_sin", "v_cos", "v_div", "v_frexp", "v_ldexp",
            "v_dot", "v_mov", "v_cndmask", "v_fma_mix")  # fmt: skip


def generator(name: str, salt: int = 0) -> np.random.Generator:
    """The same numbers for the same mnemonic, in every run."""
    return np.random.default_rng([zlib.crc32(name.encode()), salt])


def is_mask(encoding: Encoding, field: str) -> bool:
    """The field names a lane mask."""
    return encoding.operands.get(field, ("", 0))[0] in ("M64", "M32")


def source_fields(encoding: Encoding) -> list[str]:
    """Source fields in order, without the lane mask."""
    names = ("src0", "vsrc0", "src1", "vsrc1", "src2")
    found = [n for n in names if n in encoding.operands and not is_mask(encoding, n)]
    # VOP3 of a one-operand instruction lists its source as vsrc0; the field is src0.
    return ["src0" if n == "vsrc0" else n for n in found]


class VectorForm:
    """Draws one encoding's fields."""

    def __init__(self, encoding: Encoding, rng: np.random.Generator) -> None:
        self.encoding, self.rng = encoding, rng
        self.variant = encoding.name.partition("_")[2]
        self.has = encoding.fields.__contains__
        self.values: dict[str, int] = {}

    def pick(self, options: tuple[int, ...]) -> int:
        """One of the options."""
        return int(self.rng.choice(options))

    def chance(self, one_in: int = 2) -> bool:
        """True now and then."""
        return bool(self.rng.integers(0, one_in) == 0)

    def format(self, field: str) -> tuple[str, int]:
        """AMD's format and width of a source field."""
        for name in (field, "v" + field):
            if name in self.encoding.operands:
                return self.encoding.operands[name]
        raise KeyError(field)

    def half(self, field: str) -> int:
        """Bit 7 of the register number names the upper half in VOP1, VOP2 and VOPC."""
        short = self.encoding.name.startswith(("VOP1", "VOP2", "VOPC"))
        short = short and current().dialect.isa.encodings.halves
        return 128 if short and self.format(field)[1] == 16 and self.chance() else 0

    def source(self, i: int, field: str) -> int:
        """The code of a source operand."""
        register = SOURCE_VGPRS[i] + self.half(field)
        if self.encoding.fields[field] == 8:  # vsrc1: VGPRs only
            return register
        kind = self.rng.integers(0, 6)
        fmt, bits = self.format(field)
        if kind < 3:
            return 256 + register
        if kind == 3:
            return self.pick(SOURCE_SGPRS[:3] if bits == 64 else SOURCE_SGPRS)
        if self.variant == "LIT" and (kind == 4 or "literal" not in self.values):
            self.values["literal"] = int(draw(self.rng, fmt if bits <= 32 else "B32", 32, (1,))[0])
            return LITERAL
        integers = (128, 129, 128 + 64, 193, 208, 128 + 17)
        floats = fmt in ("F16", "F32", "F64", "PK2_F16") or fmt == "B32"
        return self.pick((*integers, *range(240, 249)) if floats else integers)

    @property
    def name(self) -> str:
        """The mnemonic."""
        return repr(self.encoding).partition("[")[0].lower()

    def inst(self) -> Inst | None:
        """One instruction; None where the encoding does not exist for the mnemonic in this form."""
        self.values = {}
        fields = source_fields(self.encoding)
        wide = (
            any(self.format(f)[1] == 64 for f in fields)
            or self.encoding.operands.get("vdst", ("", 0))[1] == 64
        )
        if self.variant.startswith(("DPP", "SDWA")) and wide:
            return None
        if "SDWA" in self.variant and (
            self.name.startswith(_WHOLE) or self.encoding.name == "VOP2_SDWA_SDST"
        ):
            return None
        codes = {f: self.source(i, f) for i, f in enumerate(fields)}
        if self.variant.startswith("DPP"):
            if self.encoding.fields.get("src1") == 9:  # only VGPRs are sure to be allowed
                codes |= {f: 256 + SOURCE_VGPRS[i] for i, f in enumerate(fields) if i}
            codes["src0"] = self._dpp(fields[0])
        elif self.variant.startswith("SDWA"):
            codes |= self._sdwa(fields)
        elif self.variant == "LIT" and LITERAL not in codes.values() and "fmaak" not in self.name:
            codes[fields[0]] = LITERAL
            self.values.setdefault("literal", 0x3FC12345)
        self.values |= codes
        self._masks()
        self._modifiers(fields)
        return self.encoding.inst(**self.values)

    def _dpp(self, field: str) -> int:
        self.values["vsrc0"] = SOURCE_VGPRS[0] + self.half(field)
        if self.variant == "DPP8":
            self.values |= {f"lane_sel_{i}": self.pick(tuple(range(8))) for i in range(8)}
            return self.pick((DPP8, DPP8_FI))
        writes_mask = "vdst" not in self.encoding.operands or self.has("sdst")
        # Which bit a lane leaves that row_mask disables is not stated: masks keep all rows on.
        full = {"row_mask": 15, "bank_mask": 15}
        some = {"row_mask": self.pick((15, 15, 1, 2)), "bank_mask": self.pick((15, 15, 5, 8))}
        self.values |= {"dpp": self.pick(current().dpp or DPP_CONTROLS), "bc": int(self.chance())}
        if self.has("fi"):
            self.values["fi"] = int(self.chance())
        self.values |= full | {"bc": 1} if writes_mask else some
        return DPP16

    def _sdwa(self, fields: list[str]) -> dict[str, int]:
        """Sources and modifiers of SDWA; only the destination of 16 or 32 bits has a selection."""
        v = self.values
        v |= {f"src{i}_sel": self.pick(tuple(range(7))) for i in range(2)}
        v |= {
            f"src{i}_sext": int(self.chance() and not self._float_modifiers(f)) for i, f in enumerate(fields)
        }
        if self.has("dst_sel"):
            fmt = self.encoding.operands.get("vdst", ("", 0))[0]
            sizes = {"F16": (4, 5, 6), "F32": (6,)}.get(fmt, tuple(range(7)))
            v |= {"dst_sel": self.pick(sizes), "dst_unused": self.pick((0, 1, 2))}
        if self.has("sd"):
            v |= {"sd": int(self.chance()), "sdst": self.pick(MASK_REGISTERS)}
        scalar = [self.chance(4) for _ in range(2)]
        v |= {"vsrc0": self.pick(SOURCE_SGPRS) if scalar[0] else SOURCE_VGPRS[0], "s0": int(scalar[0])}
        codes = {"src0": SDWA}
        if len(fields) > 1:
            v["s1"] = int(scalar[1])
            codes[fields[1]] = self.pick(SOURCE_SGPRS) if scalar[1] else SOURCE_VGPRS[1]
        return codes

    def _masks(self) -> None:
        for field in ("src2", "sdst"):
            if is_mask(self.encoding, field) and self.has(field):
                self.values[field] = self.pick(MASK_REGISTERS)
        vdst = self.encoding.operands.get("vdst")
        if self.has("vdst"):
            scalar = vdst is not None and vdst[0] in ("M64", "M32")
            if scalar or self.encoding.name.startswith("VOP3_SDST"):
                masks = MASK_REGISTERS if current().lanes == 64 else (*MASK_REGISTERS, NULL)
                to_exec = "cmpx" in self.name and not current().dialect.isa.encodings.both_masks
                self.values["vdst"] = EXEC_LO if to_exec else self.pick(masks)
            else:
                self.values["vdst"] = self.pick(TARGET_VGPRS) + self.half("vdst")

    def _modifiers(self, fields: list[str]) -> None:
        v, has = self.values, self.has
        floats = [self._float_modifiers(f) for f in fields]
        packed = [self.format(f)[0] == "PK2_F16" or "mix" in self.name for f in fields]
        for i, ok in enumerate(floats):
            if has(f"src{i}_neg") and ok and "VOP3" not in self.encoding.name:
                v[f"src{i}_neg"], v[f"src{i}_abs"] = int(self.chance()), int(self.chance())
        if has("neg") and self.encoding.name.startswith("VOP3P"):
            self._packed(fields, packed)
        elif has("neg"):
            v["neg"] = self._bits(floats)
            if has("abs"):
                v["abs"] = self._bits(floats)
            if has("opsel"):
                v["opsel"] = self._bits([self.format(f)[1] == 16 for f in fields])
                if self.encoding.operands.get("vdst", ("", 0))[1] == 16 and self.chance():
                    v["opsel"] |= 8
        if "bitop3" in self.name:
            v |= {
                "omod": self.pick((0, 1, 2, 3)),
                "abs": self.pick(tuple(range(8))),
                "neg": self.pick(tuple(range(8))),
            }
            return
        target = self.encoding.operands.get("vdst", ("", 0))[0]
        if target in ("F16", "F32", "F64") and not self.name.startswith(_NO_OMOD):
            if has("omod") and self.chance(3):
                v["omod"] = self.pick((1, 2, 3))
            if has("clmp") and self.chance(3):
                v["clmp"] = 1
        elif has("clmp") and "cvt" not in self.name:
            known = saturating(self.name) or re.search("_dot[48]_", self.name) or target == "PK2_F16"
            v["clmp"] = int(bool(known) and self.chance())

    def _packed(self, fields: list[str], packed: list[bool]) -> None:
        v = self.values
        halves = [self.format(f)[0].startswith("PK2") or "mix" in self.name for f in fields]
        v["opsel"] = self._bits(halves)
        sel_hi = self._bits(halves) | (0 if self.chance() else 7 if all(halves) else 3)
        v["opsel_hi"], v["opsel_hi2"] = sel_hi & 3, sel_hi >> 2
        v["neg"], v["neg_hi"] = self._bits(packed), self._bits(packed)
        if "_iu" in self.name:
            v["neg"] = self.pick((0, 1, 2, 3))

    def _float_modifiers(self, field: str) -> bool:
        fmt = self.format(field)[0]
        if fmt in ("B16", "B32"):
            return self.name.startswith(("v_cndmask", "v_mov_b"))
        if field in ("src1", "vsrc1") and ("class" in self.name or "ldexp" in self.name):
            return False  # the mask and the power are integers, whatever AMD's table says
        return fmt in FLOAT_MODIFIERS

    def _bits(self, allowed: list[bool]) -> int:
        return sum(int(self.chance()) << i for i, ok in enumerate(allowed) if ok)


def vector_forms(name: str, rng: np.random.Generator, each: int) -> Iterator[Inst]:
    """Forms of a mnemonic in all its encodings, `each` per encoding."""
    for encoding in encodings(name).values():
        for _ in range(each):
            inst = VectorForm(encoding, rng).inst()
            if inst is not None:
                yield inst


def fill(image: Image, inst: Inst, rng: np.random.Generator) -> Image:
    """Give the source registers of an instruction values that suit their formats."""
    for operand in (*inst.src, *inst.dst):
        if operand.kind == "v":
            set_vgpr(image, operand, draw(rng, operand.fmt, width_of(operand), (image.waves, image.lanes)))
        elif operand.kind == "s" and operand.fmt not in MASKS and operand.index < 104:
            values = draw(rng, operand.fmt, width_of(operand), (image.waves,))
            for j in range(max(1, width_of(operand) // 32)):
                image.s[operand.index + j] = (values >> np.uint64(32 * j)).astype(np.uint32)
    image.activate(exec_masks(rng, image.waves))
    return image


def exec_masks(rng: np.random.Generator, waves: int) -> U32:
    """All lanes of all waves on, which has code of its own in layoutprobe, or some off."""
    if rng.integers(0, 2):
        return np.full(waves, 0xFFFFFFFF, np.uint32)
    return rng.choice(np.array(EXEC_MASKS, np.uint32), waves)


def set_vgpr(
    image: Image, operand: Operand, values: np.ndarray[tuple[int, ...], np.dtype[np.uint64]]
) -> None:
    """Write values [wave, lane] to a VGPR operand; a half leaves the other half."""
    if width_of(operand) == 16:
        keep = np.uint32(0x0000FFFF if operand.hi else 0xFFFF0000)
        new = values.astype(np.uint32) << np.uint32(16 * operand.hi)
        image.v[operand.index] = (image.v[operand.index] & keep) | (new & ~keep)
        return
    for j in range(max(1, width_of(operand) // 32)):
        image.v[operand.index + j] = (values >> np.uint64(32 * j)).astype(np.uint32)


def plain_form(name: str) -> Inst:
    """The mnemonic with VGPR sources and no modifiers: VOP3 where it exists."""
    found = encodings(name)
    order = ("VOP3", "VOP3SD", "VOP3P", "VOP3_SDST", "VOPC", "VOP2", "VOP1", "VOP2_LIT")
    encoding = next(found[n] for n in order if n in found)
    fields = source_fields(encoding)
    values = {f: SOURCE_VGPRS[i] + (256 if encoding.fields[f] == 9 else 0) for i, f in enumerate(fields)}
    values |= {f: 22 for f in ("src2", "sdst") if is_mask(encoding, f) and f in encoding.fields}
    if "vdst" in encoding.fields:
        values["vdst"] = 20 if encoding.name == "VOP3_SDST" else 8
    if encoding.name == "VOP3P":
        values |= {"opsel_hi": 3, "opsel_hi2": 1}
    inst = encoding.inst(**values)
    if "cmpx" in name and encoding.name == "VOP3_SDST" and len(inst.dst) == 1:
        inst = replace(inst, dst=(Operand("s", EXEC_LO, 1, 32, "M32"),))
    return inst


def edge_images(inst: Inst, rng: np.random.Generator, limit: int) -> Image:
    """Registers in which the lanes, all on, run through combinations of edge values of the VGPR sources."""
    sources = [o for o in inst.src if o.kind == "v"]
    pools = [patterns(o.fmt, width_of(o)) for o in sources]
    tuples = list(product(*pools))
    if len(tuples) > limit:
        tuples = [tuples[i] for i in sorted(rng.choice(len(tuples), limit, replace=False))]
    hard = DOUBLE_ROUNDING.get(inst.name[-3:])
    if hard and len(sources) == 3:
        tuples[0] = hard
    waves = -(-len(tuples) // current().lanes)
    image = Image.random(rng, waves)
    table = np.resize(np.array(tuples, np.uint64), (waves, image.lanes, len(sources)))
    for i, operand in enumerate(sources):
        set_vgpr(image, operand, table[..., i])
    for operand in inst.dst:
        if operand.kind == "v" and operand not in sources:
            set_vgpr(image, operand, draw(rng, operand.fmt, width_of(operand), (waves, image.lanes)))
    image.activate(0xFFFFFFFF)
    return image


# Scalar forms.

SCALAR_SOURCES = (2, 4, 6, VCC_LO)
SCALAR_DESTINATIONS = (14, 2, 16, VCC_LO, 125, NULL)


def scalar_forms(name: str, rng: np.random.Generator, each: int) -> Iterator[Inst]:
    """Forms of a SOP1, SOP2, SOPC or SOPK mnemonic."""
    for encoding in encodings(name).values():
        for _ in range(each):
            yield _scalar(encoding, rng)


def _scalar(encoding: Encoding, rng: np.random.Generator) -> Inst:
    values: dict[str, int] = {}
    literal = encoding.name.endswith("_LIT")
    names = [n for n in ("ssrc0", "ssrc1") if n in encoding.operands]
    for i, field in enumerate(names):
        fmt, bits = encoding.operands[field]
        kind = rng.integers(0, 4)
        if literal and (kind == 0 or (i == len(names) - 1 and LITERAL not in values.values())):
            values[field] = LITERAL
        elif kind < 3:
            m0 = current().dialect.isa.encodings.m0
            values[field] = int(rng.choice(SCALAR_SOURCES if bits == 64 else (*SCALAR_SOURCES, 12, m0)))
        else:
            floats = (
                range(240, 249) if fmt in ("F16", "F32") and "cvt_hi" not in repr(encoding).lower() else ()
            )
            values[field] = int(rng.choice((128, 129, 192, 193, 208, 144, 253, *floats)))
    if literal:
        fmt = encoding.operands[names[0]][0] if names else "I32"
        values["literal"] = int(draw(rng, fmt if fmt in ("F32", "F16") else "B32", 32, (1,))[0])
    if "sdst" in encoding.operands:
        values["sdst"] = int(rng.choice(SCALAR_DESTINATIONS[:4]))
        if "saveexec" not in repr(encoding).lower() and rng.integers(0, 4) == 0:
            values["sdst"] = EXEC_LO
    if "simm16" in encoding.fields:
        values["simm16"] = int(draw(rng, "I16", 16, (1,))[0])
    return encoding.inst(**values)


def fill_scalars(image: Image, inst: Inst, rng: np.random.Generator) -> Image:
    """Give the scalar source registers values that suit their formats; M0 and VCC included."""
    for operand in (*inst.src, *inst.dst):
        if operand.kind != "s" or operand.index in (NULL, EXEC_LO):
            continue
        values = draw(rng, operand.fmt, max(32, width_of(operand)), (image.waves,))
        if operand.fmt == "F16":
            upper = rng.integers(0, 1 << 16, image.waves, np.uint64) << np.uint64(16)
            values = draw(rng, "F16", 16, (image.waves,)) | upper
        for j in range(max(1, width_of(operand) // 32)):
            image.s[operand.index + j] = (values >> np.uint64(32 * j)).astype(np.uint32)
    image.activate(rng.choice(np.array((*EXEC_MASKS, 0), np.uint32), image.waves))
    return image
