"""Conversions of 8-, 6- and 4-bit floats on CDNA, lane by lane from the formats' definitions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import pairwise
from math import inf

import numpy as np
import pytest
from msgspec.structs import replace
from small_floats import bits_of, nearest, number

from layoutprobe import semantics
from layoutprobe.errors import ExecutionError
from layoutprobe.isa.inst import Inst
from layoutprobe.semantics import scaled_ops
from oracle.encode import SDWA, encodings
from oracle.forms import generator
from oracle.harness import VGPRS, Image, execute
from oracle.language import Language, speaking
from oracle.languages import CDNA4

CDNA3 = Language("gfx942", 64)
SOURCE, SECOND, SCALE, TARGET = 2, 3, 4, 8
EIGHT = [(language, name) for language in ("CDNA3", "CDNA4") for name in ("fp8", "bf8")]


@pytest.fixture
def family(request: pytest.FixtureRequest) -> Iterator[str]:
    """Speaks the language of the test's family: "CDNA3" has FNUZ, "CDNA4" has OCP."""
    chosen = str(getattr(request, "param", "CDNA4"))
    with speaking({"CDNA3": CDNA3, "CDNA4": CDNA4}[chosen]):
        yield chosen


def meant(family: str, name: str) -> str:
    """The format that a name of eight bits means."""
    return f"{name}_fnuz" if family == "CDNA3" else name


def codes_in_all_bytes() -> Image:
    """Every code in every byte of v2."""
    image = Image.random(generator("codes"), 4)
    image.activate(0xFFFFFFFF)
    words = sum(np.random.default_rng(byte).permutation(256).astype(np.uint32) << np.uint32(8 * byte)
                for byte in range(4))  # fmt: skip
    image.v[SOURCE] = np.asarray(words).reshape(4, 64)
    return image


def same(bits: int, value: float) -> bool:
    """An f32 holds that number, or NaN."""
    seen = float(np.uint32(bits).view(np.float32))
    return (seen == value and np.signbit(seen) == np.signbit(value)) or (np.isnan(seen) and np.isnan(value))


@pytest.mark.parametrize(("family", "name"), EIGHT, indirect=["family"])
@pytest.mark.parametrize("byte", [None, 0, 1, 2, 3])
def test_every_code_of_every_byte(family: str, name: str, byte: int | None) -> None:
    inst = encodings(f"v_cvt_f32_{name}")["VOP1"].inst(src0=256 + SOURCE, vdst=TARGET)
    if byte is not None:
        fields = {
            "src0": SDWA,
            "vsrc0": SOURCE,
            "vdst": TARGET,
            "src0_sel": byte,
            "src1_sel": 6,
            "dst_sel": 6,
        }
        inst = encodings(f"v_cvt_f32_{name}")["VOP1_SDWA"].inst(**fields)
    image = codes_in_all_bytes()
    seen = execute(inst, image).image.v[TARGET].ravel()
    codes = image.v[SOURCE].ravel() >> 8 * (byte or 0) & 0xFF
    table = meant(family, name)
    assert all(same(s, number(table, int(c))) for s, c in zip(seen, codes, strict=True))


@pytest.mark.parametrize(("family", "name"), EIGHT, indirect=["family"])
@pytest.mark.parametrize("half", [0, 1])
def test_pairs_of_codes(family: str, name: str, half: int) -> None:
    fields = {
        "src0": SDWA,
        "vsrc0": SOURCE,
        "vdst": TARGET,
        "src0_sel": 4 + half,
        "src1_sel": 6,
        "dst_sel": 6,
    }
    inst = encodings(f"v_cvt_pk_f32_{name}")["VOP1_SDWA"].inst(**fields)
    image = codes_in_all_bytes()
    seen = execute(inst, image).image.v
    for part in (0, 1):
        codes = image.v[SOURCE].ravel() >> 16 * half + 8 * part & 0xFF
        table = [number(meant(family, name), int(c)) for c in codes]
        assert all(same(s, t) for s, t in zip(seen[TARGET + part].ravel(), table, strict=True))


