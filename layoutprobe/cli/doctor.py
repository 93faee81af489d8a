"""`layoutprobe doctor`: which compilers and devices are found here."""

from __future__ import annotations

import argparse

from layoutprobe import __version__
from layoutprobe.cli.command import Command
from layoutprobe.cli.terminal import printing

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
    with printing() as stdout:
        write_list([Item("layoutprobe", __version__, True), *items], stdout)
    return 0 if all(p.found for p in parts if p.name == "compiler") else 2


COMMAND = Command("doctor", "what of compilers and devices is found here", run)
