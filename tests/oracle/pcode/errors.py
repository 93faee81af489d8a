"""What the oracle raises when it cannot speak. An oracle never guesses and never stays silent."""

from __future__ import annotations


class PcodeUnsupported(Exception):  # noqa: N818 - the name that tests know it by
    """The interpreter has no meaning for an operation, or for a part of its text.

    Attributes:
        op: name of the operation as it was asked for.
        text: AMD's pseudocode of it, or "" where AMD gives none.
    """

    def __init__(self, op: str, why: str, text: str = "") -> None:
        super().__init__(f"{op}: {why}" + (f"\n{text}" if text else ""))
        self.op = op
        self.why = why
        self.text = text


class PcodeSyntax(Exception):  # noqa: N818
    """The text is not in the pseudocode language as this package understands it."""


class PcodeFault(Exception):  # noqa: N818
    """The text asked for something the caller did not give: an unset name, memory, a register."""
