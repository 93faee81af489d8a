"""`layoutprobe explain`: what a check tests, how, and what it cannot see; what a rule means."""

from __future__ import annotations

import argparse

from layoutprobe.cli.arguments import Parser
from layoutprobe.cli.command import Command
from layoutprobe.cli.terminal import printing


def _add_options(command: Parser) -> None:
    command.add_argument(
        "name",
        metavar="CHECK|RULE",
        help="a check (`layoutprobe list checks`), or one of its rules: CHECK/NAME",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print a check's law, what is behind it, and its rules; or one rule in full."""
    from layoutprobe.checks.registry import find_check, find_rule
    from layoutprobe.render.gate.sarif import KERNEL_HELP, KERNEL_LAW, KERNEL_RULE
    from layoutprobe.render.listing import Item, write_list, write_text

    if arguments.name == KERNEL_RULE:
        with printing() as stdout:
            write_text(KERNEL_RULE, KERNEL_LAW, KERNEL_HELP, stdout)
        return 0
    if "/" in arguments.name:
        rule = find_rule(arguments.name)
        with printing() as stdout:
            write_text(rule.id, rule.title, rule.explanation, stdout)
        return 0
    check = find_check(arguments.name)
    with printing() as stdout:
        write_text(check.name, check.law, check.explain, stdout)
        stdout.write("Its findings name one of these rules:\n")
        write_list([Item(rule.id, rule.title) for rule in check.rules], stdout)
    return 0


COMMAND = Command(
    "explain", "what a check tests and cannot see, or what a rule means and how to mend it", run, _add_options
)
