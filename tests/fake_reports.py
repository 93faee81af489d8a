"""Reports made from the formulas of the documented fragment layouts, and from broken loads.

They stand in for a probe run where only rendering or the command line is under test; nothing here
comes from layoutprobe's own solver. Source of the formulas: AMD Matrix Instruction Calculator,
rdna3, v_wmma_f32_16x16x16_f16: A[i][k] is in VGPR k/2, half k%2, lanes i and i+16; B the same with
its column; D[i][j] is in VGPR i/2, lane 16*(i%2)+j.
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe.capture.capture import Evidence
from layoutprobe.layouts.layout import HOLE, UNKNOWN, Layout
from layoutprobe.place import Place, Register, SourceLine, field_bits
from layoutprobe.report.finding import Finding
from layoutprobe.report.layout import Coverage, LayoutReport, LdsMap
from layoutprobe.solver.cause_rules import OPERAND_RULES

INSTRUCTION = "v_wmma_f32_16x16x16_f16"
EMULATED = Evidence("emulated", "layoutprobe emulator 0.1.0")
WAVES, LANES, VGPRS, HALVES = 4, 32, 8, 2

Axes = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]


def axes(waves: int = WAVES, fields: int = HALVES) -> Axes:
    """Index arrays (wave, lane, vgpr, field), each of the full shape."""
    wave, lane, vgpr, field = np.indices((waves, LANES, VGPRS, fields), dtype=np.int32)
    return wave, lane, vgpr, field


def layout(matrix: str, shape: tuple[int, int], row: object, col: object, bits: int) -> Layout:
    return Layout(matrix, shape, np.asarray(row, np.int32), np.asarray(col, np.int32), bits)


def right_a() -> Layout:
    """A[16*wave + lane % 16][2*vgpr + half]."""
    wave, lane, vgpr, half = axes()
    return layout("A", (64, 16), 16 * wave + lane % 16, 2 * vgpr + half, 16)


def right_b() -> Layout:
    """B[2*vgpr + half][16*wave + lane % 16]."""
    wave, lane, vgpr, half = axes()
    return layout("B", (16, 64), 2 * vgpr + half, 16 * wave + lane % 16, 16)


def right_d() -> Layout:
    """D[16*wave + 2*vgpr + lane//16][lane % 16]."""
    wave, lane, vgpr, _ = axes(fields=1)
    return layout("D", (64, 16), 16 * wave + 2 * vgpr + lane // 16, lane % 16, 32)


def right_bytes() -> Layout:
    """A[lane % 16][4*vgpr + byte], as for iu8; the tile is 16 x 32 here to fill 8 VGPRs."""
    _, lane, vgpr, byte = axes(waves=1, fields=4)
    return layout("A", (16, 32), lane % 16, 4 * vgpr + byte, 8)


def dump(loaded: Layout | None = None, needed: Layout | None = None) -> LayoutReport:
    """A dump of `loaded` where `needed` is needed; both default to the right layout of A."""
    loaded = loaded or right_a()
    needed = needed or {"A": right_a, "B": right_b, "D": right_d}[loaded.matrix]()
    wrong = (loaded.row != needed.row) | (loaded.col != needed.col)
    rows, cols = loaded.shape
    held = loaded.row != HOLE
    _, counts = np.unique(np.stack([loaded.row[held], loaded.col[held]]), axis=1, return_counts=True)
    readers = np.broadcast_to(axes(loaded.waves, loaded.fields)[1] // 16, loaded.row.shape).astype(np.int32)
    findings: tuple[Finding, ...] = ()
    if wrong.any():
        wave, lane, vgpr, field = (int(i[0]) for i in wrong.nonzero())
        findings = (
            Finding(
                OPERAND_RULES["transposed"],
                "the kernel loads A transposed: a lane holds a column, the instruction needs a row",
                Place(
                    source=SourceLine("gemm.hip", 42),
                    wave=wave,
                    lane=lane,
                    register=Register("VGPR", vgpr),
                    bits=field_bits(field, 16),
                ),
                expected=f"{needed.matrix}[{needed.row[wrong][0]}][{needed.col[wrong][0]}]",
                observed=f"{loaded.matrix}[{loaded.row[wrong][0]}][{loaded.col[wrong][0]}]",
                hint="swap the two indices of the LDS load",
                count=int(wrong.sum()),
            ),
        )
    return LayoutReport(
        command="dump",
        arch="gfx1151",
        instruction=INSTRUCTION,
        matrix=loaded.matrix,
        dtype="f16",
        lds="xor",
        tile=(64, 64, 16),
        patterns=("rowcol",),
        loaded=loaded,
        needed=needed,
        mismatch=wrong,
        live=np.ones(wrong.shape, np.bool_),
        readers=readers,
        closed_form="A[16*wave + lane % 16][2*vgpr + half]" if not findings else "",
        needed_form="A[16*wave + lane % 16][2*vgpr + half]",
        convention="M and N as in the store of D; K ascends with the VGPR and the half",
        ambiguity="equal modulo a joint K permutation of A and B",
        coverage=Coverage(rows * cols, len(counts), (int(counts.min()), int(counts.max()))),
        findings=findings,
        evidence=(EMULATED,),
        toolchain={"compiler": "clang 22.1.8", "digest": "ab" * 32},
    )


def transposed_a() -> LayoutReport:
    """A column per lane: the load that gives 1240 everywhere instead of 120*i."""
    wave, lane, vgpr, half = axes()
    return dump(layout("A", (64, 16), 16 * wave + 2 * vgpr + half, lane % 16, 16))


def folded_a() -> LayoutReport:
    """Rows 8-15 of each tile repeat rows 0-7, as a mask of 7 instead of 15 makes them."""
    wave, lane, vgpr, half = axes()
    report = dump(layout("A", (64, 16), 16 * wave + lane % 8, 2 * vgpr + half, 16))
    missing = tuple(r for r in range(64) if r % 16 >= 8)
    return replace(report, coverage=Coverage(1024, 512, (4, 4), missing_rows=missing, fold="rows fold by 8"))


def one_wrong_slot() -> LayoutReport:
    """Only wave 2, lane 5, v3, high half is wrong: it holds A[0][0]."""
    right = right_a()
    row, col = right.row.copy(), right.col.copy()
    row[2, 5, 3, 1] = col[2, 5, 3, 1] = 0
    return dump(layout("A", (64, 16), row, col, 16))


def holes_and_dead() -> LayoutReport:
    """v7 high holds nothing; lanes 16-31 are read by no output; v1 repeats v0 in lanes 3 and 19."""
    right = right_a()
    row, col = right.row.copy(), right.col.copy()
    row[:, :, 7, 1] = col[:, :, 7, 1] = HOLE
    col[:, 3, 1] = col[:, 19, 1] = [0, 1]
    loaded = layout("A", (64, 16), row, col, 16)
    report = dump(loaded, loaded)
    live = np.ones(row.shape, np.bool_)
    live[:, 16:] = False
    readers = np.where(live, 0, -1).astype(np.int32)
    return replace(report, live=live, readers=readers)


def undecided() -> LayoutReport:
    return replace(dump(), undecided="the pattern cannot tell rows 8-15 from rows 0-7")


def roundtrip() -> LayoutReport:
    """A 64 x 16 tile under an XOR swizzle of 8-column chunks, as LDS was found to hold it."""
    cell = np.arange(64 * 16, dtype=np.int32)
    row = cell // 16
    lds = LdsMap(row, (cell % 16) ^ (row % 2 * 8), 16, 32)
    return replace(
        dump(),
        command="roundtrip",
        instruction="",
        needed=None,
        needed_form="",
        lds_map=lds,
        live=None,
        readers=None,
    )


def narrow_roundtrip() -> LayoutReport:
    """With four VGPRs, as the probe has: LDS is wider than the registers."""
    report = roundtrip()
    loaded = report.loaded
    row, col = loaded.row[:, :, :4], loaded.col[:, :, :4]
    return replace(report, loaded=layout("A", (64, 16), row, col, 16), mismatch=report.mismatch[:, :, :4])


def padded_roundtrip() -> LayoutReport:
    """The same tile with 8 cells of padding behind each row."""
    cell = np.arange(64 * 24, dtype=np.int32)
    row, col = cell // 24, cell % 24
    hole = col >= 16
    lds = LdsMap(
        np.where(hole, HOLE, row).astype(np.int32), np.where(hole, HOLE, col).astype(np.int32), 16, 32
    )
    return replace(roundtrip(), lds="padded", lds_map=lds)


def all_holes() -> LayoutReport:
    """A pattern that names no element: every register of every lane is a hole."""
    nothing = np.full((WAVES, LANES, VGPRS, HALVES), HOLE)
    report = half_read(dump())
    return replace(
        report,
        loaded=layout("A", (64, 16), nothing, nothing, 16),
        mismatch=np.zeros(nothing.shape, np.bool_),
        coverage=Coverage(1024, 0, (0, 0)),
        undecided="the pattern names no element",
    )


def rows_known() -> LayoutReport:
    """A pattern that names rows alone: every element is there, and no column is known."""
    right = right_a()
    return replace(
        dump(),
        loaded=layout("A", (64, 16), right.row, np.full_like(right.col, UNKNOWN), 16),
        coverage=None,
        closed_form="",
        undecided="the patterns do not tell all elements of A apart",
    )


def even_odd() -> LayoutReport:
    """All even lanes hold the same row, all odd lanes another: sixteen lanes look the same."""
    wave, lane, vgpr, half = axes()
    return dump(layout("A", (64, 16), 16 * wave + lane % 2, 2 * vgpr + half, 16))


def half_read(report: LayoutReport) -> LayoutReport:
    """As the instruction really reads A: even rows from lanes 0-15, odd rows from lanes 16-31."""
    assert report.needed is not None
    lane = axes(report.loaded.waves, report.loaded.fields)[1]
    live = lane % 2 == lane // 16
    needed = report.needed
    row, col = np.where(live, needed.row, HOLE), np.where(live, needed.col, HOLE)
    return replace(
        report,
        needed=layout("A", needed.shape, row, col, needed.field_bits),
        mismatch=report.mismatch & live,
        live=live,
        readers=np.where(live, lane // 16, -1).astype(np.int32),
    )


def lost_copy() -> LayoutReport:
    """Lanes that no output reads hold nothing, though AMD's documents want the element there too."""
    right = right_a()
    lane = axes()[1]
    live = np.broadcast_to(lane % 2 == lane // 16, right.row.shape)
    row, col = (np.where(live, table, HOLE) for table in (right.row, right.col))
    readers = np.where(live, lane // 16, -1).astype(np.int32)
    return replace(dump(layout("A", (64, 16), row, col, 16)), live=live, readers=readers)


def epilogue() -> LayoutReport:
    """Which element of C each accumulator slot was stored to."""
    report = dump(right_d())
    return replace(
        report, command="epilogue", matrix="C", needed=None, needed_form="", live=None, readers=None, lds=""
    )


ALL = {
    "right": dump,
    "b": lambda: dump(right_b()),
    "d": lambda: dump(right_d()),
    "bytes": lambda: dump(right_bytes(), right_bytes()),
    "transposed": transposed_a,
    "folded": folded_a,
    "one-slot": one_wrong_slot,
    "holes": holes_and_dead,
    "half-read": lambda: half_read(dump()),
    "half-read-transposed": lambda: half_read(transposed_a()),
    "undecided": undecided,
    "all-holes": all_holes,
    "rows-known": rows_known,
    "even-odd": even_odd,
    "even-odd-half-read": lambda: half_read(even_odd()),
    "lost-copy": lost_copy,
    "roundtrip": roundtrip,
    "padded": padded_roundtrip,
    "narrow-roundtrip": narrow_roundtrip,
    "epilogue": epilogue,
}
