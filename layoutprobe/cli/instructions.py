"""What `layout`, `claim` and `diff` share: which instruction is meant, and its solution."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from layoutprobe.cli.sources import add_compiler_option, add_source_options, source_from

if TYPE_CHECKING:
    from layoutprobe.layouts.instruction import InstructionLayout

USUAL = "v_wmma_f32_16x16x16_f16"
"""What is meant where no instruction is named."""


def add_target_options(command: argparse.ArgumentParser) -> None:
    """Which form of an instruction, on which target, run by what."""
    command.add_argument("--arch", metavar="TARGET", help="target (default: the one that is emulated)")
    command.add_argument(
        "--wave", type=int, choices=(32, 64), help="lanes of a wave (default 32, on CDNA 64)"
    )
    command.add_argument(
        "--opsel",
        metavar="N",
        type=int,
        choices=range(8),
        help="op_sel, 0 to 7; 4: upper half of 16-bit C and D",
    )
    add_source_options(command)
    add_compiler_option(command)


def solve(
    instruction: str, arch: str | None, wave: int | None, opsel: int | None, arguments: argparse.Namespace
) -> InstructionLayout:
    """The layout of an instruction, as the options say.

    Raises:
        ProbeError: no such instruction, or it cannot be solved here.
    """
    from layoutprobe import instructions
    from layoutprobe.arch import DEFAULT

    target = arch or DEFAULT
    return instructions.solve(
        instruction,
        arch=target,
        wave=wave,
        opsel=opsel or 0,
        backend=source_from(arguments, target),
        compiler=arguments.compiler,
    )
