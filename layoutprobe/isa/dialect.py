"""Which encodings the bytes of a kernel follow."""

from __future__ import annotations

from msgspec import Struct, field

from layoutprobe import arch
from layoutprobe.arch import Isa
from layoutprobe.codeobj.model import CodeObject, Kernel
from layoutprobe.errors import CodeObjectError


class Dialect(Struct, frozen=True):
    """How code bytes are to be read.

    Attributes:
        isa: which instruction set.
        wave_size: lanes of a wave, which decides how many scalar registers a lane mask takes.
    """

    isa: Isa = field(default_factory=lambda: known(arch.DEFAULT))
    wave_size: int = 32


def known(target: str) -> Isa:
    """The instruction set of a target whose code is decoded.

    Raises:
        KeyError: there is no such target.
    """
    isa = arch.isa_of(target)
    if isa is None:
        raise KeyError(target)
    return isa


def isa_of(code: CodeObject, kernel: Kernel) -> Isa:
    """The instruction set of a code object's target.

    Raises:
        CodeObjectError: it is not known.
    """
    isa = arch.isa_of(code.target)
    if isa is None:
        *others, last = arch.readable()
        raise CodeObjectError(
            f"the instructions of {code.target[:80] or 'an unnamed target'} cannot be decoded",
            where={"kernel": kernel.name},
            expected=f"a target of {', '.join(others)} or {last}",
        )
    return isa


def dialect_of(code: CodeObject, kernel: Kernel) -> Dialect:
    """How a kernel's bytes are to be read.

    Raises:
        CodeObjectError: no table for the target.
    """
    return Dialect(isa_of(code, kernel), kernel.wavefront_size)
