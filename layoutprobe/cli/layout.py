"""`layoutprobe layout`: which element a matrix instruction wants in which slot, as closed forms."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from layoutprobe.cli.arguments import Parser, add_output, refuse_idle
from layoutprobe.cli.command import Command
from layoutprobe.cli.instructions import USUAL, add_target_options, solve
from layoutprobe.cli.terminal import chosen, emit
from layoutprobe.errors import UsageError

if TYPE_CHECKING:
    pass

DIALECTS = ("formula", "gf2", "cute")
MATRICES = ("A", "B", "C", "D", "INDEX")

EXAMPLES = """\
examples:
  layoutprobe layout v_wmma_f32_16x16x16_f16
  layoutprobe layout v_wmma_i32_16x16x16_iu8 --wave 64 --matrix D --dialect gf2
  layoutprobe layout v_wmma_f32_16x16x16_f16 --element 'A[3][5]'      # where is it?
  layoutprobe layout v_wmma_f32_16x16x16_f16 --slot A:v2.hi@19        # what is there?
  layoutprobe layout v_wmma_f32_16x16x16_f16 --output map.svg --theme dark
"""


def _add_options(command: Parser) -> None:
    command.add_argument("instruction", metavar="INSTRUCTION", help=f"mnemonic, such as {USUAL}")
    add_target_options(command)
    command.add_argument(
        "--matrix", metavar="A|B|C|D|index", type=_matrix, action="append", help="this operand only"
    )
    command.add_argument("--dialect", choices=DIALECTS, action="append", help="this dialect only")
    command.add_argument(
        "--element", metavar="A[3][5]", action="append", default=[], help="where this element is"
    )
    command.add_argument(
        "--slot", metavar="A:v2.hi@19", action="append", default=[], help="what is in this slot"
    )
    shown = command.add_argument_group("output")
    add_output(shown, "instruction")
    shown.add_argument("--color-by", choices=("row", "col", "k"), help="pictures: one colour for each")
    shown.add_argument("--theme", choices=("auto", "light", "dark"), help="pictures (default auto)")


def _matrix(text: str) -> str:
    if text.upper() not in MATRICES:
        raise argparse.ArgumentTypeError(f"{text[:20]!r} is no operand; choose from A, B, C, D, index")
    return "index" if text.upper() == "INDEX" else text.upper()


def _refuse_idle(arguments: argparse.Namespace, format: str) -> None:
    """Options that this format has no place for.

    Raises:
        UsageError: one was given.
    """
    asked = {"--element": arguments.element, "--slot": arguments.slot}
    if format not in ("svg", "html"):
        why = f"on the format {format}: it is about pictures"
        refuse_idle(
            why, {"--color-by": arguments.color_by, "--theme": arguments.theme}, "--format svg or html"
        )
    if format in ("csv", "svg"):
        why = f"on the format {format}, which shows slots and no words"
        refuse_idle(why, {"--dialect": arguments.dialect, **asked}, "choose another --format")
    if format == "table" and any(asked.values()):
        why = "beside --element and --slot, which are answered alone"
        refuse_idle(why, {"--matrix": arguments.matrix, "--dialect": arguments.dialect})


def run(arguments: argparse.Namespace) -> int:
    """Show one instruction; 0.

    Raises:
        ProbeError: no such instruction, or it cannot be solved here.
    """
    from layoutprobe.layouts.queries import what_is, where_is

    format = chosen(arguments, "instruction")
    _refuse_idle(arguments, format.name)
    solved = solve(arguments.instruction, arguments.arch, arguments.wave, arguments.opsel, arguments)
    unknown = [matrix for matrix in arguments.matrix or () if matrix not in solved.operands]
    if unknown:
        raise UsageError(
            f"{solved.instruction} has no operand {unknown[0]}", expected=", ".join(solved.operands)
        )
    answers = (
        *(where_is(solved, text) for text in arguments.element),
        *(what_is(solved, text) for text in arguments.slot),
    )
    from layoutprobe.render.instruction.words import Shown, matrices_of, title

    dialects = tuple(name for name in DIALECTS if not arguments.dialect or name in arguments.dialect)
    matrices = matrices_of(solved, arguments.matrix)
    shown = Shown(
        solved, matrices, dialects, answers, arguments.color_by or "auto", arguments.theme or "auto"
    )
    emit(format, shown, arguments.output, outcome=lambda: title(solved))
    return 0


COMMAND = Command(
    "layout",
    "which element a matrix instruction wants in which lane, VGPR and bits, as closed forms",
    run,
    _add_options,
    EXAMPLES,
)
