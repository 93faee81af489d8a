"""The oracle for instruction semantics, against values worked out by hand from the ISA's definitions."""

from __future__ import annotations

import struct
from typing import Any, TypeAlias

import pytest
from oracle.pcode import Mode, evaluate

ONES = 0xFFFFFFFF


def f16(value: float) -> int:
    return int.from_bytes(struct.pack("<e", value), "little")


def f32(value: float) -> int:
    return int.from_bytes(struct.pack("<f", value), "little")


def f64(value: float) -> int:
    return int.from_bytes(struct.pack("<d", value), "little")


# Name, inputs, destination.
Case: TypeAlias = tuple[str, dict[str, Any], int]

NAN32, INF32 = 0x7FC00000, 0x7F800000

INTEGER: list[Case] = [
    ("v_add_nc_u32", {"s0": ONES, "s1": 7}, 6),
    ("v_subrev_nc_u32", {"s0": 3, "s1": 1}, 0xFFFFFFFE),
    ("v_add3_u32", {"s0": ONES, "s1": ONES, "s2": 3}, 1),
    ("v_lshl_add_u32", {"s0": 3, "s1": 33, "s2": 5}, 11),  # the shift counts modulo 32
    ("v_add_lshl_u32", {"s0": ONES, "s1": 2, "s2": 4}, 16),
    ("v_lshl_or_b32", {"s0": 0xF, "s1": 8, "s2": 1}, 0xF01),
    ("v_and_or_b32", {"s0": 0xFF, "s1": 0x3C, "s2": 0x100}, 0x13C),
    ("v_xor3_b32", {"s0": 1, "s1": 3, "s2": 7}, 5),
    ("v_xad_u32", {"s0": 0xF0, "s1": 0xFF, "s2": 1}, 0x10),
    ("v_xnor_b32", {"s0": 0xF0F0F0F0, "s1": 0xFF00FF00}, 0xF00FF00F),
    ("v_bfe_u32", {"s0": 0xABCD1234, "s1": 8, "s2": 12}, 0xD12),
    ("v_bfe_i32", {"s0": 0x00000F80, "s1": 7, "s2": 5}, ONES),
    ("v_bfe_i32", {"s0": ONES, "s1": 7, "s2": 0}, 0),
    ("v_bfi_b32", {"s0": 0x00FF00FF, "s1": 0x11223344, "s2": 0xAABBCCDD}, 0xAA22CC44),
    ("v_bfm_b32", {"s0": 4, "s1": 8}, 0xF00),
    ("v_alignbit_b32", {"s0": 0x12345678, "s1": 0x9ABCDEF0, "s2": 8}, 0x789ABCDE),
    ("v_alignbyte_b32", {"s0": 0x12345678, "s1": 0x9ABCDEF0, "s2": 3}, 0x3456789A),
    ("v_perm_b32", {"s0": 0x44332211, "s1": 0x88776655, "s2": 0x07000C0D}, 0x445500FF),
    ("v_perm_b32", {"s0": 0x44332211, "s1": 0x88776655, "s2": 0x08090A0B}, 0x00FF0000),
    ("v_min_i32", {"s0": ONES, "s1": 1}, ONES),
    ("v_min_u32", {"s0": ONES, "s1": 1}, 1),
    ("v_med3_i32", {"s0": ONES - 4, "s1": 7, "s2": 3}, 3),
    ("v_med3_u32", {"s0": ONES - 4, "s1": 7, "s2": 3}, 7),
    ("v_minmax_i32", {"s0": 9, "s1": ONES, "s2": 4}, 4),
    ("v_maxmin_u32", {"s0": 9, "s1": 12, "s2": 10}, 10),
    ("v_sad_u8", {"s0": 0x01FF0010, "s1": 0x0300000F, "s2": 100}, 358),
    ("v_sad_u16", {"s0": 0x00050001, "s1": 0x0001FFFF, "s2": 2}, 4 + 0xFFFE + 2),
    ("v_msad_u8", {"s0": 0x01020304, "s1": 0x00050004, "s2": 10}, 13),
    ("v_lerp_u8", {"s0": 0xFF000301, "s1": 0xFF010201, "s2": 0x01010001}, 0xFF010201),
    ("v_bcnt_u32_b32", {"s0": 0xF0F0, "s1": 3}, 11),
    ("v_clz_i32_u32", {"s0": 1}, 31),
    ("v_clz_i32_u32", {"s0": 0}, ONES),
    ("v_ctz_i32_b32", {"s0": 8}, 3),
    ("v_cls_i32", {"s0": 0xFFFFFFF0}, 28),
    ("v_bfrev_b32", {"s0": 0x00000003}, 0xC0000000),
    ("v_mul_i32_i24", {"s0": 0x55800000, "s1": 2}, 0xFF000000),
    ("v_mul_u32_u24", {"s0": 0x55800000, "s1": 2}, 0x01000000),
    ("v_mul_hi_i32_i24", {"s0": 0x00FFFFFF, "s1": 1}, ONES),
    ("v_mad_i32_i24", {"s0": 0x00FFFFFF, "s1": 5, "s2": 3}, 0xFFFFFFFE),
    ("v_mul_lo_u32", {"s0": 0x10001, "s1": 0x10001}, 0x20001),
    ("v_mul_hi_u32", {"s0": ONES, "s1": ONES}, 0xFFFFFFFE),
    ("v_mul_hi_i32", {"s0": ONES, "s1": ONES}, 0),
    ("v_mad_u32_u16", {"s0": 0xFFFF, "s1": 0xFFFF, "s2": 1}, 0xFFFE0002),
    ("v_mad_i32_i16", {"s0": 0xFFFF, "s1": 2, "s2": 5}, 3),
    ("v_ashrrev_i32", {"s0": 4, "s1": 0x80000000}, 0xF8000000),
    ("v_lshlrev_b64", {"s0": 36, "s1": 3}, 0x3000000000),
    ("v_ashrrev_i64", {"s0": 63, "s1": 1 << 63}, (1 << 64) - 1),
    ("v_mbcnt_lo_u32_b32", {"s0": ONES, "s1": 10, "lane": 5}, 15),
    ("v_mbcnt_hi_u32_b32", {"s0": ONES, "s1": 10, "lane": 5}, 10),
    ("v_cndmask_b32", {"s0": 11, "s1": 22, "vcc": 1 << 6, "lane": 6}, 22),
    ("v_cndmask_b32", {"s0": 11, "s1": 22, "vcc": ~(1 << 6) & ONES, "lane": 6}, 11),
    ("v_cvt_pk_i16_i32", {"s0": 70000, "s1": -70000 & ONES}, 0x80007FFF),
    ("v_cvt_pk_u16_u32", {"s0": 70000, "s1": 9}, 0x0009FFFF),
    ("v_dot4_i32_iu8", {"s0": 0x000000FF, "s1": 0x00000002, "s2": 10, "neg": 1}, 8),
    ("v_dot4_i32_iu8", {"s0": 0x000000FF, "s1": 0x00000002, "s2": 10, "neg": 0}, 520),
    ("v_dot8_u32_u4", {"s0": 0x12345678, "s1": 0x11111111, "s2": 0}, 36),
    ("v_swap_b32", {"s0": 5, "d0": 9}, 5),
]

