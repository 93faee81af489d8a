"""What every parser of the command line shares: examples and exit codes, help that may fail, lists."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from layoutprobe.cli.help import Help
from layoutprobe.cli.terminal import printing
from layoutprobe.engine import choice
from layoutprobe.errors import UsageError
from layoutprobe.files import check_writable
from layoutprobe.render.formats import names, suffix_of, suffixes
from layoutprobe.text import clipped, printable

LARGEST_INDEX = 4095
"""Lanes and VGPRs stay far below; a list such as 0-999999999 is refused before it is made."""

LARGEST_SIZE = (1 << 31) - 1
"""Of a problem, along one axis."""

EXIT_CODES = """\
exit codes:
  0  holds: everything that was asked was checked, and no finding
  1  a finding
  2  could not decide: wrong usage, no compiler, an unknown instruction...
"""


class Parser(argparse.ArgumentParser):
    """A parser without abbreviations, whose help ends in examples and exit codes."""

    def __init__(self, *, epilog: str | None = None, **options: Any) -> None:
        """The parser; `epilog` are examples, other options are argparse's."""
        super().__init__(
            formatter_class=Help,
            allow_abbrev=False,
            add_help=False,
            epilog="\n".join(filter(None, (epilog, EXIT_CODES))),
            **options,
        )
        self._late: list[Callable[[], None]] = []
        self.add_argument("-h", "--help", action=_ShowHelp, help="show this help and exit")

    def error(self, message: str) -> NoReturn:
        """Usage and message on stderr; what was typed is repeated as far as a line goes."""
        super().error(clipped(printable(message)))

    def before_help(self, complete: Callable[[], None]) -> None:
        """Call `complete` before help is shown: for texts whose source takes time to import."""
        self._late.append(complete)

    def format_help(self) -> str:
        """The help text."""
        for complete in self._late:
            complete()
        return super().format_help()

    def parse(self, argv: Sequence[str] | None) -> argparse.Namespace:
        """Parse all arguments; strange ones show the usage of their command, not of the program.

        Raises:
            SystemExit: help or version were shown (0), or wrong usage (2).
        """
        arguments, strange = self.parse_known_args(argv)
        if strange:
            arguments.parser.error(f"unrecognized arguments: {' '.join(strange)}")
        return arguments


class _ShowHelp(argparse.Action):
    """--help that says so where nothing can be written: argparse's own ends well."""

    def __init__(self, option_strings: Sequence[str], dest: str, **options: Any) -> None:
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, default=argparse.SUPPRESS, **options)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        with printing() as stdout:
            stdout.write(parser.format_help())
        parser.exit()


class ShowVersion(argparse.Action):
    """--version, likewise."""

    def __init__(self, option_strings: Sequence[str], dest: str, version: str, **options: Any) -> None:
        """The option; `version` is what it prints."""
        options.setdefault("help", "show the version and exit")
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, default=argparse.SUPPRESS, **options)
        self.version = version

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        """Print, and end the program."""
        with printing() as stdout:
            stdout.write(f"{self.version}\n")
        parser.exit()


def add_output(group: argparse.ArgumentParser | argparse._ArgumentGroup, subject: str) -> None:
    """--format and --output, as the registry of formats has them for a subject."""
    default, *_ = names(subject)
    group.add_argument(
        "--format",
        metavar="NAME",
        choices=names(subject),
        help=f"{', '.join(names(subject))}; default: by the suffix of --output, else {default}",
    )
    known = ", ".join(f".{suffix}" for suffix in suffixes(subject))
    group.add_argument(
        "--output", metavar="FILE", help=f"write to FILE, at once or not at all; suffixes: {known}"
    )


def add_reports(group: argparse._ActionsContainer, subject: str) -> None:
    """--report, as often as there are files."""

    def named(text: str) -> str:
        if suffix_of(text) not in suffixes(subject):
            known = ", ".join(suffixes(subject))
            raise argparse.ArgumentTypeError(f"{text[:200]!r} has no suffix that names a format: {known}")
        return text

    group.add_argument(
        "--report",
        metavar="FILE",
        action="append",
        default=[],
        type=named,
        help=f"write one more report; its suffix says in which format: {', '.join(suffixes(subject))}",
    )


