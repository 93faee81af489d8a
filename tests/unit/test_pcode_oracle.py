"""The oracle as a whole: its arithmetic against the host's, its language, its coverage, its promises."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle.asm_text import parse_asm
from oracle.pcode import CORRECTIONS, PcodeUnsupported, coverage, evaluate, pseudocode, supported
from oracle.pcode import softfloat as sf
from oracle.pcode.api import canonical
from oracle.pcode.errors import PcodeSyntax
from oracle.pcode.lexer import parse_number, tokenize
from oracle.pcode.parser import parse
from oracle.pcode.syntax import Assign, Binary, Choice, For, If, PartSelect, Slice
from tinygrad.runtime.autogen.amd.rdna3.str_pcode import PCODE

from layoutprobe.toolchain.compile import compile_hip

CORPUS = sorted((Path(__file__).parents[1] / "oracle" / "corpus").glob("*.hip"))
HOST = {
    16: (sf.F16, np.float16, np.uint16),
    32: (sf.F32, np.float32, np.uint32),
    64: (sf.F64, np.float64, np.uint64),
}

# What these need is the matrix layout, the end of a wave, a barrier, or a trap handler.
WITHOUT_PCODE = {"s_endpgm", "s_barrier", "s_trap"}


def patterns(width: int) -> st.SearchStrategy[int]:
    """Bit patterns, of which many lie at the format's edges."""
    fmt = HOST[width][0]
    edges = [0, 1, fmt.inf - 1, fmt.inf, fmt.nan, 1 << fmt.fraction, (1 << fmt.fraction) - 1]
    near_one = st.integers(-4, 4).map(lambda n: (fmt.bias << fmt.fraction) + n)
    signed = st.sampled_from([0, fmt.sign])
    some = st.one_of(st.integers(0, fmt.sign - 1), st.sampled_from(edges), near_one)
    return st.builds(lambda magnitude, sign: magnitude | sign, some, signed)


def same(fmt: sf.Format, a: int, b: int) -> bool:
    return a == b or (sf.is_nan(fmt, a) and sf.is_nan(fmt, b))


@pytest.mark.parametrize("width", [16, 32, 64])
@pytest.mark.parametrize("name", ["add", "mul", "div", "sqrt", "less", "equal"])
def test_arithmetic_equals_the_host(width: int, name: str) -> None:
    """The host's IEEE unit is the other opinion (numpy's f16 rounds once from f32, which is exact)."""
    fmt, floating, unsigned = HOST[width]

    @given(patterns(width), patterns(width))
    def check(a: int, b: int) -> None:
        x, y = (np.array([v], dtype=unsigned).view(floating) for v in (a, b))
        with np.errstate(all="ignore"):
            match name:
                case "less" | "equal":
                    host = bool((x < y)[0]) if name == "less" else bool((x == y)[0])
                    assert getattr(sf, name)(fmt, a, b) == host
                    return
                case "add":
                    expected = x + y
                case "mul":
                    expected = x * y
                case "div":
                    expected = x / y
                case _:
                    expected = np.sqrt(x)
        ours = sf.sqrt(fmt, a) if name == "sqrt" else getattr(sf, name)(fmt, a, b)
        assert same(fmt, ours, int(expected.view(unsigned)[0]))

    check()


@given(patterns(64), patterns(64), patterns(64))
def test_fma_rounds_the_exact_value_once(a: int, b: int, c: int) -> None:
    """Python divides big integers with correct rounding, which makes a rounded exact sum."""
    x, y, z = (sf.to_float(sf.F64, v) for v in (a, b, c))
    if not all(map(math.isfinite, (x, y, z))):
        return
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    try:
        expected = exact.numerator / exact.denominator
    except OverflowError:
        expected = math.inf if exact > 0 else -math.inf
    ours = sf.to_float(sf.F64, sf.fma(sf.F64, a, b, c))
    assert ours == expected


