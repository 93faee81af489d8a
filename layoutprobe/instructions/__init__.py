"""Every matrix instruction of a target, solved by running a probe of it.

>>> from layoutprobe import instructions
>>> instructions.names("gfx1151")[0]
'v_wmma_f32_16x16x16_f16'
"""

from __future__ import annotations

from collections.abc import Iterator

from layoutprobe.backends.base import Backend
from layoutprobe.layouts.instruction import InstructionLayout


def names(arch: str = "gfx1151") -> list[str]:
    """Mnemonics of the target's matrix instructions, in the order of their opcodes."""
    raise NotImplementedError


def solve(
    instruction: str,
    arch: str = "gfx1151",
    wave: int = 32,
    opsel: int = 0,
    backend: Backend | None = None,
    compiler: str | None = None,
) -> InstructionLayout:
    """Layout of one instruction."""
    raise NotImplementedError


def sweep(
    arch: str = "gfx1151", backend: Backend | None = None, compiler: str | None = None
) -> Iterator[InstructionLayout]:
    """Every instruction of the target, in both wave sizes and with every op_sel."""
    raise NotImplementedError
