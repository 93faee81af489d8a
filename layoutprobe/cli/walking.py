"""`layoutprobe inspect --tui`: walks through a recorded run in the terminal."""

from __future__ import annotations

import argparse
import sys
from importlib.util import find_spec

from layoutprobe.cli import recorded
from layoutprobe.cli.arguments import refuse_idle
from layoutprobe.cli.asking import QUESTIONS
from layoutprobe.errors import UsageError

EXTRA = "textual"
HINT = "pip install 'layoutprobe[tui]'"


def run(arguments: argparse.Namespace) -> int:
    """Record a workgroup, or read a recording, and show it until the user ends.

    Returns:
        0; looking is no verdict.

    Raises:
        ProbeError: there is no terminal or no library for it, or the kernel does not run.
    """
    idle = {
        f"--{name}": getattr(arguments, name)
        for name in (*QUESTIONS, "matrix", "view", "save", "format", "output")
    }
    refuse_idle(
        "with --tui, which asks by keys", idle | {"--lane": arguments.lanes, "--vgpr": arguments.vgprs}
    )
    if recorded.meant(arguments):
        recorded.refuse_building(arguments)
    if find_spec(EXTRA) is None:
        raise UsageError("--tui needs textual, a library for terminal interfaces", hint=HINT)
    if not all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
        raise UsageError(
            "--tui needs a terminal", hint="--registers, --lds, --why and others print; --output makes a page"
        )

    from layoutprobe.recording import questions
    from layoutprobe.render.progress import waiting
    from layoutprobe.tui.app import walk

    with waiting("inspect: recording the kernel", sys.stderr):
        group = arguments.workgroup or (0, 0, 0)
        made = recorded.recording_of(arguments, group)
        moment = questions.asked(
            made,
            arguments.at,
            wave=arguments.wave or 0,
            iteration=arguments.iteration or 0,
            group=arguments.workgroup,
        )
    walk(moment)
    return 0
