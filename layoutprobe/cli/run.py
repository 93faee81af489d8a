"""`layoutprobe run`: an unmodified HIP host program, on the emulator."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from layoutprobe.cli.arguments import (
    Parser,
    add_engine_option,
    add_reports,
    check_reports,
    group,
    refuse_idle,
)
from layoutprobe.cli.check import write_baseline
from layoutprobe.cli.command import Command
from layoutprobe.cli.programs import found_program, run_program, said, warn_of_missing
from layoutprobe.cli.terminal import save, say
from layoutprobe.errors import ProbeError
from layoutprobe.files import check_writable
from layoutprobe.render.formats import find, format_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from layoutprobe.engine.base import Dispatch
    from layoutprobe.extras.hiphost.checking import LaunchChecks
    from layoutprobe.extras.hiphost.choice import Choice
    from layoutprobe.extras.hiphost.recording import LaunchRecorder
    from layoutprobe.extras.hiphost.server import Server

EXAMPLES = """\
examples:
  layoutprobe run -- ./my_hip_test --size 64
  layoutprobe run --arch TARGET -- python test_my_kernels.py
  layoutprobe run --check races,waits --report run.sarif -- ./my_hip_test
  layoutprobe run --save run.cap --kernel gemm --workgroup 1,0 -- ./my_hip_test     # for layoutprobe inspect run.cap
"""
SUBJECT = "gate"
"""What the findings of launches are written as."""
_NOT_STARTED = 127
"""What a shell ends with that does not find a program, and a loader that misses a function."""
_PATIENCE = 1.0
"""Seconds that devices have to notice that the program has ended."""


def _add_options(command: Parser) -> None:
    command.usage = "layoutprobe run [OPTION ...] -- PROGRAM [ARGUMENT ...]"
    command.add_argument("--arch", metavar="TARGET", help="what the device is (default: as for `dump`)")
    which = command.add_mutually_exclusive_group()
    which.add_argument(
        "--check",
        metavar="NAME[,NAME]",
        action="append",
        default=[],
        help="hold every launch against these laws: memory, init, races, barriers, host (default: these), leaks, "
        "waits, wait-states, bank-conflicts, resources",
    )
    which.add_argument(
        "--no-check", action="store_true", help="run only: an access outside of memory ends the kernel"
    )
    command.add_argument(
        "--kernel",
        metavar="NAME",
        action="append",
        default=[],
        help="check, or save, launches of this kernel only",
    )
    command.add_argument(
        "--launch",
        metavar="N",
        action="append",
        default=[],
        type=_positive,
        help="check, or save, the N-th launch only",
    )
    command.add_argument(
        "--budget",
        metavar="SECONDS",
        type=_seconds,
        help="end a launch that takes longer (default: by the instructions that it issues)",
    )
    command.add_argument(
        "--baseline",
        metavar="FILE",
        help="let the findings pass that this file lists; fails for those that are gone",
    )
    command.add_argument("--write-baseline", metavar="FILE", help="list all findings in this file")
    command.add_argument(
        "--save",
        metavar="RUN.cap",
        help="record a workgroup of the first launch (of those asked for), for layoutprobe inspect RUN.cap",
    )
    command.add_argument(
        "--workgroup", metavar="X,Y,Z", type=group, help="which workgroup --save records (default: 0,0,0)"
    )
    add_engine_option(command)
    add_reports(command, SUBJECT)
    command.add_argument(
        "program", nargs=argparse.REMAINDER, metavar="PROGRAM ...", help="the program and its arguments"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the program; it has our standard streams.

    Returns:
        1 where a check has found something, whatever the program says; else the program's own exit code,
        128 + N after signal N; 2 where it ended well although a kernel failed, a launch was refused, memory was
        freed twice, a check could not decide, or none ran.

    Raises:
        ProbeError: there is no such program, or the device cannot be made.
    """
    from layoutprobe.arch import DEFAULT
    from layoutprobe.extras.hiphost.pretence import ENVIRONMENT, Pretence
    from layoutprobe.extras.hiphost.server import Server

    words = arguments.program[1:] if arguments.program[:1] == ["--"] else arguments.program
    program = found_program(words, "layoutprobe run -- PROGRAM [ARGUMENT ...]")
    pretence = Pretence.parse(os.environ.get(ENVIRONMENT, ""))
    check_reports(arguments.report)
    if arguments.no_check:
        refuse_idle(
            "together with --no-check",
            {
                "--report": arguments.report,
                **({} if arguments.save else {"--kernel": arguments.kernel, "--launch": arguments.launch}),
                "--baseline": arguments.baseline,
                "--write-baseline": arguments.write_baseline,
            },
        )
    if arguments.write_baseline:
        check_writable(arguments.write_baseline, "the baseline")
    checks, recorder = _checks(arguments), _recorder(arguments)
    target = arguments.arch or DEFAULT

    def runner() -> Callable[[Dispatch], None]:
        return recorder.around(checks.runner()) if recorder else checks.runner()

    with Server(target, say=said, pretence=pretence, runner=runner, conduct=checks.conduct) as server:
        warn_of_missing(program)
        code = run_program([program, *words[1:]], server)
        server.settle(_PATIENCE)
        found = 0 if arguments.no_check else _report(checks, program, arguments)
        judged = _judged(code, server)
        kept = _kept(recorder, arguments.save)
        return found if found == 1 else judged or found or kept