HALVES: list[Case] = [
    ("v_add_nc_u16", {"s0": 0xFFFF, "s1": 2, "d0": 0xAAAA5555}, 0xAAAA0001),  # the upper half stays
    ("v_mad_i16", {"s0": 0xFFFF, "s1": 3, "s2": 1}, 0xFFFE),
    ("v_ashrrev_i16", {"s0": 4, "s1": 0x8000}, 0xF800),
    ("v_min_i16", {"s0": 0xFFFF, "s1": 1}, 0xFFFF),
    ("v_max3_u16", {"s0": 3, "s1": 0xFFFF, "s2": 9}, 0xFFFF),
    ("v_pk_add_u16", {"s0": 0x0000FFFF, "s1": 0x00010001}, 0x00010000),
    ("v_pk_mad_u16", {"s0": 0x00030002, "s1": 0x00050004, "s2": 0x00010001}, 0x00100009),
    ("v_pk_lshlrev_b16", {"s0": 0x00040008, "s1": 0x00010001}, 0x00100100),
    ("v_pk_ashrrev_i16", {"s0": 0x00040004, "s1": 0x80007FF0}, 0xF80007FF),
    ("v_pk_max_i16", {"s0": 0xFFFF0001, "s1": 0x0000FFFF}, 0x00000001),
    ("v_mov_b16", {"s0": 0x1234, "d0": 0xABCD0000}, 0xABCD1234),
    ("v_cvt_i32_i16", {"s0": 0x8000}, 0xFFFF8000),
    ("v_sat_pk_u8_i16", {"s0": 0xFFFF0123}, 0x00FF),
    ("v_pack_b32_f16", {"s0": 0x3C00, "s1": 0x4000}, 0x40003C00),
]

