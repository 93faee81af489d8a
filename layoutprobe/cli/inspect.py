"""`layoutprobe inspect`: what the registers of a user's own kernel hold, as elements of its matrices."""

from __future__ import annotations

import argparse
import sys

from layoutprobe.cli import recorded, walking
from layoutprobe.cli.arguments import (
    Parser,
    add_engine_option,
    add_output,
    add_slots,
    group,
    index,
    refuse_idle,
    sizes,
)
from layoutprobe.cli.asking import add_questions, answer, asked, moment_of, refuse, subject
from layoutprobe.cli.check import MANIFEST
from layoutprobe.cli.command import Command
from layoutprobe.cli.terminal import chosen, emit, say
from layoutprobe.render.formats import Format

EXAMPLES = """\
examples:
  layoutprobe inspect --kernel gemm                     # its matrix instructions, and which are wrong
  layoutprobe inspect --kernel gemm --matrix A          # where A is wrong first, register by register
  layoutprobe inspect --kernel gemm --at 3 --matrix B --iteration 1 --workgroup 1,0,0
  layoutprobe inspect --kernel gemm --matrix B --view raw   # behind transposing loads: what lanes fetch
  layoutprobe inspect --kernel gemm --at gemm.hip:76 --matrix C --output owners.svg
  layoutprobe inspect --kernel gemm --at mfma:3 --why v40:3          # back to the load, instruction by instruction
  layoutprobe inspect --kernel gemm --follow "A[3][5]"               # who moves it, and what is computed of it
  layoutprobe inspect --kernel gemm --at barrier:1 --lds 0-255       # which element lies at which byte
  layoutprobe inspect --kernel gemm --save run.cap                   # the run of workgroup 0,0,0, for somebody else
  layoutprobe inspect kernel.hip --kernel gemm --size M=64,N=64,K=32   # without a manifest: its launch is guessed
  layoutprobe inspect run.cap --at barrier:1 --lds 0-255             # needs neither source nor compiler
  layoutprobe inspect --kernel gemm --diff HEAD~1                    # what moves otherwise since that commit
  layoutprobe inspect --kernel gemm --at barrier:0 --tui             # step through it, forwards and backwards
  layoutprobe inspect --kernel gemm --output kernel.html   # a page: source, operands in time, wrong elements of C
"""
PAGE = "html"
"""Format of the page that shows everything at once."""
_WAITING = "inspect: compiling and running the kernel"


def _add_options(command: Parser) -> None:
    command.add_argument(
        "manifest",
        nargs="?",
        default=MANIFEST,
        metavar="MANIFEST|SOURCE|HSACO|RUN.cap",
        help=f"a manifest; a kernel without one (its launch is guessed); a run that --save kept; default {MANIFEST}",
    )
    command.add_argument(
        "--kernel",
        metavar="NAME",
        help="which kernel of the manifest; of a source or code object, its symbol",
    )
    command.add_argument(
        "--size", metavar="M=128,N=128,K=64", type=sizes, help="problem size (default: the manifest's first)"
    )
    command.add_argument("--arch", metavar="TARGET", help="target (default: the manifest's first)")
    add_engine_option(command)
    moment = command.add_argument_group("moment")
    moment.add_argument(
        "--matrix", metavar="A|B|C", help="operand of a matrix instruction; C: where accumulators are stored"
    )
    moment.add_argument(
        "--at",
        metavar="WHERE",
        help="matrix instruction: its number, PC or FILE:LINE (default: the first that is wrong); of questions any "
        "instruction, also as mfma:3, barrier:0 or store:1",
    )
    moment.add_argument(
        "--iteration",
        metavar="N",
        type=index,
        help="of its executions by each wave (default: the first wrong)",
    )
    moment.add_argument(
        "--workgroup", metavar="X,Y,Z", type=group, help="which workgroup (default: the first wrong)"
    )
    moment.add_argument(
        "--view",
        metavar="raw|received|packed",
        help="of an operand behind transposing loads: what lanes fetch, what they receive, or what the instruction "
        "reads (default packed)",
    )
    add_questions(command)
    command.add_argument(
        "--save",
        metavar="RUN.cap",
        help="keep the run of a workgroup, to be inspected without source or compiler",
    )
    command.add_argument(
        "--tui",
        action="store_true",
        help="walk through the run in the terminal, forwards and backwards; ? tells the keys",
    )
    shown = command.add_argument_group("output")
    add_output(shown, "layout")
    add_slots(shown)


