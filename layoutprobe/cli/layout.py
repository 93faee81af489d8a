"""`layoutprobe layout`, `claim` and `diff`: closed forms of solved instructions, and arguments about them.

Whatever is heavy is imported by the command that needs it, when it needs it.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from layoutprobe.cli.arguments import add_output
from layoutprobe.cli.sources import add_source_options, source_from
from layoutprobe.cli.terminal import chosen, emit
from layoutprobe.errors import ProbeError, UsageError

if TYPE_CHECKING:
    from layoutprobe.claims.difference import LayoutDifference
    from layoutprobe.claims.judge import Judgement
    from layoutprobe.claims.model import ClaimSet
    from layoutprobe.layouts.instruction import InstructionLayout

USUAL = "v_wmma_f32_16x16x16_f16"
DIALECTS = ("formula", "gf2", "cute")
MATRICES = ("A", "B", "C", "D", "INDEX")

SUMMARY = "which element a matrix instruction wants in which lane, VGPR and bits, as closed forms"
EXAMPLES = """\
examples:
  layoutprobe layout v_wmma_f32_16x16x16_f16
  layoutprobe layout v_wmma_i32_16x16x16_iu8 --wave 64 --matrix D --dialect gf2
  layoutprobe layout v_wmma_f32_16x16x16_f16 --element 'A[3][5]'      where is it?
  layoutprobe layout v_wmma_f32_16x16x16_f16 --slot A:v2.hi@19        what is there?
  layoutprobe layout v_wmma_f32_16x16x16_f16 --output map.svg --theme dark
"""
CLAIM_SUMMARY = "judges what somebody says about a layout: confirmed, equal modulo gauge, or refuted"
CLAIM_EXAMPLES = """\
examples:
  layoutprobe claim 'A: frag[i] = A[i][lane % 16]'
  layoutprobe claim 'A: frag[i] = A[lane % 16][i ^ 1]' 'B: frag[i] = B[i ^ 1][lane % 16]'
  layoutprobe claim 'D: ((16,2),8):((16,1),2)'                CuTe: (lane, value) -> index
  layoutprobe claim 'A: half = [[0,1]], vgpr = [[0,2],[0,4],[0,8]], lane = [[1,0],[2,0],[4,0],[8,0],[0,0]]'
  layoutprobe claim calculator.csv --instruction v_wmma_i32_16x16x16_iu4 --wave 64
  layoutprobe claim claims.toml --format json

Claims on one command line hold together: one renaming of rows, columns and k must serve them all.
"""
DIFF_SUMMARY = "shows where the layouts of two instructions, wave sizes or targets differ"
DIFF_EXAMPLES = """\
examples:
  layoutprobe diff v_wmma_f32_16x16x16_f16:32 v_wmma_f32_16x16x16_f16:64
  layoutprobe diff v_wmma_f16_16x16x16_f16 v_wmma_f16_16x16x16_f16/4     op_sel 4
  layoutprobe diff INSTRUCTION@TARGET INSTRUCTION@TARGET
  layoutprobe diff TARGET TARGET                              every instruction of both