SCALAR: list[tuple[str, dict[str, Any], int, int]] = [  # name, inputs, D0, SCC
    ("s_add_u32", {"s0": ONES, "s1": 1}, 0, 1),
    ("s_addc_u32", {"s0": ONES, "s1": 0, "scc": 1}, 0, 1),
    ("s_subb_u32", {"s0": 0, "s1": 0, "scc": 1}, ONES, 1),
    ("s_add_i32", {"s0": 0x7FFFFFFF, "s1": 1}, 0x80000000, 1),
    ("s_sub_i32", {"s0": 5, "s1": 7}, 0xFFFFFFFE, 0),
    ("s_lshl3_add_u32", {"s0": 0x20000000, "s1": 4}, 4, 1),
    ("s_min_i32", {"s0": ONES, "s1": 0}, ONES, 1),
    ("s_max_u32", {"s0": 1, "s1": ONES}, ONES, 0),
    ("s_and_not1_b32", {"s0": 0xFF, "s1": 0x0F}, 0xF0, 1),
    ("s_xnor_b64", {"s0": 0, "s1": (1 << 64) - 1}, 0, 0),
    ("s_ashr_i32", {"s0": 0x80000000, "s1": 31}, ONES, 1),
    ("s_bfe_u32", {"s0": 0xABCD1234, "s1": 12 << 16 | 8}, 0xD12, 1),
    ("s_bfe_i32", {"s0": 0x00000F80, "s1": 5 << 16 | 7}, ONES, 1),
    ("s_bfe_u64", {"s0": 0xABCD << 40, "s1": 8 << 16 | 44}, 0xBC, 1),
    ("s_absdiff_i32", {"s0": 3, "s1": 10}, 7, 1),
    ("s_abs_i32", {"s0": 0x80000000}, 0x80000000, 1),
    ("s_bcnt1_i32_b64", {"s0": 0xF << 60 | 3}, 6, 1),
    ("s_ctz_i32_b64", {"s0": 1 << 40}, 40, 0),
    ("s_clz_i32_u64", {"s0": 1 << 40}, 23, 0),
    ("s_brev_b64", {"s0": 1}, 1 << 63, 0),
    ("s_mul_hi_i32", {"s0": ONES, "s1": 2}, ONES, 0),
    ("s_pack_lh_b32_b16", {"s0": 0x11112222, "s1": 0x33334444}, 0x33332222, 0),
    ("s_cselect_b64", {"s0": 7, "s1": 9, "scc": 0}, 9, 0),
    ("s_bitset1_b32", {"s0": 37, "d0": 1}, 0x21, 0),
    ("s_movk_i32", {"simm16": 0x8000}, 0xFFFF8000, 0),
    ("s_addk_i32", {"d0": 0x7FFFFFFF, "simm16": 1}, 0x80000000, 1),
    ("s_mulk_i32", {"d0": 7, "simm16": 0xFFFF}, 0xFFFFFFF9, 0),
    ("s_sext_i32_i8", {"s0": 0x180}, 0xFFFFFF80, 0),
    ("s_quadmask_b32", {"s0": 0xF00F0010}, 0b10010010, 1),
    ("s_cmpk_eq_i32", {"s0": ONES, "simm16": 0xFFFF}, 0, 1),
    ("s_cmpk_lg_u32", {"s0": ONES, "simm16": 0xFFFF}, 0, 1),
    ("s_bitcmp0_b64", {"s0": 1 << 40, "s1": 40}, 0, 0),
    ("s_cmp_gt_i32", {"s0": 1, "s1": ONES}, 0, 1),
    ("s_cmp_gt_u32", {"s0": 1, "s1": ONES}, 0, 0),
    ("s_cmp_neq_f32", {"s0": NAN32, "s1": f32(1)}, 0, 1),
    ("s_cmp_lg_f32", {"s0": NAN32, "s1": f32(1)}, 0, 0),
    ("s_cmp_nlt_f16", {"s0": f16(2), "s1": f16(3)}, 0, 0),
    ("s_cvt_f32_u32", {"s0": ONES}, f32(2.0**32), 0),
    ("s_cvt_u32_f32", {"s0": f32(-1)}, 0, 0),
    ("s_mul_f32", {"s0": f32(1.5), "s1": f32(-4)}, f32(-6), 0),
    ("s_fmac_f32", {"s0": f32(2), "s1": f32(3), "d0": f32(0.5)}, f32(6.5), 0),
    ("s_fmaak_f32", {"s0": f32(2), "s1": f32(3), "simm32": f32(-1)}, f32(5), 0),
    ("s_cvt_hi_f32_f16", {"s0": 0x40003C00}, f32(2), 0),
]

