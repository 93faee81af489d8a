"""Other constants in place of those of an instruction."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator

from msgspec.structs import replace

from layoutprobe.isa.edit import Edit, Known, edit, with_source
from layoutprobe.isa.inst import FLOAT_CONSTANTS, Inst, Operand

_FORMATS = {"F32": "<f", "F16": "<e", "B32": "<f"}


def _float(operand: Operand) -> float | None:
    if operand.kind == "const":
        if operand.index in FLOAT_CONSTANTS:
            return FLOAT_CONSTANTS[operand.index]
        return 0.0 if operand.index == 128 and operand.fmt.startswith("F") else None
    if operand.kind != "literal" or operand.fmt not in _FORMATS:
        return None
    form = _FORMATS[operand.fmt]
    raw = struct.pack("<I", operand.value & 0xFFFFFFFF)[: struct.calcsize(form)]
    value = float(struct.unpack(form, raw)[0])
    whole = operand.fmt == "B32" and not (math.isinf(value) or 1e-12 < abs(value) < 1e12)
    return None if whole or math.isnan(value) else value


def number(value: int, like: Operand) -> Operand:
    """A constant in place of an operand."""
    return replace(like, kind="literal", index=0, value=value & 0xFFFFFFFF, hi=False, neg=False, abs=False)


def real(value: float, like: Operand) -> Operand | None:
    """The same of a float; None where the operand's type holds none."""
    form = _FORMATS.get(like.fmt)
    if form is None:
        return None
    try:
        raw = struct.pack(form, value)
    except OverflowError:
        return None
    return number(int.from_bytes(raw, "little"), like)


_SHIFTS = ("lshl", "lshr", "ashr", "bfe", "alignb")
_LARGEST = 1 << 20


def constants(inst: Inst, _: Known) -> Iterator[Edit]:
    """Another integer."""
    for at, operand in enumerate(inst.src):
        if operand.kind not in ("const", "literal") or operand.fmt.startswith(("F", "PK", "M")):
            continue
        value = operand.number
        if value is None or (operand.fmt == "B32" and _float(operand)):
            continue
        near = _integers_near(
            value, shift=any(s in inst.name for s in _SHIFTS), order="perm_b32" in inst.name
        )
        for n, other in enumerate(near):
            yield edit(
                ("number", at, other),
                f"{_shown(other)} in place of {_shown(value)}",
                1 + 0.2 * n,
                with_source(inst, at, number(other, operand)),
            )


def _shown(value: int) -> str:
    return f"{value:#x}" if abs(value) > 4096 else str(value)


def _integers_near(value: int, *, shift: bool, order: bool) -> list[int]:
    mask = value > 1 and value & (value + 1) == 0
    found = [value >> 1, 2 * value + 1] if mask else []
    if abs(value) <= _LARGEST:
        found += [value + 1, value - 1]
        if not shift:
            found += [2 * value] + ([value // 2] if value % 2 == 0 else []) + [0, -value]
    elif order:
        found += [_bytes_turned(value), _halves_turned(value)]
    return [other for other in dict.fromkeys(found) if other != value]


def _halves_turned(value: int) -> int:
    value &= 0xFFFFFFFF
    return value >> 16 | (value & 0xFFFF) << 16


def _bytes_turned(value: int) -> int:
    return int.from_bytes((value & 0xFFFFFFFF).to_bytes(4, "little"), "big")


LOG2E = 1.4426950408889634


def reals(inst: Inst, _: Known) -> Iterator[Edit]:
    """Another float."""
    for at, operand in enumerate(inst.src):
        if operand.kind not in ("const", "literal") or (value := _float(operand)) is None:
            continue
        value = -value if operand.neg else value
        near = [-value, 0.0, 1.0, 2 * value, value / 2, value + 1, value - 1, value * LOG2E, value / LOG2E]
        near += [1 / value] if value else [-math.inf]
        for n, other in enumerate(x for x in dict.fromkeys(near) if x != value and not math.isnan(x)):
            if (made := real(other, operand)) is not None:
                says = f"{other:.6g} in place of {value:.6g}"
                yield edit(("real", at, other), says, 1 + 0.2 * n, with_source(inst, at, made))
