"""`layoutprobe generate`: code for a matrix instruction that the gate has found right."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from layoutprobe.cli.arguments import Parser
from layoutprobe.cli.command import Command
from layoutprobe.cli.instructions import add_target_options, solve
from layoutprobe.cli.terminal import say
from layoutprobe.errors import UsageError
from layoutprobe.files import writing

EXAMPLES = """\
examples:
  layoutprobe generate v_wmma_f32_16x16x16_f16 --lds xor-vector        # the header, on standard output
  layoutprobe generate INSTRUCTION --arch TARGET --output helpers      # and a GEMM that uses it, with its manifest

Nothing is written that does not hold: the GEMM is compiled, emulated and checked as `layoutprobe check` does it.
"""


def _add_options(command: Parser) -> None:
    command.add_argument(
        "instruction", metavar="INSTRUCTION", help="mnemonic, with the modifiers that choose types"
    )
    add_target_options(command)
    command.add_argument(
        "--lds",
        metavar="SCHEME",
        default="none",
        help="how tiles lie in LDS: a scheme of `layoutprobe list schemes`",
    )
    command.add_argument(
        "-o", "--output", metavar="DIR", help="folder for the header, a GEMM that uses it, and its manifest"
    )


def run(arguments: argparse.Namespace) -> int:
    """Solve, generate, check and write; 0.

    Raises:
        ProbeError: there are no helpers for it, or they do not hold.
    """
    from layoutprobe.gate.generated import generate

    solved = solve(arguments.instruction, arguments.arch, arguments.wave, arguments.opsel, arguments)
    files = generate(solved, arguments.lds)
    if not arguments.output:
        sys.stdout.write(next(iter(files.values())))
        return 0
    folder = Path(arguments.output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder} cannot be a folder: {error.strerror}", hint="another --output") from error
    for name, text in files.items():
        with writing(folder / name, what="the code") as stream:
            stream.write(text)
    manifest = next(name for name in files if name.endswith(".toml"))
    say(f"{folder}: {', '.join(files)}. Again, after a change: `layoutprobe check {folder / manifest}`")
    return 0


COMMAND = Command(
    "generate",
    "code that loads, multiplies and stores with a matrix instruction, checked before it is shown",
    run,
    _add_options,
    EXAMPLES,
)
