"""`layoutprobe list`: names that options accept."""

from __future__ import annotations

import argparse

from layoutprobe.cli.arguments import Parser
from layoutprobe.cli.command import Command
from layoutprobe.cli.terminal import printing


def _add_options(command: Parser) -> None:
    command.add_argument("what", choices=["patterns", "schemes", "checks"], help="which names")


def run(arguments: argparse.Namespace) -> int:
    """Print the names."""
    from layoutprobe.render.listing import Item, write_list

    if arguments.what == "patterns":
        from layoutprobe.patterns import load_pattern, pattern_names

        found = [load_pattern(name) for name in pattern_names()]
        items = [Item(p.name, p.summary, note=p.expression) for p in found]
    elif arguments.what == "checks":
        from layoutprobe.checks.registry import CHECKS

        items = [Item(check.name, check.law) for check in CHECKS]
    else:
        from layoutprobe.layouts.swizzle import SCHEMES

        items = [Item(s.name, s.summary, note=f"16 columns: {s.formula((64, 16))}") for s in SCHEMES.values()]
    with printing() as stdout:
        write_list(items, stdout)
    return 0


COMMAND = Command("list", "names that options accept", run, _add_options)
