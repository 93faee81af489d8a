"""Which encodings the bytes of a kernel follow."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from layoutprobe.codeobj.model import CodeObject, Kernel
from layoutprobe.errors import CodeObjectError

Generation = Literal["rdna3", "rdna4"]
"""A set of encodings, named as the package with the tables names it; RDNA3.5 only adds to RDNA3."""


@dataclass(frozen=True)
class Dialect:
    """How code bytes are to be read.

    Attributes:
        generation: which encodings.
        wave_size: lanes of a wave, which decides how many scalar registers a lane mask takes.
    """

    generation: Generation = "rdna3"
    wave_size: int = 32


# Numbers of a processor's name: generation, minor number, stepping. LLVM's "-generic" targets leave
# the last one out.
_PROCESSOR = re.compile(r"gfx(?P<major>\d\d)(?:(?P<minor>[0-9a-f])[0-9a-f]|(?:-(?P<family>\d))?-generic)")
_GENERATIONS: dict[tuple[str, str], Generation] = {
    ("11", "0"): "rdna3",
    ("11", "5"): "rdna3",
    ("12", "0"): "rdna4",
}
"""By the first two numbers. Others that share the first may differ: there are targets with an 11 whose
matrix instructions are those of RDNA4 (LLVM's "RDNA 4m"), and ones with a 12 that are no RDNA4."""


def dialect_of(code: CodeObject, kernel: Kernel) -> Dialect:
    """How a kernel's bytes are to be read.

    Raises:
        CodeObjectError: no table for the target.
    """
    named = _PROCESSOR.fullmatch(code.target)
    numbers = (named["major"], named["minor"] or named["family"] or "0") if named else ("", "")
    generation = _GENERATIONS.get(numbers)
    if generation is None:
        raise CodeObjectError(
            f"the instructions of {code.target[:80] or 'an unnamed target'} cannot be decoded",
            where={"kernel": kernel.name},
            expected="a target of RDNA3, RDNA3.5 or RDNA4",
        )
    return Dialect(generation, kernel.wavefront_size)
