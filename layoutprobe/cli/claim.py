"""`layoutprobe claim`: judges what somebody says about a layout."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from layoutprobe.cli.arguments import Parser, add_output, refuse_idle, sizes
from layoutprobe.cli.check import MANIFEST, manifest_path
from layoutprobe.cli.command import Command
from layoutprobe.cli.instructions import USUAL, add_target_options, solve
from layoutprobe.cli.terminal import chosen, emit
from layoutprobe.errors import ProbeError, UsageError

if TYPE_CHECKING:
    from layoutprobe.claims.judge import Judgement
    from layoutprobe.claims.model import ClaimSet
    from layoutprobe.layouts.instruction import InstructionLayout

EXAMPLES = """\
examples:
  layoutprobe claim 'A: frag[i] = A[i][lane % 16]'
  layoutprobe claim 'A: frag[i] = A[lane % 16][i ^ 1]' 'B: frag[i] = B[i ^ 1][lane % 16]'
  layoutprobe claim 'D: ((16,2),8):((16,1),2)'                # CuTe: (lane, value) -> index
  layoutprobe claim 'A: half = [[0,1]], vgpr = [[0,2],[0,4],[0,8]], lane = [[1,0],[2,0],[4,0],[8,0],[0,0]]'
  layoutprobe claim calculator.csv --instruction v_wmma_i32_16x16x16_iu4 --wave 64
  layoutprobe claim claims.toml --format json
  layoutprobe claim --ttgir gemm.ttgir --manifest layoutprobe.toml --kernel gemm   # Triton's layouts, executed

Claims on one command line hold together: one renaming of rows, columns and k must serve them all. A claim
that needs a matrix renamed of which nothing is claimed is no error and not green either: exit code 2.
"""


def _add_options(command: Parser) -> None:
    command.add_argument(
        "claims", metavar="CLAIM|FILE", nargs="*", help="a sentence, or a .toml, .csv or text file"
    )
    command.add_argument(
        "--instruction", metavar="NAME", help=f"what it speaks of (default: as its file says, else {USUAL})"
    )
    add_target_options(command)
    command.add_argument("--exact", action="store_true", help="a renaming of rows, columns or k refutes, too")
    _add_ttgir(command)
    add_output(command, "claims")


def _add_ttgir(command: Parser) -> None:
    group = command.add_argument_group("TTGIR")
    group.add_argument(
        "--ttgir",
        metavar="FILE",
        help="instead of claims: hold the layouts that Triton's TTGIR declares against what its object does",
    )
    group.add_argument(
        "--manifest", metavar="FILE", help=f"how to launch the object (default: {MANIFEST} beside the TTGIR)"
    )
    group.add_argument(
        "--kernel", metavar="NAME", help="which kernel of the manifest (default: the name of the TTGIR)"
    )
    group.add_argument(
        "--size",
        metavar="M=128,N=128,K=64",
        type=sizes,
        help="problem size (default: the manifest's first)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Judge; 0 confirmed, equal modulo gauge, or as its file states; 1 refuted or not so; 2 cannot decide.

    2 as well where it is equal modulo gauge only if matrices of which nothing is claimed are renamed alike.

    Raises:
        ProbeError: a claim cannot be read, or (one alone) its instruction cannot be solved.
    """
    if arguments.ttgir is not None:
        return _ttgir(arguments)
    from layoutprobe.claims import read_claims

    idle = {f"--{name}": getattr(arguments, name) for name in ("manifest", "kernel", "size")}
    refuse_idle("without --ttgir", idle, "name the TTGIR, or leave them out")
    if not arguments.claims:
        raise UsageError(
            "nothing is claimed",
            expected="a sentence, a file of claims, or --ttgir FILE",
            hint="for example: layoutprobe claim 'A: frag[i] = A[lane % 16][i]'",
        )
    format = chosen(arguments, "claims")
    known: dict[Variant, InstructionLayout] = {}
    judgements = [_judged(claims, arguments, known) for claims in read_claims(arguments.claims)]
    codes = {judgement.exit_code for judgement in judgements}

    def outcome() -> str:
        return "; ".join(dict.fromkeys(map(_said, judgements)))

    emit(format, judgements, arguments.output, outcome=outcome)
    return 1 if 1 in codes else max(codes)


def _ttgir(arguments: argparse.Namespace) -> int:
    """Hold a TTGIR against its object; 0 agrees, 1 refuted, 2 cannot decide."""
    from layoutprobe.claims.ttgir import read_ttgir
    from layoutprobe.inspector.inspect import inspect
    from layoutprobe.render.progress import waiting

    given = {"a claim": arguments.claims, "--instruction": arguments.instruction, "--exact": arguments.exact}
    given |= {f"--{name}": getattr(arguments, name) for name in ("arch", "wave", "opsel")}
    refuse_idle("with --ttgir: the object says what it is", given, "leave them out")
    format = chosen(arguments, "ttgir")
    file = Path(arguments.ttgir)
    declared = read_ttgir(file)
    manifest = manifest_path(arguments.manifest or str(file.parent / MANIFEST))
    with waiting("claim: running the kernel", sys.stderr):
        kernel = inspect(manifest, arguments.kernel or file.stem, size=arguments.size)
        found = kernel.beside(declared)
    emit(format, found, arguments.output, outcome=lambda: found.sentence)
    return found.exit_code


def _said(judgement: Judgement) -> str:
    """The verdict in one line; an undecided one says why."""
    from layoutprobe.claims.judge import UNDECIDED

    why = f": {judgement.reasons[0]}" if judgement.verdict == UNDECIDED else ""
    stated = f", where the file states {judgement.claims.stated}" if judgement.as_stated is False else ""
    return f"{judgement.sentence}{why}{stated}"


Variant = tuple[str, str, int, int]
"""Instruction, target, wave size, op_sel."""


def _judged(
    claims: ClaimSet, arguments: argparse.Namespace, known: dict[Variant, InstructionLayout]
) -> Judgement:
    from layoutprobe.arch import DEFAULT, find
    from layoutprobe.claims.judge import judge, undecided

    instruction = arguments.instruction or claims.instruction or USUAL
    arch = arguments.arch or claims.arch or DEFAULT
    wave = arguments.wave or claims.wave or find(arch).wave_size
    opsel = claims.opsel if arguments.opsel is None else arguments.opsel
    variant = (instruction, arch, wave, opsel or 0)
    try:
        if variant not in known:
            known[variant] = solve(*variant, arguments)
    except ProbeError as error:
        why = f"{error.what}; {error.hint}" if error.hint else error.what
        return undecided(claims, why, *variant)
    return judge(claims, known[variant], exact=arguments.exact)


COMMAND = Command(
    "claim",
    "judges what somebody says about a layout: confirmed, equal modulo gauge, or refuted",
    run,
    _add_options,
    EXAMPLES,
)
