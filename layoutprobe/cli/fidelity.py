"""`layoutprobe fidelity`: where emulator and card differ, as one file of captures and one page."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from layoutprobe.cli.arguments import Parser, refuse_idle
from layoutprobe.cli.command import Command
from layoutprobe.cli.sources import add_source_options, source_from
from layoutprobe.cli.terminal import emit, say
from layoutprobe.errors import UsageError
from layoutprobe.files import check_writable
from layoutprobe.render.formats import find, names

if TYPE_CHECKING:
    from layoutprobe.backends.source import Source
    from layoutprobe.report.fidelity import FidelityReport

EXAMPLES = """\
examples:
  layoutprobe fidelity --backend hip                      # on a card: fidelity-TARGET.cap and .html, here
  layoutprobe fidelity --backend hip -o halo.cap --page halo.html
  layoutprobe fidelity --backend replay halo.cap          # judge somebody's card again, anywhere
  layoutprobe fidelity --backend emulator -o /tmp         # the emulator against itself: a self-test
"""
_SUFFIX = ".cap"


def _add_options(command: Parser) -> None:
    add_source_options(command)
    command.add_argument(
        "--arch", metavar="TARGET", help="target (default: the card's, or the one that was recorded)"
    )
    command.add_argument(
        "-o", "--output", metavar="PATH", help="FILE.cap, or a folder for it and its page (default: here)"
    )
    command.add_argument("--page", metavar="FILE", help="the page, FILE.html (default: beside the captures)")
    command.add_argument("--format", choices=names("fidelity"), default="table", help="on standard output")


def run(arguments: argparse.Namespace) -> int:
    """Examine; 0 all agrees, 1 something differs, 2 something is undecided.

    The captures are saved after each experiment, so that a process that is killed by a fault of the
    card leaves those that came to their end; each time the whole file replaces the last one.

    Raises:
        ProbeError: there is no such card, or a file cannot be written.
    """
    from msgspec.structs import replace

    from layoutprobe.backends.recorded import Recorder, Replay
    from layoutprobe.fidelity.examine import examine
    from layoutprobe.render.steps import steps
    from layoutprobe.report.fidelity import Outcome

    arch, source = _source(arguments)
    replayed = source.file if isinstance(source, Replay) else None
    bundle, page = _paths(arguments, arch, replayed is not None)
    recorder = Recorder(source)
    digest = replayed.digest if replayed else ""

    def save(outcome: Outcome) -> None:
        nonlocal digest
        if bundle is not None and outcome.runs:
            digest = recorder.write(bundle)

    if bundle is not None:
        check_writable(bundle, "the capture")
    if page is not None:
        check_writable(page, "the page")
    with steps("fidelity", sys.stderr) as progress:
        report = examine(arch, recorder, before=progress, after=save)
    said = str(bundle) if bundle and digest else str(replayed.path) if replayed else ""
    report = replace(report, bundle=said, digest=digest)
    if page is not None:
        _write_page(report, page)
    emit(find("fidelity", arguments.format), report, None, outcome=str)
    if bundle is not None and digest:
        say(f"{bundle}: {len(recorder.runs)} runs, digest {digest[:12]}")
    return report.exit_code


def _source(arguments: argparse.Namespace) -> tuple[str, Source]:
    """The target, and who answers.

    Raises:
        UsageError: no such backend, file, card or target.
    """
    from layoutprobe.arch import DEFAULT, find
    from layoutprobe.backends.recorded import Replay
    from layoutprobe.backends.source import Live

    source = source_from(arguments, arguments.arch or DEFAULT)
    arch = arguments.arch or DEFAULT
    if arguments.arch is None and isinstance(source, Replay):
        recorded = dict.fromkeys(capture.arch for capture in source.file.captures)
        if len(recorded) != 1:
            raise UsageError(
                "the file has runs for several targets, or for none",
                where={"file": source.file.path},
                observed=", ".join(recorded) or "none",
                hint="choose with --arch",
            )
        (arch,) = recorded
    elif arguments.arch is None and isinstance(source, Live):
        arch = source.backend.device.get("target", DEFAULT)
    return find(arch).name, source


def _paths(arguments: argparse.Namespace, arch: str, replayed: bool) -> tuple[Path | None, Path | None]:
    """The capture file and the page; None where there shall be none.

    Raises:
        UsageError: --output is neither a folder nor a .cap file.
    """
    page = Path(arguments.page) if arguments.page else None
    if replayed:
        why = "on a replay: its captures are there already"
        refuse_idle(why, {"--output": arguments.output}, "--page FILE.html writes the page")
        return None, page
    output = Path(arguments.output or ".")
    if output.is_dir():
        output /= f"fidelity-{arch}{_SUFFIX}"
    elif output.suffix != _SUFFIX or (output.exists() and not output.is_file()):
        raise UsageError(
            "--output is neither a folder that is there nor a capture file",
            observed=str(output),
            expected=f"a folder, or FILE{_SUFFIX}",
        )
    return output, page or output.with_suffix(".html")


def _write_page(report: FidelityReport, page: Path) -> None:
    from layoutprobe.render.fidelity.words import basis

    emit(
        find("fidelity", "html"),
        report,
        str(page),
        outcome=lambda: f"{report.verdict.upper()} ({basis(report)})",
    )


COMMAND = Command(
    "fidelity",
    "runs everything that decides whether the emulator tells the truth about a card",
    run,
    _add_options,
    EXAMPLES,
)
