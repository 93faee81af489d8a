"""What a user's own kernel was seen to do, as plain data; one operand of it is a `LayoutReport`."""

from __future__ import annotations

from dataclasses import dataclass

from layoutprobe.capture.capture import Evidence
from layoutprobe.place import Place


@dataclass(frozen=True)
class Site:
    """A matrix instruction of a kernel.

    Attributes:
        number: counted in the order of the code, from 0.
        place: PC, instruction and line.
        times: how often a wave executes it: least and most, over the waves that were looked at.
        wrong: the contract's name of each operand that is wrong in any execution, and how.
        lost: why its operands cannot be followed; "" where they can.
    """

    number: int
    place: Place
    times: tuple[int, int]
    wrong: tuple[tuple[str, str], ...] = ()
    lost: str = ""


@dataclass(frozen=True)
class Sites:
    """The matrix instructions of a kernel.

    Attributes:
        kernel: its name in the manifest.
        target: processor that it was compiled for.
        size: the problem size, as the manifest names it.
        sites: in the order of the code.
        evidence: what it rests on.
    """

    kernel: str
    target: str
    size: str
    sites: tuple[Site, ...]
    evidence: tuple[Evidence, ...]

    @property
    def exit_code(self) -> int:
        """1 where an operand is wrong, else 2 where one could not be followed, else 0."""
        if any(site.wrong for site in self.sites):
            return 1
        return 2 if any(site.lost for site in self.sites) else 0
