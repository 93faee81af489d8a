"""A race that no barrier ends: the next tile is stored to the buffer that is being read."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from layoutprobe.observe.clashes import Clash, Touch
from layoutprobe.report.finding import Finding, Related, Rule
from layoutprobe.trace.places import in_caller, site, where
from layoutprobe.trace.subject import Subject

IN_USE = Rule(
    "races/buffer-in-use",
    "the next tile is stored to the buffer of LDS that is being read, while the other buffer lies idle",
    "Buffers take turns: while one is read, the next tile goes to the other. Here both are the same one, and what is "
    "still to be read is lost: a barrier between would not bring it back.",
    "which number of a buffer do the stores of this pass take, and which the loads?",
)


OTHER_IDLE = ", and the other one lies idle: the number of the buffer is wrong"
"""What is said of it, unless a barrier ends the race: then the number may be right."""


def in_use(
    subject: Subject, store: Touch, load: Touch, clashes: Sequence[Clash], names: Sequence[str]
) -> Finding:
    """A store with the wrong number of a buffer, at the call that gives the number where its function has several."""
    place = replace(where(subject, store.inst, store.who), lds_byte=clashes[0].byte)
    return Finding(
        IN_USE,
        f"wave {store.who.wave} fills the buffer that another wave reads (wave {load.who.wave}){OTHER_IDLE}",
        in_caller(subject, place),
        expected="a store to the buffer that nobody reads in this pass",
        observed=f"{site(subject, store.inst)} overwrites what another wave reads by {site(subject, load.inst)}: "
        f"{', '.join(names)}",
        hint=IN_USE.mend,
        count=sum(c.count for c in clashes),
        related=(
            Related("stored by", place),
            Related("loaded by", where(subject, load.inst, load.who)),
        ),
        pairs=frozenset((clash.first.inst.pc, clash.second.inst.pc) for clash in clashes),
    )
