"""The families beside RDNA3 whose texts the oracle reads."""

from __future__ import annotations

from oracle.language import Language

_CALLEE = r"v_(?:(?:min|max|minimum|maximum)3?(?:_num)?_(?P<type>[fiu]\d+)|(?:m?sad_u8))"
_FLAGS = {r"if \(isSignalNAN[^\n]*\) then\nTRAPSTS\.INVALID = 1\nendif;\n": ""}
"""Where a trap flag is set, which is no register of a wave here."""
RDNA4 = Language(
    "gfx1201",
    repairs=_FLAGS,
    callee=_CALLEE,
)

_CLEARING = """
    v_cvt_f16_f32 v_cvt_f16_u16 v_cvt_f16_i16 v_rcp_f16 v_rsq_f16 v_sqrt_f16 v_log_f16 v_exp_f16 v_sin_f16 v_cos_f16
    v_floor_f16 v_ceil_f16 v_trunc_f16 v_rndne_f16 v_fract_f16 v_frexp_mant_f16 v_frexp_exp_i16_f16 v_ldexp_f16
    v_lshlrev_b16 v_lshrrev_b16 v_ashrrev_i16 v_add_u16 v_sub_u16 v_subrev_u16 v_mul_lo_u16 v_add_f16 v_sub_f16
    v_subrev_f16 v_mul_f16 v_max_f16 v_min_f16 v_max_u16 v_min_u16 v_max_i16 v_min_i16 v_mad_legacy_f16
    v_mad_legacy_u16 v_mad_legacy_i16 v_fma_legacy_f16 v_div_fixup_legacy_f16
"""
"""LLVM 22, GCNSubtarget::zeroesHigh16BitsOfDest, in its order; what LLVM calls V_MAD_U16_e64 is v_mad_legacy_u16."""

CDNA4 = Language(
    "gfx950",
    64,
    repairs=_FLAGS
    | {
        r"addr = Calc\w+\([^)]*\)": "addr = ADDR.u64",
        r"TTBL = \{[^}]*\};": "TTBL = SIMM16;",  # the modifiers of V_BITOP3, which are no registers
        r"S([01])\.u32\[OPSEL": r"S\1.b64[OPSEL",  # V_PK_MOV picks from pairs
        r"D0\.u32\[(31 : 0|63 : 32)\] = tmp": r"D0.b64[\1] = tmp",
        r"EXEC\.u64\[laneId\] = (D0\.u64\[laneId\] = )": r"\1",  # D0 and EXEC get one mask
        r"\nD\.b(16|32) = ": r"\nD0.b\1 = ",
        r"M0\[(7 : 0|15 : 12)\] = ": r"D0.b32[\1] = ",  # S_SET_GPR_IDX_*: M0 is what they write,
        r"= SRC1\.u32": "= S1.u32",
        r"WAVE_MODE\.GPR_IDX_EN = 1'1U;\n": "",  # and the mode is followed when a kernel is bound
    },
    callee=_CALLEE,
    lender="rdna4",
    dpp=(0x1B, 0xE4, *range(0x101, 0x110), *range(0x111, 0x120), *range(0x121, 0x130), 0x130, 0x134, 0x138, 0x13C,
         0x140, 0x141, 0x142, 0x143, *range(0x150, 0x160)),
    clears=frozenset(_CLEARING.split()),
)  # fmt: skip
