"""Text that is safe to print. Imports nothing that takes time, so that an error message costs nothing.

Names in code objects, captures, patterns and manifests are not ours: an escape sequence in one may not
reach the terminal, a line end may not add a line to a report, and ten thousand characters may not bury it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable

LONGEST_ECHO = 400
"""Characters of somebody's text that a message repeats in one line."""


def missing(error: ModuleNotFoundError) -> str:
    """What to say where a package that we stand on is not installed."""
    return (
        f"the Python package {error.name!r} is missing in {sys.executable}\n"
        "  next:     install layoutprobe with its dependencies: pip install layoutprobe"
    )


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


_NAME = re.compile(r"[1-9][0-9]{0,2}")
_LITERAL = re.compile(r"L([a-z])(n?[0-9]{1,20})E")
_HIDDEN = "_GLOBAL__N_1"
"""What compilers call a namespace without a name."""


def function_name(symbol: str) -> str:
    """The name of a function as its author wrote it: "gemm<64, 48>" of "_Z4gemmILi64ELi48EEvPf".

    Namespaces stay, parameters go; template arguments that are no numbers are "...". A symbol of another form is
    returned as it is (Itanium C++ ABI, 5.1).
    """
    if not symbol.startswith("_Z"):
        return symbol
    at, nested = (3, True) if symbol.startswith("_ZN") else (2, False)
    at += symbol.startswith("L", at)
    names: list[str] = []
    while found := _NAME.match(symbol, at):
        start = found.end()
        at = start + int(found[0])
        names.append(symbol[start:at])
        if not nested:
            break
    if not names or at > len(symbol):
        return symbol
    given = ""
    if symbol.startswith("I", at):
        values, at = [], at + 1
        while literal := _LITERAL.match(symbol, at):
            number = literal[2].replace("n", "-")
            values.append({"0": "false", "1": "true"}.get(number, number) if literal[1] == "b" else number)
            at = literal.end()
        given = f"<{', '.join(values)}>" if values and symbol.startswith("E", at) else "<...>"
    return "::".join(name for name in names if name != _HIDDEN) + given


def beginning(data: bytes) -> str:
    """What a file begins with that is not what was asked for, in words: "an empty file"."""
    if not data:
        return "an empty file"
    head = data[:256]
    if all(32 <= byte < 127 or byte in b"\t\r\n" for byte in head):
        first_line = head.decode("ascii").strip().split("\n")[0]
        return f"text that starts with {first_line[:40]!r}"
    return f"bytes that start with {head[:4].hex(' ')}"
