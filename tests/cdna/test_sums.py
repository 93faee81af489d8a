"""How products are added: the rules restated in rational arithmetic, bit by bit.

"ieee" is a chain of fused multiply-adds for every float. "silicon", of CDNA3, is the published model (MMA-Sim,
arXiv 2511.10909), here written down a second time with fractions and no floating-point at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from layoutprobe.arch import TARGETS, MatrixForm
from layoutprobe.backends.base import Launch
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.errors import UsageError
from layoutprobe.instructions.probe import build
from layoutprobe.numbers import element_type
from layoutprobe.numbers.fused import FUSED
from layoutprobe.numbers.groups import GroupSum
from layoutprobe.semantics.wmma_general import numbers_of, result_bits

GFX942 = TARGETS["gfx942"].matrix
FLOATS = [f for f in GFX942.values() if f.result != "i32" and not f.sparse and f.blocks == 1]
MODELLED = [f for f in FLOATS if isinstance(f.adds["silicon"], GroupSum)]
TWO = Fraction(2)


def exponent(value: Fraction, lowest: int) -> int:
    """floor(log2(|value|)), not below the lowest; of zero the lowest."""
    if value == 0:
        return lowest
    size = abs(value)
    found = size.numerator.bit_length() - size.denominator.bit_length()
    found -= size < TWO**found
    return max(found, lowest)


def rounded(value: Fraction, bits: int, lowest: int) -> Fraction:
    """To nearest, ties to even, with so many significant bits; Python rounds fractions so."""
    unit = TWO ** (exponent(value, lowest) - bits + 1)
    return round(value / unit) * unit


def to_f32(value: Fraction) -> Fraction:
    return rounded(value, 24, -126)


def chain(kind: str, a: Sequence[Fraction], b: Sequence[Fraction], c: Fraction) -> Fraction:
    for x, y in zip(a, b, strict=True):
        c = rounded(c + x * y, 53, -1022) if kind == "f64" else to_f32(c + x * y)
    return c


LOWEST = {"f16": -14, "bf16": -126, "xf32": -126, "fp8_fnuz": -7, "bf8_fnuz": -15}


def cut(products: Sequence[tuple[Fraction, int]]) -> tuple[Fraction, int]:
    top = max(e for _, e in products)
    unit = TWO ** (top - 24)
    return sum((int(p / unit) * unit for p, _ in products), Fraction(0)), top


def floored(value: Fraction, top: int, bits: int) -> Fraction:
    unit = TWO ** (top - bits)
    return value // unit * unit


def group_sum(kinds: tuple[str, str], a: Sequence[Fraction], b: Sequence[Fraction], c: Fraction) -> Fraction:
    size = {"f16": 8, "bf16": 8, "xf32": 4}.get(kinds[0], 16)
    for start in range(0, len(a), size):
        terms = []
        for x, y in zip(a[start : start + size], b[start : start + size], strict=True):
            of = exponent(x, LOWEST[kinds[0]]) + exponent(y, LOWEST[kinds[1]]) if x * y else -126
            terms.append((x * y, of))
        of_c = exponent(c, -126)
        if size == 16:
            (even, e0), (odd, e1) = cut(terms[::2]), cut(terms[1::2])
            top = max(e0, e1)
            total = floored(even, top, 24) + floored(odd, top, 24)
        else:
            total, top = cut(terms)
        meet = max(top, of_c)
        kept = Fraction(0) if size == 16 and of_c < meet - 25 else floored(c, meet, 24)
        c = to_f32(floored(total, meet, 31) + kept)
    return c


def operands(form: MatrixForm, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Raw random numbers of all exponents that leave the sum finite, a third of them close together."""
    rng = np.random.default_rng(seed)
    _, _, k = form.shape
    runs = 60
    out = []
    for kind, shape in ((form.a, (runs, 3, k)), (form.b, (runs, k, 3)), (form.result, (runs, 3, 3))):
        element = element_type(kind)
        span = min(np.log2(element.largest), 60)
        low = max(np.log2(element.smallest), -70)
        scale = np.where(rng.random(shape) < 0.4, rng.uniform(low, span, shape), rng.uniform(-2, 3, shape))
        scale = np.where(np.arange(runs)[:, None, None] % 3 == 0, scale, rng.uniform(-1, 1, shape))
        number = np.exp2(np.clip(scale, low, span)) * rng.choice([-1, 1], shape)
        number = np.where(rng.random(shape) < 0.1, 0, number)
        raw = element.encode(np.clip(number, -element.largest, element.largest))
        out.append(raw)
    return out[0], out[1], out[2]


def fractions(kind: str, raw: np.ndarray) -> Any:
    return np.vectorize(lambda x: Fraction(float(x)), otypes=[object])(element_type(kind).decode(raw))


@pytest.mark.parametrize("mode", ["ieee", "silicon"])
@pytest.mark.parametrize("form", FLOATS, ids=lambda f: f.name)
def test_the_rule_in_rational_arithmetic(form: MatrixForm, mode: str) -> None:
    a, b, c = operands(form, 7)
    raw_c = c.astype(np.uint64 if form.result == "f64" else np.uint32)
    left, right = (
        numbers_of(kind, raw.astype(np.uint64 if kind == "f64" else np.uint32))
        for kind, raw in ((form.a, a), (form.b, b))
    )
    found = result_bits(form, left, right, raw_c, False, mode)
    values = element_type(form.result).decode(found)
    xs, ys, zs = fractions(form.a, a), fractions(form.b, b), fractions(form.result, c)
    cases = differ = 0
    for run, i, j in np.ndindex(c.shape):
        left_k, right_k, start = xs[run, i].tolist(), ys[run, :, j].tolist(), zs[run, i, j]
        if mode == "ieee" or form not in MODELLED:
            wanted = chain(form.result, left_k, right_k, start)
        else:
            wanted = group_sum((form.a, form.b), left_k, right_k, start)
            differ += wanted != chain(form.result, left_k, right_k, start)
        assert Fraction(float(values[run, i, j])) == wanted, (run, i, j)
        cases += 1
    assert cases == 540
    assert differ > 20 or mode == "ieee" or form not in MODELLED, "the modes are told apart"


