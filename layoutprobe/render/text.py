"""Text that is safe to print. Imports nothing, so that an error message costs nothing."""

from __future__ import annotations


def printable(text: str, encoding: str | None = "utf-8") -> str:
    """Text without control characters, and encodable.

    Names from code objects, patterns and manifests are not ours: an escape sequence in one may
    not reach the terminal, and a letter that the stream cannot carry may not end the program.

    Args:
        text: anything; line ends are kept.
        encoding: of the stream it goes to.
    """
    shown = "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)
    name = encoding or "utf-8"
    return shown.encode(name, "backslashreplace").decode(name)
