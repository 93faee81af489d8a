"""Where AMD's text is wrong, cut off, or silent: what replaces it, why, and who says so.

Every entry replaces the text of an operation. Functions that AMD's language lacks (`round_even`,
`frexp_exponent`, `fma_ldexp`, `rsqrt`, `sin_turns`, `cos_turns`, `reverse_bits`) are in builtins.py.
"""

from __future__ import annotations

from msgspec import Struct

_ISA = '"RDNA3.5" Instruction Set Architecture, AMD'
_LLVM = "LLVM, AMDGPU backend"


class Correction(Struct, frozen=True):
    """One replaced text.

    Attributes:
        text: the pseudocode that is used instead.
        reason: what is wrong with AMD's text.
        source: where the right meaning is taken from.
    """

    text: str
    reason: str
    source: str


def _rndne(t: str) -> Correction:
    return Correction(
        f"D0.{t} = round_even(S0.{t})",
        "floor(x + 0.5) rounds the sum: 0.49999997 becomes 1; and the sign of a zero result is lost",
        f"{_LLVM}: V_RNDNE is llvm.rint and llvm.roundeven, IEEE 754 roundToIntegralTiesToEven",
    )


def _frexp_exponent(t: str, dest: str) -> Correction:
    return Correction(
        f"if isNAN(S0.{t}) || abs(S0.{t}) == INF.{t} then\nD0.{dest} = 0\n"
        f"else\nD0.{dest} = frexp_exponent(S0.{t})\nendif",
        "exponent(x) is the stored field: for zero and denormals that is not the exponent of mantissa(x)",
        f"{_LLVM}: llvm.frexp becomes V_FREXP_EXP alone, so it gives 0 for zero and normalises denormals",
    )


def _fract(t: str, top: tuple[str, str]) -> Correction:
    return Correction(
        f"D0.{t} = S0.{t} + -floor(S0.{t});\nif D0.{t} >= {top[0]} then\nD0.{t} = {top[1]}\nendif",
        "the sum may round to 1 for a small negative x",
        f"{_LLVM}: AMDGPUCodeGenPrepare turns min(x - floor(x), the largest value below 1) into V_FRACT",
    )


def _div_scale(t: str, double: str, scale: int, near_max: int, tiny: int) -> Correction:
    def scaled(by: int) -> str:
        return f"D0.{t} = ldexp(S0.{t}, {by})"

    one = "1.0F" if t == "f32" else "1.0"
    text = f"""
D0.{t} = S0.{t};
VCC.u64[laneId] = 1'0U;
if ((S2.{t} == 0.0{"F" if t == "f32" else ""}) || (S1.{t} == 0.0{"F" if t == "f32" else ""})) then
D0.{t} = NAN.{t}
elsif exponent(S2.{t}) - exponent(S1.{t}) >= {near_max} then
VCC.u64[laneId] = 1'1U;
if S0.{t} == S1.{t} then
{scaled(scale)}
endif
elsif S1.{t} == DENORM.{t} then
{scaled(scale)}
elsif (({one} / S1.{t} == DENORM.{t}) && (S2.{t} / S1.{t} == DENORM.{t})) then
VCC.u64[laneId] = 1'1U;
if S0.{t} == S1.{t} then
{scaled(-scale)}
endif
elsif {one} / S1.{t} == DENORM.{t} then
{scaled(-scale)}
elsif S2.{t} / S1.{t} == DENORM.{t} then
VCC.u64[laneId] = 1'1U;
if S0.{t} == S2.{t} then
{scaled(scale)}
endif
elsif exponent(S2.{t}) <= {tiny} then
{scaled(scale)}
endif"""
    return Correction(
        text,
        "AMD leaves D0 unset where nothing is scaled, sets bit 0 of VCC for any lane, asks whether an f64 "
        f"reciprocal of an {double} is an f64 denormal (never), and scales a huge denominator up to infinity",
        f"{_LLVM}: the division made of DIV_SCALE, DIV_FMAS and DIV_FIXUP must be correctly rounded",
    )


def _div_fmas(t: str, scale: int, middle: int) -> Correction:
    fma = f"S0.{t}, S1.{t}, S2.{t}"
    return Correction(
        f"if VCC.u64[laneId] then\n"
        f"D0.{t} = fma_ldexp({fma}, exponent(S2.{t}) > {middle} ? {scale} : -{scale})\n"
        f"else\nD0.{t} = fma({fma})\nendif",
        f"DIV_SCALE scales by 2**{scale}, so this must undo it, up for a large quotient and down for a "
        "small one; AMD's text multiplies by half the power, always up",
        f"{_LLVM}: the division made of DIV_SCALE, DIV_FMAS and DIV_FIXUP must be correctly rounded",
    )


