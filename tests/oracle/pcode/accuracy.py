"""How near to the exact result the hardware promises to be, and the comparison that allows for it.

The promises are those of the "RDNA3.5" Instruction Set Architecture, AMD, in the descriptions of the
instructions: 1 ulp and flushed denormals for the f32 approximations, 2**29 ulp for those of f64. For
the approximations of f16 it says 0.51 ulp, which is 1 ulp of the correctly rounded value.
"""

from __future__ import annotations

from functools import cache

from msgspec import Struct

from . import softfloat as sf


class Accuracy(Struct, frozen=True):
    """The promise for one operation.

    Attributes:
        fmt: format of the result; None for results that are no floats or many.
        ulp: distance allowed from the correctly rounded result, in units in the last place.
        absolute: distance allowed in value, for sine and cosine near their zeros.
        flushes: denormal inputs and results may be flushed to zero whatever the MODE says.
    """

    fmt: sf.Format | None = None
    ulp: int = 0
    absolute: float = 0.0
    flushes: bool = False


_F64_APPROXIMATION = Accuracy(sf.F64, 2**29)
_APPROXIMATIONS: dict[str, Accuracy] = {
    **{f"V_{n}_F32": Accuracy(sf.F32, 1, flushes=True) for n in ("EXP", "LOG", "RCP", "RSQ", "SQRT")},
    **{f"V_{n}_F16": Accuracy(sf.F16, 1) for n in ("EXP", "LOG", "RCP", "RSQ", "SQRT")},
    **{f"V_{n}_F64": _F64_APPROXIMATION for n in ("RCP", "RSQ", "SQRT")},
    "V_RCP_IFLAG_F32": Accuracy(sf.F32, 1, flushes=True),
    # The guide gives no figure for these; 2**-11 is what Vulkan demands of any driver in [-pi, pi].
    **{f"V_{n}_F32": Accuracy(sf.F32, 1, 2.0**-11, True) for n in ("SIN", "COS")},
    **{f"V_{n}_F16": Accuracy(sf.F16, 1, 2.0**-7) for n in ("SIN", "COS")},
}


@cache
def of(op: str) -> Accuracy:
    """The promise for an operation: exact unless it is an approximation."""
    known = _APPROXIMATIONS.get(op)
    if known is not None:
        return known
    for suffix, fmt in (("_F32", sf.F32), ("_F16", sf.F16), ("_F64", sf.F64)):
        if op.endswith(suffix) and op.startswith(("V_", "S_")) and "CMP" not in op and "_PK_" not in op:
            return Accuracy(fmt)
    return Accuracy()


def agrees(accuracy: Accuracy, expected: int, observed: int) -> bool:
    """Whether `observed` keeps the promise, given the correctly rounded `expected` (both raw bits).

    Any NaN agrees with any NaN: the guide does not say which payload an operation produces.
    """
    fmt = accuracy.fmt
    if fmt is None or expected == observed:
        return expected == observed
    if sf.is_nan(fmt, expected) or sf.is_nan(fmt, observed):
        return sf.is_nan(fmt, expected) and sf.is_nan(fmt, observed)
    if accuracy.flushes and sf.flush(fmt, expected) == observed:
        return True
    if abs(_step(fmt, expected) - _step(fmt, observed)) <= accuracy.ulp:
        return True
    if sf.is_inf(fmt, expected) or sf.is_inf(fmt, observed):
        return False
    return abs(sf.to_float(fmt, expected) - sf.to_float(fmt, observed)) <= accuracy.absolute and (
        accuracy.absolute > 0
    )


def _step(fmt: sf.Format, bits: int) -> int:
    """Position among the format's values in order of size; neighbours differ by one."""
    magnitude = bits & (fmt.sign - 1)
    return -magnitude if bits & fmt.sign else magnitude
