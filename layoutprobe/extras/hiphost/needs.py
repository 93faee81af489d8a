"""Which functions of HIP a program needs that the emulated runtime does not have."""

from __future__ import annotations

from pathlib import Path

from layoutprobe.codeobj.container import SHT_DYNSYM, Symbol, read_container
from layoutprobe.errors import CodeObjectError

_PREFIXES = ("hip", "__hip")
_MAX_PROGRAM = 256 << 20


def missing_functions(program: Path, library: bytes) -> list[str]:
    """Names that a program imports and the library lacks; none where it is no ELF file.

    Libraries that the program loads are not looked at.
    """
    try:
        if program.stat().st_size > _MAX_PROGRAM:
            return []
        data = program.read_bytes()
    except OSError:
        return []
    if not data.startswith(b"\x7fELF\x02\x01"):
        return []
    try:
        needed = {symbol.name for symbol in _hip_symbols(data) if not symbol.defined}
    except CodeObjectError:
        return []
    return sorted(needed.difference(exported(library)))


def exported(library: bytes) -> list[str]:
    """Functions of HIP that a library has; those that only say that they are missing are weak."""
    return sorted(symbol.name for symbol in _hip_symbols(library) if symbol.defined and not symbol.weak)


def _hip_symbols(elf: bytes) -> list[Symbol]:
    symbols = read_container(elf).symbols(SHT_DYNSYM)
    return [symbol for symbol in symbols if symbol.name.startswith(_PREFIXES)]
