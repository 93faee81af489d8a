"""IEEE 754 arithmetic on bit patterns, with Python integers: every result is exact, then rounded once.

Numbers are raw unsigned bit patterns of a `Format`. Nothing here uses the host's floating point, so
that it can judge an emulator which does.
"""

from __future__ import annotations

import math
from enum import Enum
from functools import cached_property
from typing import NamedTuple

from msgspec import Struct


class Rounding(Enum):
    """The two modes that the pseudocode names."""

    NEAREST_EVEN = 0
    TOWARD_ZERO = 3


class Format(Struct, frozen=True, dict=True):
    """A binary interchange format: `width` bits, of which `fraction` are the stored significand."""

    width: int
    fraction: int

    @cached_property
    def bias(self) -> int:
        """Bias of the exponent field."""
        return (1 << (self.width - self.fraction - 2)) - 1

    @cached_property
    def top(self) -> int:
        """Exponent field of infinities and NaNs."""
        return 2 * self.bias + 1

    @cached_property
    def sign(self) -> int:
        """Mask of the sign bit."""
        return 1 << (self.width - 1)

    @cached_property
    def inf(self) -> int:
        """Bits of +infinity."""
        return self.top << self.fraction

    @cached_property
    def quiet(self) -> int:
        """The bit that tells a quiet NaN from a signalling one."""
        return 1 << (self.fraction - 1)

    @cached_property
    def nan(self) -> int:
        """Bits of the default quiet NaN."""
        return self.inf | self.quiet

    @cached_property
    def lowest(self) -> int:
        """Exponent of the last bit of a denormal: the smallest positive value is 2**lowest."""
        return 1 - self.bias - self.fraction


F16 = Format(16, 10)
BF16 = Format(16, 7)
F32 = Format(32, 23)
F64 = Format(64, 52)


class Parts(NamedTuple):
    """A finite value, (-1)**sign * significand * 2**exponent."""

    sign: int
    significand: int
    exponent: int


def biased_exponent(fmt: Format, bits: int) -> int:
    """The exponent field as it is stored."""
    return (bits >> fmt.fraction) & fmt.top


def is_nan(fmt: Format, bits: int) -> bool:
    """Whether the pattern is a NaN of either kind."""
    return (bits & (fmt.sign - 1)) > fmt.inf


def is_signalling(fmt: Format, bits: int) -> bool:
    """Whether the pattern is a signalling NaN."""
    return is_nan(fmt, bits) and not bits & fmt.quiet


def is_inf(fmt: Format, bits: int) -> bool:
    """Whether the pattern is an infinity of either sign."""
    return (bits & (fmt.sign - 1)) == fmt.inf


def is_zero(fmt: Format, bits: int) -> bool:
    """Whether the pattern is +0 or -0."""
    return not bits & (fmt.sign - 1)


def is_denormal(fmt: Format, bits: int) -> bool:
    """Whether the value is nonzero and below the smallest normal one."""
    return biased_exponent(fmt, bits) == 0 and not is_zero(fmt, bits)


def sign_of(fmt: Format, bits: int) -> int:
    """The sign bit."""
    return bits >> (fmt.width - 1) & 1


def flush(fmt: Format, bits: int) -> int:
    """A denormal becomes a zero of its sign; all else stays."""
    return bits & fmt.sign if is_denormal(fmt, bits) else bits


def unpack(fmt: Format, bits: int) -> Parts:
    """Sign, integer significand and exponent of a finite pattern."""
    exponent, significand = biased_exponent(fmt, bits), bits & ((1 << fmt.fraction) - 1)
    if exponent:
        significand |= 1 << fmt.fraction
    return Parts(sign_of(fmt, bits), significand, max(exponent, 1) - 1 + fmt.lowest)


