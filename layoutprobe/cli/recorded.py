"""`layoutprobe inspect` of recordings: a run is kept in a file, and looked into without source or compiler."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from layoutprobe.cli.arguments import refuse_idle
from layoutprobe.cli.asking import QUESTIONS, answer, asked, moment_of, refuse, subject
from layoutprobe.cli.check import manifest_path
from layoutprobe.cli.terminal import chosen, emit, say
from layoutprobe.files import check_writable
from layoutprobe.manifest.files import SUFFIX_OF_RECORDINGS

if TYPE_CHECKING:
    from layoutprobe.inspector.inspect import Inspection
    from layoutprobe.recording.model import Group, Recording
    from layoutprobe.recording.questions import Asked
    from layoutprobe.report.answer import Answer

_MIB = 1 << 20


def meant(arguments: argparse.Namespace) -> bool:
    """Whether a recording is looked into, by its suffix."""
    return Path(arguments.manifest).suffix.lower() == SUFFIX_OF_RECORDINGS


def run(arguments: argparse.Namespace) -> int:
    """Answer a question about a recording, or show an operand; without either, tell which moments it has.

    Returns:
        0; of an operand beside what it needs, 1 where it is wrong. A recording is no other verdict.

    Raises:
        ProbeError: it is no whole recording, or has no such moment.
    """
    question = asked(arguments)
    if question == "diff":
        return diff(arguments)
    refuse_building(arguments)
    moments = ("at", "iteration", "wave")
    if question:
        refuse(arguments, question)
    elif arguments.matrix is None:
        idle = {f"--{name}": getattr(arguments, name) for name in moments} | {"--lane": arguments.lanes}
        which = ", ".join(f"--{name}" for name in QUESTIONS)
        refuse_idle("without a question", idle, f"ask one: {which}, or what an operand holds: --matrix")
        if chosen(arguments, subject(question)).name == "html":
            return _page(arguments)

    from layoutprobe.recording import questions
    from layoutprobe.recording.file import read_recording
    from layoutprobe.render.progress import waiting

    with waiting("inspect: reading the recording", sys.stderr):
        moment = questions.asked(
            read_recording(Path(arguments.manifest)), arguments.at, wave=arguments.wave or 0,
            iteration=arguments.iteration or 0, group=arguments.workgroup,
        )  # fmt: skip
    if not question and arguments.matrix is not None:
        return _operand(arguments, moment)
    format = chosen(arguments, subject(question))
    with waiting("inspect: reading the recording", sys.stderr):
        found = answer(arguments, question, moment) if question else moment.events()
    if not question:
        say(_operands_of(moment.recording))
    emit(format, found, arguments.output, outcome=lambda: found.summary)
    return 0


def _operands_of(recording: Recording) -> str:
    """What a recording knows of its operands, in a line."""
    from layoutprobe.inspector.kept import sites_of

    if recording.moments is None:
        return f"what operands need is not in it: {recording.unjudged}"
    sites = sites_of(recording)
    wrong = [site for site in sites if site.wrong]
    told = f"{len(wrong)} of {len(sites)} matrix instructions have wrong operands"
    return told + (
        f": --at matrix:{wrong[0].number} --matrix {wrong[0].wrong[0][0]} shows them" if wrong else ""
    )


def _operand(arguments: argparse.Namespace, moment: Asked) -> int:
    """An operand beside what it needs, where the recording has that; else what it holds, and why that is all."""
    if moment.recording.moments is None:
        held = moment.operand(arguments.matrix, arguments.lanes)
        say(f"shown, and not judged: {moment.recording.unjudged}")
        emit(chosen(arguments, "answer"), held, arguments.output, outcome=lambda: held.summary)
        return 0

    from layoutprobe.inspector.kept import kept_operand
    from layoutprobe.render.layout import words
    from layoutprobe.render.layout.view import select

    report = kept_operand(moment, arguments.matrix)
    view = select(report, wave=arguments.wave, lanes=arguments.lanes, vgprs=None)
    outcome = str(words.verdict(report))
    emit(chosen(arguments, "fragments"), view, arguments.output, outcome=lambda: outcome)
    return report.exit_code


def _page(arguments: argparse.Namespace) -> int:
    """Who did what when, and LDS, on a page."""
    from layoutprobe.inspector.timeline import page_of
    from layoutprobe.recording.file import read_recording
    from layoutprobe.render.formats import find
    from layoutprobe.render.progress import waiting
    from layoutprobe.render.sites import verdict

    refuse_idle("on a page of a recording", {"--workgroup": arguments.workgroup})
    with waiting("inspect: reading the recording", sys.stderr):
        view = page_of(read_recording(Path(arguments.manifest)))
    emit(find("sites", "html"), view, arguments.output, outcome=lambda: str(verdict(view.sites)))
    return view.exit_code if view.sites.judged else 0


def refuse_building(arguments: argparse.Namespace) -> None:
    """Refuse what says how to build or run, where a recording is looked into.

    Raises:
        UsageError: something was given.
    """
    built = ("kernel", "size", "arch", "engine", "save", "view", "vgprs")
    names = {"vgprs": "--vgpr"}
    given = {names.get(name, f"--{name}"): getattr(arguments, name) for name in built}
    refuse_idle("on a recording: nothing is built or run", given)


def diff(arguments: argparse.Namespace) -> int:
    """Compare two runs, moment by moment.

    Returns:
        0 nothing differs, 1 something does, 2 they do not go on as long.

    Raises:
        ProbeError: one of them does not run, or is no recording.
    """
    refuse(arguments, "diff")
    if meant(arguments):
        refuse_building(arguments)
    elif arguments.save is not None:
        refuse_idle("with --diff", {"--save": arguments.save})
    format = chosen(arguments, "answer")

    from layoutprobe.cli.others import other
    from layoutprobe.recording.difference import differ, differences
    from layoutprobe.render.progress import waiting

    with waiting("inspect: recording both kernels", sys.stderr):
        group = arguments.workgroup or (0, 0, 0)
        one = recording_of(arguments, group)
        size = one.size if meant(arguments) else arguments.size
        theirs = other(arguments, one.kernel, size, group)
        found = differences(
            one, theirs, arguments.at, wave=arguments.wave, iteration=arguments.iteration,
            workgroup=arguments.workgroup,
        )  # fmt: skip
    emit(format, found, arguments.output, outcome=lambda: found.summary)
    return differ(found)


def recording_of(arguments: argparse.Namespace, group: Group) -> Recording:
    """What the command's first argument names, recorded.

    Raises:
        ProbeError: it does not run, or is no recording.
    """
    from layoutprobe.recording.file import read_recording

    if meant(arguments):
        return read_recording(Path(arguments.manifest))
    return opened(arguments).recording(group)


def opened(arguments: argparse.Namespace) -> Inspection:
    """The kernel that the command's first arguments name; tells what of its launch was guessed.

    Raises:
        ProbeError: there is none, or it does not compile.
    """
    from layoutprobe.drafting.draft import is_source
    from layoutprobe.inspector.inspect import inspect

    path = Path(arguments.manifest)
    path = path if is_source(path) else manifest_path(arguments.manifest)
    kernel = inspect(path, arguments.kernel, size=arguments.size, arch=arguments.arch)
    if kernel.guesses:
        say(f"guessed, as there is no manifest: {'; '.join(kernel.guesses)}")
        say(f"next: layoutprobe init {path} writes a manifest with these lines, to be set right")
    return kernel


def held(arguments: argparse.Namespace, kernel: Inspection) -> Answer:
    """What operands hold in a kernel whose contract does not say what belongs into them: all of them, or one.

    Raises:
        UsageError: there is no such instruction or operand.
    """
    refuse_idle(
        "where no product says what an operand needs", {"--view": arguments.view, "--vgpr": arguments.vgprs}
    )
    moment = moment_of(arguments, kernel)
    if arguments.matrix is not None or arguments.at is not None:
        return moment.operand(arguments.matrix or "A", arguments.lanes)
    return moment.products() if moment.inst.kind == "matrix" else moment.events()


def save(arguments: argparse.Namespace) -> int:
    """Record a workgroup of a kernel, and keep it.

    Returns:
        0 kept to its end, 2 it ends early.

    Raises:
        ProbeError: whatever stops it; then nothing is written.
    """
    from layoutprobe.recording.file import write_recording
    from layoutprobe.render.progress import waiting

    path = Path(arguments.save)
    moments = ("matrix", "at", "iteration", "wave", "view", "format", "output", *QUESTIONS)
    idle = {f"--{name}": getattr(arguments, name) for name in moments}
    refuse_idle(
        "beside --save, which keeps all of a workgroup's run",
        idle | {"--lane": arguments.lanes, "--vgpr": arguments.vgprs},
        f"ask afterwards: layoutprobe inspect {path.name} ...",
    )
    check_writable(path, "the recording")
    with waiting("inspect: recording the kernel", sys.stderr):
        made = opened(arguments).kept(arguments.workgroup or (0, 0, 0))
        digest = write_recording(path, made)
    lines = sum(map(len, made.sources.values()))
    size = path.stat().st_size / _MIB if path.is_file() else 0
    say(
        f"{path}: {made.steps.inst.size} instructions of {len(made.waves)} waves, {lines} lines of source, "
        f"{size:.1f} MiB, digest {digest[:12]}" + (f"; {made.cut}" if made.cut else "")
    )
    say(
        f"what operands need is not in it: {made.unjudged}"
        if made.unjudged
        else "it has what operands need, too"
    )
    return 2 if made.cut else 0