FLOAT: list[Case] = [
    ("v_add_f32", {"s0": f32(2.0**24), "s1": f32(1)}, f32(2.0**24)),  # tie to even
    ("v_add_f32", {"s0": f32(2.0**24), "s1": f32(3)}, f32(2.0**24 + 4)),
    ("v_sub_f32", {"s0": f32(1), "s1": f32(1)}, 0),
    ("v_add_f32", {"s0": 0x80000000, "s1": 0x80000000}, 0x80000000),
    ("v_mul_f32", {"s0": 1, "s1": f32(0.5)}, 0),  # half the least denormal: tie to even
    ("v_mul_f32", {"s0": 3, "s1": f32(0.5)}, 2),
    ("v_mul_f32", {"s0": f32(2.0**127), "s1": f32(2)}, INF32),
    ("v_fma_f32", {"s0": f32(1 + 2**-12), "s1": f32(1 + 2**-12), "s2": f32(-1 - 2**-11)}, f32(2**-24)),
    ("v_fmac_f32", {"s0": f32(2), "s1": f32(3), "d0": f32(4)}, f32(10)),
    ("v_fmamk_f32", {"s0": f32(2), "s1": f32(3), "simm32": f32(5)}, f32(13)),
    ("v_fmaak_f16", {"s0": f16(2), "s1": f16(3), "simm32": f16(5), "d0": 0x77770000}, 0x77770000 | f16(11)),
    ("v_mul_dx9_zero_f32", {"s0": 0, "s1": INF32}, 0),
    ("v_min_f32", {"s0": 0, "s1": 0x80000000}, 0x80000000),
    ("v_max_f32", {"s0": 0x80000000, "s1": 0}, 0),
    ("v_min_f32", {"s0": NAN32, "s1": f32(3)}, f32(3)),
    ("v_max_f32", {"s0": f32(3), "s1": 0x7F800001}, 0x7FC00001),  # IEEE mode: quieted
    ("v_max_f32", {"s0": f32(3), "s1": 0x7F800001, "mode": Mode(ieee=False)}, f32(3)),
    ("v_med3_f32", {"s0": f32(5), "s1": f32(-1), "s2": f32(2)}, f32(2)),
    ("v_med3_f32", {"s0": NAN32, "s1": f32(-1), "s2": f32(2)}, f32(-1)),
    ("v_min3_f16", {"s0": f16(5), "s1": f16(-1), "s2": f16(2)}, f16(-1)),
    ("v_maxmin_f32", {"s0": f32(5), "s1": f32(-1), "s2": f32(2)}, f32(2)),
    ("v_rndne_f32", {"s0": f32(0.5)}, 0),
    ("v_rndne_f32", {"s0": f32(1.5)}, f32(2)),
    ("v_rndne_f32", {"s0": f32(-2.5)}, f32(-2)),
    ("v_rndne_f32", {"s0": f32(-0.5)}, 0x80000000),
    ("v_rndne_f32", {"s0": 0x3EFFFFFF}, 0),  # the largest value below one half
    ("s_rndne_f32", {"s0": f32(2.0**23 + 1)}, f32(2.0**23 + 1)),
    ("v_ceil_f32", {"s0": f32(-0.5)}, 0x80000000),
    ("v_floor_f32", {"s0": f32(-0.5)}, f32(-1)),
    ("v_trunc_f64", {"s0": f64(-7.9)}, f64(-7)),
    ("v_floor_f16", {"s0": f16(-7.5)}, f16(-8)),
    ("v_fract_f32", {"s0": f32(-0.25)}, f32(0.75)),
    ("v_fract_f32", {"s0": f32(-(2.0**-30))}, 0x3F7FFFFF),
    ("v_ldexp_f32", {"s0": 1, "s1": 200}, f32(2.0**51)),
    ("v_ldexp_f32", {"s0": f32(1), "s1": 200}, INF32),
    ("v_ldexp_f32", {"s0": f32(3), "s1": -151 & ONES}, 1),  # 0.75 of the least denormal
    ("v_ldexp_f16", {"s0": 1, "s1": 30}, f16(64)),
    ("v_ldexp_f64", {"s0": f64(1.5), "s1": -4 & ONES}, f64(0.09375)),
    ("v_frexp_mant_f32", {"s0": f32(-12)}, f32(-0.75)),
    ("v_frexp_exp_i32_f32", {"s0": f32(8)}, 4),
    ("v_frexp_exp_i32_f32", {"s0": 0}, 0),
    ("v_frexp_exp_i32_f32", {"s0": 1}, -148 & ONES),
    ("v_frexp_exp_i16_f16", {"s0": f16(0.5)}, 0),
    ("v_fma_f64", {"s0": f64(3), "s1": f64(1 / 3), "s2": f64(-1)}, f64(-(2.0**-54))),
    ("v_fma_f64", {"s0": f64(-0.0), "s1": f64(5), "s2": f64(-0.0)}, f64(-0.0)),
    ("v_fma_f64", {"s0": f64(0.0), "s1": f64(5), "s2": f64(-0.0)}, f64(0.0)),
    ("v_fma_f64", {"s0": f64(1e-200), "s1": f64(-1e-200), "s2": f64(0.0)}, f64(-0.0)),
    ("v_fma_f64", {"s0": f64(3), "s1": f64(-2), "s2": f64(6)}, f64(0.0)),
    ("v_add_f16", {"s0": f16(2048), "s1": f16(1), "d0": 0xBEEF0000}, 0xBEEF0000 | f16(2048)),
    ("v_pk_fma_f16", {"s0": 0x40003E00, "s1": 0x42004000, "s2": 0x3C003400}, f16(7) << 16 | f16(3.25)),
    ("v_pk_min_f16", {"s0": 0x40003C00, "s1": 0x3C004000}, 0x3C003C00),
    ("v_dot2acc_f32_f16", {"s0": 0x42003C00, "s1": 0x44004000, "d0": f32(0.5)}, f32(14.5)),
    ("v_dot2_f32_bf16", {"s0": 0x3F804000, "s1": 0x40403F80, "s2": f32(1)}, f32(6)),
]