def interesting(name: str) -> list[float]:
    """Numbers, what lies halfway between them and next to it, and what lies beyond."""
    finite = sorted({abs(n) for n in (number(name, c) for c in range(1 << bits_of(name))) if abs(n) < inf})
    out = [*finite, finite[-1] * 2, finite[-1] * 1.01, finite[1] / 2, finite[1] / 4, inf]
    for low, high in pairwise(finite):
        middle = np.float32((low + high) / 2)
        out += [
            float(middle),
            float(np.nextafter(middle, np.float32(0))),
            float(np.nextafter(middle, np.float32(9e9))),
        ]
    return [*out, *(-x for x in out)]


@pytest.mark.parametrize(("family", "name"), EIGHT, indirect=["family"])
@pytest.mark.parametrize("half", [0, 1])
def test_rounding_to_eight_bits(family: str, name: str, half: int) -> None:
    table = meant(family, name)
    values = np.array([*interesting(table), np.nan], np.float32)
    image = Image.random(generator(name), 16)
    image.activate(0xFFFFFFFF)
    a = np.resize(values, image.v.shape[1:])
    b = np.roll(a.ravel(), 7).reshape(a.shape)
    image.v[SOURCE], image.v[SECOND] = a.view(np.uint32), b.view(np.uint32)
    fields = {"src0": 256 + SOURCE, "src1": 256 + SECOND, "vdst": TARGET, "opsel": 8 * half}
    seen = execute(encodings(f"v_cvt_pk_{name}_f32")["VOP3"].inst(**fields), image).image.v[TARGET]
    kept = np.uint32(0xFFFF0000 if half == 0 else 0xFFFF)
    assert np.array_equal(seen & kept, image.v[TARGET] & kept)
    for got, x, y in zip(seen.ravel(), a.ravel(), b.ravel(), strict=True):
        pair = int(got) >> 16 * half & 0xFFFF
        for code, value in ((pair & 0xFF, x), (pair >> 8, y)):
            wanted = nearest(table, float(value))
            if np.isnan(number(table, wanted)):
                assert np.isnan(number(table, code))
            else:
                assert code == wanted, (value, hex(code), hex(wanted))


def test_the_other_format_is_caught() -> None:
    """What OCP reads as 1 is 0.5 in FNUZ: one mnemonic, two targets."""
    seen = {}
    for language in (CDNA3, CDNA4):
        with speaking(language):
            image = Image.zeros(1)
            image.activate(0xFFFFFFFF)
            image.v[SOURCE] = 0x38
            inst = encodings("v_cvt_f32_fp8")["VOP1"].inst(src0=256 + SOURCE, vdst=TARGET)
            seen[language.target] = float(execute(inst, image).image.v[TARGET, 0, 0].view(np.float32))
    assert seen == {"gfx942": 0.5, "gfx950": 1.0}


# With random bits: the fraction of the way to the next number, cut off after as many bits, and the bits are added.


def randomly(name: str, value: Fraction, bits: int, seed: int) -> int:
    """The code of a number's size, where `bits` random bits lie behind the last that is kept."""
    finite = sorted({abs(n) for n in (number(name, c) for c in range(1 << bits_of(name))) if abs(n) < inf})
    steps = [*finite, 2 * finite[-1] - finite[-2]]
    at = max(i for i, n in enumerate(steps) if Fraction(n) <= value)
    if at == len(finite):
        return nearest(name, inf)
    way = (value - Fraction(steps[at])) / (Fraction(steps[at + 1]) - Fraction(steps[at]))
    up = int(way * (1 << bits)) + (seed >> 32 - bits) >= 1 << bits
    code = at + up
    return nearest(name, inf) if code == len(finite) else code


