"""Text that is safe to print. Imports nothing that takes time, so that an error message costs nothing.

Names in code objects, captures, patterns and manifests are not ours: an escape sequence in one may not
reach the terminal, a line end may not add a line to a report, and ten thousand characters may not bury it.
"""

from __future__ import annotations

from collections.abc import Iterable

LONGEST_ECHO = 400
"""Characters of somebody's text that a message repeats in one line."""


def printable(text: str, encoding: str | None = "utf-8", keep: str = "\n") -> str:
    """Text without control characters, and encodable.

    Args:
        text: anything.
        encoding: of the stream it goes to: a letter that it cannot carry may not end the program.
        keep: control characters that stay: in a message of ours line ends do.
    """
    shown = "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in text)
    name = encoding or "utf-8"
    return shown.encode(name, "backslashreplace").decode(name)


def one_line(text: object, encoding: str | None = "utf-8") -> str:
    """A name or a text that is not ours, as part of a line: line ends are escaped, too."""
    return printable(str(text), encoding, keep="")


def clipped(text: str) -> str:
    """Text whose lines are of bearable length: what is cut is said."""
    return "\n".join(
        line if len(line) <= LONGEST_ECHO else f"{line[:LONGEST_ECHO]}... ({len(line)} characters)"
        for line in text.split("\n")
    )


def either(says: Iterable[str]) -> str:
    """ "first (or: second; or: third)": causes that the data do not tell apart, each once."""
    first, *others = dict.fromkeys(says)
    return f"{first} ({'; '.join(f'or: {other}' for other in others)})" if others else first