def pack(
    fmt: Format,
    sign: int,
    significand: int,
    exponent: int,
    sticky: bool = False,
    rounding: Rounding = Rounding.NEAREST_EVEN,
) -> int:
    """Round (-1)**sign * significand * 2**exponent into `fmt`, once.

    `sticky` says that the true magnitude is a little larger than given (by less than one unit of the
    significand); the significand must then have at least two bits more than the format.
    """
    signed = sign << (fmt.width - 1)
    if not significand:
        return signed
    last = max(exponent + significand.bit_length() - (fmt.fraction + 1), fmt.lowest)
    shift = last - exponent
    if shift <= 0:
        kept = significand << -shift
    else:
        kept, rest, half = significand >> shift, significand & ((1 << shift) - 1), 1 << (shift - 1)
        above = rest > half or (rest == half and (sticky or kept & 1))
        if rounding is Rounding.NEAREST_EVEN and above:
            kept += 1
    if kept < 1 << fmt.fraction:
        return signed | kept
    magnitude = ((last - fmt.lowest + 1) << fmt.fraction) + kept - (1 << fmt.fraction)
    if magnitude >= fmt.inf:
        magnitude = fmt.inf if rounding is Rounding.NEAREST_EVEN else fmt.inf - 1
    return signed | magnitude


def quieted(fmt: Format, *operands: int) -> int:
    """The first NaN among the operands, made quiet; the default NaN if there is none."""
    for bits in operands:
        if is_nan(fmt, bits):
            return bits | fmt.quiet
    return fmt.nan


def fma(
    fmt: Format, a: int, b: int, c: int, rounding: Rounding = Rounding.NEAREST_EVEN, scale: int = 0
) -> int:
    """(a * b + c) * 2**scale with a single rounding."""
    if is_nan(fmt, a) or is_nan(fmt, b) or is_nan(fmt, c):
        return quieted(fmt, a, b, c)
    product_sign = sign_of(fmt, a) ^ sign_of(fmt, b)
    if is_inf(fmt, a) or is_inf(fmt, b):
        invalid = is_zero(fmt, a) or is_zero(fmt, b) or (is_inf(fmt, c) and sign_of(fmt, c) != product_sign)
        return fmt.nan if invalid else product_sign << (fmt.width - 1) | fmt.inf
    if is_inf(fmt, c):
        return c
    x, y, z = unpack(fmt, a), unpack(fmt, b), unpack(fmt, c)
    product, exponent = x.significand * y.significand, x.exponent + y.exponent
    low = min(exponent, z.exponent)
    total = (-product if product_sign else product) << (exponent - low)
    total += (-z.significand if z.sign else z.significand) << (z.exponent - low)
    if total == 0:
        # An exact zero is positive in this rounding mode, unless both terms are negative zeros.
        both_zero = product == 0 and z.significand == 0
        return (product_sign & z.sign if both_zero else 0) << (fmt.width - 1)
    return pack(fmt, int(total < 0), abs(total), low + scale, rounding=rounding)


def add(fmt: Format, a: int, b: int, rounding: Rounding = Rounding.NEAREST_EVEN) -> int:
    """a + b."""
    return fma(fmt, a, fmt.bias << fmt.fraction, b, rounding)


def mul(fmt: Format, a: int, b: int, rounding: Rounding = Rounding.NEAREST_EVEN) -> int:
    """a * b."""
    sign = (sign_of(fmt, a) ^ sign_of(fmt, b)) << (fmt.width - 1)
    return fma(fmt, a, b, sign, rounding)  # adding a zero of the product's sign changes nothing


def div(fmt: Format, a: int, b: int, rounding: Rounding = Rounding.NEAREST_EVEN) -> int:
    """a / b."""
    if is_nan(fmt, a) or is_nan(fmt, b):
        return quieted(fmt, a, b)
    sign = sign_of(fmt, a) ^ sign_of(fmt, b)
    if is_inf(fmt, a) or is_zero(fmt, b):
        invalid = is_inf(fmt, b) if is_inf(fmt, a) else is_zero(fmt, a)
        return fmt.nan if invalid else sign << (fmt.width - 1) | fmt.inf
    if is_zero(fmt, a) or is_inf(fmt, b):
        return sign << (fmt.width - 1)
    x, y = unpack(fmt, a), unpack(fmt, b)
    guard = 2 * fmt.width
    quotient, rest = divmod(x.significand << guard, y.significand)
    return pack(fmt, sign, quotient, x.exponent - y.exponent - guard, rest != 0, rounding)


