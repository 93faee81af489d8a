"""Loads from global memory whose lanes exchange elements."""

from __future__ import annotations

from msgspec import Struct


class GlobalRead(Struct, frozen=True):
    """A load from global memory that transposes.

    Attributes:
        name: mnemonic.
        bytes: that a lane fetches.
        bits: of the elements that lanes exchange.
        together: neighbouring lanes that hand each other elements.
        naming: the first so many lanes of a wave name addresses; what they fetch is for all of its lanes.
    """

    name: str
    bytes: int
    bits: int
    together: int
    naming: int

    @property
    def align(self) -> int:
        """What an address must be a multiple of."""
        return self.bytes

    @property
    def even(self) -> bool:
        """The first register must be an even one."""
        return False


GLOBAL_READS = (
    GlobalRead("global_load_tr_b128", 16, 16, together=8, naming=32),
    GlobalRead("global_load_tr_b64", 8, 8, together=8, naming=32),
)
"""RDNA4. Eight lanes exchange a tile of 8 x 8: IREE (pull request 24467) and rocjitsu. Waves of 64: rocjitsu;
registers of a lane: LLVM 22, GLOBAL_LOAD_TR_B128_w64. That addresses are multiples of what a lane fetches is asked
as on CDNA4; no document of RDNA4 was at hand. Registers may begin anywhere (LLVM)."""
