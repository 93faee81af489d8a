"""Help that fits the terminal: lines are as wide as it is, and no word is ever broken."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterable

NARROW = 60
"""Columns below which the text of an option stands below its name."""
_COMMAND = re.compile(r"(?P<lead> *)(?P<line>layoutprobe .*?)(?: +# (?P<note>.*))?")
_CODE = re.compile(r"(?P<lead> *(?:\d  )?)(?P<text>.*)")
_WORDS = re.compile(r"(?:'[^']*'|\S)+")
_USAGE = re.compile(r"\[(?:[^][]|\[[^][]*\])*\]|\S+")
"""An option with its value stays in one piece: `[--element A[3][5]]`."""


def _columns() -> int:
    """Width of the terminal, as shutil tells it. argparse makes a formatter for every option, even without --help."""
    given = os.environ.get("COLUMNS", "")
    if given.isascii() and given.isdecimal() and int(given) > 0:
        return int(given)
    try:
        return os.get_terminal_size(sys.__stdout__.fileno() if sys.__stdout__ else 1).columns or 80
    except (OSError, ValueError):
        return 80


class Help(argparse.HelpFormatter):
    """Wraps usage, options, descriptions, examples and exit codes at words."""

    def __init__(self, prog: str) -> None:
        """The formatter of a parser; COLUMNS is the width, as everywhere."""
        columns = _columns()
        super().__init__(prog, max_help_position=24 if columns >= NARROW else 8, width=columns - 2)

    def _split_lines(self, text: str, width: int) -> list[str]:
        return _wrapped(text.split(), width)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        lines = [line for given in text.splitlines() for line in _fitted(given, width - len(indent))]
        return "\n".join(f"{indent}{line}".rstrip() for line in lines)

    def _format_usage(self, *arguments: object, **options: object) -> str:
        fits, self._width = self._width, 1 << 20
        try:
            line = super()._format_usage(*arguments, **options)  # type: ignore[arg-type]
        finally:
            self._width = fits
        first = f"usage: {self._prog} "
        hanging = len(first) if fits >= NARROW else 4
        words = _USAGE.findall(line.strip())
        return "\n".join(_wrapped(words, fits, " " * hanging)) + "\n\n"


def _fitted(line: str, width: int) -> list[str]:
    """A line, in as many as it needs: an example can still be pasted into a shell."""
    if len(line) <= width:
        return [line]
    if example := _COMMAND.fullmatch(line):
        lead = example["lead"]
        command = _wrapped(_WORDS.findall(example["line"]), width - 2, lead + "    ", lead)
        note = _wrapped(["#", *(example["note"] or "").split()], width, lead + "    # ", lead + "    ")
        return [*(f"{part} \\" for part in command[:-1]), command[-1], *(note if example["note"] else [])]
    code = _CODE.fullmatch(line)
    assert code is not None, "it matches every line"
    return _wrapped(code["text"].split(), width, " " * len(code["lead"]), code["lead"])


def _wrapped(words: Iterable[str], width: int, hanging: str = "", first: str = "") -> list[str]:
    """Words in lines of a width; a word that is longer has a line of its own."""
    lines: list[str] = []
    line, empty = first, True
    for word in words:
        if not empty and len(line) + 1 + len(word) > width:
            lines.append(line)
            line, empty = hanging, True
        line, empty = (line + word, False) if empty else (f"{line} {word}", False)
    return [*lines, line]
