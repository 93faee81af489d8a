"""Which files a kernel can come from, and how their bytes are read."""

from __future__ import annotations

import hashlib
from pathlib import Path

from layoutprobe.reading import read_bounded

SOURCES = (".hip", ".cpp", ".cc", ".cxx", ".cu")
ASSEMBLY = (".s", ".asm")
CODE_OBJECTS = (".hsaco", ".co", ".so", ".elf", ".o")
SUFFIX_OF_RECORDINGS = ".cap"
LARGEST_CODE_OBJECT = 256 << 20


def is_code_object(path: Path) -> bool:
    """True for an ELF, whatever it is called."""
    if path.suffix.lower() in CODE_OBJECTS:
        return True
    try:
        with path.open("rb") as stream:
            return stream.read(4) == b"\x7fELF"
    except OSError:
        return False


def read_code_object(path: Path) -> tuple[bytes, str]:
    """The bytes of a code object and their SHA-256.

    Raises:
        UsageError: no such file, none that can be read, or too large.
    """
    data = read_bounded(path, "code object", LARGEST_CODE_OBJECT)
    return data, hashlib.sha256(data).hexdigest()
