"""What kernels print: records in a buffer, made into text when the kernel has ended.

A record is a control word (bytes of the record << 2, bit 1: the format is known to the code object), the format (its
number, or its text), and the arguments, eight bytes each; strings lie there as they are, up to a multiple of eight.
Source: LLVM, AMDGPUEmitPrintf.cpp, for -mprintf-kind=buffered.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Mapping

from msgspec import Struct

HEADER = struct.Struct("<II")
"""Bytes used, and bytes that there are, before the records."""
_KNOWN = 2
_WIDEST = 4096
"""No field is wider: a format is not ours."""
_CONVERSION = re.compile(
    r"%(?P<flags>[-+ #0]*)(?P<width>\*|\d*)(?:\.(?P<precision>\*|\d*))?(?P<length>hh|h|ll|l|L|q|j|z|t)?(?P<what>.)",
    re.DOTALL,
)
_BITS = {"hh": 8, "h": 16, "": 32}


def printed(records: bytes, formats: Mapping[int, str]) -> bytes:
    """The text of all records, in the order in which lanes made them; it ends where a record cannot be."""
    said, at = [], 0
    while at + 4 <= len(records):
        (control,) = struct.unpack_from("<I", records, at)
        size = control >> 2
        if size < 4 or at + size > len(records):
            break
        said.append(_record(_Arguments(records[at + 4 : at + size]), formats, bool(control & _KNOWN)))
        at += size
    return "".join(said).encode("utf-8", "surrogateescape")


class _Arguments:
    """What a record still holds; zeros behind its end."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def word(self) -> int:
        """The next eight bytes."""
        taken, self._data = self._data[:8], self._data[8:]
        return int.from_bytes(taken, "little")

    def string(self) -> str:
        """The next string."""
        text = self._data.partition(b"\0")[0]
        self._data = self._data[(len(text) + 8) // 8 * 8 :]
        return text.decode("utf-8", "surrogateescape")


def _record(arguments: _Arguments, formats: Mapping[int, str], known: bool) -> str:
    if known:
        number = arguments.word()
        text = formats.get(number, f"(printf of an unknown format {number:#x})\n")
    else:
        text = arguments.string()
    return _CONVERSION.sub(lambda found: _converted(found, arguments, known), text)


class _Field(Struct, frozen=True):
    """One conversion: flags, width, precision (None: not said), and its letter."""

    flags: str
    width: int
    precision: int | None
    what: str

    def padded(self, text: str) -> str:
        return text.ljust(self.width) if "-" in self.flags else text.rjust(self.width)


def _field(found: re.Match[str], arguments: _Arguments) -> _Field:
    flags, width = found["flags"], _number(found["width"], arguments)
    precision = None if found["precision"] is None else _number(found["precision"], arguments)
    return _Field(
        flags + "-" * (width < 0),
        min(abs(width), _WIDEST),
        None if precision is None or precision < 0 else min(precision, _WIDEST),
        found["what"],
    )


def _converted(found: re.Match[str], arguments: _Arguments, known: bool) -> str:
    """One conversion as C's printf writes it."""
    if found["what"] == "%":
        return "%"
    field = _field(found, arguments)
    if field.what == "s" and known:
        return field.padded(arguments.string()[: field.precision])
    if field.what in "sp":  # of a format that is not known, strings are pointers
        value = arguments.word()
        return field.padded(f"{value:#x}" if value else "(nil)")
    if field.what == "c":
        return field.padded(chr(arguments.word() & 0xFF))
    if field.what in "diouxX":
        return _integer(field, arguments.word(), _BITS.get(found["length"] or "", 64))
    if field.what in "fFeEgGaA":
        return _real(field, *struct.unpack("<d", arguments.word().to_bytes(8, "little")))
    return found[0]


def _real(field: _Field, value: float) -> str:
    if field.what in "aA":
        return field.padded(value.hex())
    flags = field.flags if math.isfinite(value) else field.flags.replace("0", "")
    precision = "" if field.precision is None else f".{field.precision}"
    return f"%{flags}{field.width or ''}{precision}{field.what}" % value


def _number(text: str, arguments: _Arguments) -> int:
    """A width or a precision: as written, or the next argument."""
    if text == "*":
        value = arguments.word() & 0xFFFF_FFFF
        return value - (value >> 31 << 32)
    return int(text or 0)


def _integer(field: _Field, value: int, bits: int) -> str:
    value &= (1 << bits) - 1
    negative = field.what in "di" and bool(value >> (bits - 1))
    digits = f"{(1 << bits) - value if negative else value:{field.what.replace('i', 'd').replace('u', 'd')}}"
    if field.precision is not None:
        digits = "" if not value and not field.precision else digits.rjust(field.precision, "0")
    sign = next((sign for sign in "+ " if sign in field.flags), "") if field.what in "di" else ""
    prefix = "-" if negative else sign
    if "#" in field.flags and field.what == "o" and not digits.startswith("0"):
        prefix = "0"
    if "#" in field.flags and field.what in "xX" and value:
        prefix = "0" + field.what
    if "0" in field.flags and "-" not in field.flags and field.precision is None:
        digits = digits.rjust(field.width - len(prefix), "0")
    return field.padded(prefix + digits)