STOCHASTIC = [
    *(("CDNA3", f"v_cvt_sr_{name}_f32") for name in ("fp8", "bf8")),
    *(("CDNA4", f"v_cvt_sr_{name}_f32") for name in ("fp8", "bf8")),
    *(("CDNA4", f"v_cvt_scalef32_sr_{a}_{b}") for a in ("fp8", "bf8") for b in ("f32", "f16", "bf16")),
]


@pytest.mark.parametrize(("family", "mnemonic"), STOCHASTIC, indirect=["family"])
@pytest.mark.parametrize("byte", range(4))
def test_stochastic_rounding(family: str, mnemonic: str, byte: int) -> None:
    *_, small, large = mnemonic.split("_")
    scaled, table = "scale" in mnemonic, meant(family, small)
    rng = generator(mnemonic, byte)
    image = Image.random(rng, 8)
    image.activate(0xFFFFFFFF)
    shape = image.v.shape[1:]
    values = np.resize(np.array([*interesting(table), 0.0, -0.0, np.nan], np.float32), shape)
    values = np.where(rng.random(shape) < 0.3, (rng.standard_normal(shape) * 9).astype(np.float32), values)
    power = rng.choice([120, 127, 131], shape) if scaled else np.full(shape, 127)
    codes = np.array([encoded(large, float(x)) for x in values.ravel()], np.uint32).reshape(shape)
    image.v[SOURCE] = codes | (
        rng.integers(0, 1 << 16, shape, np.uint32) << np.uint32(16) if width(large) == 16 else 0
    )
    image.v[SCALE] = power.astype(np.uint32) << np.uint32(23) | np.uint32(5)
    fields = {"src0": 256 + SOURCE, "src1": 256 + SECOND, "vdst": TARGET, "opsel": 4 * byte}
    fields |= {"src2": 256 + SCALE} if scaled else {}
    seen = execute(encodings(mnemonic)["VOP3"].inst(**fields), image).image.v[TARGET]
    kept = np.uint32(0xFFFFFFFF ^ 0xFF << 8 * byte)
    assert np.array_equal(seen & kept, image.v[TARGET] & kept)
    fraction = {"f32": 23, "f16": 10, "bf16": 7}[large]
    bits = fraction - {"fp8": 3, "bf8": 2}[small]
    ups = 0
    for got, code, seed, exponent in zip(
        (seen >> np.uint32(8 * byte) & np.uint32(0xFF)).ravel(), codes.ravel(), image.v[SECOND].ravel(),
        power.ravel(), strict=True,
    ):  # fmt: skip
        value = decoded(large, int(code))
        if np.isnan(value):
            assert np.isnan(number(table, int(got)))
            continue
        wanted = nearest(table, inf)
        if abs(value) < inf:
            size = Fraction(abs(value)) / Fraction(2) ** (int(exponent) - 127)
            wanted = randomly(table, size, bits, int(seed))
            ups += wanted != randomly(table, size, bits, 0)
        if np.signbit(value) and not (table.endswith("_fnuz") and wanted == 0):
            wanted |= 0x80
        assert int(got) == wanted or (np.isnan(number(table, wanted)) and np.isnan(number(table, int(got))))
    assert ups > 20  # a rule that ignores the random bits is seen


# With a scale. Every element by itself, in exact arithmetic.

LARGE: dict[str, tuple[int, Callable[[int], float]]] = {
    "f32": (32, lambda c: float(np.uint32(c).view(np.float32))),
    "f16": (16, lambda c: float(np.uint16(c).view(np.float16))),
    "bf16": (16, lambda c: float(np.uint32(c << 16).view(np.float32))),
}


def decoded(kind: str, code: int) -> float:
    return LARGE[kind][1](code) if kind in LARGE else number(kind, code)


