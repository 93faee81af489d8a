"""The functions that the pseudocode calls, as the ISA guide defines them."""

from __future__ import annotations

import re
from collections.abc import Callable

from . import softfloat as sf
from . import transcendental
from .errors import PcodeFault
from .lanes import Ints, each, same
from .state import Frame
from .values import Type, Value, boolean, float_format, parse_type, wrap

Builtin = Callable[[Frame, list[Value]], Value]

_CONVERSION = re.compile(r"(bf16|[fiu]\d+)_to_(bf16|[fiu]\d+|snorm|unorm)")
_NORM_SCALE = {"snorm": 32767, "unorm": 65535}


def find(name: str) -> Builtin | None:
    """The builtin of that name: fixed ones, and the `f32_to_i32` family."""
    fixed = _FIXED.get(name)
    if fixed is not None:
        return fixed
    match = _CONVERSION.fullmatch(name)
    return None if match is None else _conversion(match[1], match[2])


def arithmetic(frame: Frame, op: str, a: Value, b: Value) -> Value:
    """+ - * / of two floats of one format, rounded once, with the mode's denormals."""
    if (a.kind, a.width) != (b.kind, b.width):
        raise PcodeFault(f"{frame.op}: {a.kind}{a.width} {op} {b.kind}{b.width}")
    fmt = float_format(a)
    x, y = _flushed(frame, a), _flushed(frame, b)
    if op == "-":
        y ^= fmt.sign
    function = {"+": sf.add, "-": sf.add, "*": sf.mul, "/": sf.div}[op]
    rounding = frame.rounding
    return _result(frame, a, each(lambda x, y: function(fmt, x, y, rounding), x, y))


def _flushed(frame: Frame, value: Value) -> Ints:
    keep = frame.mode.keeps_denormals(value.width)
    return value.payload if keep else _flush(value)


def _result(frame: Frame, like: Value, bits: Ints) -> Value:
    keep = frame.mode.keeps_denormals(like.width)
    result = Value(like.kind, like.width, bits)
    return result if keep else result._replace(payload=_flush(result))


def _flush(value: Value) -> Ints:
    fmt = float_format(value)
    return each(lambda bits: sf.flush(fmt, bits), value.payload)


def _fma(frame: Frame, args: list[Value], scale: Ints = 0) -> Value:
    a, b, c = args[:3]
    x, y, z = (_flushed(frame, v) for v in (a, b, c))
    fmt, rounding = float_format(a), frame.rounding
    return _result(frame, a, each(lambda x, y, z, n: sf.fma(fmt, x, y, z, rounding, n), x, y, z, scale))


def _fma_ldexp(frame: Frame, args: list[Value]) -> Value:
    """fma(a, b, c) * 2**n with one rounding; not AMD's, used by the corrections."""
    return _fma(frame, args, args[3].payload)


def _ldexp(frame: Frame, args: list[Value]) -> Value:
    value, power = args
    fmt = float_format(value)

    def scaled(bits: int, scale: int) -> int:
        if sf.is_nan(fmt, bits):
            return sf.quieted(fmt, bits)
        if sf.is_inf(fmt, bits):
            return bits
        sign, significand, exponent = sf.unpack(fmt, bits)
        reach = 2 * fmt.top  # beyond this the result is zero or infinite anyway
        return sf.pack(fmt, sign, significand, exponent + max(-reach, min(reach, scale)))

    return _result(frame, value, each(scaled, _flushed(frame, value), power.payload))


def _conversion(source_name: str, target_name: str) -> Builtin:
    source = parse_type(source_name)
    if target_name in _NORM_SCALE:
        return lambda frame, args: _to_norm(args[0], target_name)
    target = parse_type(target_name)
    if source.kind in ("F", "BF") and target.kind in ("F", "BF"):
        return lambda frame, args: _float_to_float(frame, args[0], source, target)
    if source.kind in ("F", "BF"):
        # V_CVT_PK_U8_F32 rounds to nearest even (the GPU's packcvt); all others cut off.
        mode = "even" if target == Type("U", 8) else "trunc"
        return lambda frame, args: _float_to_int(frame, args[0], target, mode)
    if target.kind == "F":
        return lambda frame, args: _int_to_float(frame, args[0], source, target)
    return lambda frame, args: _saturate(target, wrap(source.kind, source.width, args[0].payload).payload)


