"""What AMD's documents leave open, and what layoutprobe does about it.

Replaced texts (defects of the pseudocode itself) are in `oracle.pcode.CORRECTIONS`, each with its source.
"""

from __future__ import annotations

from msgspec import Struct


class Decision(Struct, frozen=True):
    """One open question.

    Attributes:
        mnemonics: regular expression of the mnemonics it concerns.
        rule: what holds here.
        reason: why.
    """

    mnemonics: str
    rule: str
    reason: str


DECISIONS = (
    Decision(
        r"v_(add|mul|fma|sqrt|cvt)_f(16|32|64).*",
        "a NaN result may have any payload and sign",
        "the guide says that NaN comes out, not which",
    ),
    Decision(
        r"[vs]_(pk_)?(min|max|min3|max3|med3|minmax|maxmin)_f(16|32|64)",
        "a signalling NaN gives NaN, a quiet one loses",
        "compute kernels start with IEEE_MODE set; AMD's text has both branches",
    ),
    Decision(
        r"(ds|global_atomic)_(min|max)_(rtn_)?f32",
        "plain comparisons: a NaN in memory stays, a NaN operand changes nothing",
        "AMD's text compares with < and >, and mentions no NaN",
    ),
    Decision(
        r"v_dot2_f32_(f16|bf16)|v_dot2acc_f32_f16",
        "exact products, one rounding of the sum",
        "the text rounds each step, the guide promises no order; tests allow two ulp of the largest term",
    ),
    Decision(
        r"v_(add|mul|sub)_f(16|32|64)",
        "omod is applied, and then clamp",
        "hardware ignores omod where denormals are kept; compilers emit it only where they are flushed",
    ),
    Decision(
        r"v_add_f(16|32|64)",
        "clamp makes 0 of NaN; the sign of a clamped zero is free",
        "DX10_CLAMP is set in compute kernels; the guide does not speak of -0",
    ),
    Decision(
        r"s_(add|sub|mul|min|max|fmac|ceil|floor|trunc|rndne)_f16",
        "the upper half of the destination becomes 0",
        "the text writes D0.f16 and does not say what the other half holds",
    ),
    Decision(
        r"v_(add|sub|subrev)_co_u32|v_cmp_.*",
        "bits of inactive lanes become 0",
        "the guide says so for compares; carries follow",
    ),
    Decision(
        r"v_cvt_pk_u8_f32",
        "rounds to nearest even",
        "the text calls f32_to_u8, which no part of the guide defines",
    ),
    Decision(
        r"v_cvt_nearest_i32_f32",
        "the sum with 0.5 rounds to f32 before the floor",
        "word for word AMD's text, and the pattern from which LLVM makes the instruction",
    ),
    Decision(
        r"v_fma_mix(lo|hi)_f16",
        "rounds to f32, then to f16",
        "word for word AMD's text; LLVM makes the instruction of an fma and a conversion",
    ),
    Decision(
        r"v_fma_mix.*",
        "an inline float constant is an f16 in the low half where op_sel_hi makes the source f16",
        "the guide is silent; LLVM 24 compiles x - mean to fma(-mean, 1.0, x) with that bit set",
    ),
    Decision(
        r"buffer_(load|store)_b(64|96|128)",
        "the range is checked for each dword by itself, without the scalar offset",
        "the guide's notes on range checking",
    ),
    Decision(
        r"(ds|global_atomic)_add_(rtn_)?f32",
        "colliding lanes take turns in order of wave and lane",
        "the order on a card is not stated",
    ),
)
"""Open questions, by what they concern."""
