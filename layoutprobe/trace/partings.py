"""Where wrong operands that come through transposing loads part from what is needed, block by block: at what lanes
fetch, at what they receive of it, or at what is packed of that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from layoutprobe.isa.inst import Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.layouts.layout import Layout
from layoutprobe.layouts.views import k_and_col
from layoutprobe.report.words import spans
from layoutprobe.solver.coverage import coverage
from layoutprobe.solver.lane_groups import lane_groups, named, parting
from layoutprobe.trace.moment import Group, first_wrong
from layoutprobe.trace.subject import RunStoppedError, Subject, UndecidedError
from layoutprobe.trace.views import Seen, views_of

MOST = 16
"""Matrix instructions of one operand that are looked at."""
RIGHT = "right"
_SHOWN = 8
"""Spans of k that are written down."""


def partings(subject: Subject) -> Mapping[str, str]:
    """Matrix as the contract names it -> its blocks in words, of those that are wrong and come through such loads.

    A block is what some loads bring: B0, B1, ... in the order of the matrix instructions that take it.

    Raises:
        NoProductError, UndecidedError, RunStoppedError: as `analysis_of`.
    """
    return subject.once(_partings)


def _partings(subject: Subject) -> Mapping[str, str]:
    if not any(Kind.TRANSPOSE in inst.kind for inst in subject.insts.values()):
        return {}
    wrong = {letter: first_wrong(subject, None, letter) for letter in "AB"}
    return {
        letter: words
        for letter, first in wrong.items()
        if first and (words := _in_words(dict(_blocks(subject, letter, *first[1:]))))
    }


def _blocks(
    subject: Subject, letter: str, group: Group, iteration: int
) -> Iterator[tuple[tuple[int, ...], str]]:
    """Program counters of a block's loads, and what is said of it; a block that several instructions take wrongly
    is wrong."""
    told: dict[tuple[int, ...], str] = {}
    matrix = [inst for _, inst in sorted(subject.insts.items()) if Kind.MATRIX in inst.kind]
    for inst in matrix[:MOST]:
        seen = _seen(subject, inst, letter, group, iteration)
        if seen is None:
            continue
        loads = tuple(read.place.pc or 0 for read in seen.views.reads)
        if told.get(loads, RIGHT) == RIGHT:
            told[loads] = _of_block(seen)
    yield from told.items()


def _seen(subject: Subject, inst: Inst, letter: str, group: Group, iteration: int) -> Seen | None:
    try:
        return views_of(subject, inst, letter, group, iteration)
    except (UndecidedError, RunStoppedError):
        return None


def _of_block(seen: Seen) -> str:
    """ "parts at raw: the addresses: ...; rows fold by 8", of its first wave that is wrong."""
    needed, sizes = seen.fragment.needed, np.asarray(seen.sizes)
    for wave in seen.fragment.waves:
        byte = named(seen.views.address[wave], sizes)
        if found := parting(seen.views, needed, wave, np.unique(byte).size):
            return f"at {found.view}: {found.words}{_lines(seen.views.packed, needed, wave)}"
    return RIGHT


def _lines(packed: Layout, needed: Layout, wave: int) -> str:
    """ "; rows fold by 8; k 8-15 missing, k 0-7 more than once", of what the instruction gets in the end."""
    held, wanted = (np.unique(k_and_col(layout)[0][wave]) for layout in (packed, needed))
    missing = np.setdiff1d(wanted[wanted >= 0], held)
    (everything,) = lane_groups(packed, wave, packed.lanes) or (None,)
    twice = np.asarray(everything.twice if everything else ())
    seen = coverage(packed, needed)
    lines = [f"k {spans(missing, _SHOWN)} missing"] if missing.size else []
    lines += [f"k {spans(twice, _SHOWN)} more than once"] if missing.size and twice.size else []
    parts = (seen.fold if seen else "", ", ".join(lines))
    return "".join(f"; {part}" for part in parts if part)


def _in_words(blocks: Mapping[tuple[int, ...], str]) -> str:
    """ "B0 right; B1-B3 part at packed: ...": neighbours of which the same is said are one. "" where all are
    right."""
    said = list(blocks.values())
    if all(one == RIGHT for one in said):  # or none: no such load brings the operand
        return ""
    starts = [at for at in range(len(said)) if not at or said[at] != said[at - 1]]
    parts = []
    for first, past in zip(starts, [*starts[1:], len(said)], strict=True):
        several = past - first > 1
        who = f"B{first}-B{past - 1}" if several else f"B{first}"
        parts.append(f"{who} {'' if said[first] == RIGHT else 'part ' if several else 'parts '}{said[first]}")
    return "; ".join(parts)
