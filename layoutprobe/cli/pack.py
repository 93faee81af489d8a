"""`layoutprobe pack`: the code that makes a matrix operand of what reads of LDS bring."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from layoutprobe.cli.arguments import Parser, add_output, refuse_idle
from layoutprobe.cli.command import Command
from layoutprobe.cli.solve_swizzle import add_question_options, question_from
from layoutprobe.cli.terminal import chosen, emit
from layoutprobe.errors import UsageError

if TYPE_CHECKING:
    from layoutprobe.experiments.lds_places import Question
    from layoutprobe.report.lds_code import PackReport

EXAMPLES = """\
examples:
  layoutprobe pack INSTRUCTION --arch TARGET --lds '(row ^ 4)*32 + col' --read-as none
  layoutprobe pack INSTRUCTION --arch TARGET --lds xor-vector --address 'lane % 16 / 2 * 32 + read * 256 + ...'
  layoutprobe pack INSTRUCTION --arch TARGET --raw rowbyte=row.bin --raw rowxorcol=xor.bin

The first two execute the reads: the tile lies where --lds says, and lanes read where --address says, or where they
would read a tile that lies as --read-as says. The third takes registers that a kernel has dumped: for each pattern a
file with the bytes of lane 0, then of lane 1, and so on.
"""

LARGEST_DUMP = 1 << 20


def _add_options(command: Parser) -> None:
    add_question_options(command)
    reads = command.add_argument_group("reads to execute")
    reads.add_argument(
        "--lds", metavar="STORE", help="where the tile lies: scheme, or expression of row and col"
    )
    reads.add_argument(
        "--address", metavar="EXPR", help="what lanes read: expression of lane and read, in bytes"
    )
    reads.add_argument("--read-as", metavar="STORE", help="read as if the tile lay so")
    reads.add_argument(
        "--read", metavar="NAME", help="the read (default: the transposing one for these elements)"
    )
    reads.add_argument(
        "--pattern", metavar="NAME", action="append", help="patterns to run (default: rowbyte and rowxorcol)"
    )
    dumps = command.add_argument_group("registers that were dumped")
    dumps.add_argument(
        "--raw", metavar="PATTERN=FILE", action="append", default=[], help="one file for each pattern"
    )
    add_output(command, "pack")


def run(arguments: argparse.Namespace) -> int:
    """Solve and generate; 0 with code, 1 where the reads do not bring an element, 2 where patterns leave it open.

    Raises:
        ProbeError: the options make no sense, or the instruction cannot be solved here.
    """
    format = chosen(arguments, "pack")
    reads = {"--lds": arguments.lds, "--address": arguments.address, "--read-as": arguments.read_as,
             "--read": arguments.read, "--pattern": arguments.pattern}  # fmt: skip
    if arguments.raw:
        refuse_idle("beside --raw: nothing is read", reads)
    elif not arguments.lds or bool(arguments.address) == bool(arguments.read_as):
        raise UsageError(
            "pack needs to know what the registers hold",
            expected="--lds with either --address or --read-as; or --raw PATTERN=FILE, once for each pattern",
            hint="see `layoutprobe pack --help` for examples",
        )
    asked = question_from(arguments)
    report = _dumped(asked, arguments.raw) if arguments.raw else _executed(asked, arguments)
    emit(format, report, arguments.output, outcome=lambda: ", ".join(b.status for b in report.blocks))
    return report.exit_code


def _executed(asked: Question, arguments: argparse.Namespace) -> PackReport:
    from layoutprobe.experiments.pack import PATTERNS, pack_reads

    return pack_reads(
        asked,
        arguments.read or "",
        arguments.lds,
        arguments.address or "",
        arguments.read_as or "",
        arguments.pattern or PATTERNS,
    )


def _dumped(asked: Question, given: list[str]) -> PackReport:
    from layoutprobe.experiments.pack import pack_dumps
    from layoutprobe.reading import read_bounded

    files = {}
    for one in given:
        name, equals, file = one.partition("=")
        if not equals or not name or not file or name in files:
            raise UsageError(
                "--raw takes a pattern and a file, each pattern once",
                expected="--raw rowbyte=FILE",
                observed=one[:80],
            )
        files[name] = read_bounded(Path(file), "dump of registers", LARGEST_DUMP)
    return pack_dumps(asked, files)


COMMAND = Command(
    "pack",
    "the code that makes a matrix operand of what reads of LDS bring, as HIP and assembly, run before it is shown",
    run,
    _add_options,
    EXAMPLES,
)
