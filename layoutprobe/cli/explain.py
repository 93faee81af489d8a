"""`layoutprobe explain`: what a check tests, how, and what it cannot see."""

from __future__ import annotations

import argparse

from layoutprobe.cli.arguments import Parser
from layoutprobe.cli.command import Command
from layoutprobe.cli.terminal import printing


def _add_options(command: Parser) -> None:
    command.add_argument("name", metavar="CHECK", help="name of a check; `layoutprobe list checks` has them")


def run(arguments: argparse.Namespace) -> int:
    """Print a check's law and what is behind it."""
    from layoutprobe.checks.registry import find_check
    from layoutprobe.render.listing import write_text

    check = find_check(arguments.name)
    with printing() as stdout:
        write_text(check.name, check.law, check.explain, stdout)
    return 0


COMMAND = Command("explain", "what a check tests, how, and what it cannot see", run, _add_options)