@given(patterns(64))
def test_conversions_round_like_the_host(bits: int) -> None:
    value = np.array([bits], dtype=np.uint64).view(np.float64)
    with np.errstate(all="ignore"):
        for width in (16, 32):
            fmt, floating, unsigned = HOST[width]
            host = int(value.astype(floating).view(unsigned)[0])
            assert same(fmt, sf.convert(sf.F64, fmt, bits), host)


@given(st.integers(-(2**63), 2**64 - 1))
def test_integers_round_like_the_host(number: int) -> None:
    assert sf.to_float(sf.F64, sf.from_int(sf.F64, number)) == float(number)


def divide(width: int, numerator: int, denominator: int) -> int:
    """The division that clang makes for `a / b`, run instruction by instruction on the oracle."""
    fmt = HOST[width][0]
    suffix, one = f"f{width}", fmt.bias << fmt.fraction

    def fma(x: int, y: int, z: int) -> int:
        return evaluate(f"v_fma_{suffix}", s0=x, s1=y, s2=z).d0

    scale = f"v_div_scale_{suffix}"
    d = evaluate(scale, s0=denominator, s1=denominator, s2=numerator).d0
    scaled = evaluate(scale, s0=numerator, s1=denominator, s2=numerator)
    n, minus_d = scaled.d0, d ^ fmt.sign
    r = evaluate(f"v_rcp_{suffix}", s0=d).d0
    for _ in range(1 if width == 32 else 2):
        r = fma(fma(minus_d, r, one), r, r)
    q = evaluate(f"v_mul_{suffix}", s0=n, s1=r).d0
    if width == 32:
        q = fma(fma(minus_d, q, n), r, q)
    q = evaluate(f"v_div_fmas_{suffix}", s0=fma(minus_d, q, n), s1=r, s2=q, vcc=scaled.vcc).d0
    return evaluate(f"v_div_fixup_{suffix}", s0=q, s1=denominator, s2=numerator).d0


@pytest.mark.parametrize("width", [32, 64])
def test_the_division_sequence_is_correctly_rounded(width: int) -> None:
    """The corrections of DIV_SCALE, DIV_FMAS and DIV_FIXUP stand or fall together: IEEE division."""
    fmt = HOST[width][0]

    @given(patterns(width), patterns(width))
    def check(a: int, b: int) -> None:
        assert same(fmt, divide(width, a, b), sf.div(fmt, a, b))

    check()


@pytest.mark.parametrize(
    ("op", "s0", "expected"),
    [
        ("v_exp_f32", 3.0, 8.0),
        ("v_exp_f32", -150.0, 0.0),
        ("v_exp_f32", 1000.0, math.inf),
        ("v_log_f32", 8.0, 3.0),
        ("v_log_f32", -0.0, -math.inf),
        ("v_log_f32", -1.0, math.nan),
        ("v_rcp_f32", 4.0, 0.25),
        ("v_rcp_f32", -0.0, -math.inf),
        ("v_rsq_f32", 16.0, 0.25),
        ("v_sqrt_f32", 6.25, 2.5),
        ("v_sin_f32", 0.25, 1.0),
        ("v_sin_f32", 1000.75, -1.0),
        ("v_sin_f32", 0.5, 0.0),
        ("v_sin_f32", math.inf, math.nan),
        ("v_cos_f32", -1.5, -1.0),
        ("v_cos_f32", 0.25, 0.0),
        ("v_exp_f16", 4.0, 16.0),
        ("v_rsq_f16", 0.0625, 4.0),
        ("v_rcp_f64", 3.0, 1 / 3),
    ],
)
def test_approximations_at_points_with_known_values(op: str, s0: float, expected: float) -> None:
    fmt = HOST[int(op[-2:])][0]
    result = evaluate(op, s0=sf.from_float(fmt, s0))
    assert sf.to_float(fmt, result.d0) == pytest.approx(expected, rel=0, abs=0, nan_ok=True)
    assert result.ulp >= 1


