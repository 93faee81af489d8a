"""The command line: arguments in, report out, exit code. It wires, and decides nothing.

Of the commands, the one that is asked for is imported; whatever is heavy (numpy, the compiler, rich) by
what needs it in a command, so that `--help` and a mistyped option answer at once. What every parser does
is in arguments.py.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from layoutprobe import __version__
from layoutprobe.cli.arguments import Parser, ShowVersion
from layoutprobe.cli.command import Command
from layoutprobe.cli.ending import ended
from layoutprobe.cli.sources import joined
from layoutprobe.cli.terminal import printing, say

INTERRUPTED = 130
_PROGRAMS = ("run",)
"""Commands that start a program of the user's, which finds the environment as it was."""

COMMANDS = (
    "dump",
    "roundtrip",
    "epilogue",
    "check",
    "inspect",
    "init",
    "explain",
    "layout",
    "fragment",
    "claim",
    "solve-swizzle",
    "pack",
    "generate",
    "diff",
    "capture",
    "fidelity",
    "occupancy",
    "hipcc",
    "run",
    "doctor",
    "list",
)
"""All commands, in the order in which help shows them. A new one is a module of that name and a line here."""

EXAMPLES = """\
examples:
  layoutprobe dump --matrix A --lds xor       # which element sits in which lane, VGPR and half
  layoutprobe roundtrip --lds padded          # what LDS itself holds, byte by byte
  layoutprobe epilogue                        # where each accumulator register is stored
  layoutprobe check                           # your own kernels, as layoutprobe.toml declares them
  layoutprobe inspect                         # what their registers hold, and what they should
  layoutprobe doctor                          # which compiler and devices are found here
  layoutprobe list patterns                   # coded matrices to probe with
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: arguments without the program's name; sys.argv[1:] by default.

    Returns:
        The exit code: 0 holds, 1 a finding, 2 could not decide, 130 interrupted.
    """

    def work() -> int:
        arguments = parse(sys.argv[1:] if argv is None else argv)
        if arguments.command not in _PROGRAMS:
            # Before numpy is imported, here and in the processes of jobs. Threads of BLAS cost 40 ms to begin, take
            # the cores from each other, and wait for more work after each product.
            os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        command: Callable[[argparse.Namespace], int] = arguments.run
        return command(arguments)

    try:
        return ended(work)
    except KeyboardInterrupt:
        say("layoutprobe: interrupted")
        return INTERRUPTED


def parse(words: Sequence[str]) -> argparse.Namespace:
    """A command line, read; its `run` is the command.

    Raises:
        SystemExit: help or version were shown (0), or wrong usage (2).
    """
    # The others' modules are not even imported: a command starts in the time of its own.
    asked = words[:1] if words and words[0] in COMMANDS else COMMANDS
    return parser(asked).parse(joined(words))


def _help(arguments: argparse.Namespace) -> int:
    """Without a command: what there is."""
    with printing() as stdout:
        stdout.write(arguments.parser.format_help())
    return 0


def named(name: str) -> Command:
    """A command of COMMANDS."""
    command: Command = import_module(f"layoutprobe.cli.{name.replace('-', '_')}").COMMAND
    return command


def parser(names: Sequence[str] | None = None) -> Parser:
    """The command line, with these commands; all of them by default."""
    top = Parser(
        prog="layoutprobe",
        description="Finds which matrix element sits in which lane, VGPR and half of a real WMMA kernel.",
        epilog=EXAMPLES,
    )
    top.add_argument("--version", action=ShowVersion, version=f"layoutprobe {__version__}")
    top.set_defaults(run=_help, command="", parser=top)
    commands = top.add_subparsers(metavar="COMMAND", title="commands")
    for name in COMMANDS if names is None else names:
        named(name).add_to(commands, parse)
    return top
