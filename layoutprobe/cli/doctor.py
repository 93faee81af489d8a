"""`layoutprobe doctor`: which compilers and devices are found here."""

from __future__ import annotations

import argparse
import os
from importlib.util import find_spec

from layoutprobe import __version__
from layoutprobe.cli.command import Command
from layoutprobe.cli.terminal import printing
from layoutprobe.cli.walking import EXTRA, HINT
from layoutprobe.engine import choice
from layoutprobe.text import clipped, printable

_SLOWER = "kernels run with numpy alone, ten times slower"


def run(_: argparse.Namespace) -> int:
    """Print what was found; 2 without a compiler, since then no probe can run."""
    from layoutprobe.engine.native.library import examine as examine_native
    from layoutprobe.render.listing import Item, write_list
    from layoutprobe.toolchain.doctor import examine

    parts = examine()
    items = [
        Item(p.name, p.detail, p.found, "" if p.found else f"without it: {p.cost_if_missing}") for p in parts
    ]
    native, detail = examine_native()
    items.append(Item("native engine", detail, native, "" if native else f"without it: {_SLOWER}"))
    tui = find_spec(EXTRA) is not None
    detail = "textual, for inspect --tui" if tui else "no textual"
    items.append(
        Item("terminal interface", detail, tui, "" if tui else f"without it: no inspect --tui; {HINT}")
    )
    items.append(Item("engine", *_engine(native)))
    with printing() as stdout:
        write_list([Item("layoutprobe", __version__, True), *items], stdout)
    return 0 if all(p.found for p in parts if p.name == "compiler") else 2


def _engine(native: bool) -> tuple[str, bool]:
    """Which engine runs kernels where no option names one, and why; and whether there is such an engine."""
    from layoutprobe.engine.automatic import RULE

    named = os.environ.get(choice.ENVIRONMENT)
    name = named or choice.DEFAULT
    why = f", as {choice.ENVIRONMENT} says" if named else ""
    if name not in choice.CHOICES:
        return (
            f"{clipped(printable(name))}{why}: there is none; it is one of {', '.join(choice.CHOICES)}",
            False,
        )
    if not native and name != choice.NUMPY:
        return f"{name}{why}: numpy, as there is no native one", True
    return f"{name}{why}" + (f": {RULE}" if name == choice.AUTO else ""), True


COMMAND = Command("doctor", "what of compilers and devices is found here", run)
