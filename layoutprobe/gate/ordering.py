"""What ends a race: another buffer, a longer ring, a barrier elsewhere, or one more; between workgroups a fence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from layoutprobe.gate.holding import Held
from layoutprobe.gate.mending import Mender
from layoutprobe.gate.source_edits import SourceEdit, SourceEdits
from layoutprobe.place import Place
from layoutprobe.report.finding import Finding
from layoutprobe.rewrites.barriers import BARRIER
from layoutprobe.rewrites.spot import Rewrite
from layoutprobe.source.expressions import function_around, function_name, indent
from layoutprobe.source.statements import Source

_IN_USE = "buffer-in-use"
"""The name of a race of buffers that take turns."""
_READ_EARLY = "read-after-write"
_OVERWRITTEN = "write-after-read"
_EARLY_SIGNAL = "signal-before-store"
FENCED = (_EARLY_SIGNAL, "stale-cache")
"""Names of races between workgroups that a fence may end: before a signal, or behind it."""
_BUFFERS, _RINGS, _MOVED, _BARRIERS, _OUTSIDE, _FENCES = 8, 2, 6, 10, 3, 10
"""What is tried of each at most: each is judged by the check of races alone first, which takes most of a second."""


def ordering(mender: Mender, race: Finding) -> list[Held]:
    """The first barrier with which every check holds, of the likeliest alone; or one that stands outside of a block
    around it, or behind a call of the function that it is in, where that is enough: a pass of an inner loop needs
    none then. With it one of the function that may as well be moved there, or elsewhere. Before that, where one is
    filled that is in use, the other buffer; one more in a ring that is filled as far ahead as it is long; an atomic
    addition, where one statement reads and writes. Between workgroups a fence. Nothing where none of these holds.

    Args:
        mender: of the kernel.
        race: waves that nothing orders.
    """
    edits = mender.edits
    offered = edits.in_turn([race])

    def of(kind: str) -> list[SourceEdit]:
        return [edit for edit in offered if edit.rewrite.kind == kind]

    def first_of(some: Sequence[SourceEdit]) -> list[Held]:
        held = mender.holding(some, None, lambda: True)
        return list(islice((one for one in held if not one.unlisted), 1))

    if race.name in FENCED:
        return first_of(_fences(edits, race)[:_FENCES])
    buffers = of("parity") if race.name == _IN_USE else []
    if race.name == _READ_EARLY:
        buffers = [edit for edit in offered if _turns(edits.sources[edit.file].text, edit)]
    rings = [edit for edit in offered if _deepens_ring(edits.sources[edit.file].text, edit)]
    if other := first_of([*buffers[:_BUFFERS], *rings[:_RINGS]]):
        return other
    if _is_within_a_statement(race) and (atomic := first_of(of("atomic")[:_BUFFERS])):
        return atomic
    moved = of("moved")
    lesser = [edit for edit in of("barriers") if edit.rewrite.end > edit.rewrite.start]
    if parted := first_of([*lesser, *_between(edits, race)]):
        there = [edit for edit in moved if _goes_to(edits.sources[edit.file].text, edit, parted[0].edit)]
        return parted + first_of(there[:1] or moved[:_MOVED])
    barriers = sorted(of("barriers"), key=lambda edit: not _comes_first(edits, edit, race))
    inner = first_of(barriers[:_BARRIERS])
    if not inner:
        return first_of(moved[:_MOVED])
    source = edits.sources[inner[0].edit.file]
    found = first_of(_outside(source, inner[0].edit, barriers)[:_OUTSIDE]) or inner
    found = first_of(_behind_calls(edits, found[0].edit, barriers)[:_OUTSIDE]) or found
    found = first_of(_in_callers(edits, found[0].edit, barriers)[:_OUTSIDE]) or found
    there = [edit for edit in moved if _goes_to(source.text, edit, found[0].edit)]
    return found + first_of(there[:1] or moved[:_MOVED])


def _fences(edits: SourceEdits, race: Finding) -> list[SourceEdit]:
    """Fences between what is stored and the signal that tells of it, or barriers, as other waves store, too: before a
    barrier or an atomic behind the store, or in a function that signals; or between the signal and the load that
    relies on it."""
    release = race.name == _EARLY_SIGNAL
    loads = next((one.place for one in race.related if one.role == "loaded by"), race.place)
    line = (race.place if release else loads).source
    file = edits.find(line) if line is not None else None
    if file is None or line is None:
        return []
    source = edits.sources[file]
    at = source.token_at(source.offset(line.line, line.column or 1))
    function = function_around(source, at)
    signals = [i for i, token in enumerate(source.tokens) if _SIGNAL.match(token.text)]
    within = [i for i in signals if i in function and (i > at) == release]
    elsewhere = [i for i in signals if i not in function]
    found = list[SourceEdit]()
    for i in (within if release else within[::-1]) or elsewhere:
        statement = source.around(i)
        if statement.stop >= len(source.tokens):  # the file ends within it
            continue
        last = source.tokens[statement.stop].end
        for start in _before_signal(source, statement, at) if release else (statement.start,):
            blanks, first = indent(source, start), source.tokens[start].start
            for added in (_FENCE, BARRIER):
                offset, text = (first, f"{added}\n{blanks}") if release else (last, f"\n{blanks}{added}")
                found.append(
                    SourceEdit(file, Rewrite(offset, offset, text, "barriers"), 0.1 * len(found), race)
                )
    return found


def _before_signal(source: Source, statement: range, store: int) -> list[int]:
    """Where statements begin that signal, and the branches around them that do not store: all waves come to these."""
    starts, block = [statement.start], source.block_around(statement.start)
    while block is not None and not block[0] < store < block[1]:
        starts.insert(0, source.around(source.partner.get(block[0] - 1, block[0] - 1)).start)
        block = source.block_around(block[0])
    return starts


_SIGNAL = re.compile(r"__syncthreads$|_*(?:hip_)?atomic\w*$")
_FENCE = "__threadfence();"


def _between(edits: SourceEdits, race: Finding) -> list[SourceEdit]:
    """Barriers where the ways to the two accesses of a race part: in the function that both come from, at the end of
    the innermost block that has both, behind what leads to the earlier one, and before what leads to the later one.

    What is overwritten early is mostly so in the next pass of a loop, at the end of which one is left out.
    """
    role = "loaded by" if race.name == _OVERWRITTEN else "stored by"
    earlier = next((one.place for one in race.related if one.role == role), None)
    parting = _parting(edits, race.place, earlier) if earlier is not None else None
    if parting is None:
        return []
    file, late, early = parting
    source = edits.sources[file]
    both = source.blocks_at(late) & source.blocks_at(early)
    opened = max(both, default=None)
    if opened is None or source.partner.get(opened) is None:
        return []
    blanks = indent(source, source.around(opened + 1).start)
    end = source.tokens[source.partner[opened] - 1].end
    behind, before = _statement_in(source, opened, early)[1], _statement_in(source, opened, late)[0]
    added = [
        (end, f"\n{blanks}{BARRIER}"),
        (behind, f"\n{blanks}{BARRIER}"),
        (before, f"{BARRIER}\n{blanks}"),
    ]
    if race.name == _READ_EARLY:  # by the next pass, perhaps: it is stored anew before all have read
        added = [*added[1:], added[0]]
    return [
        SourceEdit(file, Rewrite(at, at, text, "barriers"), 0.1 * n, race)
        for n, (at, text) in enumerate(added)
    ]


def _parting(edits: SourceEdits, late: Place, early: Place) -> tuple[Path, int, int] | None:
    """The file and two offsets in it, where the calls that lead to two places are no longer the same."""
    ways = [
        [place.source, *(call.source for call in place.inlined_at)] for place in (late, early) if place.source
    ]
    if len(ways) != _BOTH:
        return None
    for one, other in zip(*(reversed(way) for way in ways), strict=False):
        if one == other or one is None or other is None:
            continue
        file = edits.find(one)
        if file is None or file != edits.find(other):
            return None
        at, other_at = (edits.sources[file].offset(line.line, line.column or 1) for line in (one, other))
        return file, at, other_at
    return None


def _statement_in(source: Source, opened: int, at: int) -> tuple[int, int]:
    """Where the statement of a block begins and ends that has a place in it, with the blocks of its own."""
    i, close = opened + 1, source.partner[opened]
    while i < close:
        last = i
        while last < close and source.tokens[last].text != ";":
            if source.is_block(last):
                last = source.partner[last]
                break
            last = (
                source.partner.get(last, last) + 1
                if source.tokens[last].text in ("(", "[", "{")
                else last + 1
            )
        if source.tokens[min(last, close)].end > at:
            break
        i = last + 1
    return source.tokens[min(i, close)].start, source.tokens[min(last, close - 1)].end


_BOTH = 2


def _turns(text: str, edit: SourceEdit) -> bool:
    """Whether a change has `i & 1` for `(i + 1) & 1`: the number of a buffer that takes turns."""
    rewrite = edit.rewrite
    behind = text[rewrite.end : rewrite.end + 8].lstrip(") ")
    one_more = re.fullmatch(r"\s*\+ 1\s*", text[rewrite.start : rewrite.end]) is not None
    return one_more and not rewrite.text.strip() and behind.startswith(("& 1", "% 2"))


def _is_within_a_statement(race: Finding) -> bool:
    """Whether what is read and written is so by one statement: `count[key]++` is no exchange of tiles."""
    lines = {one.place.line for one in race.related if one.role in ("loaded by", "stored by")}
    return lines == {race.place.line}


def _comes_first(edits: SourceEdits, edit: SourceEdit, race: Finding) -> bool:
    """Whether a barrier stands in place of a lesser one; or behind what is read before it is overwritten, where it is
    left out mostly."""
    if edit.rewrite.end > edit.rewrite.start:
        return True
    reads = [one.place.source.line for one in race.related if one.role == "loaded by" and one.place.source]
    behind = edit.rewrite.text.startswith("\n") and race.name == _OVERWRITTEN and bool(reads)
    return behind and edits.sources[edit.file].line_of(edit.rewrite.start) >= min(reads)


def _behind_calls(edits: SourceEdits, added: SourceEdit, barriers: Sequence[SourceEdit]) -> list[SourceEdit]:
    """Barriers behind calls of the function in which one would end a race, where another call of it has one: it was
    left out there."""
    calls = _calls_of(edits, added)
    behind = {call: edits.sources[call[0]].text[call[1] :].lstrip() for call in calls}
    alone = [call for call in calls if not behind[call].startswith(BARRIER)]
    if len(alone) == len(calls):
        return []
    return [
        edit
        for edit in barriers
        for file, end in alone
        if edit.file == file
        and not edits.sources[file].text[slice(*sorted((end, edit.rewrite.start)))].strip()
    ]


def _in_callers(edits: SourceEdits, added: SourceEdit, barriers: Sequence[SourceEdit]) -> list[SourceEdit]:
    """Barriers behind calls of the function in which one would end a race, and behind the blocks around them, the
    outermost first: a helper that loads a fragment is called many times in a pass."""
    found = list[tuple[int, SourceEdit]]()
    for file, end in _calls_of(edits, added):
        source = edits.sources[file]
        around = source.blocks_at(end)
        found += [
            (len(blocks), edit)
            for edit in barriers
            if edit.file == file
            and edit.rewrite.start >= end
            and (blocks := source.blocks_at(edit.rewrite.start)) <= around
            and len(blocks) > 1
        ]
    return [edit for _, edit in sorted(found, key=lambda one: one[0])]


def _calls_of(edits: SourceEdits, added: SourceEdit) -> list[tuple[Path, int]]:
    """Where statements end that call the function in which a change lies; none of a kernel."""
    source = edits.sources[added.file]
    own = function_name(source, source.token_at(added.rewrite.start))
    return [
        (file, one.tokens[stop].end)
        for file, one in edits.sources.items()
        for name, opened in one.calls(range(len(one.tokens)))
        if own and name == own
        for stop in [one.around(opened).stop]
        if stop < len(one.tokens) and one.tokens[stop].text == ";"
    ]


def _goes_to(text: str, moved: SourceEdit, added: SourceEdit) -> bool:
    """Whether a barrier is moved to where another change adds one."""
    one, at = moved.rewrite, added.rewrite.start
    behind = text[one.start :].startswith(BARRIER)
    gap = slice(*sorted((one.end if behind else one.start, at)))
    return moved.file == added.file and not text[gap].strip()


def _deepens_ring(text: str, edit: SourceEdit) -> bool:
    """Whether a change is of how many buffers a ring has, to one more, where one fills it that many ahead: then
    what is filled is what others read."""
    rewrite = edit.rewrite
    line = text[text.rfind("\n", 0, rewrite.start) + 1 : rewrite.start]
    named, old = _NAMED.search(line), text[rewrite.start : rewrite.end]
    if named is None or not old.isdecimal() or rewrite.text != str(int(old) + 1):
        return False
    alike = "|".join({named[1], *re.findall(rf"\b(\w+)\s*=\s*{old}\b", text)})
    ahead = rf"\+\s*(?:{old}\b|(?:\w+::)?(?:{alike})\b(?!\s*-))"
    return bool(re.search(rf"%\s*(?:\w+::)?{named[1]}\b", text) and re.search(ahead, text))


_NAMED = re.compile(r"(\w+)\s*=\s*\Z")


def _outside(source: Source, inner: SourceEdit, edits: Sequence[SourceEdit]) -> list[SourceEdit]:
    """Those changes that stand behind blocks in which another one stands, the outermost first."""
    around = source.blocks_at(inner.rewrite.start)
    depths = [
        (len(blocks), edit)
        for edit in edits
        if edit.file == inner.file
        and edit.rewrite.start > inner.rewrite.start
        and (blocks := source.blocks_at(edit.rewrite.start)) < around
    ]
    return [edit for _, edit in sorted(depths, key=lambda one: one[0])]