"""


def add_options(command: argparse.ArgumentParser) -> None:
    """Options of `layout`."""
    _examples(command, EXAMPLES)
    command.add_argument("instruction", metavar="INSTRUCTION", help=f"mnemonic, such as {USUAL}")
    _add_target(command)
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
    shown.add_argument(
        "--theme", choices=("auto", "light", "dark"), default="auto", help="pictures (default auto)"
    )


def add_claim_options(command: argparse.ArgumentParser) -> None:
    """Options of `claim`."""
    _examples(command, CLAIM_EXAMPLES)
    command.add_argument(
        "claims", metavar="CLAIM|FILE", nargs="+", help="a sentence, or a .toml, .csv or text file"
    )
    command.add_argument(
        "--instruction", metavar="NAME", help=f"what it speaks of, unless its file says (default {USUAL})"
    )
    _add_target(command)
    command.add_argument("--exact", action="store_true", help="a renaming of rows, columns or k refutes, too")
    add_output(command, "claims")


def add_diff_options(command: argparse.ArgumentParser) -> None:
    """Options of `diff`."""
    _examples(command, DIFF_EXAMPLES)
    for name in ("first", "second"):
        command.add_argument(
            name,
            metavar="X" if name == "first" else "Y",
            help="INSTRUCTION[@TARGET][:WAVE][/OPSEL], TARGET, or a capture file",
        )
    add_source_options(command)
    command.add_argument("--compiler", metavar="PATH", help="clang to use")
    add_output(command, "difference")


def _examples(command: argparse.ArgumentParser, examples: str) -> None:
    command.epilog = f"{examples}\n{command.epilog or ''}"


def _add_target(command: argparse.ArgumentParser) -> None:
    command.add_argument("--arch", metavar="TARGET", help="target (default: the one that is emulated)")
    command.add_argument("--wave", type=int, choices=(32, 64), help="lanes of a wave (default 32)")
    command.add_argument(
        "--opsel", type=int, choices=range(8), help="op_sel; 4: upper half of 16-bit C and D"
    )
    command.add_argument("--compiler", metavar="PATH", help="clang to use")
    add_source_options(command)


def _matrix(text: str) -> str:
    if text.upper() not in MATRICES:
        raise argparse.ArgumentTypeError(f"{text[:20]!r} is no operand; choose from A, B, C, D, index")
    return "index" if text.upper() == "INDEX" else text.upper()


def _solve(
    instruction: str, arch: str | None, wave: int | None, opsel: int | None, arguments: argparse.Namespace
) -> InstructionLayout:
    from layoutprobe import instructions
    from layoutprobe.arch import DEFAULT

    target = arch or DEFAULT
    return instructions.solve(
        instruction,
        arch=target,
        wave=wave or 32,
        opsel=opsel or 0,
        backend=source_from(arguments, target),
        compiler=arguments.compiler,
    )


def run(arguments: argparse.Namespace) -> int:
    """`layout`: show one instruction; 0.

    Raises:
        ProbeError: no such instruction, or it cannot be solved here.
    """
    from layoutprobe.layouts.queries import what_is, where_is

    format = chosen(arguments, "instruction")
    solved = _solve(arguments.instruction, arguments.arch, arguments.wave, arguments.opsel, arguments)
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
    shown = Shown(solved, matrices, dialects, answers, arguments.color_by or "auto", arguments.theme)
    emit(format, shown, arguments.output, outcome=lambda: title(solved))
    return 0


def claim(arguments: argparse.Namespace) -> int:
    """`claim`: judge; 0 confirmed or equal modulo gauge, 1 refuted, 2 cannot decide.

    Raises:
        ProbeError: a claim cannot be read, or (one alone) its instruction cannot be solved.
    """
    from layoutprobe.claims import read_claims

    format = chosen(arguments, "claims")
    known: dict[Variant, InstructionLayout] = {}
    judgements = [_judged(claims, arguments, known) for claims in read_claims(arguments.claims)]
    codes = {judgement.exit_code for judgement in judgements}

    def outcome() -> str:
        return "; ".join(dict.fromkeys(judgement.sentence for judgement in judgements))

    emit(format, judgements, arguments.output, outcome=outcome)
    return 1 if 1 in codes else max(codes)


Variant = tuple[str, str, int, int]
"""Instruction, target, wave size, op_sel."""


def _judged(
    claims: ClaimSet, arguments: argparse.Namespace, known: dict[Variant, InstructionLayout]
) -> Judgement:
    from layoutprobe.arch import DEFAULT
    from layoutprobe.claims.judge import judge, undecided

    instruction = arguments.instruction or claims.instruction or USUAL
    arch = arguments.arch or claims.arch or DEFAULT
    wave = arguments.wave or claims.wave or 32
    opsel = claims.opsel if arguments.opsel is None else arguments.opsel
    variant = (instruction, arch, wave, opsel or 0)
    try:
        if variant not in known:
            known[variant] = _solve(*variant, arguments)
    except ProbeError as error:
        return undecided(claims, error.what, *variant)
    return judge(claims, known[variant], exact=arguments.exact)


_SIDE = re.compile(
    r"(?P<name>(?:v_|mma\.)[\w.]{1,80})(?:@(?P<arch>\w{1,20}))?(?::(?P<wave>32|64))?(?:/(?P<opsel>[0-7]))?"
)


def diff(arguments: argparse.Namespace) -> int:
    """`diff`: compare; 0 the same, 1 different, 2 capture files that do not answer the same.

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
            _solve(m["name"], m["arch"], int(m["wave"] or 32), int(m["opsel"] or 0), arguments)
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
            yield difference(*(_solve(name, side, None, None, arguments) for side in sides))


__all__ = [
    "CLAIM_SUMMARY",
    "DIFF_SUMMARY",
    "SUMMARY",
    "add_claim_options",
    "add_diff_options",
    "add_options",
    "claim",
    "diff",
    "run",
]