def _div_fixup(t: str, underflow: int, overflow: int) -> Correction:
    name = t.upper()
    return Correction(
        f"""
sign_out = (sign(S1.{t}) ^ sign(S2.{t}));
if isNAN(S2.{t}) then
D0.{t} = cvtToQuietNAN(S2.{t})
elsif isNAN(S1.{t}) then
D0.{t} = cvtToQuietNAN(S1.{t})
elsif (abs(S1.{t}) == abs(S2.{t})) && ((abs(S1.{t}) == INF.{t}) || (abs(S1.{t}) == 0.0)) then
D0.{t} = -NAN.{t}
elsif (S1.{t} == 0.0) || (abs(S2.{t}) == INF.{t}) || (exponent(S2.{t}) - exponent(S1.{t}) > {overflow}) then
D0.{t} = sign_out ? -OVERFLOW_{name} : OVERFLOW_{name}
elsif (abs(S1.{t}) == INF.{t}) || (S2.{t} == 0.0) || (exponent(S2.{t}) - exponent(S1.{t}) < -{underflow}) then
D0.{t} = sign_out ? -UNDERFLOW_{name} : UNDERFLOW_{name}
else
D0.{t} = sign_out ? -abs(S0.{t}) : abs(S0.{t})
endif""",
        "AMD returns the overflow where exponent(S1) is that of an infinity, which an earlier branch has "
        "taken; a quotient too large for the refinement steps arrives as NaN and must leave as infinity",
        f"{_LLVM}: the division made of DIV_SCALE, DIV_FMAS and DIV_FIXUP must be correctly rounded",
    )


def _branch(text: str) -> Correction:
    return Correction(
        text,
        "16'4 * SIMM16 would wrap in 16 bits",
        f"{_ISA}, section on branches: PC = PC + 4 + signext(SIMM16 * 4) reaches 2**17 bytes",
    )


def _permlane16(source_row: str) -> Correction:
    return Correction(
        f"""
declare tmp : 32'B[64];
lanesel = {{ S2.u32, S1.u32 }};
for i in 0 : 31 do
tmp[i] = VGPR[i][SRC0.u32]
endfor;
for row in 0 : 1 do
for i in 0 : 15 do
source = ({source_row}) * 16 + lanesel[i * 4 + 3 : i * 4];
if EXEC[row * 16 + i].u1 then
if EXEC[source].u1 || OPSEL.u3[0] then
VGPR[row * 16 + i][VDST.u32] = tmp[source]
elsif OPSEL.u3[1] then
VGPR[row * 16 + i][VDST.u32] = 0
endif
endif
endfor
endfor""",
        "AMD's text always fetches inactive lanes; OP_SEL[0] allows that, else OP_SEL[1] makes them "
        "read as 0, else the lane keeps its old value",
        f"{_ISA}, V_PERMLANE16_B32: OP_SEL holds fetch-inactive and bound-control; "
        f"{_LLVM}: llvm.amdgcn.permlane16",
    )


_SWIZZLE = """
declare tmp : 32'B[64];
for i in 0 : 31 do
tmp[i] = VGPR[i][ADDR]
endfor;
for i in 0 : 31 do
if OFFSET.u32 >= 0xe000U then
mask = OFFSET.u32[4 : 0].u32;
source = (reverse_bits(i) >> countbits(mask)) | (i & mask)
elsif OFFSET.u32 >= 0xc000U then
mask = OFFSET.u32[4 : 0].u32;
rotate = OFFSET.u32[10] ? -OFFSET.u32[9 : 5].i32 : OFFSET.u32[9 : 5].i32;
source = (i & mask) | ((i + rotate) & (31 - mask))
elsif OFFSET.u32[15] then
source = (i & 28) + OFFSET.u32[(i & 3) * 2 +: 2]
else
source = ((i & OFFSET.u32[4 : 0]) | OFFSET.u32[9 : 5]) ^ OFFSET.u32[14 : 10]
endif;
if EXEC[i].u1 then
VGPR[i][VDST] = EXEC[source].u1 ? tmp[source] : 0
endif
endfor"""

_SIN_REASON = "the product with 2*pi would round; the unit of the operand is one turn"
_SIN_SOURCE = f"{_ISA}, V_SIN_F32: the input is in units of 2*pi"
_RSQ_REASON = "a rounded root followed by a rounded division is not the nearest value"
_LDEXP_REASON = "2 ** n overflows or underflows before the product does"
_LDEXP_SOURCE = f"{_ISA}: the title of V_LDEXP; {_LLVM}: llvm.ldexp becomes V_LDEXP"

