"""Which files a kernel can come from, and how their bytes are read."""

from __future__ import annotations

import hashlib
from pathlib import Path

from layoutprobe.errors import UsageError

ASSEMBLY = (".s", ".asm")
CODE_OBJECTS = (".hsaco", ".co", ".so", ".elf", ".o")
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
        UsageError: no such file, or too large.
    """
    if not path.is_file():
        raise UsageError("there is no such code object", where={"file": path})
    try:
        with path.open("rb") as stream:
            data = stream.read(LARGEST_CODE_OBJECT + 1)
    except OSError as error:
        raise UsageError(
            "the code object cannot be read", where={"file": path}, observed=str(error)
        ) from error
    if len(data) > LARGEST_CODE_OBJECT:
        raise UsageError(
            "the code object is too large",
            where={"file": path},
            expected=f"at most {LARGEST_CODE_OBJECT} bytes",
        )
    return data, hashlib.sha256(data).hexdigest()
