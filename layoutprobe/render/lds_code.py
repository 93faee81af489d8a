"""What `solve-swizzle` and `pack` found, for the terminal and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import groupby
from typing import Any, TextIO

import numpy as np
from msgspec import to_builtins
from rich.text import Text

from layoutprobe.render import data
from layoutprobe.render.layout.words import plural
from layoutprobe.render.look import STYLES
from layoutprobe.render.page import Page, write_lines
from layoutprobe.report.lds_code import (
    PackBlock,
    PackGroup,
    PackReport,
    Rung,
    Subject,
    SwizzleCandidate,
    SwizzleReport,
)
from layoutprobe.report.words import spans

SWIZZLE_SCHEMA = "layoutprobe-solve-swizzle/1"
PACK_SCHEMA = "layoutprobe-pack/1"
_FEW = 8
"""Refusals that a table shows, and groups of lanes."""
_ALL = 1 << 10


def write_swizzle(report: SwizzleReport, stream: TextIO) -> None:
    """The candidates, best first, and the code of the first."""
    write_lines(partial(_swizzle, report), stream)


def _about(subject: Subject, page: Page) -> Iterator[Text]:
    title = f"{subject.matrix} of {subject.instruction} on {subject.arch}, wave{subject.wave}"
    yield from page.paragraph(title, "bold")
    rows, cols = subject.tile
    size = f"{rows} x {cols} in LDS"
    if subject.swapped:
        size += f", rows of which are columns of {subject.matrix}"
    yield from page.pairs([("tile", f"{size}; an operand is {subject.operand[0]} x {subject.operand[1]}")])


def _swizzle(report: SwizzleReport, page: Page) -> Iterator[Text]:
    yield from _about(report.subject, page)
    for number, candidate in enumerate(report.candidates, 1):
        yield Text("")
        yield from _candidate(number, candidate, page)
    if not report.candidates:
        said = f"{page.glyphs.sign('finding')} no read brings the operand from there"
        yield from page.pairs([("verdict", said)], STYLES["finding"])
    for what, why in report.refused[:_FEW]:
        yield from page.pairs([("not", f"{what}: {why}")])
    if len(report.refused) > _FEW:
        yield from page.pairs([("", f"and {len(report.refused) - _FEW} more; --format json lists all")])
    if report.candidates:
        yield Text("")
        yield from _code(report.candidates[0].code.splitlines(), page)
    tried = f"{plural(report.tried, 'pair')} of a store and a read tried"
    if report.candidates:
        tried += f"; each of the {len(report.candidates)} shown ran, and every slot held its element"
    yield from page.pairs([("tried", tried)], "dim")
    yield from page.pairs([("cycles", report.costs), ("evidence", str(report.evidence))], "dim")


def _candidate(number: int, one: SwizzleCandidate, page: Page) -> Iterator[Text]:
    title = one.read if one.store == one.formula else f"{one.store}, {one.read}"
    yield from page.paragraph(f"{number}. {title}", "bold")
    place = one.formula or "only a table gives it (--format json)"
    yield from page.pairs([("store", f"element {place}; {one.store_kind}")])
    for at, base in enumerate(one.bases):
        yield from page.pairs([(f"base{at}", f"byte {base.formula}; {base.kind}")])
    yield from page.pairs([("reads", "; ".join(_rungs(one.rungs)))])
    stores = f"{one.stores} with {one.chunk} bytes a lane" if one.stores else "neighbours of a row lie apart"
    yield from page.pairs([("cycles", f"reads {one.loads}, stores {stores}")])


def _rungs(rungs: tuple[Rung, ...]) -> Iterator[str]:
    """Reads of one flip together: "base0 ^ 0x20 offset:0,1024"."""
    for (base, flip), group in groupby(rungs, key=lambda rung: (rung.base, rung.flip)):
        offsets = [rung.offset for rung in group]
        flipped = f" ^ 0x{flip:x}" if flip else ""
        yield f"base{base}{flipped} offset:{','.join(map(str, offsets))}"


def _code(lines: list[str], page: Page) -> Iterator[Text]:
    """Code is not wrapped: it is there to be copied."""
    for line in lines:
        yield Text(page.one_line(line) if line else "")


def write_swizzle_json(report: SwizzleReport, stream: TextIO) -> None:
    """One object; see SWIZZLE_SCHEMA."""
    body: dict[str, Any] = {
        "subject": to_builtins(report.subject),
        "given": report.given,
        "tried": report.tried,
        "candidates": [to_builtins(one) for one in report.candidates],
        "refused": [{"what": what, "why": why} for what, why in report.refused],
        "costs": report.costs,
        "evidence": data.evidence(report.evidence),
    }
    data.write(data.envelope(SWIZZLE_SCHEMA, body), stream)


def write_pack(report: PackReport, stream: TextIO) -> None:
    """Where the slots come from, block by block, and the code."""
    write_lines(partial(_pack, report), stream)


def _pack(report: PackReport, page: Page) -> Iterator[Text]:
    yield from _about(report.subject, page)
    source = report.read or "a dump"
    said = f"{plural(report.slots, report.slot)} of a lane, by {source}, under {', '.join(report.patterns)}"
    yield from page.pairs([("raw", said)])
    for block in report.blocks:
        yield Text("")
        yield from _block(block, report.slot, page)
    yield Text("")
    if report.ran:
        yield from page.pairs([("ran", f"HIP and assembly, on {report.ran}")], "dim")
    told = str(report.evidence) if report.evidence else "registers dumped elsewhere; nobody here saw the run"
    yield from page.pairs([("evidence", told)], "dim")


_STYLE = {"missing": "finding", "ambiguous": "undecided"}


def _block(block: PackBlock, slot: str, page: Page) -> Iterator[Text]:
    yield from page.paragraph(block.title, "bold")
    for group in block.groups[:_FEW] if block.status in ("code", "nothing to do") else ():
        lanes = spans(np.array(group.lanes, np.int64), _ALL)
        label = f"lane {lanes}" if len(group.lanes) == 1 else f"lanes {lanes}"
        yield from page.pairs([(label if len(label) < 11 else "lanes", _where(group, lanes, label))])
    if len(block.groups) > _FEW and block.status == "code":
        yield from page.pairs(
            [("", f"and {len(block.groups) - _FEW} more groups of lanes; --format json has all")]
        )
    if block.why:
        state = _STYLE.get(block.status, "holds")
        yield from page.pairs([("verdict", f"{page.glyphs.sign(state)} {block.why}")], STYLES[state])
    if block.status == "code":
        yield Text("")
        yield from _code(block.hip.splitlines(), page)
        yield Text("")
        counts = ", ".join(f"{name} {count}" for name, count in block.registers.items())
        swaps = "; swaps change raw registers" if any("_swap_" in line for line in block.assembly) else ""
        yield from _code([f"; set the first registers of: {counts}{swaps}", *block.assembly], page)


def _where(group: PackGroup, lanes: str, label: str) -> str:
    """ "packed 0-15 = raw 8-23, 16-31 = raw 0-15 of lane ^ 32"."""
    runs: list[list[int]] = []  # first, count, source, partner
    for slot, (source, partner) in enumerate(zip(group.source, group.partner, strict=True)):
        last = runs[-1] if runs else None
        if last and (source, partner) == (last[2] + last[1], last[3]) and source >= 0:
            last[1] += 1
        else:
            runs.append([slot, 1, source, partner])
    said = [
        f"{_span(first, count)} = raw {_span(source, count)}" + (f" of lane ^ {partner}" if partner else "")
        for first, count, source, partner in runs
    ]
    return ("" if len(label) < 11 else f"{lanes}: ") + "packed " + ", ".join(said)


def _span(first: int, count: int) -> str:
    return f"{first}-{first + count - 1}" if count > 1 else str(first)


def write_pack_json(report: PackReport, stream: TextIO) -> None:
    """One object; see PACK_SCHEMA."""
    body: dict[str, Any] = {
        "subject": to_builtins(report.subject),
        "read": report.read,
        "patterns": list(report.patterns),
        "slots": report.slots,
        "slot": report.slot,
        "blocks": [to_builtins(block) for block in report.blocks],
        "ran": report.ran,
        "evidence": data.evidence(report.evidence) if report.evidence else None,
    }
    data.write(data.envelope(PACK_SCHEMA, body), stream)