def _positive(text: str) -> int:
    if not text.isdigit() or not 0 < int(text) < 1 << 31:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is no number from 1 on")
    return int(text)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e9:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is no number of seconds")
    return value


def _checks(arguments: argparse.Namespace) -> LaunchChecks:
    from msgspec.structs import replace

    from layoutprobe.extras.hiphost.checking import Asked, LaunchChecks, asked_for
    from layoutprobe.manifest.acceptances import read_baseline

    if arguments.no_check:
        return LaunchChecks(Asked((), seconds=arguments.budget))
    asked = asked_for([name for names in arguments.check for name in names.split(",")])
    return LaunchChecks(
        replace(
            asked,
            choice=_choice(arguments),
            seconds=arguments.budget,
            accepted=read_baseline(Path(arguments.baseline)) if arguments.baseline else {},
        )
    )


def _choice(arguments: argparse.Namespace) -> Choice:
    from layoutprobe.extras.hiphost.choice import Choice

    return Choice(frozenset(arguments.kernel), frozenset(arguments.launch))


def _recorder(arguments: argparse.Namespace) -> LaunchRecorder | None:
    from layoutprobe.extras.hiphost.recording import LaunchRecorder

    if arguments.save is None:
        refuse_idle("without --save", {"--workgroup": arguments.workgroup}, "add --save RUN.cap")
        return None
    check_writable(Path(arguments.save), "the recording")
    return LaunchRecorder(_choice(arguments), arguments.workgroup or (0, 0, 0))


def _kept(recorder: LaunchRecorder | None, file: str | None) -> int:
    """Keep what was recorded; 2 where there was nothing."""
    from layoutprobe.recording.file import write_recording

    if recorder is None or file is None:
        return 0
    made = recorder.recording
    if made is None:
        say(f"layoutprobe: {recorder.missed}: nothing was recorded")
        return 2
    write_recording(Path(file), made)
    (wave, *_), cut = made.waves, f"; {made.cut}" if made.cut else ""
    say(
        f"layoutprobe: {file}: {made.kernel}, launch {made.size['launch']}, workgroup {wave.group}, "
        f"{made.steps.inst.size} instructions{cut}; next: layoutprobe inspect {file} --timeline"
    )
    return 0


def _report(checks: LaunchChecks, program: str, arguments: argparse.Namespace) -> int:
    """Write what the checks found; to stderr only where it is not all well or figures are asked for, as the program
    speaks there too.

    Returns:
        0, 1 a finding, 2 something undecided.
    """
    report = checks.report(program)
    for name in arguments.report:
        save(format_of(SUBJECT, name), report, name)
    if report.verdicts and (report.exit_code or checks.figures):
        with suppress(OSError, ValueError):
            find(SUBJECT, "table" if checks.figures else "quiet").write(report, sys.stderr)
    if checks.left_undecided:
        said(checks.left_undecided)
    code = report.exit_code if report.verdicts else 0
    if arguments.write_baseline:
        code = write_baseline(arguments.write_baseline, report, checks.asked.accepted)
    return code or (2 if checks.left_undecided else 0)


def _judged(code: int, server: Server) -> int:
    """Say what it was that ran, and the exit code."""
    if code == _NOT_STARTED:
        say(
            "layoutprobe: exit code 127: a program, or a function that it needs, was not found; see what was written"
        )
    elif not server.sessions:
        say("layoutprobe: the program never came to the emulated device: it made no HIP call, or it found")
        say("             another libamdhip64 (linked statically, or through DT_RPATH)")
    if not server.sessions:
        return code or 2
    say(f"layoutprobe: {_summary(server)}; emulated, not measured")
    if (first := server.first_fault) is not None:
        say(f"layoutprobe: the first cause of what failed: {first.what}{_site(first)}")
    return 2 if code == 0 and _went_wrong(server) else code


def _site(error: ProbeError) -> str:
    place = getattr(error, "place", None)
    return f", in kernel {place.kernel} at {place.site}" if place is not None else ""


def _went_wrong(server: Server) -> bool:
    """Whether something failed that the program's exit code may not tell."""
    return bool(server.faults or server.refused or server.freed_twice or not server.launches)


def _summary(server: Server) -> str:
    """ "3 kernel launches on layoutprobe emulator 0.1.0 as TARGET, 1 failed, 2 refused"."""
    refused = f", {server.refused} refused (launches, code or functions)" if server.refused else ""
    refused += f", {server.freed_twice} freed twice" if server.freed_twice else ""
    if not server.launches:
        return f"no kernel ran on {server.name}{refused}: nothing was shown"
    launches = f"{server.launches} kernel launch{'es' if server.launches != 1 else ''}"
    return f"{launches} on {server.name}, {server.faults or 'none'} failed{refused}"


COMMAND = Command("run", "run a HIP program, with its kernels on the emulator", run, _add_options, EXAMPLES)
