"""`layoutprobe init`: a manifest from what a code object says about its kernels."""

from __future__ import annotations

import argparse
import os
import shlex
from pathlib import Path

from layoutprobe.cli.arguments import Parser
from layoutprobe.cli.command import Command
from layoutprobe.cli.terminal import say
from layoutprobe.errors import UsageError
from layoutprobe.files import check_writable, writing

MANIFEST = "layoutprobe.toml"
EXAMPLES = """\
examples:
  layoutprobe init kernel.hip --include include
  layoutprobe init libkernels.hsaco --kernel gemm_f16 --output ci/layoutprobe.toml
"""


def _add_options(command: Parser) -> None:
    command.add_argument("file", metavar="FILE", help="HIP source, assembly (.s) or code object")
    command.add_argument("-o", "--output", metavar="FILE", default=MANIFEST, help=f"default {MANIFEST}")
    command.add_argument("--kernel", metavar="SYMBOL", action="append", default=[], help="this kernel only")
    command.add_argument("--include", metavar="DIR", action="append", default=[], help="where headers lie")
    command.add_argument("--arch", metavar="TARGET", help="target to compile a source for")
    command.add_argument("--force", action="store_true", help="replace a manifest that is there")


def run(arguments: argparse.Namespace) -> int:
    """Write the manifest.

    Raises:
        UsageError: the file is there already, or no such source or kernel.
    """
    from layoutprobe.gate.draft import draft

    output = Path(arguments.output)
    check_writable(output, "the manifest")
    if output.is_file() and not arguments.force:
        raise UsageError(f"{output} is there already", hint="--force replaces it; --output writes elsewhere")
    source = Path(arguments.file)
    text, kernels = draft(
        source,
        folder=output.parent,
        symbols=arguments.kernel,
        include=[Path(folder) for folder in arguments.include],
        target=arguments.arch,
    )
    with writing(output, what="the manifest") as stream:
        stream.write(text)
    count = f"{len(kernels)} kernel{'s' if len(kernels) != 1 else ''}"
    check = "layoutprobe check" + (
        f" {shlex.quote(os.fspath(output))}" if arguments.output != MANIFEST else ""
    )
    say(f"{os.fspath(output)}: {count}. Fill in what is marked FILL IN, then `{check}`.")
    return 0


COMMAND = Command(
    "init", "writes a manifest for a kernel, from its code object's metadata", run, _add_options, EXAMPLES
)
