"""The instruction set of GFX9 as CDNA3 and CDNA4 have it: encodings and wait counters.

Sources: CDNA3 ISA guide; LLVM 22, AMDGPUUsage and SIInsertWaitcnts.cpp. Which mnemonics a target lacks was
asked of clang 22.1.8's assembler, and tests/oracle asks again.
"""

from __future__ import annotations

from layoutprobe.arch.isa import Counting, Encodings

_XF32 = {
    "v_mfma_f32_16x16x8_xf32": {"src0": 64, "src1": 64, "src2": 128, "vdst": 128},
    "v_mfma_f32_32x32x4_xf32": {"src0": 64, "src1": 64, "src2": 512, "vdst": 512},
}

_CLEARED = frozenset(
    [f"v_{verb}_{kind}" for verb in ("add", "sub", "subrev") for kind in ("f16", "u16")]
    + [f"v_{verb}_{kind}" for verb in ("min", "max") for kind in ("f16", "u16", "i16")]
    + [f"v_{verb}_f16" for verb in ("mul", "ldexp", "rcp", "rsq", "sqrt", "log", "exp", "sin", "cos", "floor",
                                    "ceil", "trunc", "rndne", "fract", "frexp_mant", "mad_legacy", "fma_legacy",
                                    "div_fixup_legacy")]
    + [f"v_cvt_f16_{kind}" for kind in ("f32", "u16", "i16")]
    + ["v_frexp_exp_i16_f16", "v_mul_lo_u16", "v_lshlrev_b16", "v_lshrrev_b16", "v_ashrrev_i16",
       "v_mad_legacy_u16", "v_mad_legacy_i16"]
)  # fmt: skip
"""LLVM 22, GCNSubtarget::zeroesHigh16BitsOfDest, by the names of GFX9; AMD's documents do not say."""


def encodings(absent: frozenset[str], *, fnuz: bool) -> Encodings:
    """Of a target that lacks these mnemonics of the decoder's table, which is that of CDNA4 and more."""
    return Encodings(
        table="cdna",
        markers={249: "SDWA", 250: "DPP16"},
        m0=124,
        no_address=127,
        halves=False,
        buffer=None,
        offset={
            "SMEM": ("offset", 21),
            "FLAT": ("offset", 0),
            "GLOBAL": ("offset", 13),
            "SCRATCH": ("offset", 13),
            "MUBUF": ("offset", 0),
        },
        address="addr",
        data="data",
        resource="srsrc",
        cache_policy=("sc0", "sc1", "nt"),
        old_value="sc0",
        compared_width=False,
        wave_wide_permute=True,
        paired=("VOP3PX2", 0xD3AC),
        both_masks=True,
        widths=_XF32,
        fnuz=fnuz,
        cleared=_CLEARED,
        absent=absent,
        renamed=RENAMED,
        hardware=_HARDWARE,
    )


_HARDWARE = {1: "MODE", 2: "STATUS", 3: "TRAPSTS", 4: "HW_ID", 5: "GPR_ALLOC", 6: "LDS_ALLOC", 7: "IB_STS",
             15: "SH_MEM_BASES", 20: "XCC_ID"}  # fmt: skip
"""LLVM 22, SIDefines.h (ID_...)."""

RENAMED = {
    "v_accvgpr_read": "v_accvgpr_read_b32",
    "v_accvgpr_write": "v_accvgpr_write_b32",
    "v_mad_mix_f32": "v_fma_mix_f32",
    "v_mad_mixlo_f16": "v_fma_mixlo_f16",
    "v_mad_mixhi_f16": "v_fma_mixhi_f16",
}
"""As LLVM 22 spells what AMD's table of CDNA4 spells otherwise."""

