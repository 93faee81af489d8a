"""How LDS serves the lanes of a wave: banks, and which lanes are looked at together.

An access of a wave is served in phases, one or more cycles each. In a phase every bank gives one
dword; lanes that ask for different dwords of one bank wait for each other, lanes that ask for the
same dword do not.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

Phases = tuple[tuple[int, ...], ...]
"""Lanes that are served together, phase by phase."""


class LdsModel(Struct, frozen=True):
    """The banks of a target, and its phase rules.

    Attributes:
        wave: lanes of the waves that the rules are for.
        banks: dword banks that a workgroup sees.
        sources: where each part comes from.
        loads, stores: phases by the bytes per lane of one access; empty where nobody has measured them.
        evidence: what the rules rest on, in words for reports.
        narrow: (it is a store, bytes per lane) -> banks, where an access sees fewer.
        rival: another reading of the target, which contradicts this one, and nobody has decided it.
    """

    wave: int
    banks: int
    sources: Mapping[str, str]
    loads: Mapping[int, Phases] = field(default_factory=dict)
    stores: Mapping[int, Phases] = field(default_factory=dict)
    evidence: str = ""
    narrow: Mapping[tuple[bool, int], int] = field(default_factory=dict)
    rival: LdsModel | None = None

    def phases(self, size: int, *, store: bool) -> Phases:
        """Lanes of an access that are served together."""
        return (self.stores if store else self.loads)[size]

    def banks_of(self, size: int, *, store: bool) -> int:
        """Banks that an access sees."""
        return self.narrow.get((store, size), self.banks)


def lanes(*spans: tuple[int, int]) -> tuple[int, ...]:
    """Lanes of one phase, from spans that include both ends."""
    return tuple(lane for first, last in spans for lane in range(first, last + 1))


def runs(wave: int, length: int) -> Phases:
    """Phases of so many consecutive lanes."""
    return tuple(lanes((first, first + length - 1)) for first in range(0, wave, length))


class LdsRead(Struct, frozen=True):
    """An instruction that reads LDS into the registers of a lane.

    Attributes:
        name: mnemonic.
        bytes: that a lane gets.
        bits: of the elements that lanes exchange; 0: a lane gets what its address names.
        builtin: the compiler's function for it; "" for an ordinary load.
        element: type of the elements of the vector that the function returns.
        align: what the address must be a multiple of.
    """

    name: str
    bytes: int
    bits: int = 0
    builtin: str = ""
    element: str = "int"
    align: int = 4

    @property
    def together(self) -> int:
        """Lanes that hand each other elements (CDNA4 ISA guide, "LDS transpose reads")."""
        return 16

    @property
    def naming(self) -> int:
        """Lanes of a wave that name addresses."""
        return 64

    @property
    def even(self) -> bool:
        """The first register of an exchange must be an even one: those of 96 bits may begin anywhere (LLVM)."""
        return self.words % 2 == 0

    @property
    def words(self) -> int:
        """Registers that a lane gets."""
        return self.bytes // 4

    @property
    def count(self) -> int:
        """Elements of the vector that the function returns."""
        return self.bytes // (2 if self.element == "short" else 4)


PLAIN_READS = (
    LdsRead("ds_read_b128", 16, align=16),
    LdsRead("ds_read_b64", 8, align=8),
    LdsRead("ds_read_b32", 4),
)
"""Reads without an exchange, as every target has them."""

TRANSPOSING_READS = (
    LdsRead("ds_read_b64_tr_b16", 8, 16, "__builtin_amdgcn_ds_read_tr16_b64_v4i16", "short", 8),
    LdsRead("ds_read_b64_tr_b8", 8, 8, "__builtin_amdgcn_ds_read_tr8_b64_v2i32", align=8),
    LdsRead("ds_read_b64_tr_b4", 8, 4, "__builtin_amdgcn_ds_read_tr4_b64_v2i32", align=8),
    LdsRead("ds_read_b96_tr_b6", 12, 6, "__builtin_amdgcn_ds_read_tr6_b96_v3i32", align=16),
)
"""Reads of CDNA4 whose lanes exchange elements: ISA guide, "LDS transpose reads"; alignment of b96: rocRoller's GPU
tests."""
