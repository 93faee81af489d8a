"""Something that is wrong, as data: which rule was broken, where, and what was seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct, field

from layoutprobe.place import Place, Size


class Rule(Struct, frozen=True):
    """One way of being wrong.

    Attributes:
        id: "check/short-name". Stable: reports, suppressions and code scanning refer to it.
        title: what is wrong, in one line.
        why: what follows from it, and why it is wrong.
        mend: how it is usually mended.
    """

    id: str
    title: str
    why: str
    mend: str

    @property
    def check(self) -> str:
        """The check that it belongs to."""
        return self.id.partition("/")[0]

    @property
    def explanation(self) -> str:
        """A paragraph for somebody who meets it for the first time."""
        return f"{self.why}\n\nTo mend it: {self.mend}"


Role = Literal[
    "loaded by",
    "stored by",
    "computed by",
    "used by",
    "written by",
    "read by",
    "let go by",
    "neighbour stored by",
    "mended at",
]
"""What another place has to do with a finding."""


class Related(Struct, frozen=True):
    """Another place that a finding is about.

    Attributes:
        role: what happened there to the value, or to the bytes.
        place: where.
    """

    role: Role
    place: Place

    def __str__(self) -> str:
        """ "stored by ds_store_b128 at gemm.hip:73 (wave 4, lane 2)"."""
        known = self.place.named()
        shown: tuple[str, ...] = ("wave", "lane", "VGPR")
        if self.role in ("loaded by", "computed by") and self.place.register is None:
            shown = ("LDS byte",)  # in the lane that the finding names, or in that of the store before it
        details = ", ".join(f"{name} {known[name]}" for name in shown if name in known)
        return f"{self.role} {self.place.site}" + (f" ({details})" if details else "")


class Finding(Struct, frozen=True):
    """Something that is wrong, in words for the kernel's author.

    Attributes:
        rule: which rule was broken.
        what: one sentence: the diagnosis.
        place: where it shows first.
        expected, observed: the element or value in words.
        hint: the next step.
        count: how many slots show it (one root cause is one finding).
        related: where the wrong value came from: the load that wrote the register, the store that
            wrote the LDS byte; or the other side of a race. Empty where unknown.
        blocks: of an operand that comes through transposing loads, block by block, at which of its views (raw,
            received, packed) it parts from what is needed; "" where that is not known.
        sizes: all problem sizes that show it, the first of which `place` and the rest are about.
        follows: another finding of the kernel, without which this one would not be; None for a cause.
        explained: sentences each of which explains all wrong values at one size, with the finding that it makes; the
            last one, "", is that of a size that none of them explains.
        pairs: of a race, program counters of the accesses that meet; they tell the same one at another size.
        mended: with a change of the source that it names every check of the kernel holds.
    """

    rule: Rule
    what: str
    place: Place = field(default_factory=Place)
    expected: str = ""
    observed: str = ""
    hint: str = ""
    count: int = 1
    related: Sequence[Related] = ()
    blocks: str = ""
    sizes: tuple[Size, ...] = ()
    follows: Finding | None = None
    pairs: frozenset[tuple[int, int]] = frozenset()
    explained: tuple[tuple[str, Finding], ...] = ()
    mended: bool = False

    @property
    def check(self) -> str:
        """Short name of the law that was broken."""
        return self.rule.check

    @property
    def name(self) -> str:
        """The rule's name within its check: "read-after-write"."""
        return self.rule.id.partition("/")[2]

    @property
    def sites(self) -> set[object]:
        """Program counters and source lines that it is about."""
        places = [self.place, *(other.place for other in self.related)]
        return {p.pc for p in places if p.pc is not None} | {p.line for p in places if p.line}

    @property
    def flow(self) -> Sequence[Related]:
        """The related places, where they are the way of one value through the finding's own place."""
        return self.related if any(step.place.pc == self.place.pc for step in self.related) else ()

    @property
    def related_text(self) -> str:
        """The related places in words; "" where there are none."""
        return ", ".join(map(str, self.related))