CONVERSION: list[Case] = [
    ("v_cvt_i32_f32", {"s0": NAN32}, 0),
    ("v_cvt_i32_f32", {"s0": f32(3e9)}, 0x7FFFFFFF),
    ("v_cvt_i32_f32", {"s0": f32(-1.9)}, ONES),
    ("v_cvt_u32_f32", {"s0": f32(-1)}, 0),
    ("v_cvt_u32_f32", {"s0": INF32}, ONES),
    ("v_cvt_floor_i32_f32", {"s0": f32(-1.1)}, -2 & ONES),
    ("v_cvt_f32_u32", {"s0": 16777217}, f32(16777216)),
    ("v_cvt_f32_i32", {"s0": -16777219 & ONES}, f32(-16777220)),
    ("v_cvt_f16_f32", {"s0": f32(65520)}, 0x7C00),
    ("v_cvt_f16_f32", {"s0": 0x477FEFFF}, 0x7BFF),  # the value below 65520
    ("v_cvt_f16_f32", {"s0": f32(2.0**-25)}, 0),
    ("v_cvt_f16_f32", {"s0": f32(1.5 * 2.0**-25)}, 1),
    ("v_cvt_pk_rtz_f16_f32", {"s0": f32(65520), "s1": f32(-1.0009)}, 0xBC007BFF),
    ("v_cvt_f32_f16", {"s0": 1}, f32(2.0**-24)),
    ("v_cvt_f32_ubyte2", {"s0": 0x00FE0000}, f32(254)),
    ("v_cvt_pk_u8_f32", {"s0": f32(300), "s1": 2, "s2": 0x11223344}, 0x11FF3344),
    ("v_cvt_pk_norm_i16_f32", {"s0": f32(-1), "s1": f32(0.5)}, 0x40008001),
    ("v_cvt_pk_norm_u16_f32", {"s0": f32(2), "s1": f32(-3)}, 0x0000FFFF),
    ("v_cvt_f64_i32", {"s0": ONES}, f64(-1)),
    ("v_cvt_f32_f64", {"s0": f64(1 + 2**-24 + 2**-50)}, f32(1 + 2**-23)),
    ("v_cvt_i32_f64", {"s0": f64(-(2.0**31) - 1)}, 0x80000000),
    ("v_cvt_u16_f16", {"s0": f16(-3), "d0": 0}, 0),
    ("v_cvt_i16_f16", {"s0": 0x7C00}, 0x7FFF),
    ("v_cvt_f16_u16", {"s0": 0xFFFF}, 0x7C00),
]


