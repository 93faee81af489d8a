"""Instructions as they would be solved, written down by hand from AMD's documents.

The layouts are those of the RDNA3 WMMA instructions (rows of A and columns of B in lane % 16, copied
to both half-waves; rows of D interleaved by half-wave); nothing here comes from an execution.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from layoutprobe.capture.capture import Evidence
from layoutprobe.layouts.instruction import AxisGauge, Gauge, InstructionLayout
from layoutprobe.layouts.layout import HOLE, Layout

Grid = NDArray[np.int32]
Map = Callable[[Grid, Grid, Grid], tuple[Grid, Grid]]
"""(lane, vgpr, field) -> (row, col)."""


def layout(
    matrix: str,
    shape: tuple[int, int],
    lanes: int,
    vgprs: int,
    bits: int,
    where: Map,
    only: int | None = None,
) -> Layout:
    """A layout from formulas; `only` keeps one field of every VGPR."""
    _, lane, vgpr, field = np.indices((1, lanes, vgprs, 32 // bits), np.int32)
    row, col = (np.broadcast_to(values, lane.shape).astype(np.int32) for values in where(lane, vgpr, field))
    if only is not None:
        row, col = np.where(field == only, row, HOLE), np.where(field == only, col, HOLE)
    return Layout(matrix, shape, row.astype(np.int32), col.astype(np.int32), bits)


def rdna3(
    *, wave: int = 32, bits: int = 16, narrow: int | None = None, own_copy: bool = True, dead: bool = False
) -> InstructionLayout:
    """A WMMA instruction of RDNA3.

    Args:
        wave: lanes.
        bits: of an element of A and B.
        narrow: field of 16-bit C and D; None for 32 bits.
        own_copy: every group of 16 lanes reads its own copy; else all read lanes 0-15.
        dead: rows of A and columns of B that a half-wave does not need are not read.
    """
    fields, groups = 32 // bits, wave // 16
    a = layout("A", (16, 16), wave, 16 // fields, bits, lambda lane, v, f: (lane % 16, fields * v + f))
    b = layout("B", (16, 16), wave, 16 // fields, bits, lambda lane, v, f: (fields * v + f, lane % 16))
    d_bits = 32 if narrow is None else 16
    c, d = (
        layout(
            m,
            (16, 16),
            wave,
            16 // groups,
            d_bits,
            lambda lane, v, f: (groups * v + lane // 16, lane % 16),
            narrow,
        )
        for m in "CD"
    )
    operands = {"A": a, "B": b, "C": c, "D": d}
    lane = np.arange(wave)[None, :, None, None]
    own = np.where(own_copy, 1 << lane // 16, np.where(lane < 16, (1 << groups) - 1, 0))
    readers = {m: np.where(x.holes, 0, own).astype(np.int32) for m, x in operands.items()}
    if dead:  # rows of D in group g are those with i % groups == g
        readers["A"][(a.row % groups) != np.broadcast_to(lane // 16, a.row.shape)] = 0
    for m in "CD":
        readers[m] = np.where(operands[m].holes, 0, 1 << lane // 16).astype(np.int32)
    copies = groups if own_copy else 1
    gauge = Gauge(
        {
            "M": AxisGauge("M", 16, 16, operands="A, C and D"),
            "N": AxisGauge("N", 16, 16, copies=copies, operands="B, C and D"),
            "K": AxisGauge("K", 16, 16, copies=copies, operands="A and B"),
        }
    )
    return InstructionLayout(
        instruction="v_wmma_test",
        arch="test",
        wave=wave,
        opsel=4 if narrow else 0,
        shape=(16, 16, 16),
        operands=operands,
        live={m: r != 0 for m, r in readers.items()},
        readers=readers,
        kept=d.holes,
        gauge=gauge,
        convention="rows by lane; columns by lane; k by slot",
        ambiguity="",
        launches=1,
        evidence=Evidence("emulated", "by hand"),
    )
