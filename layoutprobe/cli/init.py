"""`layoutprobe init`: a manifest from what a code object says about its kernels, or from a program's launches."""

from __future__ import annotations

import argparse
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from layoutprobe.cli.arguments import Parser, refuse_idle
from layoutprobe.cli.command import Command
from layoutprobe.cli.programs import found_program, run_program, said, warn_of_missing
from layoutprobe.cli.terminal import say
from layoutprobe.errors import UsageError
from layoutprobe.files import check_writable, writing

if TYPE_CHECKING:
    from layoutprobe.drafting.references import References

MANIFEST = "layoutprobe.toml"
EXAMPLES = """\
examples:
  layoutprobe init kernel.hip --include include
  layoutprobe init libkernels.hsaco --kernel gemm_f16 --output ci/layoutprobe.toml
  layoutprobe init --from-run -- ./my_hip_test --size 64
"""
_RUN = "layoutprobe init --from-run [OPTION ...] -- PROGRAM [ARGUMENT ...]"


def _add_options(command: Parser) -> None:
    command.usage = f"layoutprobe init [OPTION ...] FILE\n       {_RUN}"
    command.add_argument(
        "words",
        nargs="*",
        metavar="FILE",
        help="HIP source, assembly (.s) or code object; or a program to run",
    )
    command.add_argument(
        "--from-run",
        action="store_true",
        help="run a HIP program on the emulator, and draft the manifest from the launches that it makes",
    )
    command.add_argument("-o", "--output", metavar="FILE", default=MANIFEST, help=f"default {MANIFEST}")
    command.add_argument("--kernel", metavar="SYMBOL", action="append", default=[], help="this kernel only")
    command.add_argument("--include", metavar="DIR", action="append", default=[], help="where headers lie")
    command.add_argument(
        "--arch", metavar="TARGET", help="target to compile a source for, or that the device is"
    )
    command.add_argument("--force", action="store_true", help="replace a manifest that is there")


def run(arguments: argparse.Namespace) -> int:
    """Write the manifest.

    Raises:
        UsageError: the file is there already, or no such source, kernel or program.
    """
    output = Path(arguments.output)
    from layoutprobe.arch import DEFAULT
    from layoutprobe.drafting.building import NOT_FOR
    from layoutprobe.drafting.references import References

    check_writable(output, "the manifest")
    if output.is_file() and not arguments.force:
        raise UsageError(f"{output} is there already", hint="--force replaces it; --output writes elsewhere")
    references = References(f"{output.stem}_references.py")
    functions = output.with_name(references.file)
    if functions.is_file() and not arguments.force:
        raise UsageError(
            f"{functions} is there already", hint="--force replaces it; --output writes elsewhere"
        )
    count, text = (_from_run if arguments.from_run else _from_file)(arguments, output, references)
    if not count:
        return 2
    if references.text:
        with writing(functions, what="the references") as stream:
            stream.write(references.text)
    check = "layoutprobe check" + (
        f" {shlex.quote(os.fspath(output))}" if arguments.output != MANIFEST else ""
    )
    kernels = f"{count} kernel{'s' if count != 1 else ''}"
    todo = "Fill in what is marked FILL IN, then" if "FILL IN" in text.partition("[[kernel]]")[2] else "Now"
    if references.text:
        check += " --allow-reference"
        todo = f"Read {functions}, which says what it computes. {todo}"
    if NOT_FOR in text:
        say(
            f"The source {NOT_FOR} {DEFAULT}, and does for another target, which the manifest names (`arch`)."
        )
    say(f"{os.fspath(output)}: {kernels}. {todo} `{check}`.")
    return 0


def _from_file(arguments: argparse.Namespace, output: Path, references: References) -> tuple[int, str]:
    """Draft from a file; the number of kernels, and the text."""
    from layoutprobe.drafting.draft import draft

    if len(arguments.words) != 1:
        raise UsageError(
            "which file?", expected="layoutprobe init FILE", hint=f"of a program's launches: {_RUN}"
        )
    text, kernels = draft(
        Path(arguments.words[0]),
        folder=output.parent,
        symbols=arguments.kernel,
        include=[Path(folder) for folder in arguments.include],
        target=arguments.arch,
        references=references,
    )
    with writing(output, what="the manifest") as stream:
        stream.write(text)
    return len(kernels), text


def _from_run(arguments: argparse.Namespace, output: Path, references: References) -> tuple[int, str]:
    """Run a program, and draft from its launches; the number of kernels, 0 where the program failed, and the text."""
    from layoutprobe.arch import DEFAULT
    from layoutprobe.drafting.from_launches import draft_run
    from layoutprobe.extras.hiphost.noting import LaunchNotes
    from layoutprobe.extras.hiphost.server import Server

    refuse_idle("together with --from-run", {"--include": arguments.include})
    program = found_program(arguments.words, _RUN)
    notes = LaunchNotes()
    with Server(arguments.arch or DEFAULT, say=said, runner=notes.runner) as server:
        warn_of_missing(program)
        code = run_program([program, *arguments.words[1:]], server)
    if code or server.faults or server.refused:
        failed = f"exit code {code}, {server.faults} launches failed, {server.refused} refused"
        say(f"layoutprobe: the program did not end well ({failed}): nothing is drafted from it")
        return 0, ""
    text, kernels, codes = draft_run(notes.launches, output.parent, output.stem, arguments.kernel, references)
    for path, image in codes.items():
        with writing(path, binary=True, what="the code object") as stream:
            stream.write(image)
    with writing(output, what="the manifest") as stream:
        stream.write(text)
    if notes.left_out:
        say(f"layoutprobe: {notes.left_out} more launches are not in the draft: the first of each shape are")
    return kernels, text


COMMAND = Command(
    "init",
    "writes a manifest for a kernel, from its source or code object, or from a program's launches",
    run,
    _add_options,
    EXAMPLES,
)
