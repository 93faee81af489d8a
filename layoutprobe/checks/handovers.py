"""What a race in global memory is called, and how it is told: accesses that nothing orders, stores that meet."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from layoutprobe.observe.clashes import Handover
from layoutprobe.observe.who import Who
from layoutprobe.place import Place
from layoutprobe.report.finding import Finding, Related, Rule
from layoutprobe.trace.places import site, where
from layoutprobe.trace.subject import Subject

UNORDERED = Rule(
    "races/global-handover",
    "a wave loads global memory that another wave stores in the same launch, and nothing orders the two",
    "Without a barrier, or a signal between workgroups, the wave gets the old or the new value.",
    "__syncthreads() between the stores and the loads; across workgroups, a second launch",
)
TOO_EARLY = Rule(
    "races/signal-before-store",
    "a wave signals another workgroup before its own stores are done",
    "Whoever gets the signal may load before the store arrives, and gets the old value.",
    "__threadfence() after the stores, __syncthreads(), and only then the atomic that signals",
)
STALE = Rule(
    "races/stale-cache",
    "a wave loads what another one stored, with no fence that invalidates its caches after the signal",
    "The order is right, but the cache of the CU, or the one that workgroups share, may still hold the old value.",
    "__threadfence() between the signal and the loads, or an atomic with acquire order and agent scope",
)
OVERWRITTEN = Rule(
    "races/global-overwrite",
    "global memory is overwritten while another wave may still load or store it",
    "Waves and workgroups run in any order: which value is loaded, or stays, depends on which is faster.",
    "store into another buffer, or do it in a launch of its own",
)
LOST = Rule(
    "races/lost-store",
    "lanes store different values to one address at once, and all but one are lost",
    "Of lanes of one instruction, and of waves that nothing orders, any may be the last: whose value stays is open.",
    "give every lane an address of its own, let one lane store, or use an atomic",
)
STORED_AND_ADDED = Rule(
    "races/store-and-add",
    "an element of global memory is stored by one wave and added to by another, in no given order",
    "If the addition comes first, the store loses it.",
    "clear the output in a launch before, and let every workgroup add to it",
)


def of_lanes(place: Place, what: str, observed: str, count: int) -> Finding:
    """Lanes that lose each other's values."""
    return Finding(
        LOST,
        f"lanes store different values to one {what} at once, and all but one are lost",
        place,
        expected="an address of its own for every lane, or one lane that stores",
        observed=observed,
        hint=LOST.mend,
        count=count,
    )


_GRAVITY = ("load", "overwrites a store", "overwrites a load", "mix", "lanes")


def by_buffer(met: Sequence[Handover]) -> list[list[Handover]]:
    """What is not ordered, by buffer: one fault shows in many pairs. What tells most comes first."""
    grouped: dict[str, list[Handover]] = {}
    for one in sorted((one for one in met if one.matters), key=lambda one: _GRAVITY.index(one.kind)):
        grouped.setdefault(one.buffer, []).append(one)
    return list(grouped.values())


def _wave(who: Who) -> str:
    return f"wave {who.wave} of workgroup {who.workgroup}"


def in_global(subject: Subject, pairs: Sequence[Handover]) -> Finding:
    """Accesses of one buffer that nothing orders, shown by one pair."""
    shown, count = pairs[0], sum(pair.count for pair in pairs)
    if shown.kind == "lanes":
        place = replace(where(subject, shown.second, shown.taker), buffer=shown.buffer)
        observed = f"{_wave(shown.taker)} by {site(subject, shown.second)}"
        return of_lanes(place, "element of global memory", observed, count)
    rule, what = _cause(shown)
    wanted, hint = f"something that orders the two: {_orders(shown)}", rule.mend
    if rule in (OVERWRITTEN, UNORDERED) and _one_statement(subject, shown):
        what, wanted, hint = _one_element(shown, what)
    early = rule is TOO_EARLY  # the culprit is who signals
    giver, taker = where(subject, shown.first, shown.giver), where(subject, shown.second, shown.taker)
    loads = shown.kind == ("load" if early else "overwrites a load")
    more = f"; {len(pairs) - 1} more pair(s) of instructions" if len(pairs) > 1 else ""
    return Finding(
        rule,
        what,
        replace(giver if early else taker, buffer=shown.buffer),
        expected=wanted,
        observed=f"{_wave(shown.taker)} by {site(subject, shown.second)}, {_wave(shown.giver)} by "
        f"{site(subject, shown.first)}{more}",
        hint=hint,
        count=count,
        related=(Related("loaded by" if loads else "stored by", taker if early else giver),),
    )


def _orders(shown: Handover) -> str:
    return "a barrier" if shown.within else "a signal with a wait before and a fence after, or another launch"


def _one_statement(subject: Subject, shown: Handover) -> bool:
    first, second = (subject.line(inst.pc) or inst.pc for inst in (shown.first, shown.second))
    return first == second


def _one_element(shown: Handover, what: str) -> tuple[str, str, str]:
    """What is wrong, what was expected and the next step, where waves meet by one statement: they do the same to one
    element, and no order would make that right."""
    who = "wave" if shown.within else "workgroup"
    name = shown.buffer.removeprefix("buffer ")
    if shown.kind == "overwrites a store":
        what = f"two {who}s store to the same elements of {name}, and which comes last is open"
    return (
        what,
        f"each element of {name} belongs to one {who}, or is added to by an atomic",
        "do two tiles meet: are the offsets of tile and batch right, leading dimension and bounds tests included? "
        "Where several are meant to add to one element, it takes an atomic add",
    )


def _cause(shown: Handover) -> tuple[Rule, str]:
    between = (
        "with no barrier between" if shown.within else "and no signal between the workgroups orders the two"
    )
    if shown.kind == "mix":
        return (
            STORED_AND_ADDED,
            "an element of global memory is stored by one wave and added to by another, in no given order",
        )
    if shown.order == "too early":
        return (
            TOO_EARLY,
            "a wave signals that its stores are there before they are done, and another one relies on it",
        )
    if shown.kind == "load" and shown.order == "stale":
        return STALE, "a wave loads what another one stored, with no fence that invalidates its caches"
    if shown.kind == "load":
        return UNORDERED, f"a wave loads global memory that another wave stores, {between}"
    done = shown.kind.removeprefix("overwrites a ")
    return OVERWRITTEN, f"a wave overwrites global memory that another wave {done}s, {between}"
