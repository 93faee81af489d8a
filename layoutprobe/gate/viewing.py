"""What lanes fetch and receive of an operand, as the report that `inspect` shows of the operand itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from layoutprobe.layouts.explain import explain
from layoutprobe.layouts.layout import Layout
from layoutprobe.layouts.views import MEANT, RAW
from layoutprobe.report.layout import LayoutReport
from layoutprobe.solver.coverage import coverage
from layoutprobe.solver.lane_groups import in_groups, in_words, named, parting
from layoutprobe.trace.views import Seen


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
    about += [(f"wave {wave}", in_groups(view, table, wave))]
    if view == RAW:
        about.append(("addresses", in_words(byte[wave])))
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
    """ "4 x ds_read_b64_tr_b8 at pv.h:52"."""
    sites = [read.place.site for read in seen.views.reads]
    return ", ".join(f"{sites.count(site)} x {site}" for site in dict.fromkeys(sites))


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
