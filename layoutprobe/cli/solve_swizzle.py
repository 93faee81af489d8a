"""`layoutprobe solve-swizzle`: the store swizzle, and the addresses of reads that go with it."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

from layoutprobe.cli.arguments import Parser, add_output, refuse_idle
from layoutprobe.cli.command import Command
from layoutprobe.cli.instructions import add_target_options, solve
from layoutprobe.cli.sources import source_from
from layoutprobe.cli.terminal import chosen, emit
from layoutprobe.errors import UsageError

if TYPE_CHECKING:
    from layoutprobe.experiments.lds_places import Question

EXAMPLES = """\
examples:
  layoutprobe solve-swizzle 'v_mfma_f32_32x32x64_f8f6f4 cbsz:0 blgp:0' --arch TARGET --tile 64x128
  layoutprobe solve-swizzle INSTRUCTION --arch TARGET --lds xor-vector    # the addresses for this store
  layoutprobe solve-swizzle INSTRUCTION --arch TARGET --lds 'row*64 + (col ^ row / 2 % 4 * 16)'
  layoutprobe solve-swizzle INSTRUCTION --arch TARGET --address 'lane % 16 / 2 * 32 + ...'   # the store for these

A store is the name of a scheme, or an expression of row and col (also rows, cols): the number of the element in LDS
at which element (row, col) of the tile lies. An address is one of lane and read, in bytes.
"""

TOP = 5


def _add_options(command: Parser) -> None:
    add_question_options(command)
    command.add_argument(
        "--lds",
        metavar="STORE",
        action="append",
        default=[],
        help="a store: scheme or expression; several may be given",
    )
    command.add_argument("--address", metavar="EXPR", help="the addresses: which store do they ask for?")
    command.add_argument(
        "--read", metavar="NAME", help="the read, such as ds_read_b64_tr_b8 (default: all that can)"
    )
    command.add_argument("--top", metavar="N", type=_count, help=f"so many candidates (default {TOP})")
    add_output(command, "swizzle")


def add_question_options(command: Parser) -> None:
    """Which operand of which instruction, and which tile."""
    command.add_argument(
        "instruction", metavar="INSTRUCTION", help="mnemonic, with the modifiers that choose types"
    )
    command.add_argument("--matrix", choices=("A", "B"), default="B", help="operand (default B)")
    command.add_argument("--tile", metavar="ROWSxCOLS", type=_tile, help="tile in LDS (default: one operand)")
    command.add_argument(
        "--order",
        choices=("row", "col"),
        default="row",
        help="row: rows of the tile are those of the operand (default); col: its columns",
    )
    add_target_options(command)


def _tile(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"([1-9][0-9]{0,3})x([1-9][0-9]{0,3})", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text[:20]!r} is no tile; write 64x128")
    return int(match[1]), int(match[2])


def _count(text: str) -> int:
    if not re.fullmatch(r"[1-9][0-9]?", text):
        raise argparse.ArgumentTypeError(f"{text[:20]!r} is not a number from 1 to 99")
    return int(text)


def question_from(arguments: argparse.Namespace) -> Question:
    """The question that the options ask.

    Raises:
        ProbeError: no such instruction, or it cannot be solved here.
    """
    from layoutprobe.arch import DEFAULT
    from layoutprobe.backends.source import Live
    from layoutprobe.experiments.lds_places import question
    from layoutprobe.experiments.lds_reads import Bench

    arch = arguments.arch or DEFAULT
    source = source_from(arguments, arch)
    if not isinstance(source, Live):
        raise UsageError("generated code has to run: a replay cannot do that", hint="leave --backend out")
    solved = solve(arguments.instruction, arguments.arch, arguments.wave, arguments.opsel, arguments)
    bench = Bench(source.backend, arch, solved.wave, arguments.compiler)
    return question(solved, arguments.matrix, arguments.tile, arguments.order, bench)


def run(arguments: argparse.Namespace) -> int:
    """Solve; 0 with a candidate, 1 where nothing goes.

    Raises:
        ProbeError: the options make no sense, or the instruction cannot be solved here.
    """
    format = chosen(arguments, "swizzle")
    if arguments.address:
        refuse_idle("beside --address, which asks for the store", {"--lds": arguments.lds, "--top": arguments.top},
                    "leave it out; to see what these reads bring from a given store: layoutprobe pack")  # fmt: skip
    asked = question_from(arguments)
    from layoutprobe.experiments.swizzle import solve_reads, solve_stores

    if arguments.address:
        report = solve_stores(asked, arguments.address, arguments.read)
    else:
        report = solve_reads(asked, arguments.lds, arguments.read, arguments.top or TOP)
    best = report.candidates[0].store if report.candidates else "nothing goes"
    emit(format, report, arguments.output, outcome=lambda: best)
    return report.exit_code


COMMAND = Command(
    "solve-swizzle",
    "the LDS store and the addresses of the reads that feed a matrix operand: given one, the other, cheapest first",
    run,
    _add_options,
    EXAMPLES,
)
