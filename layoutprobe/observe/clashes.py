"""What is said of accesses of several waves, in LDS and in global memory: plain records."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from layoutprobe.isa.inst import Inst
from layoutprobe.observe.barriers import ApartBarriers, SkippedBarrier
from layoutprobe.observe.doubts import Cells, Issued
from layoutprobe.observe.who import Who

ClashKind = Literal["RAW", "WAR", "WAW"]


class Touch(Struct, frozen=True):
    """One access of one lane.

    Attributes:
        inst: the instruction.
        who: workgroup, wave and lane.
    """

    inst: Inst
    who: Who


class Clash(Struct, eq=False):
    """Two accesses of one granule, in the order in which the emulator executed them.

    Attributes:
        kind: what the second did after the first: read after write (RAW), write after read (WAR),
            write after write (WAW).
        first, second: the first pair of lanes that showed it.
        byte: LDS byte of the workgroup.
        late: the first access happened before a barrier, but had not been waited for.
        between: one of the accesses lies between its wave's signal and wait (RDNA4).
        count: how many times lanes did this.
        read: of WAW: somebody read the byte afterwards.
        meant: the two in the order in which they should come: the load was earlier, and got what nobody had stored.
        together: both lanes stored by one execution of the instruction, or by executions of several waves that
            nothing orders.
    """

    kind: ClashKind
    first: Touch
    second: Touch
    byte: int
    late: bool
    count: int
    between: bool = False
    read: bool = False
    meant: bool = False
    together: bool = False


class LdsRecord(Struct, frozen=True):
    """What happened in LDS.

    Attributes:
        races: between different waves; one per pair of instructions, kind and lateness.
        collisions: two lanes of one wave, or one store instruction in two waves, stored different
            values to one byte.
        harmless: stores of different waves to one byte of values that are equal, and pairs of stores
            to one byte that nobody reads afterwards.
        apart: see ApartBarriers; those that are divergent.
        barriers: how many times a workgroup passed a barrier.
        stores, loads: sites of LDS stores (atomics included) and loads that were executed.
        early: accesses of one wave, of which one is a load from memory that goes directly to LDS, and the
            first was not waited for.
        complete: False where the kernel was too large to follow to its end, or accesses were less
            aligned than their width, so that granules cannot tell them apart.
        skipped: see SkippedBarrier.
        raced: what is stored while no barrier orders it against another wave's load: see `doubts.Stored`.
        overtaken: loads that were outstanding at a barrier, and whose bytes another wave stores to after it.
    """

    races: tuple[Clash, ...]
    collisions: tuple[Clash, ...]
    harmless: int
    apart: tuple[ApartBarriers, ...]
    barriers: int
    stores: int
    loads: int
    early: tuple[Clash, ...]
    complete: bool
    skipped: tuple[SkippedBarrier, ...] = ()
    raced: Cells = ()
    overtaken: tuple[Issued, ...] = ()


HandoverKind = Literal["load", "overwrites a load", "overwrites a store", "mix", "lanes"]
WITH_LOAD: tuple[HandoverKind, ...] = ("load", "overwrites a load")
"""One of the two loads."""
Ordering = Literal["ordered", "unordered", "too early", "stale", "unused"]


class Handover(Struct, frozen=True):
    """Two waves that meet in global memory, in the order in which the emulator executed them.

    Attributes:
        kind: "load": the second loads what the first stored; "overwrites a load", "overwrites a store":
            the second is a plain store; "mix": one stores, and the other's is an atomic; "lanes": lanes of one
            wave store different values by one execution of one instruction.
        first, second: the instructions.
        giver, taker: the waves that executed them.
        order: "ordered"; "unordered"; "too early": the second wave got a signal of the first, which the first
            had given before its access was done; "stale": ordered, but nothing makes the second wave's caches
            forget what they hold; "unused": nothing orders them, and what the load gets is never used.
        count: how many granules of lanes did this.
        buffer: the allocation.
    """

    kind: HandoverKind
    first: Inst
    second: Inst
    giver: Who
    taker: Who
    order: Ordering
    count: int
    buffer: str

    @property
    def matters(self) -> bool:
        """What comes of them is open."""
        return self.order not in ("ordered", "unused")

    @property
    def within(self) -> bool:
        """Both waves are of one workgroup."""
        return self.giver.workgroup == self.taker.workgroup


class Handovers(Struct, frozen=True):
    """What waves handed each other: one for each pair of instructions, kind, and order.

    Attributes:
        found: in the order in which they happened.
        harmless: stores of values that another wave had stored already.
        complete: False where the waves signal each other more than is followed.
        raced: what is stored while nothing orders it against another wave's load: see `doubts.Stored`.
    """

    found: tuple[Handover, ...]
    harmless: int
    complete: bool
    raced: Cells = ()

    @property
    def unordered(self) -> tuple[Handover, ...]:
        """Those of several waves that nothing orders."""
        return tuple(met for met in self.found if met.matters and met.kind != "lanes")