def _float_to_float(frame: Frame, value: Value, source: Type, target: Type) -> Value:
    formats, rounding = (float_format(source), float_format(target)), frame.rounding
    bits = each(lambda bits: sf.convert(*formats, bits, rounding), _flushed(frame, value))
    return _result(frame, Value(target.kind, target.width, 0), bits)


def _int_to_float(frame: Frame, value: Value, source: Type, target: Type) -> Value:
    number = wrap(source.kind, source.width, value.payload).payload
    fmt, rounding = float_format(target), frame.rounding
    return Value("F", target.width, each(lambda n: sf.from_int(fmt, n, rounding), number))


def _float_to_int(frame: Frame, value: Value, target: Type, mode: str) -> Value:
    """NaN gives 0, what is out of range saturates."""
    fmt = float_format(value)

    def whole(bits: int) -> int:
        if sf.is_nan(fmt, bits):
            return 0
        if sf.is_inf(fmt, bits):
            return -(1 << 100) if sf.sign_of(fmt, bits) else 1 << 100
        return sf.to_integral(fmt, bits, mode)

    return _saturate(target, each(whole, _flushed(frame, value)))


def _saturate(target: Type, number: Ints) -> Value:
    signed = target.kind == "I"
    low = -(1 << (target.width - 1)) if signed else 0
    high = (1 << (target.width - signed)) - 1
    return Value(target.kind, target.width, each(lambda n: max(low, min(high, n)), number))


def _to_norm(value: Value, target: str) -> Value:
    """Scale [-1, 1] or [0, 1] to 16 bits, round to nearest even, saturate."""
    scale, fmt = _NORM_SCALE[target], float_format(value)
    kind = Type("I" if target == "snorm" else "U", 16)

    def scaled(bits: int) -> int:
        if sf.is_nan(fmt, bits):
            return 0
        if sf.is_inf(fmt, bits):
            return -scale if sf.sign_of(fmt, bits) else scale
        # The product is exact in f64: 24 bits times 16 bits.
        wide = sf.mul(sf.F64, sf.convert(fmt, sf.F64, bits), sf.from_int(sf.F64, scale))
        return max(-scale, min(scale, sf.to_integral(sf.F64, wide, "even")))

    return _saturate(kind, each(scaled, value.payload))


def _integral(mode: str) -> Builtin:
    def function(frame: Frame, args: list[Value]) -> Value:
        (value,) = args
        fmt = float_format(value)

        def whole(bits: int) -> int:
            if sf.is_nan(fmt, bits):
                return sf.quieted(fmt, bits)
            if sf.is_inf(fmt, bits):
                return bits
            return sf.from_int(fmt, sf.to_integral(fmt, bits, mode)) or bits & fmt.sign

        return value._replace(payload=each(whole, value.payload))

    return function


def _fract(frame: Frame, args: list[Value]) -> Value:
    floor = _integral("floor")(frame, args)
    return arithmetic(frame, "-", args[0], floor)


def _mantissa(frame: Frame, args: list[Value]) -> Value:
    """Significand in [0.5, 1) with its sign; a denormal is normalised first."""
    (value,) = args
    fmt = float_format(value)

    def normalised(bits: int) -> int:
        sign, significand, _ = sf.unpack(fmt, bits)
        return sf.pack(fmt, sign, significand, -significand.bit_length())

    return value._replace(payload=each(normalised, value.payload))


def _frexp_exponent(frame: Frame, args: list[Value]) -> Value:
    """The exponent that belongs to `mantissa`; 0 for zero. Not AMD's, used by the corrections."""
    fmt = float_format(args[0])

    def exponent_of(bits: int) -> int:
        _, significand, exponent = sf.unpack(fmt, bits)
        return exponent + significand.bit_length() if significand else 0

    return Value("I", 32, each(exponent_of, args[0].payload))


def _round_even(frame: Frame, args: list[Value]) -> Value:
    """Nearest integer, ties to even, sign of zero kept. Not AMD's, used by the corrections."""
    return _integral("even")(frame, args)


def _signext_from_bit(frame: Frame, args: list[Value]) -> Value:
    value, count = args[0], same(args[1].payload)
    number = wrap("I", count, value.payload).payload if count else 0
    return Value("I", value.width, number)