def test_approximations_allow_what_the_guide_promises_and_no_more() -> None:
    root = evaluate("v_sqrt_f32", s0=sf.from_float(sf.F32, 2.0))
    assert root.d0 == 0x3FB504F3
    assert [root.agrees(0x3FB504F3 + step) for step in (-2, -1, 0, 1, 2)] == [False, True, True, True, False]
    tiny = evaluate("v_exp_f32", s0=sf.from_float(sf.F32, -130.0))
    assert tiny.d0 == 1 << 19
    assert tiny.agrees(0)  # denormals may be flushed
    exact = evaluate("v_add_f32", s0=1, s1=1)
    assert (exact.agrees(2), exact.agrees(3), exact.agrees(0)) == (True, False, False)
    assert evaluate("v_add_f32", s0=0x7F800000, s1=0xFF800000).agrees(0xFFC12345)  # any NaN
    half = evaluate("v_sqrt_f16", s0=sf.from_float(sf.F16, 2.0), d0=0xAAAA0000)
    assert (half.agrees(half.d0 + 1), half.agrees((half.d0 + 1) & 0xFFFF)) == (True, False)


def test_each_name_has_one_text_in_all_encodings() -> None:
    texts: dict[str, set[str]] = {}
    for op, text in PCODE.items():
        texts.setdefault(canonical(op.name), set()).add(text)
    assert [name for name, found in texts.items() if len(found) > 1] == []


def test_coverage_of_amds_table() -> None:
    """What cannot be run is known by name; a new gap must be looked at."""
    able, unable = coverage()
    families: tuple[str, ...] = (
        "TBUFFER_",
        "BUFFER_LOAD_FORMAT",
        "BUFFER_STORE_FORMAT",
        "BUFFER_LOAD_D16",
        "BUFFER_STORE_D16",
    )
    families += ("S_MOVREL", "S_SETREG", "V_WMMA", "V_INTERP", "S_CBRANCH_CDBG", "DS_ADD_GS", "DS_SUB_GS")
    rest = {n for n in unable if not n.startswith(families)}
    assert rest == {
        "DS_APPEND",
        "DS_BVH_STACK_RTN_B32",
        "DS_CONDXCHG32_RTN_B64",
        "DS_CONSUME",
        "GLOBAL_LOAD_ADDTID_B32",
        "GLOBAL_STORE_ADDTID_B32",
        "IMAGE_GET_LOD",
        "LDS_DIRECT_LOAD",
        "S_CODE_END",
        "S_RFE_B64",
        "S_TRAP",
        "V_CVT_OFF_F32_I4",
        "V_TRIG_PREOP_F64",
    } | {n for n in unable if n.startswith("IMAGE_")}
    assert len(able) + len(unable) == len({canonical(op.name) for op in PCODE})
    assert sum(supported(op.name) for op in PCODE) == 1320


def test_everything_that_the_corpus_compiles_to_can_be_judged() -> None:
    assert len(CORPUS) >= 30
    missing, seen = set(), set()
    for source in CORPUS:
        for kernel in parse_asm(compile_hip(source, target="gfx1151").assembly).values():
            halves = [h for inst in kernel.insts for h in (inst, inst.half2) if h is not None]
            seen |= {h.mnemonic for h in halves}
    missing = {name for name in seen if not supported(name)}
    assert {m for m in missing if not m.startswith("v_wmma")} == WITHOUT_PCODE
    assert len(seen) > 500


