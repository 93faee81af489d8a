"""Law: waves of a workgroup that touch one LDS byte, one of them writing, have a barrier between.

Waves that meet in global memory (`observe.handover`) are held to the same law, across workgroups too:
there, counters and flags order them, with the waits and fences around them.

One missing barrier shows as a race between every store and every load around its place. Such pairs
are one finding.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from math import prod

from msgspec.structs import replace

from layoutprobe.checks.base import Check
from layoutprobe.checks.buffer_in_use import IN_USE, in_use
from layoutprobe.checks.faults import fault_rules
from layoutprobe.checks.handovers import (
    LOST,
    OVERWRITTEN,
    STALE,
    STORED_AND_ADDED,
    TOO_EARLY,
    UNORDERED,
    by_buffer,
    in_global,
    of_lanes,
)
from layoutprobe.manifest.model import NoContract
from layoutprobe.observe.barriers import ApartBarriers, SkippedBarrier
from layoutprobe.observe.clashes import Clash, ClashKind, Handover, Handovers, LdsRecord, Touch
from layoutprobe.observe.handover import HandoverObserver
from layoutprobe.observe.lds import LdsObserver
from layoutprobe.observe.who import Who
from layoutprobe.report.finding import Finding, Related, Rule
from layoutprobe.report.gate import CheckResult
from layoutprobe.trace.formal_races import formal_in_lds, without_formal
from layoutprobe.trace.lds_tiles import in_turns
from layoutprobe.trace.missing_barriers import missing_barriers
from layoutprobe.trace.orders import in_orders_of_workgroups
from layoutprobe.trace.places import site, where
from layoutprobe.trace.subject import Subject

NAME = "races"

EXPLAIN = """\
A race: two different waves of a workgroup touch a common LDS byte within one barrier interval, at
least one of them writes, and not both accesses are atomic. It is found from the intervals between
barriers and not from the order in which the emulator ran the waves, so a result that happens to be
right hides none: read after write (a barrier is missing between store and load), write after read
(the tile is overwritten while another wave may still read it), write after write. Stores of equal
values to one byte, or to a byte that nobody reads, harm nobody, and are only counted. A store that overwrites a
tile which is still to be read, while the buffer of other passes lies idle, has the wrong number of a
buffer. Lanes that store different values to one address by one instruction lose all but one, in LDS
(where somebody reads it) and in global memory; with a contract, `swizzle` and `epilogue` say
which elements. A race in LDS says which barrier ends it, where the source is there and one of a few that are
tried has every check hold. What lanes of one wave do by different instructions is in the order of these, as the
compiler left them: that is no race of the
machine, and not reported.
Where a wave signals a barrier and waits later (RDNA4), what it accesses in between is ordered against
nobody. Divergent barriers are found here too: waves that let each other go from different s_barrier
instructions, one of which both executed, and that passed different numbers of barriers in all. A wave
that has ended no longer counts, as on the hardware: that it never came to a barrier is a finding where it
races with one that did. A barrier under a partial EXEC counts once for its wave.
Wave-specialised kernels, whose waves meet at barriers of their own in equal numbers, are
right. Seen is what was executed: a race on a path that this size does not take stays unseen. Global
memory is followed over the whole launch: a wave that loads what another one stores, or overwrites what
another one loads or stores (with other values), must be ordered against it. Within a workgroup barriers
do that, in WGP mode with a wait for the stores before and a fence after; between workgroups counters and
flags: the giver waits for its stores before it signals, and the taker invalidates its caches after the
signal has come (LLVM AMDGPUUsage, "Memory Model"). A load that nothing orders harms nobody where what it
gets is dropped: a vector that reaches into the next row, and is masked. That is seen in a run in which it is
undefined. That a wave looks at the value of an atomic is taken
for granted. Flags, counters and locks in LDS order what the waves of a workgroup do to LDS, in loops that
only wait and by atomics that return; for global memory a signal in LDS is not seen. An LDS access that was
not waited for before the barrier is reported by `waits`. Evidence: emulated."""

_WHY = (
    "Waves of a workgroup run at their own pace. Without a barrier between the two accesses their order is "
    "open, so the result depends on which wave is faster."
)
_WORDS: dict[ClashKind, tuple[str, Rule]] = {
    "RAW": (
        "reads what another wave writes",
        Rule(
            "races/read-after-write",
            "a wave reads LDS that another wave writes, with no barrier between",
            _WHY,
            "__syncthreads() after the stores to the tile and before the first load from it",
        ),
    ),
    "WAR": (
        "overwrites what another wave reads",
        Rule(
            "races/write-after-read",
            "a wave overwrites LDS that another wave may still read, with no barrier between",
            _WHY,
            "__syncthreads() after the last load from the tile: at the end of the loop body, or a second LDS "
            "buffer",
        ),
    ),
    "WAW": (
        "overwrites what another wave writes",
        Rule(
            "races/write-after-write",
            "two waves write one byte of LDS, with no barrier between",
            _WHY,
            "give the waves different bytes, or put __syncthreads() between the stores",
        ),
    ),
}
DIVERGENT = Rule(
    "races/divergent-barrier",
    "waves let each other go from different barriers",
    "The hardware counts waves at a barrier, not where they stand: a wave is let go by another one that waits "
    "somewhere else, and from then on no barrier orders what it should.",
    "move the barrier out of code that only some waves execute",
)
_SHOWN = 6
"""Lines of unordered accesses that a finding names."""


def run(subject: Subject) -> CheckResult:
    """See EXPLAIN."""
    recorded = subject.plain()
    record, handed = recorded.record(LdsRecord), _handed(subject)
    # Where a contract says what elements are, `swizzle` and `epilogue` tell which of them lanes lose to each other.
    lanes = isinstance(subject.case.contract, NoContract)
    met = [one for one in handed.found if lanes or one.kind != "lanes"]
    globally = [in_global(subject, pairs) for pairs in by_buffer(met)]
    if not record.stores and not record.loads and not met and handed.complete:
        return CHECK.skipped("the kernel uses no LDS, and no two waves share what one of them stores")
    early = {fault.place.pc for fault in recorded.astray if fault.place.lds_byte is not None}
    races = [_as_meant(c, early) for c in record.races if not c.late]
    unused = [c for c in races if c.kind != "WAW"]
    if unused and formal_in_lds(subject, record):
        races = [c for c in races if c.kind == "WAW"]
    else:
        unused = []
    if early and races:  # which tiles a workgroup takes, it was told too early
        globally = []
    if record.apart:  # the races that follow from it are no findings of their own
        # Once apart, waves also meet wrongly at the barriers that follow.
        findings = [_divergent(subject, record.apart[0], len(races)), *globally]
    else:
        findings = [_in_lds(subject, record, clashes) for clashes in missing_barriers(subject, races)]
        findings += [*_lost(subject, record.collisions if lanes else ()), *globally]
    metrics = {
        "LDS stores": record.stores,
        "LDS loads": record.loads,
        "barriers passed": record.barriers,
        "harmless double stores": record.harmless + handed.harmless,
    }
    if not record.complete and not findings:
        return CHECK.undecided("the kernel executes more LDS accesses than are followed", metrics=metrics)
    if not handed.complete and not findings:
        return CHECK.undecided("waves signal each other more than is followed", metrics=metrics)
    reason = _waves(subject) + ("" if findings else _meetings(met, len(unused)))
    return CHECK.found(findings, reason, metrics=metrics)


def _handed(subject: Subject) -> Handovers:
    """What waves hand to each other in global memory; of an order of workgroups in which something is not ordered."""
    plain = without_formal(subject, subject.plain().record(Handovers), "")
    if not plain.unordered:
        others = (
            without_formal(subject, other.record(Handovers), other.spec.order)
            for other in in_orders_of_workgroups(subject, HandoverObserver)
        )
        return next((other for other in others if other.unordered), plain)
    return plain


def cleared(subject: Subject) -> CheckResult:
    """See Check."""
    return CHECK.holds(f"{_waves(subject)}; no two waves meet but with a barrier between")


def _meetings(met: Sequence[Handover], unused: int) -> str:
    """Accesses that might have been races; `unused`: loads of LDS among them, whose value nobody uses."""
    in_order = sum(one.order != "unused" for one in met)
    unused += len(met) - in_order
    told = f"; {in_order} pair(s) of instructions meet in global memory, in order" if in_order else ""
    return told + (
        f"; {unused} with nothing between them, but what is loaded is never used" if unused else ""
    )


def _waves(subject: Subject) -> str:
    waves = -(-prod(subject.binding.block) // subject.kernel.wavefront_size)
    return f"{waves} waves a workgroup" if waves > 1 else "one wave a workgroup: nobody to race with"


def _as_meant(clash: Clash, early: Collection[int | None]) -> Clash:
    """A load that came before the first store to its byte: the store is what it should have waited for."""
    if clash.kind != "WAR" or clash.first.inst.pc not in early:
        return clash
    return replace(clash, kind="RAW", first=clash.second, second=clash.first, meant=True)


def _in_lds(subject: Subject, record: LdsRecord, clashes: Sequence[Clash]) -> Finding:
    """One missing barrier: it is not there, or some wave never comes to it."""
    for skip in record.skipped:
        for clash in clashes:
            if (gone := skip.parts(clash.first.who, clash.second.who)) is not None:
                return _skipped(subject, skip, gone, clash, clashes)
    return _race(subject, clashes)


def _race(subject: Subject, clashes: Sequence[Clash]) -> Finding:
    """One missing barrier, shown by the pair that is closest to it."""
    from layoutprobe.trace.wrong_buffer import into_buffer_in_use  # a kernel that holds needs none

    shown = min(clashes, key=lambda c: (not c.meant, abs(c.second.inst.pc - c.first.inst.pc)))
    first, second = shown.first, shown.second
    verb, rule = _WORDS[shown.kind]
    names = sorted({_spelled(c.kind) for c in clashes})
    loop = first.inst.pc >= second.inst.pc and not shown.meant
    between = f"{site(subject, first.inst)} and {site(subject, second.inst)}"
    others = sorted(
        (c for c in clashes if not c.meant), key=lambda c: abs(c.second.inst.pc - c.first.inst.pc)
    )
    for one in dict.fromkeys((shown, *others[:1])):
        if (store := into_buffer_in_use(subject, one)) is not None:
            return in_use(subject, store, one.second if store is one.first else one.first, clashes, names)
    places = [replace(where(subject, one.inst, one.who), lds_byte=shown.byte) for one in (second, first)]
    who, other = second, first
    if places[0].near and not places[1].near:  # what the compiler joined or moved has no line of its own
        places, who, other, verb = places[::-1], first, second, _FIRST[shown.kind]
    return Finding(
        rule,
        f"wave {who.who.wave} {verb} (wave {other.who.wave}) with no barrier between: {_spelled(shown.kind)}",
        places[0],
        expected=f"a barrier between {between}" + (" of the next pass of the loop" if loop else ""),
        observed=f"both in one barrier interval; {len(clashes)} pair(s) of instructions: {', '.join(names)}",
        hint=_turns(subject, shown) + _hint(shown, {c.kind for c in clashes}, loop),
        count=sum(c.count for c in clashes),
        related=_others(subject, shown, clashes),
        pairs=frozenset((clash.first.inst.pc, clash.second.inst.pc) for clash in clashes),
    )


_FIRST: dict[ClashKind, str] = {
    "RAW": "writes what another wave reads",
    "WAR": "reads what another wave overwrites",
    "WAW": "writes what another wave overwrites",
}
"""What the first of two accesses does."""


def _lost(subject: Subject, collisions: Sequence[Clash]) -> Iterator[Finding]:
    """Stores to LDS that lose values: one finding a source line."""
    by_line: dict[str | int, list[Clash]] = {}
    for clash in collisions:
        if clash.together:
            by_line.setdefault(_line_of(subject, clash.second), []).append(clash)
    for clashes in by_line.values():
        first, second = clashes[0].first, clashes[0].second
        place = replace(where(subject, second.inst, second.who), lds_byte=clashes[0].byte)
        lanes = " and ".join(f"wave {one.who.wave}, lane {one.who.lane}" for one in (first, second))
        yield of_lanes(place, "byte of LDS", f"{lanes} store to it", sum(clash.count for clash in clashes))


def _others(subject: Subject, shown: Clash, clashes: Sequence[Clash]) -> tuple[Related, ...]:
    """The other side of a race, and what else the missing barrier leaves unordered: each line once."""
    ends = [(shown.first, shown.kind == "WAR")]
    for clash in clashes:
        ends += [(clash.first, clash.kind == "WAR"), (clash.second, clash.kind == "RAW")]
    told = {_line_of(subject, shown.second)}
    related: list[Related] = []
    for end, loads in ends:
        if (line := _line_of(subject, end)) not in told or not related:
            told.add(line)
            related.append(Related("loaded by" if loads else "stored by", where(subject, end.inst, end.who)))
    return tuple(related[:_SHOWN])


def _line_of(subject: Subject, touch: Touch) -> str | int:
    return subject.line(touch.inst.pc) or touch.inst.pc


def _spelled(kind: ClashKind) -> str:
    """ "read after write"."""
    return _WORDS[kind][1].id.partition("/")[2].replace("-", " ")


def _turns(subject: Subject, shown: Clash) -> str:
    """A question to ask first, where buffers are filled by turns: a wrong number of one is no missing barrier."""
    if shown.kind != "WAR" or not in_turns(subject):
        return ""
    return (
        "buffers take turns here: does this store go to the one that is being read? If its number is right, "
    )


def _hint(shown: Clash, kinds: set[ClashKind], loop: bool) -> str:
    kind = shown.kind
    if shown.between:
        return "what a wave does between s_barrier_signal and s_barrier_wait, no barrier orders: move it out"
    if {"RAW", "WAR"} <= kinds and kind != "WAW":
        return (
            "__syncthreads() in every pass of the loop: behind the stores to a tile and before the loads from it, "
            "and behind these before it is stored to again; with two buffers one does both"
        )
    if kind == "RAW":
        return "__syncthreads() after the stores to the tile and before the first load from it"
    if kind == "WAR":
        end = "at the end of the loop body, or a second LDS buffer" if loop else "before these stores"
        return f"__syncthreads() after the last load from the tile: {end}"
    return "give the waves different bytes, or put __syncthreads() between the stores"


def _divergent(subject: Subject, apart: ApartBarriers, races: int) -> Finding:
    a, b = apart.passed
    follow = f"; {races} pair(s) of instructions race" if races else ""
    return Finding(
        DIVERGENT,
        f"divergent barrier: wave {apart.waiting.wave} and wave {apart.elsewhere.wave} let each other go "
        "from different barriers",
        where(subject, apart.here, apart.waiting),
        expected="every wave of the workgroup passes the same barriers",
        observed=f"wave {apart.waiting.wave} at {site(subject, apart.here)}, wave {apart.elsewhere.wave} at "
        f"{site(subject, apart.there)}; they passed {a} and {b} barriers in all{follow}",
        hint="move the barrier out of code that only some waves execute",
        count=apart.groups,
        related=(Related("let go by", where(subject, apart.there, apart.elsewhere)),),
    )


def _skipped(
    subject: Subject, skip: SkippedBarrier, gone: Who, shown: Clash, clashes: Sequence[Clash]
) -> Finding:
    """A wave that never comes to a barrier, and races with others for it."""
    return Finding(
        DIVERGENT,
        f"divergent barrier: wave {gone.wave} never comes to the barrier that wave {skip.shown.wave} passes, and "
        f"nothing orders what they do to LDS: {_spelled(shown.kind)}",
        where(subject, skip.inst, skip.shown),
        expected="every wave of the workgroup passes the same barriers",
        observed=f"{len(skip.missed)} of {len(skip.missed | skip.passed)} waves end without it; {len(clashes)} "
        "pair(s) of instructions race",
        hint="move the barrier out of code that only some waves execute",
        count=sum(clash.count for clash in clashes),
        related=(
            Related(
                "loaded by" if shown.kind == "RAW" else "stored by",
                where(subject, shown.second.inst, shown.second.who),
            ),
            *_others(subject, shown, clashes),
        ),
        pairs=frozenset((clash.first.inst.pc, clash.second.inst.pc) for clash in clashes),
    )


CHECK = Check(
    NAME,
    "waves that touch one LDS byte, one of them writing, have a barrier between",
    EXPLAIN,
    run,
    observers=(LdsObserver, HandoverObserver),
    cleared=cleared,
    rules=(
        *(rule for _, rule in _WORDS.values()),
        IN_USE,
        DIVERGENT,
        LOST,
        UNORDERED,
        TOO_EARLY,
        STALE,
        OVERWRITTEN,
        STORED_AND_ADDED,
        *fault_rules(NAME),
    ),
)
