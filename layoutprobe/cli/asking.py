"""Questions of `inspect` about any moment of a run: registers, LDS, where values come from and go to."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from layoutprobe.cli.arguments import Parser, refuse_idle
from layoutprobe.errors import UsageError

if TYPE_CHECKING:
    from layoutprobe.inspector.inspect import Inspection
    from layoutprobe.recording.questions import Asked
    from layoutprobe.report.answer import Answer

QUESTIONS = ("registers", "lds", "why", "where", "follow", "timeline", "diff")


def add_questions(command: Parser) -> None:
    """Their options."""
    group = command.add_argument_group("questions at any moment")
    group.add_argument(
        "--registers", metavar="v40-55,s4,exec", help="what registers hold, and who wrote them"
    )
    group.add_argument(
        "--lds",
        metavar="FIRST-LAST",
        nargs="?",
        const="",
        help="which element lies at which byte of LDS, by banks",
    )
    group.add_argument("--why", metavar="v40:3", help="where the content of a register of a lane comes from")
    group.add_argument("--where", metavar="A[3][5]", help="everywhere an element is at the moment")
    group.add_argument("--follow", metavar="A[3][5]", help="the journey of an element through the kernel")
    group.add_argument(
        "--timeline",
        action="store_const",
        const="",
        help="loads, stores, waits, barriers and matrix instructions of all waves; also --format perfetto",
    )
    group.add_argument(
        "--diff", metavar="OTHER", help="where the run differs, the first difference first: from another kernel of "
        "the manifest, another manifest (FILE, FILE#KERNEL), a recording, or this kernel at a commit",
    )  # fmt: skip


def asked(arguments: argparse.Namespace) -> str:
    """The question that was asked; "" for none.

    Raises:
        UsageError: several were.
    """
    given = [name for name in QUESTIONS if getattr(arguments, name) is not None]
    if len(given) > 1:
        raise UsageError(f"--{given[0]} and --{given[1]} are two questions", hint="ask one at a time")
    return given[0] if given else ""


def refuse(arguments: argparse.Namespace, question: str) -> None:
    """Refuse options that change nothing of an answer.

    Raises:
        UsageError: one was given.
    """
    options = {"--matrix": arguments.matrix, "--view": arguments.view, "--vgpr": arguments.vgprs}
    if question != "registers":
        options["--lane"] = arguments.lanes
    if question in ("follow", "timeline"):
        options |= {"--at": arguments.at, "--iteration": arguments.iteration, "--wave": arguments.wave}
    refuse_idle(f"with --{question}", options)


def moment_of(arguments: argparse.Namespace, kernel: Inspection) -> Asked:
    """The moment that is meant, of a kernel that is recorded for it.

    Raises:
        UsageError: there is no such moment.
    """
    return kernel.moment(
        arguments.at,
        wave=arguments.wave or 0,
        iteration=arguments.iteration or 0,
        workgroup=arguments.workgroup or (0, 0, 0),
    )


def answer(arguments: argparse.Namespace, question: str, moment: Asked) -> Answer:
    """What was asked of a moment.

    Raises:
        UsageError: there is no such register or element.
    """
    given = getattr(arguments, question)
    if question == "registers":
        return moment.registers(given, arguments.lanes)
    if question == "lds":
        return moment.lds(*_span(given))
    if question == "timeline":
        return moment.timeline()
    return {"why": moment.why, "where": moment.where, "follow": moment.follow}[question](given)


def _span(text: str) -> tuple[int, int | None]:
    if not text:
        return 0, None
    first, _, last = text.partition("-")
    numbers = [part.strip() for part in (first, last or first)]
    if not all(part.isascii() and part.isdecimal() and len(part) < 8 for part in numbers):
        raise UsageError(f"{text[:40]!r} are no bytes of LDS", expected="FIRST-LAST, as 0-255")
    low, high = map(int, numbers)
    if high < low:
        raise UsageError(f"{text[:40]!r} runs backwards", expected=f"{high}-{low}")
    return low, high


def subject(question: str) -> str:
    """Whose formats an answer has."""
    return "timeline" if question == "timeline" else "answer"
