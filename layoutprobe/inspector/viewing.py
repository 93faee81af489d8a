"""What lanes fetch and receive of an operand, as the report that `inspect` shows of the operand itself."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe.layouts.explain import closed_form, explain
from layoutprobe.layouts.layout import Layout
from layoutprobe.layouts.views import MEANT, RAW
from layoutprobe.report.layout import LayoutReport
from layoutprobe.solver.coverage import coverage
from layoutprobe.solver.lane_groups import in_groups, in_words, named, parting
from layoutprobe.trace.views import Seen

Ints = NDArray[np.int64]
_BASES = 4
"""Formulas of addresses that are shown."""


def shown_as(view: str, seen: Seen, packed: LayoutReport) -> LayoutReport:
    """The report of a view.

    Args:
        view: "raw" or "received".
        seen: the operand.
        packed: its report as the instruction reads it.
    """
    table = seen.views.view(view)
    needed, live = seen.fragment.needed, seen.fragment.live
    stranger = ~_among(table, needed) & ~table.holes
    wave = seen.fragment.waves[0]
    byte = {one: named(seen.views.address[one], np.asarray(seen.sizes)) for one in seen.fragment.waves}
    about = [pair for pair in packed.about if pair[0] != "registers"]
    about += [("view", MEANT[view]), ("loads", _loads(seen))]
    about += [(f"wave {wave}", in_groups(view, table, seen.views.together, wave))]
    if view == RAW:
        about.append(("addresses", in_words(byte[wave])))
        about += [("base", forms) for forms in [_bases(seen, wave)] if forms]
    else:
        about.append(("packing", _packing(table, seen.fragment.loaded)))
    said = (parting(seen.views, needed, one, np.unique(byte[one]).size) for one in seen.fragment.waves)
    about += [("look at", found.words) for found in said if found][:1]
    return replace(
        packed,
        loaded=table,
        needed=None,
        mismatch=stranger,
        live=None if live.shape != stranger.shape else live,
        closed_form=explain(table),
        needed_form="",
        coverage=coverage(table, needed),
        about=tuple(about),
    )


def _among(held: Layout, needed: Layout) -> NDArray[np.bool_]:
    """Whether what a slot holds is anything that its wave needs."""
    wide = max(1, needed.shape[1])
    found = [
        np.isin(row.astype(np.int64) * wide + col, need_row.astype(np.int64) * wide + need_col)
        for row, col, need_row, need_col in zip(held.row, held.col, needed.row, needed.col, strict=True)
    ]
    return np.stack(found)


def _loads(seen: Seen) -> str:
    """ "4 x ds_read_b64_tr_b8 at pv.h:52, offset 0, 2048, 4096, 6144"."""
    offsets: dict[str, list[int]] = {}
    for read in seen.views.reads:
        offsets.setdefault(read.place.site, []).append(read.offset)
    return "; ".join(
        f"{len(each)} x {site}" + (f", offset {', '.join(map(str, each))}" if any(each) else "")
        for site, each in offsets.items()
    )


def _bases(seen: Seen, wave: int) -> str:
    """ "byte 144*(lane % 8) ^ 16*(lane / 16 % 2), + 0, 2048": what the lanes of a wave name, load by load, but for
    offsets; bases that are a constant apart are one. "" where there is no formula, or too many."""
    apart: list[tuple[Ints, list[int]]] = []
    for number, read in enumerate(seen.views.reads):
        address = seen.views.address[wave, :, number]
        base = address[address >= 0] - read.offset
        known = next((one for one in apart if np.unique(base - one[0]).size == 1), None)
        if known is None:
            apart.append((base, [0]))
        elif (step := int((base - known[0])[0])) not in known[1]:
            known[1].append(step)
    forms = [closed_form(("lane",), (base.size,), base) if base.min() >= 0 else "" for base, _ in apart]
    if len(forms) > _BASES or not all(forms):
        return ""
    steps = [f", + {', '.join(map(str, steps))}" if len(steps) > 1 else "" for _, steps in apart]
    return "; ".join(f"byte {form}{step}" for form, step in zip(forms, steps, strict=True))


def _packing(received: Layout, packed: Layout) -> str:
    if received.row.shape == packed.row.shape and received == packed:
        return "what is received is the operand, register by register"
    differs = received.row.shape != packed.row.shape or (received.row != packed.row) | (
        received.col != packed.col
    )
    count = (
        "another number of registers"
        if differs is True
        else f"{int(np.sum(differs))} of {packed.row.size} slots"
    )
    return f"the operand is packed of it: {count} differ"