def _is_even(frame: Frame, args: list[Value]) -> Value:
    fmt = float_format(args[0])

    def even(bits: int) -> bool:
        finite = not (sf.is_nan(fmt, bits) or sf.is_inf(fmt, bits))
        return finite and sf.to_integral(fmt, bits, "floor") % 2 == 0

    return boolean(each(even, args[0].payload))


def _first_one(frame: Frame, args: list[Value]) -> Value:
    bits = args[0].bits
    return Value("I", 32, each(lambda n: (n & -n).bit_length() - 1, bits))


def _reverse_bits(frame: Frame, args: list[Value]) -> Value:
    """The five bits of a lane number in reverse, as DS_SWIZZLE's FFT mode uses them."""
    return Value("U", 32, each(lambda n: int(f"{n:05b}"[::-1], 2), args[0].payload & 31))


def _unary(function: Callable[[sf.Format, int], int]) -> Builtin:
    def call(frame: Frame, args: list[Value]) -> Value:
        (value,) = args
        fmt = float_format(value)
        return value._replace(payload=each(lambda bits: function(fmt, bits), value.payload))

    return call


def _test(function: Callable[[sf.Format, int], bool]) -> Builtin:
    def call(frame: Frame, args: list[Value]) -> Value:
        fmt = float_format(args[0])
        return boolean(each(lambda bits: function(fmt, bits), args[0].payload))

    return call


def _pow(frame: Frame, args: list[Value]) -> Value:
    base, power = args
    fmt = float_format(base)
    if same(base.payload) != sf.from_int(fmt, 2):
        raise PcodeFault(f"{frame.op}: pow of a base other than 2")
    return Value("F", base.width, each(lambda bits: transcendental.exp2(fmt, bits), power.payload))


def _abs(frame: Frame, args: list[Value]) -> Value:
    (value,) = args
    if value.is_float:
        return value._replace(payload=value.payload & (float_format(value).sign - 1))
    return value._replace(payload=abs(value.payload))


def _nothing(frame: Frame, args: list[Value]) -> Value:
    return Value("U", 1, 0)


_FIXED: dict[str, Builtin] = {
    "abs": _abs,
    "countbits": lambda frame, args: Value("U", 32, each(int.bit_count, args[0].bits)),
    "cos_turns": _unary(transcendental.cos_turns),
    "cvtToQuietNAN": _unary(lambda fmt, bits: bits | fmt.quiet),
    "exponent": lambda frame, args: Value(
        "I", 32, sf.biased_exponent(float_format(args[0]), args[0].payload)
    ),
    "floor": _integral("floor"),
    "fma": _fma,
    "fma_ldexp": _fma_ldexp,
    "fract": _fract,
    "frexp_exponent": _frexp_exponent,
    "isEven": _is_even,
    "isNAN": _test(sf.is_nan),
    "isQuietNAN": _test(lambda fmt, bits: sf.is_nan(fmt, bits) and not sf.is_signalling(fmt, bits)),
    "isSignalNAN": _test(sf.is_signalling),
    "ldexp": _ldexp,
    "log2": _unary(transcendental.log2),
    "mantissa": _mantissa,
    "nop": _nothing,
    "pow": _pow,
    "reverse_bits": _reverse_bits,
    "round_even": _round_even,
    "rsqrt": _unary(sf.rsqrt),
    "s_ff1_i32_b32": _first_one,
    "s_ff1_i32_b64": _first_one,
    "s_nop": _nothing,
    "sign": _test(lambda fmt, bits: sf.sign_of(fmt, bits) == 1),
    "signext": lambda frame, args: Value("I", 64, wrap("I", args[0].width, args[0].payload).payload),
    "signext_from_bit": _signext_from_bit,
    "sin_turns": _unary(transcendental.sin_turns),
    "sqrt": _unary(sf.sqrt),
    "trunc": _integral("trunc"),
    # V_CVT_PK_[IU]16_F32 name these, which are no instructions of RDNA3.
    "v_cvt_i16_f32": lambda frame, args: _float_to_int(frame, args[0], Type("I", 16), "trunc"),
    "v_cvt_u16_f32": lambda frame, args: _float_to_int(frame, args[0], Type("U", 16), "trunc"),
}
