"""`layoutprobe capture`: runs a command, or all there is to run, and keeps what every probe saw."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from layoutprobe.cli.arguments import Parser, refuse_idle
from layoutprobe.cli.command import Command
from layoutprobe.cli.sources import add_source_options, source_from
from layoutprobe.cli.terminal import say
from layoutprobe.errors import UsageError
from layoutprobe.files import check_writable

EXAMPLES = """\
examples:
  layoutprobe capture -o card.cap --backend hip             # everything that there is to run
  layoutprobe capture -o xor.cap dump --matrix A --lds xor  # what one command runs
  layoutprobe dump --matrix A --lds xor --backend replay xor.cap
  layoutprobe diff emulator.cap card.cap
"""
RECORDABLE = ("dump", "roundtrip", "epilogue", "layout")
_OPTIONS = ("backend", "device", "arithmetic")


def _add_options(command: Parser) -> None:
    command.add_argument("-o", "--output", metavar="FILE", required=True, help="the capture file, FILE.cap")
    add_source_options(command)
    command.add_argument("--arch", metavar="TARGET", help="target (default: the one that is emulated)")
    command.add_argument(
        "words",
        metavar="COMMAND",
        nargs=argparse.REMAINDER,
        help="dump, roundtrip, epilogue or layout, with options",
    )


def run(arguments: argparse.Namespace) -> int:
    """Record; the exit code of the command that ran, 0 where everything was recorded.

    Raises:
        ProbeError: whatever stops a probe; then nothing is written.
    """
    from layoutprobe.backends.recorded import Recorder
    from layoutprobe.render.layout.words import plural

    check_writable(arguments.output, "the capture")
    recorder = Recorder()
    code = _command(arguments, recorder) if arguments.words else _everything(arguments, recorder)
    digest = recorder.write(Path(arguments.output))
    evidence = "; ".join(dict.fromkeys(str(one.evidence) for one in recorder.captures))
    say(f"{arguments.output}: {plural(len(recorder.runs), 'run')}, {evidence}, digest {digest[:12]}")
    return code


def _command(arguments: argparse.Namespace, recorder: object) -> int:
    if arguments.words[0] not in RECORDABLE:
        raise UsageError(f"{arguments.words[0]!r:.40} is nothing to record", expected=", ".join(RECORDABLE))
    parse: Callable[[list[str]], argparse.Namespace] = arguments.parse
    inner = parse(arguments.words)
    for name in (*_OPTIONS, "arch"):
        if getattr(inner, name) is None:
            setattr(inner, name, getattr(arguments, name))
        else:
            why = f"in front of {inner.command}, which has its own"
            refuse_idle(why, {f"--{name}": getattr(arguments, name)})
    inner.recorder = recorder
    command: Callable[[argparse.Namespace], int] = inner.run
    return command(inner)


def _everything(arguments: argparse.Namespace, recorder: object) -> int:
    """Every probe under every scheme, and every matrix instruction, of one target."""
    import layoutprobe
    from layoutprobe import instructions
    from layoutprobe.arch import DEFAULT, find
    from layoutprobe.layouts.swizzle import SCHEMES
    from layoutprobe.render.steps import steps

    arguments.recorder = recorder
    target = find(arguments.arch or DEFAULT)
    source = source_from(arguments, target.name)
    runs: list[tuple[str, Callable[[], object]]] = []
    asked: Callable[[], object]
    for dtype in target.probed_types:
        for lds in SCHEMES:
            how = (lds, None, dtype, target.name)
            runs.append((f"dump, {lds}", partial(layoutprobe.dump, "A", *how, backend=source)))
            for matrix in ("A", "B"):
                asked = partial(layoutprobe.roundtrip, *how, matrix=matrix, backend=source)
                runs.append((f"roundtrip of {matrix}, {lds}", asked))
    for variant in instructions.variants(target.name):
        asked = partial(
            instructions.solve, variant.form.spelling, target.name, variant.wave, variant.opsel, source
        )
        runs.append((variant.form.spelling, asked))
    codes = [0]
    with steps("capture", sys.stderr) as progress:
        for done, (what, answer) in enumerate(runs):
            if progress:
                progress(what, done, len(runs))
            codes.append(getattr(answer(), "exit_code", 0))
    return max(codes)


COMMAND = Command(
    "capture",
    "records what every probe saw, to be replayed anywhere, without a card or a compiler",
    run,
    _add_options,
    EXAMPLES,
)
