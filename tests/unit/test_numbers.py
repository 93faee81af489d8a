"""Element types: every code and every rounding against the formats' definitions in exact fractions."""

from __future__ import annotations

from fractions import Fraction
from math import inf, isinf, isnan, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from layoutprobe.errors import UsageError
from layoutprobe.numbers import TYPES, element_type
from layoutprobe.semantics import wmma, wmma_general


class Float(Struct, frozen=True):
    """A float as its specification has it: fields of the code, bias, and which codes are no numbers."""

    exponent: int
    fraction: int
    bias: int
    special: str  # "ieee": infinities and NaN; "top": all ones is NaN; "zero": -0 is NaN; "none"
    signed: bool = True

    def value(self, code: int) -> Fraction | float:
        field = code >> self.fraction & (1 << self.exponent) - 1
        low = code & (1 << self.fraction) - 1
        sign = -1 if self.signed and code >> self.exponent + self.fraction & 1 else 1
        if self.special == "zero" and sign < 0 and not field and not low:
            return nan
        if field == (1 << self.exponent) - 1:
            if self.special == "ieee":
                return nan if low else sign * inf
            if self.special == "top" and low == (1 << self.fraction) - 1:
                return nan
        if not self.signed:  # e8m0 has no fraction and no subnormal
            return Fraction(2) ** (field - self.bias)
        whole = low + (1 << self.fraction if field else 0)
        return sign * Fraction(whole) * Fraction(2) ** (max(field, 1) - self.bias - self.fraction)


FLOATS = {
    "f16": Float(5, 10, 15, "ieee"),
    "bf16": Float(8, 7, 127, "ieee"),
    "f32": Float(8, 23, 127, "ieee"),
    "f64": Float(11, 52, 1023, "ieee"),
    "fp8": Float(4, 3, 7, "top"),
    "bf8": Float(5, 2, 15, "ieee"),
    "fp8_fnuz": Float(4, 3, 8, "zero"),
    "bf8_fnuz": Float(5, 2, 16, "zero"),
    "fp6": Float(2, 3, 1, "none"),
    "bf6": Float(3, 2, 3, "none"),
    "fp4": Float(2, 1, 1, "none"),
    "e8m0": Float(8, 0, 127, "top", signed=False),
}
INTEGERS = {f"{sign}{bits}": (sign == "i", bits) for sign in "iu" for bits in (4, 8, 16, 32, 64)}
INTEGERS |= {"iu8": (False, 8), "iu4": (False, 4), "u6": (False, 6)}
SMALL = [name for name in FLOATS if TYPES[name].bits <= 16]