def one_output(name: str, mode: str, a: Sequence[float], b: Sequence[float], c: float) -> int:
    form = GFX942[name]
    k = form.shape[2]
    left, right = np.zeros((1, 1, k), np.float32), np.zeros((1, k, 1), np.float32)
    left[0, 0, : len(a)], right[0, : len(b), 0] = a, b
    bits = np.full((1, 1, 1), c, np.float32).view(np.uint32)
    return int(result_bits(form, left, right, bits, False, mode)[0, 0, 0])


def bits(value: float) -> int:
    return int(np.float32(value).view(np.uint32))


def test_small_integers_of_mixed_signs_are_exact() -> None:
    for form in MODELLED:
        assert one_output(form.name, "silicon", [3, 4], [8, 8], -1) == bits(55)


def test_the_accumulator_is_floored() -> None:
    """dot = 1: a C of -2**-40 takes one unit in the last place, +2**-40 nothing. In IEEE neither does."""
    name = "v_mfma_f32_32x32x8_f16"
    assert one_output(name, "silicon", [1], [1], -(2.0**-40)) == 0x3F7FFFFF
    assert one_output(name, "silicon", [1], [1], 2.0**-40) == bits(1)
    assert one_output(name, "ieee", [1], [1], -(2.0**-40)) == bits(1)


def test_the_split_into_groups_shows() -> None:
    """K of 16 is two groups of 8: a large product hides the small ones of its own group only."""
    a = [2.0**11, 2.0**-14, *[0] * 6, -(2.0**11), *[0] * 7]
    b = [1] * 16
    # 2**-14 is 25 binades below 2**11, and cut off in its group; in the other group it stays.
    assert one_output("v_mfma_f32_16x16x16_f16", "silicon", a, b, 0) == bits(0)
    a[1], a[9] = 0, 2.0**-13
    assert one_output("v_mfma_f32_16x16x16_f16", "silicon", a, b, 0) == bits(2.0**-13)


@pytest.mark.parametrize("name", [f.name for f in MODELLED if "bf16" in f.name or "xf32" in f.name])
def test_infinities(name: str) -> None:
    """A product of 2**128 or more is an infinity, also where the sum would be finite again."""
    big, inf = 2.0**64, float("inf")
    assert one_output(name, "silicon", [big], [big], 0) == bits(inf)
    assert one_output(name, "silicon", [-big], [big], 0) == bits(-inf)
    assert np.isnan(np.uint32(one_output(name, "silicon", [big, -big], [big, big], 0)).view(np.float32))
    assert one_output(name, "silicon", [big], [big / 2], 0) == bits(2.0**127)
    assert one_output(name, "silicon", [1], [1], inf) == bits(inf)
    assert np.isnan(np.uint32(one_output(name, "silicon", [1], [1], float("nan"))).view(np.float32))


def test_doubles_at_the_ends_of_their_range() -> None:
    """Where error-free transformations fail, fractions take over."""
    rng = np.random.default_rng(2)
    a, b, c = (
        np.ldexp(rng.uniform(1, 2, 300) * rng.choice([-1, 1], 300), rng.integers(low, high, 300))
        for low, high in ((-1070, 500), (-500, 500), (-1070, 1000))
    )
    found = FUSED.total(("f64", "f64"), a[:, None, None], b[:, None, None], c[:, None, None])[:, 0, 0]
    wanted = [
        rounded(Fraction(x) * Fraction(y) + Fraction(z), 53, -1022) for x, y, z in zip(a, b, c, strict=True)
    ]
    assert [Fraction(x) for x in found.tolist()] == wanted
    big = np.full((1, 1, 1), 1e300)
    assert FUSED.total(("f64", "f64"), big, big, -big)[0, 0, 0] == float("inf")
    infinite = np.full((1, 1, 1), -np.inf)  # a product of numbers is a number, so that this is no difference
    assert FUSED.total(("f64", "f64"), big, big, infinite)[0, 0, 0] == -float("inf")


def test_cdna4_has_no_published_rule() -> None:
    assert all(form.arithmetic == ("ieee",) for form in TARGETS["gfx950"].matrix.values())
    assert all("silicon" in form.arithmetic for form in FLOATS)
    assert TARGETS["gfx950"].arithmetic == ("ieee",)
    assert TARGETS["gfx942"].arithmetic == ("ieee", "silicon")


def test_it_is_refused_in_words() -> None:
    """Also of RDNA4, of which nothing is published either."""
    code, _ = build("gfx1200", 32)
    launch = Launch(code, "v_wmma_f32_16x16x16_f16", (1, 1, 1), (32, 1, 1), [])
    with pytest.raises(UsageError, match="nobody has published how matrix instructions of gfx1200 round"):
        EmulatorBackend(arithmetic="silicon").run(launch)
