"""The one shape of every command."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from msgspec import Struct

from layoutprobe.cli.arguments import Parser

Parse = Callable[[list[str]], argparse.Namespace]
"""Reads a whole command line, its command included."""


class Command(Struct, frozen=True):
    """One command; its module keeps it as COMMAND, and main.py lists it.

    Attributes:
        name: what is typed.
        summary: what it does, in one line without a full stop.
        run: arguments in, report out; the exit code.
        add_options: adds its options to its parser; None where it has none.
        examples: command lines, each with a few words beside it.
    """

    name: str
    summary: str
    run: Callable[[argparse.Namespace], int]
    add_options: Callable[[Parser], None] | None = None
    examples: str = ""

    def add_to(self, commands: argparse._SubParsersAction[Parser], parse: Parse) -> None:
        """Make the command known.

        Args:
            commands: of the program's parser.
            parse: reads a command line, for a command that is given another one.
        """
        parser = commands.add_parser(
            self.name, help=self.summary, description=f"{self.summary}.", epilog=self.examples
        )
        parser.set_defaults(run=self.run, command=self.name, parser=parser, parse=parse)
        if self.add_options is not None:
            self.add_options(parser)
