"""Where the runs of a command come from: the options for it, and what they choose."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from layoutprobe.cli.arguments import add_engine_option, refuse_idle
from layoutprobe.errors import UsageError

if TYPE_CHECKING:
    from layoutprobe.backends.source import Source

REPLAY = "replay"
_JOINT = f"{REPLAY}="


def add_source_options(group: argparse._ActionsContainer) -> None:
    """--backend, and what goes with it."""
    group.add_argument(
        "--backend",
        metavar="NAME",
        help="emulator (default), hip, cuda, or `replay FILE`: runs that `layoutprobe capture` recorded",
    )
    group.add_argument("--device", metavar="N", type=int, help="which card, as its driver counts (default 0)")
    group.add_argument(
        "--arithmetic",
        choices=("ieee", "silicon"),
        help="how emulated matrix instructions round: ieee (default), or as was measured on a card",
    )
    add_engine_option(group)


def add_compiler_option(group: argparse._ActionsContainer) -> None:
    """--compiler."""
    group.add_argument(
        "--compiler", metavar="PATH", help="clang to use; `layoutprobe doctor` shows those found"
    )


def joined(argv: Sequence[str]) -> list[str]:
    """The arguments with the file of `--backend replay FILE` tied to the name."""
    words = list(argv)
    for at in range(len(words) - 2):
        if words[at] == "--backend" and words[at + 1] == REPLAY:
            words[at + 1 : at + 3] = [_JOINT + words[at + 2]]
            break
    return words


def backend_from(arguments: argparse.Namespace, arch: str) -> Source | str | None:
    """The same, where a plain name does."""
    if arguments.backend not in (None, "emulator"):
        refuse_idle(
            f"with --backend {arguments.backend}: nothing is emulated", {"--engine": arguments.engine}
        )
    names = ("device", "arithmetic", "recorder")
    if any(getattr(arguments, name, None) is not None for name in names) or _replays(arguments.backend):
        return source_from(arguments, arch)
    return arguments.backend if arguments.backend is None else str(arguments.backend)


def _replays(name: str | None) -> bool:
    return name is not None and (name == REPLAY or name.startswith(_JOINT))


def source_from(arguments: argparse.Namespace, arch: str) -> Source:
    """What answers the requests of a command; recorded, where `layoutprobe capture` asks for it.

    Raises:
        UsageError: no such backend, or options that it does not take.
    """
    from layoutprobe.backends.recorded import Recorder, Replay
    from layoutprobe.backends.source import chosen

    name, device, arithmetic = arguments.backend, arguments.device, arguments.arithmetic
    if name not in (None, "emulator"):
        refuse_idle(f"with --backend {name}: nothing is emulated", {"--engine": arguments.engine})
    if name == REPLAY:
        raise UsageError("replay needs a file", expected="--backend replay FILE")
    source: Source
    if name and name.startswith(_JOINT):
        run = {"--device": device, "--arithmetic": arithmetic}
        built = {"--compiler": getattr(arguments, "compiler", None)}
        refuse_idle("on a replay: nothing is built or run", {**run, **built})
        source = Replay.of(name.removeprefix(_JOINT))
    else:
        source = chosen(name, arch, device=device, arithmetic=arithmetic)
    recorder: Recorder | None = getattr(arguments, "recorder", None)
    if recorder is None:
        return source
    recorder.source = source
    return recorder
