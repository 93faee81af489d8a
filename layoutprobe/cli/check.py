"""`layoutprobe check`: a manifest in, verdicts of the gate out."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from layoutprobe.cli.arguments import (
    Parser,
    add_engine_option,
    add_output,
    add_reports,
    check_reports,
    refuse_idle,
)
from layoutprobe.cli.command import Command
from layoutprobe.cli.terminal import chosen, emit, save
from layoutprobe.errors import UsageError
from layoutprobe.files import check_writable, writing
from layoutprobe.render.formats import Format, format_of

if TYPE_CHECKING:
    from layoutprobe.manifest.model import Acceptance
    from layoutprobe.report.gate import GateReport

MANIFEST = "layoutprobe.toml"
SUBJECT = "gate"
_MOST_JOBS = 256
_LONGEST = 86400
HUNT = 60
"""Seconds for which a kernel is hunted, or changes of it are tried, unless told otherwise."""
EDITS = 5000
"""Changes of a wrong kernel's source that are tried for a report: up to a minute and a half of a core."""
EXAMPLES = """\
examples:
  layoutprobe init kernel.hip                 # a manifest to fill in
  layoutprobe check                           # all kernels of ./layoutprobe.toml
  layoutprobe check --kernel swizzled --watch # again after each change of its files
  layoutprobe check --kernel swizzled --check lds-safety --check races
  layoutprobe check --kernel swizzled --hunt  # at which other sizes does it fail?
  layoutprobe check --kernel swizzled --suggest --report fixes.review  # what would mend it?
  layoutprobe check ci/layoutprobe.toml --report layoutprobe.sarif --report junit.xml
  layoutprobe explain races                   # what a check tests, and what it cannot see
  layoutprobe explain races/read-after-write  # what a finding means, and how to mend it
"""


def _add_options(command: Parser) -> None:
    command.add_argument(
        "manifest", nargs="?", default=MANIFEST, metavar="MANIFEST", help=f"default {MANIFEST}"
    )
    command.add_argument("--kernel", metavar="NAME", action="append", default=[], help="this kernel only")
    command.add_argument("--check", metavar="NAME", action="append", default=[], help="this check only")
    command.add_argument(
        "--jobs",
        metavar="N",
        type=_jobs,
        help="kernels checked at the same time (default: one per core)",
    )
    command.add_argument(
        "--executor",
        metavar="NAME",
        default="processes",
        help="where: processes (default), or each kernel and size by itself on dask, or dask:ADDRESS of a scheduler",
    )
    command.add_argument(
        "--allow-reference",
        action="store_true",
        help="import the Python references that the manifest names: they are code",
    )
    command.add_argument(
        "--strict",
        action="store_true",
        help="undecided (2) also where the headline has a reservation: code that never ran, loose tolerances...",
    )
    command.add_argument(
        "--hunt",
        action="store_true",
        help="look for other sizes and values at which a kernel fails, led by the code that has run",
    )
    command.add_argument(
        "--suggest",
        action="store_true",
        help="where a kernel fails, try small changes of its source until one holds, and show that one",
    )
    command.add_argument(
        "--edits",
        metavar="N",
        type=_edits,
        default=EDITS,
        help="where a kernel is wrong, so many small changes of its source are tried for the cause that is told "
        "(default %(default)s; 0: none)",
    )
    command.add_argument(
        "--time",
        metavar="SECONDS",
        type=_seconds,
        help=f"for each kernel, to --hunt and to --suggest (default {HUNT}); what --edits tries comes on top",
    )
    command.add_argument(
        "--base",
        metavar="REF|FILE",
        default="",
        help="list what the manifest asks less than it does there: a commit, or a file",
    )
    command.add_argument(
        "--baseline",
        metavar="FILE",
        help="let the findings pass that this file lists; fails for those that are gone",
    )
    command.add_argument(
        "--write-baseline",
        metavar="FILE",
        help="list all findings in this file, to adopt the gate on old code",
    )
    command.add_argument(
        "--watch", action="store_true", help="check again when the manifest or a source changes, until Ctrl-C"
    )
    add_engine_option(command)
    shown = command.add_argument_group("output")
    add_output(shown, SUBJECT)
    how_much = shown.add_mutually_exclusive_group()
    how_much.add_argument(
        "-v",
        "--verbose",
        action="store_const",
        dest="format",
        const="full",
        help="every figure: --format full",
    )
    how_much.add_argument(
        "-q",
        "--quiet",
        action="store_const",
        dest="format",
        const="quiet",
        help="only the verdict, and what is wrong or open: --format quiet",
    )
    add_reports(shown, SUBJECT)


