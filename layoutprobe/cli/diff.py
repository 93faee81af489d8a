"""`layoutprobe diff`: where two layouts, or two files of captures, differ."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from layoutprobe.cli.arguments import Parser, add_output, refuse_idle
from layoutprobe.cli.command import Command
from layoutprobe.cli.instructions import solve
from layoutprobe.cli.sources import add_compiler_option, add_source_options
from layoutprobe.cli.terminal import chosen, emit
from layoutprobe.errors import UsageError

if TYPE_CHECKING:
    from layoutprobe.claims.difference import LayoutDifference

EXAMPLES = """\
examples:
  layoutprobe diff v_wmma_f32_16x16x16_f16:32 v_wmma_f32_16x16x16_f16:64
  layoutprobe diff v_wmma_f16_16x16x16_f16 v_wmma_f16_16x16x16_f16/4     # op_sel 4
  layoutprobe diff INSTRUCTION@TARGET INSTRUCTION@TARGET
  layoutprobe diff TARGET TARGET                              # every instruction of both
"""


def _add_options(command: Parser) -> None:
    for name in ("first", "second"):
        command.add_argument(
            name,
            metavar="X" if name == "first" else "Y",
            help="an instruction, NAME[@TARGET][:WAVE][/OPSEL], a target, or a capture file",
        )
    add_source_options(command)
    add_compiler_option(command)
    add_output(command, "difference")


_SIDE = re.compile(
    r"(?P<name>(?:v_|mma\.)[\w.]{1,80})(?:@(?P<arch>\w{1,20}))?(?::(?P<wave>32|64))?(?:/(?P<opsel>[0-7]))?"
)


def run(arguments: argparse.Namespace) -> int:
    """Compare; 0 the same, 1 different, 2 capture files that do not answer the same.

    Raises:
        ProbeError: a side is no instruction, no target and no capture file, or cannot be solved.
    """
    sides = [Path(arguments.first), Path(arguments.second)]
    if any(side.suffix == ".cap" or side.is_file() for side in sides):
        return _diff_captures(sides, arguments)
    format = chosen(arguments, "difference")
    notes: list[str] = []
    found = list(_pairs(arguments, notes))

    from layoutprobe.render.claims import Differences, outcome

    shown = Differences(found, notes)
    emit(format, shown, arguments.output, outcome=lambda: "; ".join(map(outcome, found)))
    return 0 if not notes and all(one.equal for one in found) else 1


def _diff_captures(sides: list[Path], arguments: argparse.Namespace) -> int:
    from layoutprobe.capture.compare import compare_captures
    from layoutprobe.capture.file import read_captures
    from layoutprobe.render.captures import sentence

    names = ("backend", "device", "arithmetic", "compiler")
    given = {f"--{name}": getattr(arguments, name) for name in names}
    refuse_idle("on capture files: nothing is built or run", given)
    format = chosen(arguments, "captures")
    found = compare_captures(read_captures(sides[0]), read_captures(sides[1]))
    emit(format, found, arguments.output, outcome=lambda: sentence(found))
    return found.exit_code


def _pairs(arguments: argparse.Namespace, notes: list[str]) -> Iterator[LayoutDifference]:
    """The pairs to compare; what one side lacks goes to `notes`."""
    from layoutprobe.claims.difference import difference

    sides = [arguments.first, arguments.second]
    matched = [_SIDE.fullmatch(side) for side in sides]
    if matched[0] and matched[1]:
        solved = [
            solve(
                m["name"], m["arch"], int(m["wave"]) if m["wave"] else None, int(m["opsel"] or 0), arguments
            )
            for m in matched
            if m
        ]
        yield difference(solved[0], solved[1])
        return
    if any(matched):
        raise UsageError("one side is an instruction, the other is not", observed=" and ".join(sides))
    from layoutprobe import instructions

    named = [instructions.names(side) for side in sides]
    for mine, other, target in ((named[0], named[1], sides[0]), (named[1], named[0], sides[1])):
        notes += [f"only on {target}: {name}" for name in mine if name not in other]
    for name in named[0]:
        if name in named[1]:
            yield difference(*(solve(name, side, None, None, arguments) for side in sides))


COMMAND = Command(
    "diff",
    "shows where the layouts of two instructions, wave sizes or targets differ",
    run,
    _add_options,
    EXAMPLES,
)