def sqrt(fmt: Format, a: int) -> int:
    """The square root, correctly rounded."""
    if is_nan(fmt, a):
        return quieted(fmt, a)
    if is_zero(fmt, a) or (is_inf(fmt, a) and not sign_of(fmt, a)):
        return a
    if sign_of(fmt, a):
        return fmt.nan
    _, significand, exponent = unpack(fmt, a)
    shift = 2 * fmt.width + (exponent & 1)
    root = math.isqrt(significand << shift)
    return pack(fmt, 0, root, (exponent - shift) // 2, root * root != significand << shift)


def rsqrt(fmt: Format, a: int) -> int:
    """1 / sqrt(a), correctly rounded (unlike a rounded root followed by a rounded division)."""
    if is_nan(fmt, a):
        return quieted(fmt, a)
    if is_zero(fmt, a):
        return a | fmt.inf
    if sign_of(fmt, a):
        return fmt.nan
    if is_inf(fmt, a):
        return 0
    _, significand, exponent = unpack(fmt, a)
    if exponent & 1:
        significand, exponent = significand << 1, exponent - 1
    guard = 3 * fmt.width
    root = math.isqrt((1 << (2 * guard)) // significand)
    exact = root * root * significand == 1 << (2 * guard)
    return pack(fmt, 0, root, -exponent // 2 - guard, not exact)


def convert(source: Format, target: Format, bits: int, rounding: Rounding = Rounding.NEAREST_EVEN) -> int:
    """The value in another format, rounded once; a NaN is made quiet and keeps its leading bits."""
    if is_nan(source, bits):
        return reformat_nan(source, target, bits) | target.quiet
    sign, significand, exponent = unpack(source, bits)
    if is_inf(source, bits):
        return sign << (target.width - 1) | target.inf
    return pack(target, sign, significand, exponent, rounding=rounding)


def reformat_nan(source: Format, target: Format, bits: int) -> int:
    """A NaN in another format without making it quiet, as the pseudocode's casts do."""
    payload = bits & ((1 << source.fraction) - 1)
    shift = target.fraction - source.fraction
    payload = payload << shift if shift >= 0 else payload >> -shift
    return sign_of(source, bits) << (target.width - 1) | target.inf | (payload or 1)


def from_int(fmt: Format, value: int, rounding: Rounding = Rounding.NEAREST_EVEN) -> int:
    """An integer, rounded once."""
    return pack(fmt, int(value < 0), abs(value), 0, rounding=rounding)


def from_float(fmt: Format, value: float) -> int:
    """A Python float (for literals and for transcendental functions), rounded once."""
    if math.isnan(value):
        return fmt.nan
    sign = int(math.copysign(1.0, value) < 0)
    if math.isinf(value):
        return sign << (fmt.width - 1) | fmt.inf
    numerator, denominator = abs(value).as_integer_ratio()
    return pack(fmt, sign, numerator, 1 - denominator.bit_length())


def to_float(fmt: Format, bits: int) -> float:
    """The value as a Python float, exact for every format here."""
    if is_nan(fmt, bits):
        return math.nan
    sign, significand, exponent = unpack(fmt, bits)
    magnitude = math.inf if is_inf(fmt, bits) else math.ldexp(significand, exponent)
    return -magnitude if sign else magnitude


def to_integral(fmt: Format, bits: int, mode: str) -> int:
    """Round a finite pattern to an integer: mode is "trunc", "floor" or "even"."""
    sign, significand, exponent = unpack(fmt, bits)
    if exponent >= 0:
        whole, rest, half = significand << exponent, 0, 1
    else:
        whole, rest = significand >> -exponent, significand & ((1 << -exponent) - 1)
        half = 1 << (-exponent - 1)
    if mode == "floor" and sign and rest:
        whole += 1
    if mode == "even" and (rest > half or (rest == half and whole & 1)):
        whole += 1
    return -whole if sign else whole


def less(fmt: Format, a: int, b: int) -> bool:
    """a < b, false if either is a NaN."""
    return not (is_nan(fmt, a) or is_nan(fmt, b)) and _ordinal(fmt, a) < _ordinal(fmt, b)


def equal(fmt: Format, a: int, b: int) -> bool:
    """a == b, false if either is a NaN; the zeros are equal."""
    return not (is_nan(fmt, a) or is_nan(fmt, b)) and _ordinal(fmt, a) == _ordinal(fmt, b)


def _ordinal(fmt: Format, bits: int) -> int:
    magnitude = bits & (fmt.sign - 1)
    return -magnitude if bits & fmt.sign else magnitude