def check_reports(files: Sequence[str], output: str | None = None) -> None:
    """Before anything is run: every report can be written, and into a file of its own.

    Raises:
        UsageError: not so.
    """
    for name in files:
        check_writable(name)
        if [*files, output].count(name) > 1:
            raise UsageError("two reports go to one file", where={"file": name}, hint="name each once")


class _UseEngine(argparse.Action):
    """--engine: for this process, and for those that it starts."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: Any = None
    ) -> None:
        os.environ[choice.ENVIRONMENT] = namespace.engine = str(values)


def add_engine_option(group: argparse._ActionsContainer) -> None:
    """--engine."""
    group.add_argument(
        "--engine",
        action=_UseEngine,
        choices=choice.CHOICES,
        help="what emulates: numpy, native (compiled code with the same results), or auto, which is native where "
        f"that pays (default: ${choice.ENVIRONMENT}, else {choice.DEFAULT})",
    )


def refuse_idle(why: str, options: Mapping[str, object], hint: str | None = None) -> None:
    """Refuse options that were given and would change nothing: who typed them expects something.

    Args:
        why: in which case they change nothing, after "--lds has no effect".
        options: spelling -> value; one that is None, False or empty was not given.
        hint: the next step; by default, to leave them out.

    Raises:
        UsageError: one of them was given.
    """
    given = [
        name for name, value in options.items() if value is not None and value is not False and value != []
    ]
    if given:
        verb = "has" if len(given) == 1 else "have"
        raise UsageError(f"{' and '.join(given)} {verb} no effect {why}", hint=hint or "leave it out")


def index(text: str) -> int:
    """The number of a wave, lane or VGPR."""
    if not (text.isascii() and text.isdecimal()) or len(text) > 6 or int(text) > LARGEST_INDEX:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a number from 0 to {LARGEST_INDEX}")
    return int(text)


def indices(text: str) -> list[int]:
    """ "0-3,16" as numbers."""
    chosen: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        low = index(first)
        high = index(last) if dash else low
        if high < low:
            raise argparse.ArgumentTypeError(f"{part.strip()!r} runs backwards; write {high}-{low}")
        chosen.update(range(low, high + 1))
    return sorted(chosen)


def add_slots(group: argparse._ArgumentGroup) -> None:
    """Which slots of an operand are shown: --wave, --lane and --vgpr."""
    group.add_argument(
        "--wave", metavar="N", type=index, help="this wave only (table: the first with a mismatch)"
    )
    group.add_argument("--lane", metavar="LIST", type=indices, dest="lanes", help="these lanes only: 0-3,16")
    group.add_argument("--vgpr", metavar="LIST", type=indices, dest="vgprs", help="these VGPRs only: 0,4-7")


def sizes(text: str) -> dict[str, int]:
    """Argparse type: "M=128,N=128,K=64"."""
    found: dict[str, int] = {}
    for part in text.split(","):
        name, _, value = (piece.strip() for piece in part.partition("="))
        if not name.isidentifier() or not (value.isascii() and value.isdecimal()) or len(value) > 10:
            raise argparse.ArgumentTypeError(f"{part.strip()[:40]!r} is no size such as M=128")
        if not 1 <= int(value) <= LARGEST_SIZE or name in found:
            raise argparse.ArgumentTypeError(f"{part.strip()[:40]!r} is no size, or the second of its name")
        found[name] = int(value)
    return found


def group(text: str) -> tuple[int, int, int]:
    """A workgroup's id."""
    parts = [part.strip() for part in text.split(",")]
    if not 1 <= len(parts) <= 3 or not all(p.isascii() and p.isdecimal() and len(p) <= 9 for p in parts):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is no workgroup such as 1,0,0")
    x, y, z = (*map(int, parts), *(0,) * (3 - len(parts)))
    return x, y, z