def test_random_inputs_never_leave_the_language() -> None:
    """Every supported text runs to its end on arbitrary bits, or names what it was not given."""
    rng = random.Random(7)
    memory = {at: rng.getrandbits(8) for at in range(1 << 12)}
    lanes = {register: [rng.getrandbits(32) for _ in range(32)] for register in range(4)}
    for name in coverage()[0]:
        if name.startswith(("V_MOVREL", "V_SWAPREL")):
            continue  # reads registers far from those given
        s0, s1, s2, d0 = (rng.getrandbits(64) for _ in range(4))
        result = evaluate(
            name,
            s0=s0,
            s1=s1,
            s2=s2,
            d0=d0,
            vcc=rng.getrandbits(32),
            lane=rng.randrange(32),
            simm16=rng.getrandbits(16),
            simm32=rng.getrandbits(32),
            addr=0 if name.startswith("DS_") else rng.randrange(2048),
            data=rng.getrandbits(128),
            data2=rng.getrandbits(64),
            data0=1,
            vdst=2,
            src0=3,
            opsel=rng.getrandbits(3),
            opsel_hi=rng.getrandbits(3),
            neg=rng.getrandbits(3),
            hwregs=[rng.getrandbits(32) for _ in range(64)],
            mem=memory,
            vgpr=lanes,
        )
        assert 0 <= result.d0 < 1 << 512


def test_what_cannot_be_judged_is_refused_by_name() -> None:
    with pytest.raises(PcodeUnsupported) as caught:
        evaluate("v_wmma_f32_16x16x16_f16")
    assert caught.value.op == "V_WMMA_F32_16X16X16_F16"
    assert "16x16" in caught.value.text
    with pytest.raises(PcodeUnsupported, match="no pseudocode"):
        evaluate("v_no_such_thing")


def test_every_correction_replaces_a_text_of_amd_and_says_why() -> None:
    names = {canonical(op.name): text for op, text in PCODE.items()}
    for name, correction in CORRECTIONS.items():
        assert pseudocode(name) == correction.text != names[name]
        assert min(len(correction.reason), len(correction.source)) > 10


def test_spellings_of_a_name() -> None:
    spellings = [
        "v_add_f32",
        "V_ADD_F32_E64",
        "v_add_f32_e32",
        "v_dual_add_f32",
        "v_add_f32_dpp",
        "v_add_f32_e64_dpp",
    ]
    assert {canonical(s) for s in spellings} == {"V_ADD_F32"}


def test_numbers_carry_kind_and_width() -> None:
    for text, kind, width, value in (
        ("1'1U", "U", 1, 1),
        ("0x100000000ULL", "U", 64, 1 << 32),
        ("16'0.5", "F", 16, 0.5),
        ("0.5F", "F", 32, 0.5),
        ("2.0", "F", 64, 2.0),
        ("31", "I", 32, 31),
        ("8'0xff", "I", 8, 255),
        ("1LL", "I", 64, 1),
    ):
        literal = parse_number(text)
        assert (literal.kind, literal.width, literal.value) == (kind, width, value)


def test_the_parser_binds_like_c() -> None:
    statement = parse("a = 1 + 2 << 3 & 4 == 5 ? b : c")[0]
    assert isinstance(statement, Assign)
    assert isinstance(statement.value, Choice)
    test = statement.value.test
    assert isinstance(test, Binary)
    assert (test.op, isinstance(test.left, Binary) and test.left.op) == ("&", "<<")


def test_the_parser_tells_slices_from_choices() -> None:
    slice_, choice, part = parse("a = b[3 : 0]; a = b[x ? 2 : 9]; a = b[4 * i +: 4]")
    assert isinstance(slice_, Assign)
    assert isinstance(slice_.value, Slice)
    assert isinstance(choice, Assign)
    assert not isinstance(choice.value, Slice)
    assert isinstance(part, Assign)
    assert isinstance(part.value, PartSelect)
    loop, branch = parse("for i in 0 : W ? 31 : 63 do break endfor; if a then b = 1 elsif c then b = 2 endif")
    assert isinstance(loop, For)
    assert isinstance(loop.last, Choice)
    assert isinstance(branch, If)
    assert len(branch.branches) == 2


@pytest.mark.parametrize(
    "text", ["a = ", "if a then b = 1", "a = (1", "for i in 0 : 3 do", "1 = 2 3", "a = $"]
)
def test_broken_texts_are_refused(text: str) -> None:
    with pytest.raises(PcodeSyntax):
        parse(text)


def test_comments_are_no_tokens() -> None:
    assert [t.text for t in tokenize("a // b = 1\n= 2")] == ["a", "=", "2", ""]