CORRECTIONS: dict[str, Correction] = {
    "V_RNDNE_F16": _rndne("f16"),
    "V_RNDNE_F32": _rndne("f32"),
    "V_RNDNE_F64": _rndne("f64"),
    "S_RNDNE_F16": _rndne("f16"),
    "S_RNDNE_F32": _rndne("f32"),
    "V_FREXP_EXP_I16_F16": _frexp_exponent("f16", "i16"),
    "V_FREXP_EXP_I32_F32": _frexp_exponent("f32", "i32"),
    "V_FREXP_EXP_I32_F64": _frexp_exponent("f64", "i32"),
    "V_FRACT_F16": _fract("f16", ("16'1.0", "16'0.99951171875")),
    "V_FRACT_F32": _fract("f32", ("1.0F", "0.999999940395355224609375F")),
    "V_FRACT_F64": _fract("f64", ("1.0", "0.99999999999999988897769753748434595763683319091796875")),
    "V_DIV_SCALE_F32": _div_scale("f32", "f32", 64, 96, 23),
    "V_DIV_SCALE_F64": _div_scale("f64", "f64", 128, 768, 53),
    "V_DIV_FMAS_F32": _div_fmas("f32", 64, 127),
    "V_DIV_FMAS_F64": _div_fmas("f64", 128, 1023),
    "V_DIV_FIXUP_F32": _div_fixup("f32", 150, 128),
    "V_DIV_FIXUP_F64": _div_fixup("f64", 1075, 1024),
    "V_LDEXP_F16": Correction("D0.f16 = ldexp(S0.f16, S1.i16)", _LDEXP_REASON, _LDEXP_SOURCE),
    "V_LDEXP_F32": Correction("D0.f32 = ldexp(S0.f32, S1.i32)", _LDEXP_REASON, _LDEXP_SOURCE),
    "V_LDEXP_F64": Correction("D0.f64 = ldexp(S0.f64, S1.i32)", _LDEXP_REASON, _LDEXP_SOURCE),
    "V_SIN_F16": Correction("D0.f16 = sin_turns(S0.f16)", _SIN_REASON, _SIN_SOURCE),
    "V_SIN_F32": Correction("D0.f32 = sin_turns(S0.f32)", _SIN_REASON, _SIN_SOURCE),
    "V_COS_F16": Correction("D0.f16 = cos_turns(S0.f16)", _SIN_REASON, _SIN_SOURCE),
    "V_COS_F32": Correction("D0.f32 = cos_turns(S0.f32)", _SIN_REASON, _SIN_SOURCE),
    "V_RSQ_F16": Correction("D0.f16 = rsqrt(S0.f16)", _RSQ_REASON, "IEEE 754 rSqrt"),
    "V_RSQ_F32": Correction("D0.f32 = rsqrt(S0.f32)", _RSQ_REASON, "IEEE 754 rSqrt"),
    "V_RSQ_F64": Correction("D0.f64 = rsqrt(S0.f64)", _RSQ_REASON, "IEEE 754 rSqrt"),
    "V_PERMLANE16_B32": _permlane16("row"),
    "V_PERMLANEX16_B32": _permlane16("1 - row"),
    "S_BRANCH": _branch("PC = PC + SIMM16.i16 * 4 + 4LL"),
    "S_CALL_B64": _branch("D0.i64 = PC + 4LL;\nPC = PC + SIMM16.i16 * 4 + 4LL"),
    "V_FMAC_DX9_ZERO_F32": Correction(
        "if ((64'F(S0.f32) == 0.0) || (64'F(S1.f32) == 0.0)) then\nD0.f32 = D0.f32\n"
        "else\nD0.f32 = fma(S0.f32, S1.f32, D0.f32)\nendif",
        "names S2, which a two-operand instruction does not have",
        f"{_ISA}, V_FMAC_DX9_ZERO_F32: D0 is the addend",
    ),
    "DS_SWIZZLE_B32": Correction(
        _SWIZZLE,
        "AMD's text breaks off after the first of four modes",
        f"{_ISA}, section on DS_SWIZZLE: FFT, rotate, quad permute and bit masks",
    ),
}

# Instructions without effect on the registers and memory of a wave. AMD's texts of them are prose,
# examples or counters; some have none.
NO_EFFECT: frozenset[str] = frozenset(
    {
        "BUFFER_GL0_INV",
        "BUFFER_GL1_INV",
        "S_CLAUSE",
        "S_DCACHE_INV",
        "S_DELAY_ALU",
        "S_ICACHE_INV",
        "S_NOP",
        "S_SETPRIO",
        "S_SET_INST_PREFETCH_DISTANCE",
        "S_SLEEP",
        "S_WAITCNT",
        "S_WAITCNT_EXPCNT",
        "S_WAITCNT_LGKMCNT",
        "S_WAITCNT_VMCNT",
        "S_WAITCNT_VSCNT",
        "S_WAITCNT_DEPCTR",
        "S_WAIT_IDLE",
    }
)