def run(arguments: argparse.Namespace) -> int:
    """Run the kernel with coded inputs, and show what was asked for.

    Returns:
        0 right, 1 an operand is wrong (of the list: anything is found), 2 it could not be followed.

    Raises:
        ProbeError: whatever stops it.
    """
    from layoutprobe.render.progress import waiting

    if arguments.tui:
        return walking.run(arguments)
    if recorded.meant(arguments):
        return recorded.run(arguments)
    if arguments.save is not None:
        return recorded.save(arguments)
    question = asked(arguments)
    if question == "diff":
        return recorded.diff(arguments)
    if question:
        refuse(arguments, question)
        format = chosen(arguments, subject(question))
        with waiting("inspect: recording the kernel", sys.stderr):
            kernel = recorded.opened(arguments)
            found = answer(arguments, question, moment_of(arguments, kernel))
        emit(format, found, arguments.output, outcome=lambda: found.summary)
        return 0
    listing = arguments.matrix is None and arguments.at is None
    format = chosen(arguments, "sites" if listing else "fragments")
    if listing and format.name != PAGE:
        _refuse_for_list(arguments)
    if format.name == PAGE:
        return _page(arguments, format)
    with waiting(_WAITING, sys.stderr):
        kernel = recorded.opened(arguments)
        unjudged = kernel.unjudged
        if unjudged:
            held = recorded.held(arguments, kernel)
        elif listing:
            sites = kernel.overview
        else:
            report = kernel.operand(
                arguments.matrix or "A",
                arguments.at,
                workgroup=arguments.workgroup,
                iteration=arguments.iteration,
                view=arguments.view or "packed",
            )
    if unjudged:
        say(f"shown, and not judged: {unjudged}")
        emit(chosen(arguments, "answer"), held, arguments.output, outcome=lambda: held.summary)
        return 0
    if listing:
        from layoutprobe.render.sites import verdict

        emit(format, sites, arguments.output, outcome=lambda: str(verdict(sites)))
        return sites.exit_code
    from layoutprobe.render.layout import words
    from layoutprobe.render.layout.view import select

    view = select(report, wave=arguments.wave, lanes=arguments.lanes, vgprs=arguments.vgprs)
    emit(format, view, arguments.output, outcome=lambda: str(words.verdict(report)))
    return report.exit_code


def _page(arguments: argparse.Namespace, format: Format) -> int:
    """Everything at once, on a page."""
    from layoutprobe.render.progress import waiting
    from layoutprobe.render.sites import verdict

    _refuse_for_page(arguments)
    with waiting(_WAITING, sys.stderr):
        kernel = recorded.opened(arguments)
        view = kernel.view(
            arguments.matrix,
            arguments.at,
            workgroup=arguments.workgroup,
            iteration=arguments.iteration,
            wave=arguments.wave,
        )
    emit(format, view, arguments.output, outcome=lambda: str(verdict(view.sites)))
    return view.exit_code


def _refuse_for_list(arguments: argparse.Namespace) -> None:
    options = {
        "--iteration": arguments.iteration,
        "--workgroup": arguments.workgroup,
        "--view": arguments.view,
        "--wave": arguments.wave,
        "--lane": arguments.lanes,
        "--vgpr": arguments.vgprs,
    }
    hint = "give --matrix or --at, to see an operand"
    if arguments.vgprs is not None:
        hint += "; --registers v40-55 tells what registers hold at any moment"
    refuse_idle("on the list of matrix instructions", options, hint)


def _refuse_for_page(arguments: argparse.Namespace) -> None:
    refuse_idle(
        "on a page, which shows all of an operand",
        {"--view": arguments.view, "--lane": arguments.lanes, "--vgpr": arguments.vgprs},
        "leave them out",
    )


COMMAND = Command(
    "inspect",
    "what the registers of your own kernel hold at a matrix instruction, and what they should",
    run,
    _add_options,
    EXAMPLES,
)
