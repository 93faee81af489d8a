"""`layoutprobe list`: names that options accept."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from layoutprobe.cli.arguments import Parser
from layoutprobe.cli.command import Command
from layoutprobe.cli.terminal import printing
from layoutprobe.errors import UsageError

if TYPE_CHECKING:
    from layoutprobe.render.listing import Item


def _add_options(command: Parser) -> None:
    command.add_argument("what", choices=["patterns", "schemes", "checks"], help="which names")


def run(arguments: argparse.Namespace) -> int:
    """Print the names; 2 where one of them stands for nothing that can be used."""
    from layoutprobe.render.listing import Item, write_list

    if arguments.what == "patterns":
        items = _patterns()
    elif arguments.what == "checks":
        from layoutprobe.checks.registry import CHECKS

        items = [Item(check.name, check.law) for check in CHECKS]
    else:
        from layoutprobe.layouts.swizzle import SCHEMES

        items = [Item(s.name, s.summary, note=f"16 columns: {s.formula((64, 16))}") for s in SCHEMES.values()]
    with printing() as stdout:
        write_list(items, stdout)
    return 2 if any(item.good is False for item in items) else 0


def _patterns() -> list[Item]:
    """All of them; one that cannot be read is named, and hides no other."""
    from layoutprobe.patterns import load_pattern, pattern_names
    from layoutprobe.render.listing import Item

    items = []
    for name in pattern_names():
        try:
            pattern = load_pattern(name)
            items.append(Item(name, pattern.summary, note=pattern.expression))
        except UsageError as error:
            told = " ".join(line.strip() for line in str(error).splitlines())
            items.append(Item(name, f"cannot be used: {told}", good=False))
    return items


COMMAND = Command("list", "names that options accept", run, _add_options)