def run(arguments: argparse.Namespace) -> int:
    """Check the kernels and write the report.

    Returns:
        0 holds, 1 a finding, 2 could not decide.
    """
    format = chosen(arguments, SUBJECT)
    check_reports(arguments.report, arguments.output)
    path = manifest_path(arguments.manifest)
    if not (arguments.hunt or arguments.suggest):
        refuse_idle("without --hunt or --suggest", {"--time": arguments.time})
    if arguments.write_baseline:
        check_writable(arguments.write_baseline, "the baseline")
    if arguments.watch:
        from layoutprobe.cli.watch import rerun

        refuse_idle("together with --watch", {"--write-baseline": arguments.write_baseline})
        return rerun(lambda: _check(arguments, path, format), lambda: _files(path, arguments.kernel))
    return _check(arguments, path, format)


def _files(path: Path, kernels: Sequence[str]) -> Iterator[Path]:
    """What a verdict depends on: the manifest first, as it may not be readable yet."""
    from layoutprobe.gate.build import files_of
    from layoutprobe.manifest.read import read_manifest

    yield path
    for case in read_manifest(path).kernels:
        if not kernels or case.name in kernels:
            yield from files_of(case)


def _check(arguments: argparse.Namespace, path: Path, format: Format) -> int:
    """Check once, and write every report that was asked for."""
    from layoutprobe.gate.gate import check
    from layoutprobe.manifest.acceptances import read_baseline
    from layoutprobe.render.steps import steps

    baseline = read_baseline(Path(arguments.baseline)) if arguments.baseline else {}
    seconds = arguments.time or HUNT
    reports = {name: format_of(SUBJECT, name) for name in arguments.report}
    gc.freeze()  # what was imported until here
    with steps("check", sys.stderr) as progress:
        report = check(
            path,
            kernels=arguments.kernel,
            checks=arguments.check,
            allow_reference=arguments.allow_reference,
            strict=arguments.strict,
            baseline=baseline,
            base=arguments.base,
            hunt=seconds if arguments.hunt else 0,
            suggest=seconds if arguments.suggest else 0,
            edits=arguments.edits,
            draw=any(one.draws for one in (format, *reports.values())),
            jobs=arguments.jobs or _cores(),
            executor=arguments.executor,
            progress=progress,
        )
    for name, written in reports.items():
        save(written, report, name)

    def outcome() -> str:
        from layoutprobe.render.gate.words import gate_outcome

        return str(gate_outcome(report))

    emit(format, report, arguments.output, outcome=outcome)
    if arguments.write_baseline:
        return write_baseline(arguments.write_baseline, report, baseline)
    return report.exit_code


def write_baseline(file: str, report: GateReport, old: Mapping[str, tuple[Acceptance, ...]]) -> int:
    """Write all findings to a file, and say so.

    Returns:
        0 where findings were all that was wrong, 2 where something was undecided.
    """
    from layoutprobe.gate.baseline import DAYS, new_baseline

    with writing(file, what="the baseline") as stream:
        stream.write(new_baseline(report, old, date.today()))
    count = sum(len(verdict.every) for verdict in report.verdicts)
    sys.stderr.write(f"layoutprobe: {count} findings are in {file}, for {DAYS} days\n")
    return 2 if any(verdict.undecided for verdict in report.verdicts) else 0


def manifest_path(given: str) -> Path:
    """The manifest that an argument means: a file, or a directory that has one.

    Raises:
        UsageError: there is none; says how to get one.
    """
    path = Path(given)
    if path.is_dir():
        path /= MANIFEST
    if path.is_file() and path.suffix.lower() != ".toml":
        raise UsageError(
            f"{given} is no manifest: how to launch a kernel stands in one",
            expected=f"a .toml file, such as {MANIFEST}",
            hint=f"`layoutprobe init {given}` writes one to fill in, then `layoutprobe check`",
        )
    if not path.is_file():
        raise UsageError(
            "there is no manifest",
            where={"file": path},
            hint="`layoutprobe init KERNEL` writes one for a HIP source, assembly or code object",
        )
    return path


def _jobs(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or len(text) > 3 or not 1 <= int(text) <= _MOST_JOBS:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a number from 1 to {_MOST_JOBS}")
    return int(text)


def _seconds(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or len(text) > 5 or not 1 <= int(text) <= _LONGEST:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a number of seconds from 1 to {_LONGEST}")
    return int(text)


def _edits(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or len(text) > 4:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a number of changes from 0 to 9999")
    return int(text)


def _cores() -> int:
    """Cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


COMMAND = Command(
    "check",
    "checks the kernels of a manifest: packing, LDS, synchronisation, epilogue, numerics",
    run,
    _add_options,
    EXAMPLES,
)
