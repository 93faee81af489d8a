"""A change of the source with which everything holds, and how far it is believed."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from layoutprobe.checks import numerics
from layoutprobe.gate.source_edits import SourceEdit
from layoutprobe.manifest.model import KernelCase
from layoutprobe.observe.work import Work
from layoutprobe.report.finding import Finding
from layoutprobe.report.gate import Unlisted


class Held(Struct, frozen=True):
    """A change with which everything holds at the manifest's sizes.

    Attributes:
        edit: the change.
        unlisted: what goes wrong with it at others.
        longer: some wave has several times as much to do with it.
        in_loop: it is of the head of a loop.
        work: instructions that all waves execute with it, together.
        longest: those of the wave that executes most.
    """

    edit: SourceEdit
    unlisted: tuple[Unlisted, ...]
    longer: bool = False
    in_loop: bool = False
    work: int = 0
    longest: int = 0

    def may_lead(self, findings: Sequence[Finding]) -> bool:
        """Nothing goes wrong at other sizes, or nothing but what a right kernel may have: it bears no larger size.
        What mends values by chance goes wrong in values there, or as it did."""
        kinds = {numerics.NAME, *(found.check for found in findings)}
        return not any(one.rule.partition("/")[0] in kinds for one in self.unlisted)

    def is_doubtful(self, case: KernelCase) -> bool:
        """Whether it brings a number that is an extent at some size, and may hold for it alone; makes a wave do what
        others should; or has a loop go further, as more passes may do what is left out."""
        if self.longer or (self.in_loop and self.edit.rewrite.text.lstrip().startswith("+")):
            return True
        extents = {value for size in case.sizes for value in size.values() if value > _SMALL}
        return any(
            int(number) in extents
            for number in re.findall(r"(?<![\w.])\d{1,9}\b(?!\.)", self.edit.rewrite.text)
        )


_SMALL = 4
"""Up to which numbers are what they are in any kernel, as one more and half of it."""


def likeliest(found: Sequence[Held], case: KernelCase, usual: Work | None) -> list[Held]:
    """Those that are not doubted, if there are any: first what goes wrong nowhere, leaves no wave alone with the work
    of others, and has no more to do than the kernel as it is, or else than another change; and then the likeliest.
    What makes up for a mistake by doing more, as a tile that nothing is stored of, is not what was meant.

    Args:
        found: changes that hold.
        case: the kernel.
        usual: what it does as it is; None where it does not come to its end.
    """
    held = [one for one in found if not one.is_doubtful(case)] or list(found)
    least = max(min((one.work for one in held), default=0), usual.all if usual is not None else 0)
    shared = max(min((one.longest for one in held), default=0), usual.longest if usual is not None else 0)
    return sorted(
        held,
        key=lambda one: (
            len(one.unlisted),
            one.longest > _ALONE * shared,
            one.work > _MORE * least,
            one.edit.rank,
        ),
    )


_MORE, _ALONE = 1.1, 1.4
"""How many times the least work is more than that, of all waves and of the longest: compilers make a few instructions
more or less of the same."""