@pytest.mark.parametrize(("op", "inputs", "d0"), INTEGER + HALVES + FLOAT + CONVERSION)
def test_destination(op: str, inputs: dict[str, Any], d0: int) -> None:
    assert hex(evaluate(op, **inputs).d0) == hex(d0)


@pytest.mark.parametrize(("op", "inputs", "d0", "scc"), SCALAR)
def test_scalar_destination_and_scc(op: str, inputs: dict[str, Any], d0: int, scc: int) -> None:
    result = evaluate(op, **inputs)
    assert (hex(result.d0), result.scc) == (hex(d0), scc)


@pytest.mark.parametrize(
    ("op", "inputs", "d0", "bit"),
    [
        ("v_add_co_u32", {"s0": ONES, "s1": 1}, 0, 1),
        ("v_add_co_ci_u32", {"s0": ONES, "s1": 0, "vcc": 1 << 9}, 0, 1),
        ("v_add_co_ci_u32", {"s0": ONES, "s1": 0, "vcc": ~(1 << 9) & ONES}, ONES, 0),
        ("v_sub_co_u32", {"s0": 1, "s1": 2}, ONES, 1),
        ("v_sub_co_ci_u32", {"s0": 5, "s1": 5, "vcc": 1 << 9}, ONES, 1),
        ("v_subrev_co_ci_u32", {"s0": 5, "s1": 6, "vcc": 1 << 9}, 0, 0),
    ],
)
def test_carry_goes_in_and_out_at_the_lane(op: str, inputs: dict[str, Any], d0: int, bit: int) -> None:
    result = evaluate(op, lane=9, **inputs)
    assert (result.d0, result.bit, result.vcc >> 9 & 1) == (d0, bit, bit)
    others = ONES & ~(1 << 9)
    assert result.vcc & others == inputs.get("vcc", 0) & others


def test_wide_multiply_add_has_a_65th_bit() -> None:
    full = (1 << 64) - 1
    result = evaluate("v_mad_u64_u32", s0=ONES, s1=ONES, s2=full)
    assert (result.d0, result.d1) == (0xFFFFFFFE00000000, 1)
    assert evaluate("v_mad_i64_i32", s0=-2 & ONES, s1=3, s2=5).d0 == full


@pytest.mark.parametrize(
    ("relation", "below", "same", "above", "unordered"),
    [
        ("lt", 1, 0, 0, 0),
        ("le", 1, 1, 0, 0),
        ("eq", 0, 1, 0, 0),
        ("lg", 1, 0, 1, 0),
        ("o", 1, 1, 1, 0),
        ("u", 0, 0, 0, 1),
        ("neq", 1, 0, 1, 1),
        ("nlt", 0, 1, 1, 1),
        ("nge", 1, 0, 0, 1),
        ("nlg", 0, 1, 0, 1),
    ],
)
def test_compares(relation: str, below: int, same: int, above: int, unordered: int) -> None:
    for width, encode, nan in ((32, f32, NAN32), (16, f16, 0x7E00), (64, f64, 0x7FF8 << 48)):
        pairs = [
            (encode(-1), encode(2)),
            (encode(-0.0), encode(0.0)),
            (encode(3), encode(2)),
            (nan, encode(0)),
        ]
        results = [evaluate(f"v_cmp_{relation}_f{width}", s0=a, s1=b, lane=7) for a, b in pairs]
        assert [r.bit for r in results] == [below, same, above, unordered]
        assert [r.d0 for r in results] == [b << 7 for b in (below, same, above, unordered)]