COUNTING = Counting(
    loads="vmcnt",
    stores="vmcnt",
    lds="lgkmcnt",
    scalars="lgkmcnt",
    waits={"s_waitcnt": {"vmcnt": ((0, 4), (14, 2)), "lgkmcnt": ((8, 4),)}},
    bits={"vmcnt": 6, "lgkmcnt": 4},
    spelling="s_waitcnt {counter}({count})",
    flat_in_order=False,
)
"""CDNA3 ISA guide, S_WAITCNT. Stores count with the loads, and so do loads that go directly to LDS. LLVM takes
FLAT as in order only from gfx10 on (hasFlatLgkmVMemCountInOrder)."""

_NEITHER = ("v_mfma_ld_scale_b32", "s_set_valu_coexec_mode")
"""The first is no instruction by itself; of the other clang knows nothing."""

ABSENT_950 = frozenset([*_NEITHER, *_XF32])

_BLOCKS = (
    *("bf16_bf6", "bf16_fp6", "bf6_bf16", "bf6_f16", "f16_bf6", "f16_fp6", "f32_bf6", "f32_fp6"),
    *("fp6_bf16", "fp6_f16"),
)
_LOW = ("bf8", "fp8", "fp4")
_HIGH = ("bf16", "f16", "f32")
_EIGHT = ("bf8_bf8", "bf8_fp8", "fp8_bf8", "fp8_fp8")

ABSENT_942 = frozenset(
    [
        *_NEITHER,
        *("buffer_atomic_pk_add_bf16", "global_load_lds_dwordx3", "global_load_lds_dwordx4"),
        *("ds_read_b64_tr_b16", "ds_read_b64_tr_b4", "ds_read_b64_tr_b8", "ds_read_b96_tr_b6"),
        *("v_ashr_pk_i8_i32", "v_ashr_pk_u8_i32", "v_bitop3_b16", "v_bitop3_b32", "v_prng_b32"),
        *("v_cvt_f32_bf16", "v_cvt_pk_bf16_f32", "v_cvt_pk_f16_f32", "v_cvt_sr_bf16_f32", "v_cvt_sr_f16_f32"),
        *("v_dot2_f32_bf16", "v_dot2c_f32_bf16", "v_permlane16_swap_b32", "v_permlane32_swap_b32"),
        *("v_maximum3_f32", "v_minimum3_f32", "v_pk_maximum3_f16", "v_pk_minimum3_f16"),
        *("v_cvt_scalef32_2xpk16_bf6_f32", "v_cvt_scalef32_2xpk16_fp6_f32"),
        *(f"v_cvt_scalef32_{high}_{low}" for high in ("f16", "f32") for low in ("bf8", "fp8")),
        *(f"v_cvt_scalef32_pk32_{types}" for types in _BLOCKS),
        *(f"v_cvt_scalef32_pk_{high}_{low}" for high in _HIGH for low in _LOW),
        *(f"v_cvt_scalef32_pk_{low}_{high}" for high in _HIGH for low in _LOW),
        *(f"v_cvt_scalef32_sr_{low}_{high}" for high in _HIGH for low in ("bf8", "fp8")),
        *(f"v_cvt_scalef32_sr_pk32_{low}_{high}" for high in _HIGH for low in ("bf6", "fp6")),
        *(f"v_cvt_scalef32_sr_pk_fp4_{high}" for high in _HIGH),
        *(
            f"v_mfma_{scale}f32_{shape}_f8f6f4"
            for scale in ("", "scale_")
            for shape in ("16x16x128", "32x32x64")
        ),
        *(f"v_mfma_f32_{shape}_{type}" for shape in ("16x16x32", "32x32x16") for type in ("bf16", "f16")),
        *("v_mfma_i32_16x16x64_i8", "v_mfma_i32_32x32x32_i8"),
        *(f"v_smfmac_f32_{shape}_{type}" for shape in ("16x16x64", "32x32x32") for type in ("bf16", "f16")),
        *("v_smfmac_i32_16x16x128_i8", "v_smfmac_i32_32x32x64_i8"),
        *(f"v_smfmac_f32_{shape}_{types}" for shape in ("16x16x128", "32x32x64") for types in _EIGHT),
    ]
)
