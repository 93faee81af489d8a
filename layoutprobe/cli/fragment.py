"""`layoutprobe fragment`: which element x[i] of each lane holds in a fragment of rocWMMA."""

from __future__ import annotations

import argparse
from pathlib import Path

from layoutprobe.cli.arguments import Parser, add_output
from layoutprobe.cli.command import Command
from layoutprobe.cli.sources import add_compiler_option, add_source_options, source_from
from layoutprobe.cli.terminal import chosen, emit

EXAMPLES = """\
examples:
  layoutprobe fragment matrix_a,16,16,16,f16,row_major --include rocwmma/library/include
  layoutprobe fragment matrix_b,32,32,8,bf16,col_major --include DIR --arch TARGET
  layoutprobe fragment accumulator,16,16,16,f32 --include DIR --format json
"""


def _add_options(command: Parser) -> None:
    command.add_argument(
        "type",
        metavar="TYPE",
        help="matrix_a, matrix_b or accumulator; M; N; K; f16, bf16, i8...; row_major or col_major: with commas "
        "between",
    )
    command.add_argument(
        "--include",
        metavar="DIR",
        type=Path,
        action="append",
        default=[],
        help="where <rocwmma/rocwmma.hpp> is",
    )
    command.add_argument("--arch", metavar="TARGET", help="target (default: the one that is emulated)")
    command.add_argument("--wave", type=int, choices=(32, 64), help="lanes of a wave (default: the target's)")
    add_source_options(command)
    add_compiler_option(command)
    add_output(command, "fragment")


def run(arguments: argparse.Namespace) -> int:
    """Show one fragment; 0.

    Raises:
        ProbeError: no such type, or it cannot be solved here.
    """
    from layoutprobe.arch import DEFAULT
    from layoutprobe.instructions.fragments import solve_fragment

    format = chosen(arguments, "fragment")
    arch = arguments.arch or DEFAULT
    solved = solve_fragment(
        arguments.type,
        arch,
        arguments.wave,
        arguments.include,
        source_from(arguments, arch),
        arguments.compiler,
    )
    emit(format, solved, arguments.output, outcome=lambda: solved.operand)
    return 0


COMMAND = Command(
    "fragment",
    "which element x[i] of each lane holds in a fragment of rocWMMA, whose headers you bring",
    run,
    _add_options,
    EXAMPLES,
)