def test_cmpx_writes_its_lane_of_exec_only() -> None:
    assert evaluate("v_cmpx_lt_i32", s0=ONES, s1=0, lane=3, exec_=0xF0).exec_ == 0xF8
    assert evaluate("v_cmpx_lt_u32", s0=ONES, s1=0, lane=4, exec_=0xF0).exec_ == 0xE0


@pytest.mark.parametrize(
    ("value", "bit"),
    [
        (0x7F800001, 0),
        (0x7FC00001, 1),
        (0xFF800000, 2),
        (f32(-1), 3),
        (0x80000001, 4),
        (0x80000000, 5),
        (0, 6),
        (1, 7),
        (f32(1), 8),
        (INF32, 9),
    ],
)
def test_each_class_has_its_bit(value: int, bit: int) -> None:
    masks = [evaluate("v_cmp_class_f32", s0=value, s1=1 << i).bit for i in range(10)]
    assert masks == [int(i == bit) for i in range(10)]


@pytest.mark.parametrize(
    ("op", "new"),
    [
        ("s_and_saveexec_b32", 0x30),
        ("s_or_saveexec_b32", 0xFC),
        ("s_and_not1_saveexec_b32", 0xC0),
        ("s_and_not0_saveexec_b32", 0x0C),
        ("s_xor_saveexec_b32", 0xCC),
    ],
)
def test_saveexec(op: str, new: int) -> None:
    result = evaluate(op, s0=0xF0, exec_=0x3C)
    assert (result.d0, result.exec_, result.scc) == (0x3C, new, 1)


def test_branches_count_dwords_from_the_next_instruction() -> None:
    assert evaluate("s_branch", pc=0x20000, simm16=0x7FFF).pc == 0x20004 + 0x1FFFC
    assert evaluate("s_branch", pc=0x20000, simm16=0x8000).pc == 0x20004 - 0x20000
    assert evaluate("s_cbranch_scc1", pc=0x100, simm16=0xFFFF, scc=1).pc == 0x100
    assert evaluate("s_cbranch_scc1", pc=0x100, simm16=0xFFFF, scc=0).pc == 0x104
    assert evaluate("s_cbranch_execz", pc=0, simm16=2, exec_=0).pc == 12
    assert evaluate("s_cbranch_vccnz", pc=0, simm16=2, vcc=0).pc == 4
    swap = evaluate("s_swappc_b64", pc=0x1000, s0=0x5000)
    assert (swap.pc, swap.d0) == (0x5000, 0x1004)


def test_fma_mix_takes_each_source_in_its_own_width() -> None:
    halves = f16(2) << 16 | f16(3)
    inputs: dict[str, Any] = {"s0": halves, "s1": f32(10), "s2": halves}
    low = evaluate("v_fma_mix_f32", opsel_hi=0b101, opsel=0b100, **inputs)
    assert low.d0 == f32(32)
    high = evaluate("v_fma_mix_f32", opsel_hi=0b101, opsel=0b001, **inputs)
    assert high.d0 == f32(23)
    mixlo = evaluate("v_fma_mixlo_f16", opsel_hi=0b101, opsel=0, d0=0xAAAABBBB, **inputs)
    assert (mixlo.d0, mixlo.written) == (0xAAAA0000 | f16(33), 0xFFFF)
    mixhi = evaluate("v_fma_mixhi_f16", opsel_hi=0b101, opsel=0, d0=0xAAAABBBB, **inputs)
    assert (mixhi.d0, mixhi.written) == (f16(33) << 16 | 0xBBBB, 0xFFFF0000)


def test_denormals_survive_unless_the_mode_says_otherwise() -> None:
    flushing = Mode(denorm32=False)
    assert evaluate("v_add_f32", s0=1, s1=1).d0 == 2
    assert evaluate("v_add_f32", s0=1, s1=1, mode=flushing).d0 == 0
    assert evaluate("v_mul_f32", s0=f32(-(2.0**-126)), s1=f32(0.5), mode=flushing).d0 == 0x80000000
    assert evaluate("v_add_f16", s0=1, s1=1, mode=flushing).d0 == 2
    assert evaluate("v_cmp_lg_f32", s0=1, s1=0, mode=flushing).bit == 0