def test_every_type_is_restated_here() -> None:
    assert set(TYPES) == {*FLOATS, *INTEGERS, "tf32", "xf32"}
    assert {name: kind.bits for name, kind in TYPES.items()} == {
        **{name: f.exponent + f.fraction + f.signed for name, f in FLOATS.items()},
        **{name: bits for name, (_, bits) in INTEGERS.items()},
        "tf32": 32,
        "xf32": 32,
    }
    for name, kind in TYPES.items():
        unsigned = name == "e8m0" or (name in INTEGERS and not INTEGERS[name][0])
        assert kind.signed == (not unsigned)
        assert kind.storage.itemsize == kind.raw.itemsize == max(1, kind.bits // 8)


def same(found: float, expected: Fraction | float) -> bool:
    return isnan(found) if isnan(expected) else found == expected


@pytest.mark.parametrize("name", SMALL)
def test_every_code_is_its_number(name: str) -> None:
    kind, restated = TYPES[name], FLOATS[name]
    found = kind.decode(np.arange(1 << kind.bits, dtype=np.uint32)).tolist()
    assert all(same(one, restated.value(code)) for code, one in enumerate(found))
    assert np.array_equal(found, kind.values(), equal_nan=True)
    if kind.signed and "fnuz" not in name:  # the sign of zero
        assert np.signbit(found[1 << kind.bits - 1])
    with pytest.raises(ValueError, match="read-only"):
        kind.values()[0] = 1


@pytest.mark.parametrize("name", sorted(INTEGERS))
def test_integers_are_two_s_complement_and_stop_at_their_ends(name: str) -> None:
    signed, bits = INTEGERS[name]
    kind = TYPES[name]
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    assert (kind.low, kind.exact, kind.kind) == (low, high, "integer")
    every = (
        range(1 << bits) if bits <= 16 else [0, 1, high, low % (1 << bits), (1 << bits) - 1, 1 << bits - 2]
    )
    codes = np.array(list(every), kind.raw)
    numbers = [code - (1 << bits) if signed and code >> bits - 1 else code for code in every]
    assert kind.decode(codes).tolist() == [float(number) for number in numbers]
    dtype = np.int64 if signed else np.uint64
    assert np.array_equal(kind.encode(np.array(numbers, dtype)), codes)
    far = kind.encode(np.array([1e30, -1e30, float(high) + 0.25, inf, -inf]))
    assert far.tolist() == [high, low % (1 << bits), high, high, low % (1 << bits)]
    assert kind.encode(np.array([2.5, 3.5, 0.5, -0.5])).tolist() == [2, 4, 0, 0], "ties go to even"
    with pytest.raises(UsageError, match="has no NaN"):
        kind.encode(np.array([nan]))


def test_wide_integers_do_not_pass_through_floats() -> None:
    odd = np.array([(1 << 62) + 1, -(1 << 62) - 1], np.int64)
    assert np.array_equal(TYPES["i64"].encode(odd).view(np.int64), odd)


def test_integers_keep_their_low_bits_as_a_store_does_it() -> None:
    assert TYPES["u64"].encode(np.array([-1], np.int64)).tolist() == [(1 << 64) - 1]
    assert TYPES["iu8"].encode(np.array([-3, 256 + 7])).tolist() == [0xFD, 7]
    assert TYPES["i4"].encode(np.array([-8, 7, 8])).tolist() == [8, 7, 8]
    assert TYPES["f16"].encode(np.array([-3, 2049])).tolist() == [0xC200, 0x6800], "a float rounds"


@pytest.mark.parametrize("name", ["f16", "bf16", "f32", "i8", "u32", "fp8"])
def test_storage_and_back(name: str) -> None:
    kind, values = TYPES[name], np.array([[1, 2], [5, 7]])
    stored = kind.store(values)
    assert stored.dtype == kind.storage
    assert np.array_equal(kind.load(stored), values)
    assert kind.load(stored) is not stored
    assert kind.load(stored).dtype == (np.float32 if name in ("bf16", "fp8") else kind.storage)
    assert kind.store(np.float64(3.0)).shape == ()


def positive(name: str) -> tuple[list[int], list[float]]:
    """Codes of the numbers from zero up, and the numbers, which float64 holds exactly."""
    restated = FLOATS[name]
    found = [(restated.value(code), code) for code in range(1 << restated.exponent + restated.fraction)]
    pairs = [(number, code) for number, code in found if isinstance(number, Fraction)]
    assert pairs == sorted(pairs), "codes ascend with their numbers"
    assert all(Fraction(float(number)) == number for number, _ in pairs)
    return [code for _, code in pairs], [float(number) for number, _ in pairs]


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("name", SMALL)
def test_every_number_and_every_tie_rounds_once_and_to_even(name: str, sign: int) -> None:
    """Between each two neighbours: the middle, and as little off it as a float64 can be."""
    restated, kind = FLOATS[name], TYPES[name]
    if sign < 0 and not restated.signed:
        assert kind.encode(np.array([-1.0, -0.0, 0.0, -inf])).tolist() == [0xFF] * 4
        assert kind.encode(np.array([1e-300, 2.0**-129])).tolist() == [0, 0], "no number is smaller"
        return
    codes, numbers = positive(name)
    low, high = np.array(codes[:-1]), np.array(codes[1:])
    middle = (np.array(numbers[:-1]) + np.array(numbers[1:])) / 2
    even = high if not restated.fraction else np.where(low % 2 == 0, low, high)
    negative = 1 << kind.bits - 1 if sign < 0 else 0

    def coded(values: list[float]) -> list[int]:
        return kind.encode(sign * np.array(values)).tolist()

    def expected(wanted: list[int]) -> list[int]:
        """No negative zero in the FNUZ forms."""
        return [code if code == 0 and restated.special == "zero" else code | negative for code in wanted]

    assert coded(numbers) == expected(codes)
    assert coded(middle.tolist()) == expected(even.tolist())
    assert coded(np.nextafter(middle, 0).tolist()) == expected(low.tolist())
    assert coded(np.nextafter(middle, inf).tolist()) == expected(high.tolist())


@pytest.mark.parametrize("name", SMALL)
def test_beyond_the_largest_number(name: str) -> None:
    restated, kind = FLOATS[name], TYPES[name]
    codes, numbers = positive(name)
    top, step = numbers[-1], numbers[-1] - numbers[-2]
    edge = top + step / 2 if restated.fraction else 1.5 * top
    outcome = {"ieee": inf, "none": top}.get(restated.special, nan)
    at_edge = top if codes[-1] % 2 == 0 and restated.fraction else outcome
    given = [np.nextafter(edge, 0), edge, np.nextafter(edge, inf), 4 * top, 1e300, inf]
    wanted = [top, at_edge, *[outcome] * 4]
    assert np.array_equal(kind.decode(kind.encode(np.array(given))), wanted, equal_nan=True)
    if restated.signed:
        assert np.array_equal(kind.decode(kind.encode(-np.array(given))), -np.array(wanted), equal_nan=True)
    assert (kind.largest, kind.smallest) == (top, min(number for number in numbers if number > 0))
    assert kind.normal == restated.value(1 << restated.fraction if restated.signed else 0)


@pytest.mark.parametrize("name", FLOATS)
def test_any_nan_is_the_one_nan_of_its_type(name: str) -> None:
    kind = TYPES[name]
    payload = np.array([0x7FF8_0000_0000_0001, 0xFFF8_0000_0000_0000, 0x7FF0_0000_0000_0001], np.uint64)
    given = payload.view(np.float64)
    if FLOATS[name].special == "none":
        assert kind.nan is None
        with pytest.raises(UsageError, match="has no NaN"):
            kind.encode(given)
        return
    assert kind.encode(given).tolist() == [kind.nan] * 3
    value = FLOATS[name].value(kind.nan or 0)
    assert isinstance(value, float)
    assert isnan(value)


@pytest.mark.parametrize("name", TYPES)
def test_integers_are_exact_up_to_the_stated_one_and_no_further(name: str) -> None:
    kind = TYPES[name]
    if kind.bits > 32:
        assert kind.exact == {"f64": 1 << 53, "i64": (1 << 63) - 1, "u64": (1 << 64) - 1}[name]
        return
    count = min(kind.exact, 1 << 16)
    integers = np.concatenate([np.arange(1, count + 1), kind.exact - np.arange(min(count, 100))])
    assert kind.holds(integers).all()
    assert not kind.holds(np.array([kind.exact + 1])).any()


def rounded(name: str, value: float) -> float:
    """Rounding by fractions: to a whole number of the last place."""
    restated = FLOATS[name]
    exact = abs(Fraction(value))
    place = 1 - restated.bias - restated.fraction
    while exact >= Fraction(2) ** (place + restated.fraction + 1):
        place += 1
    whole = round(exact / Fraction(2) ** place) * Fraction(2) ** place  # to even
    top = (2 - Fraction(2) ** -restated.fraction) * Fraction(2) ** (
        ((1 << restated.exponent) - 2) - restated.bias
    )
    return float(whole) * (-1 if value < 0 else 1) if whole <= top else inf * (-1 if value < 0 else 1)


@given(st.sampled_from(["f16", "bf16", "f32", "bf8"]), st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_round_as_fractions_do(name: str, value: float) -> None:
    assert TYPES[name].decode(TYPES[name].encode(np.array([value])))[0] == rounded(name, value)


@given(st.sampled_from(["tf32", "xf32"]), st.floats(allow_nan=False, width=32), st.integers(0, (1 << 32) - 1))
def test_a_tf32_has_eleven_significant_bits(name: str, value: float, bits: int) -> None:
    kind = TYPES[name]
    found = float(kind.decode(kind.encode(np.array([value])))[0])
    if isinf(value):
        assert found == value
    else:
        exact, place = abs(Fraction(value)), -126 - 10
        while exact >= Fraction(2) ** (place + 11):
            place += 1
        whole = round(exact / Fraction(2) ** place) * Fraction(2) ** place
        largest = Fraction(kind.largest)
        assert abs(found) == (float(whole) if whole <= largest else inf)
    word = np.array([bits], np.uint32)
    low_cleared = kind.decode(word & np.uint32(0xFFFFE000))
    assert np.array_equal(kind.decode(word), low_cleared, equal_nan=True), "low bits do not count"


@pytest.mark.parametrize("name", ["f32", "f64"])
def test_wide_floats_are_ieee(name: str) -> None:
    rng = np.random.default_rng(7)
    kind, restated = TYPES[name], FLOATS[name]
    codes = rng.integers(0, 1 << 63, 500, np.uint64).astype(kind.raw)
    assert all(
        same(one, restated.value(code))
        for one, code in zip(kind.decode(codes).tolist(), codes.tolist(), strict=True)
    )


def test_an_unknown_type_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match="no element type named 'fp8-fnuz'") as refusal:
        element_type("fp8-fnuz")
    assert refusal.value.hint == "did you mean fp8_fnuz?"


# Fast paths of the emulator.


@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_the_emulator_s_fast_decoders_agree(name: str) -> None:
    every = np.arange(1 << 16, dtype=np.uint32)
    fast = {"f16": wmma_general.fast_f16, "bf16": wmma_general.fast_bf16}[name](every)
    assert fast.dtype == np.float32
    assert np.array_equal(fast, TYPES[name].values(), equal_nan=True)


@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_the_emulator_s_fast_halves_agree(name: str) -> None:
    every = np.arange(1 << 16, dtype=np.uint32)
    words = every | every[::-1] << np.uint32(16)
    low, high = {"f16": wmma.expand_f16, "bf16": wmma.expand_bf16}[name](words)
    assert np.array_equal(low, TYPES[name].values(), equal_nan=True)
    assert np.array_equal(high, TYPES[name].values()[::-1], equal_nan=True)