def encoded(kind: str, value: float) -> int:
    """Nearest code. A small element times a power of two is exact in f32, but not always in 16 bits."""
    with np.errstate(all="ignore"):
        if kind == "f32":
            return int(np.float32(value).view(np.uint32))
        if kind == "f16":
            return int(np.float16(value).view(np.uint16))
        if kind == "bf16":
            bits = int(np.float32(value).view(np.uint32))
            return 0x7FC0 if np.isnan(value) else (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    return nearest(kind, value)


def width(kind: str) -> int:
    return LARGE[kind][0] if kind in LARGE else bits_of(kind)


def start(form: scaled_ops.Form, salt: int) -> tuple[Inst, Image, int]:
    """An instruction, registers, and OPSEL."""
    rng = generator(form.name, salt)
    small = min(width(form.to), width(form.of))
    opsel = 0
    if form.count < 32:
        steps = 16 if form.count * small == 16 else 8
        places = (0, 1) if steps == 16 else (0, 1, 2, 3)
        place = int(rng.choice(places))
        opsel = place if not form.shrinks else 8 * place if steps == 16 else 4 * place
        if form.count == 1 and form.to == "f16":
            opsel |= 8 * int(rng.integers(0, 2))
    wide = form.count == 32
    registers = (64, 96, 128, 130) if wide else (SOURCE, SECOND, SCALE, TARGET)
    fields = {"src0": 256 + registers[0], "vdst": registers[3], "opsel": opsel}
    fields |= {"src1": 256 + registers[1 if form.data == 2 else 2]}
    if form.data == 2:
        fields["src2"] = 256 + registers[2]
    inst = encodings(form.name)["VOP3"].inst(**fields)
    image = Image.random(rng, 1)
    if wide:
        image.v = rng.integers(0, 1 << 32, (200, 1, 64), np.uint32)
    powers = rng.choice(np.array([0, 1, 120, 127, 130, 140, 254]), (1, 64)).astype(np.uint32)
    image.v[registers[2]] = powers << np.uint32(23) | rng.integers(0, 1 << 23, (1, 64), np.uint32)
    if form.shrinks:
        _tame(form, image, registers, powers, rng)
    image.activate(0x7FFFFFFF)
    return inst, image, opsel


def _tame(
    form: scaled_ops.Form,
    image: Image,
    registers: tuple[int, ...],
    powers: np.ndarray[tuple[int, ...], np.dtype[np.uint32]],
    rng: np.random.Generator,
) -> None:
    """Data whose quotients lie within the small type, mostly."""
    each = form.count // form.data
    for source in range(form.data):
        values = (
            rng.standard_normal((each, 1, 64)) * 4 * np.exp2(np.clip(powers.astype(float) - 127, -100, 100))
        )
        codes = [[encoded(form.of, float(np.float32(v))) for v in row[0]] for row in values]
        per = 32 // width(form.of)
        for word in range(max(1, each // per)):
            image.v[registers[source] + word, 0] = [
                sum(codes[word * per + i][lane] << i * width(form.of) for i in range(min(per, each)))
                for lane in range(64)
            ]


def expected_of(form: scaled_ops.Form, inst: Inst, image: Image, opsel: int, lane: int) -> tuple[int, int]:
    """The bits of the result, and which of them are written."""
    each = form.count // form.data
    data = [image.wide(o.index, 0, lane, max(1, each * width(form.of) // 32)) for o in inst.src[: form.data]]
    power = (image.wide(inst.src[form.data].index, 0, lane, 1) >> 23 & 0xFF) - 127
    at = to = 0
    if form.count < 32:
        if form.shrinks:
            to = 16 * (opsel >> 3) if form.count * width(form.to) == 16 else 8 * (opsel >> 2)
        else:
            at = 16 * (opsel & 1) if form.count * width(form.of) == 16 else 8 * (opsel & 3)
            to = 16 * (opsel >> 3) if form.count == 1 and form.to == "f16" else 0
    value = mask = 0
    for n in range(form.count):
        source, place = (n % 2, n // 2) if form.data == 2 else (0, n)
        number_in = decoded(form.of, data[source] >> at + place * width(form.of) & (1 << width(form.of)) - 1)
        code = encoded(form.to, float(np.ldexp(number_in, -power if form.shrinks else power)))
        value |= code << to + n * width(form.to)
        mask |= (1 << width(form.to)) - 1 << to + n * width(form.to)
    return value, mask


@pytest.mark.parametrize("name", scaled_ops.FORMS)
@pytest.mark.parametrize("salt", range(3))
def test_scaled_conversions(family: str, name: str, salt: int) -> None:
    form = scaled_ops.FORMS[name]
    inst, image, opsel = start(form, salt)
    seen = execute(inst, image).image
    target, count = inst.dst[0].index, max(1, form.count * width(form.to) // 32)
    compared = 0
    for lane in range(64):
        before, after = (i.wide(target, 0, lane, count) for i in (image, seen))
        if not image.active()[0, lane]:
            assert before == after
            continue
        value, mask = expected_of(form, inst, image, opsel, lane)
        assert before & ~mask == after & ~mask
        for n in range(0, 32 * count, width(form.to)):
            field = (1 << width(form.to)) - 1 << n
            if field & mask != field:
                continue
            got, wanted = (after & field) >> n, (value & field) >> n
            both_nan = np.isnan(decoded(form.to, got)) and np.isnan(decoded(form.to, wanted))
            assert got == wanted or both_nan, (lane, n, hex(got), hex(wanted))
            compared += 1
    assert compared == 62 * form.count
    rest = np.ones(len(image.v), np.bool_)
    rest[target : target + count] = False
    assert np.array_equal(image.v[rest], seen.v[rest])
    assert len(image.v) >= VGPRS


@pytest.mark.parametrize("change", ["the scale the other way", "another place", "one source first"])
def test_wrong_scaled_conversions_are_caught(family: str, change: str) -> None:
    name = {
        "the scale the other way": "v_cvt_scalef32_pk_f32_fp8",
        "another place": "v_cvt_scalef32_pk_fp4_f32",
        "one source first": "v_cvt_scalef32_2xpk16_fp6_f32",
    }[change]
    form = scaled_ops.FORMS[name]
    inst, image, opsel = start(form, 0)
    other, registers = inst, image.copy()
    if change == "the scale the other way":
        registers.v[SCALE] = (254 - (image.v[SCALE] >> np.uint32(23) & np.uint32(0xFF))) << np.uint32(23)
    elif change == "another place":
        other = replace(inst, mods=inst.mods | {"opsel": opsel ^ 4})
    else:
        other = replace(inst, src=(inst.src[1], inst.src[0], inst.src[2]))
    seen = execute(other, registers).image
    target, count = inst.dst[0].index, max(1, form.count * width(form.to) // 32)
    differs = 0
    for lane in range(63):
        value, mask = expected_of(form, inst, image, opsel, lane)
        wanted = image.wide(target, 0, lane, count) & ~mask | value
        differs += wanted != seen.wide(target, 0, lane, count)
    assert differs > 30


def test_nan_has_no_code_of_four_bits(family: str) -> None:
    form = scaled_ops.FORMS["v_cvt_scalef32_pk_fp4_f32"]
    inst, image, _ = start(form, 0)
    image.v[SOURCE, 0, 5] = 0x7FC00000
    with pytest.raises(ExecutionError, match="NaN is converted to fp4"):
        execute(inst, image)


@pytest.mark.parametrize(
    "name", ["v_cvt_scalef32_pk_f32_fp4", "v_cvt_scalef32_pk_fp8_f16", "v_cvt_scalef32_f16_bf8"]
)
def test_what_depends_on_undefined_bits_is_undefined(family: str, name: str) -> None:
    inst, image, _ = start(scaled_ops.FORMS[name], 0)
    shadow = Image.zeros(1)
    shadow.v[SOURCE, 0, 3] = 1 << 9
    shadow.v[SCALE, 0, 7] = 1 << 30
    seen = execute(inst, image, shadow=shadow).shadow.v[TARGET]
    assert np.flatnonzero(seen[0]).tolist() == [3, 7]
    assert semantics.bind(inst) is not None
