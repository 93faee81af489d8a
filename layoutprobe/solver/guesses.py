"""Layouts that named failures would leave, each built from the right layout: a function each.

Every one takes a suspect, and yields a sentence with the row and the column that every slot would then hold.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from layoutprobe.layouts.layout import HOLE
from layoutprobe.layouts.swizzle import GROUP, SCHEMES, of_bits
from layoutprobe.solver.suspect import Ints, Suspect

_SHOWN_K = 8
"""So many k of an order are printed."""
Guess = tuple[str, Ints, Ints]
"""A sentence, and the row and column that every slot would then hold."""


def other_order(suspect: Suspect) -> Iterator[Guess]:
    """The matrix is taken for one whose columns follow each other in memory, and its rows do; or the reverse."""
    rows, cols = suspect.shape
    done = "stored" if suspect.matrix in "CD" else "loaded"
    text = f"{suspect.matrix} is {done} as if its {{}} followed each other in memory, and its {{}} do: transposed"
    yield text.format("columns", "rows"), *np.divmod(suspect.need_col * rows + suspect.need_row, cols)
    col, row = np.divmod(suspect.need_row * cols + suspect.need_col, rows)
    yield text.format("rows", "columns"), row, col


def line_order(suspect: Suspect) -> Iterator[Guess]:
    """Rows of A, columns of B in any other order, read off the slots themselves."""
    axis = 0 if suspect.matrix == "A" else 1
    held, need = ((suspect.row, suspect.need_row), (suspect.col, suspect.need_col))[axis]
    use = suspect.live & (held != HOLE) & (need >= 0) & (need < suspect.shape[axis])
    order = np.full(suspect.shape[axis], HOLE, np.int64)
    order[need[use]] = held[use]
    asked = np.unique(need[use])
    if not asked.size or (order[asked] == asked).all():
        return
    first = int((order[asked] != asked).argmax())
    shown, usual = (" ".join(map(str, x[first : first + _SHOWN_K])) for x in (order[asked], asked))
    lines = ("rows", "columns")[axis]
    text = f"{lines} of {suspect.matrix} are taken in another order: {shown} ... where {usual} ... belong"
    off = np.unique((order[asked] - asked) % suspect.shape[axis])
    if off.size == 1:
        text = f"every {lines[:-1]} of {suspect.matrix} is taken {int(off[0])} too far, behind the last one the first"
    line = order[np.clip(need, 0, suspect.shape[axis] - 1)]
    yield text, *((line, suspect.need_col) if axis == 0 else (suspect.need_row, line))


def group_shift(suspect: Suspect) -> Iterator[Guess]:
    """Each group of lanes begins at a k of its own, and that of the upper ones is wrong."""
    axis = 1 if suspect.matrix == "A" else 0
    held, need = ((suspect.row, suspect.need_row), (suspect.col, suspect.need_col))[axis]
    lanes = suspect.row.shape[1]
    for group in (lanes // 2, lanes // 4):
        if not group:
            continue
        shift = np.zeros((1, lanes, 1, 1), np.int64)
        for begin in range(0, lanes, group):
            mine = slice(begin, begin + group)
            use = suspect.live[:, mine] & (held[:, mine] != HOLE)
            if use.any():
                shift[:, mine] = (held - need)[:, mine][use][0]
        if not shift.any():
            continue
        at = int(np.flatnonzero(shift.ravel())[0]) // group * group
        moved = int(shift.ravel()[at])
        late = "far" if moved > 0 else "early"
        text = f"lanes {at}-{at + group - 1} begin {abs(moved)} k too {late} in {suspect.matrix}"
        yield text, *((suspect.need_row, need + shift) if axis else (need + shift, suspect.need_col))


def transposed(suspect: Suspect) -> Iterator[Guess]:
    """Rows and columns are exchanged: of every square tile, or of the matrix as it lies in memory."""
    if suspect.tile[0] == suspect.tile[1]:
        yield from turned(suspect)
    yield from other_order(suspect)


def turned(suspect: Suspect) -> Iterator[Guess]:
    """Rows and columns of every tile are exchanged; where it is stored, those of the whole matrix may be."""
    row, col = suspect.local
    text = {
        "A": "A is loaded transposed: a lane holds a column of A where the instruction reads a row",
        "B": "B is loaded transposed: a lane holds a row of B where the instruction reads a column",
    }.get(suspect.matrix, f"{suspect.matrix} is stored transposed: rows and columns are exchanged")
    yield text, *suspect.globally(col, row)
    if suspect.matrix in "CD":
        yield text, suspect.need_col, suspect.need_row


def halves_swapped(suspect: Suspect) -> Iterator[Guess]:
    """The fields of a VGPR are in reverse order."""
    if suspect.row.shape[3] > 1:
        yield (
            "the fields within every VGPR are in reverse order",
            suspect.need_row[..., ::-1],
            suspect.need_col[..., ::-1],
        )


def half_wave_copy(suspect: Suspect) -> Iterator[Guess]:
    """One half-wave holds the operand, the other one something else or nothing."""
    if not suspect.replicated:
        return
    lanes = suspect.row.shape[1]
    wrong = ((suspect.row != suspect.need_row) | (suspect.col != suspect.need_col)) & suspect.live
    for name, first in (("upper", lanes // 2), ("lower", 0)):
        half = slice(first, first + lanes // 2)
        live = suspect.live[:, half].any(axis=(2, 3))
        if not live.any() or not (wrong[:, half].any(axis=(2, 3)) == live).all():
            continue
        nothing = (suspect.row[:, half][wrong[:, half]] == HOLE).all()
        text = f"the {name} half-wave holds no copy of {suspect.matrix}: lanes {half.start}-{half.stop - 1} hold "
        text += suspect.nothing if nothing else "other elements"
        row, col = suspect.need_row.copy(), suspect.need_col.copy()
        row[:, half], col[:, half] = suspect.row[:, half], suspect.col[:, half]
        yield text, row, col


def lds_one_sided(suspect: Suspect) -> Iterator[Guess]:
    """The tile was written to LDS with one scheme and read with another."""
    for transposed in (False, True):
        shape = suspect.shape[::-1] if transposed else suspect.shape
        schemes = (of_bits(scheme, suspect.bits) for scheme in SCHEMES.values())
        fitting = [scheme for scheme in schemes if not scheme.refusal(shape)]
        at = (suspect.need_col, suspect.need_row) if transposed else (suspect.need_row, suspect.need_col)
        at = tuple(np.where(suspect.live, axis, 0) for axis in at)  # type: ignore[assignment]
        for written in fitting:
            for read in fitting:
                if written is read:
                    continue
                found = written.inverse(read.index(*at, shape), shape)
                row, col = found[::-1] if transposed else found
                reverse = read.inverse(written.index(*at, shape), shape)
                same = all(np.array_equal(x, y) for x, y in zip(found, reverse, strict=True))
                text = f"LDS is written with the scheme `{written.name}` and read with `{read.name}`"
                yield text + (" (or the reverse)" if same else ""), row, col


def wrong_stride(suspect: Suspect) -> Iterator[Guess]:
    """Rows of LDS are read at another distance than they were written."""
    group = 16 * GROUP // suspect.bits
    for transposed in (False, True):
        lines, length = suspect.shape[::-1] if transposed else suspect.shape
        at = (suspect.need_col, suspect.need_row) if transposed else (suspect.need_row, suspect.need_col)
        held = (suspect.col, suspect.row) if transposed else (suspect.row, suspect.col)
        for written in (length, length + group):
            for read in (written + step for step in (-group, -2, -1, 1, 2, group)):
                line, place = np.divmod(at[0] * read + at[1], written)
                padding, beyond = place >= length, (line < 0) | (line >= lines)
                # Whatever lies behind the tile is not predicted, but most of it must be.
                if (beyond & suspect.live).sum() * 2 > suspect.live.sum():
                    continue
                line, place = (np.where(padding, HOLE, axis) for axis in (line, place))
                line, place = (
                    np.where(beyond, seen, axis) for seen, axis in zip(held, (line, place), strict=True)
                )
                text = f"LDS rows are written {written} elements apart and read {read} apart"
                yield text, *((place, line) if transposed else (line, place))


def k_exchanged(suspect: Suspect) -> Iterator[Guess]:
    """Neighbouring groups of k have changed places."""
    row, col = suspect.local
    axis = 1 if suspect.matrix == "A" else 0
    step = suspect.tile[axis] // 2
    while step >= 2 and suspect.tile[axis] % (2 * step) == 0:
        k = (col if axis else row) ^ step
        text = f"neighbouring groups of {step} k are exchanged"
        yield text, *suspect.globally(*((row, k) if axis else (k, col)))
        step //= 2


def k_order(suspect: Suspect) -> Iterator[Guess]:
    """Any order of k within the tile that is the same for all lines, read off the slots themselves."""
    row, col = suspect.local
    line, k = (row, col) if suspect.matrix == "A" else (col, row)
    axis = 1 if suspect.matrix == "A" else 0
    extent = suspect.tile[axis]
    held = (suspect.col, suspect.row)[1 - axis] - suspect.origin[:, axis, None, None, None]
    use = suspect.live & (suspect.row != HOLE) & (k >= 0) & (k < extent)
    order = np.full(extent, HOLE, np.int64)
    order[k[use]] = held[use]
    if set(order.tolist()) != set(range(extent)) or (order == np.arange(extent)).all():
        return
    first = int((order != np.arange(extent)).argmax())
    end = " ..." if first + _SHOWN_K < extent else ""
    shown, usual = (" ".join(map(str, k[first : first + _SHOWN_K])) + end for k in (order, np.arange(extent)))
    text = f"{suspect.matrix} takes k in another order than its partner: {shown} where that has {usual}"
    k = order[np.clip(k, 0, extent - 1)]
    yield text, *suspect.globally(*((line, k) if suspect.matrix == "A" else (k, line)))


def other_wave(suspect: Suspect) -> Iterator[Guess]:
    """Whole tiles are at other waves."""
    usable = suspect.live & (suspect.row != HOLE)
    first = usable.reshape(len(usable), -1).argmax(axis=1)
    down, right = (
        np.take_along_axis((held - needed).reshape(len(held), -1), first[:, None], axis=1)
        for held, needed in ((suspect.row, suspect.need_row), (suspect.col, suspect.need_col))
    )
    if not usable.any() or (down % suspect.tile[0]).any() or (right % suspect.tile[1]).any():
        return
    row, col = (
        needed + shift[:, :, None, None]
        for needed, shift in ((suspect.need_row, down), (suspect.need_col, right))
    )
    yield f"waves hold the tile of {suspect.matrix} that belongs to another wave", row, col


def half_rows(suspect: Suspect) -> Iterator[Guess]:
    """Rows of D go to the half-waves as another family has them."""
    row, col = suspect.local
    half = suspect.tile[0] // 2
    if half and suspect.tile[0] % 2 == 0:
        apart = row // 2 + half * (row % 2)
        text = f"each half-wave stores {half} consecutive rows (row = vgpr + {half}*(lane / 16), as on RDNA4)"
        yield text + ", but its accumulators hold every other row", *suspect.globally(apart, col)
        joined = 2 * (row % half) + row // half
        text = "each half-wave stores every other row (row = 2*vgpr + lane / 16, as on RDNA3)"
        yield text + ", but its accumulators hold consecutive rows", *suspect.globally(joined, col)


def no_half_wave(suspect: Suspect) -> Iterator[Guess]:
    """The store leaves the half-wave out of the row."""
    _, lanes, vgprs, fields = suspect.row.shape
    lane, vgpr = np.arange(lanes)[None, :, None, None], np.arange(vgprs)[None, None, :, None]
    one = np.ones((1, 1, 1, fields), np.int64)
    row, col = suspect.globally(vgpr * one + 0 * lane, lane * one + 0 * vgpr)
    text = "the store takes VGPR n for row n and the lane for the column, whichever half-wave it is in"
    yield text, row, col
    # Columns beyond the matrix run on into the next row of a row-major C.
    yield text, *np.divmod(row * suspect.shape[1] + col, suspect.shape[1])
    row, col = suspect.globally(vgpr * one + 0 * lane, lane % suspect.tile[1] * one + 0 * vgpr)
    yield "both half-waves store to the same rows: VGPR n is taken for row n", row, col
    row, col = suspect.local
    text = "both half-waves store to the same rows: VGPR n is taken for row 2n"
    yield text, *suspect.globally(row // 2 * 2, col)
    if group := suspect.lanes_of_a_row:
        text = f"lanes {group} apart store to the same rows: the row does not depend on lane / {group}"
        first = np.arange(lanes) % group
        yield text, suspect.need_row[:, first], suspect.need_col[:, first]


def row_runs(suspect: Suspect) -> Iterator[Guess]:
    """Rows of D run along the VGPRs for a while before the next group of lanes has some."""
    group, (_, lanes, vgprs, _) = suspect.lanes_of_a_row, suspect.row.shape
    if not group:
        return
    groups, true = lanes // group, suspect.run
    lane, vgpr = np.arange(lanes)[None, :, None, None], np.arange(vgprs)[None, None, :, None]
    for run in (1, 2, 4, 8, 16):
        if run != true and vgprs % run == 0:
            row = run * (groups * (vgpr // run) + lane // group) + vgpr % run + 0 * suspect.need_row
            text = (
                f"rows are stored in runs of {run} along the VGPRs, but the accumulators hold runs of {true}"
            )
            yield text, *suspect.globally(row, lane % group + 0 * row)


def stored_order(suspect: Suspect) -> Iterator[Guess]:
    """Rows, or columns, of every tile of D go to others, read off the slots themselves."""
    for axis, lines in enumerate(("rows", "columns")):
        need, extent = suspect.local[axis], suspect.tile[axis]
        held = (suspect.row, suspect.col)[axis] - suspect.origin[:, axis, None, None, None]
        use = suspect.live & (suspect.row != HOLE) & (need >= 0) & (need < extent)
        order = np.full(extent, HOLE, np.int64)
        order[need[use]] = held[use]
        moved = np.flatnonzero((order != np.arange(extent)) & (order != HOLE))
        if not moved.size:
            continue
        shown, usual = (" ".join(map(str, x[moved[:_SHOWN_K]])) for x in (order, np.arange(extent)))
        more = " ..." if moved.size > _SHOWN_K else ""
        text = f"{lines} of a tile of C are stored to other {lines}: {usual}{more} go to {shown}{more}"
        line = order[np.clip(need, 0, extent - 1)]
        yield text, *suspect.globally(*((line, suspect.local[1]) if axis == 0 else (suspect.local[0], line)))


def half_waves_exchanged(suspect: Suspect) -> Iterator[Guess]:
    """Every lane does what the one across the half-wave should."""
    lanes = suspect.row.shape[1]
    text = f"the half-waves are exchanged: lanes 0-{lanes // 2 - 1} store what lanes {lanes // 2}-{lanes - 1} should"
    yield text, np.roll(suspect.need_row, lanes // 2, axis=1), np.roll(suspect.need_col, lanes // 2, axis=1)


def shifted(suspect: Suspect) -> Iterator[Guess]:
    """Everything lies the same number of rows and columns away."""
    usable = suspect.live & (suspect.row != HOLE)
    if not usable.any():
        return
    slot = tuple(np.argwhere(usable)[0])
    down, right = (
        int(suspect.row[slot] - suspect.need_row[slot]),
        int(suspect.col[slot] - suspect.need_col[slot]),
    )
    if down or right:
        parts = [f"{abs(n)} {name}" for n, name in ((down, "rows"), (right, "columns")) if n]
        text = f"every element comes from {' and '.join(parts)} "
        text += "too far" if down >= 0 and right >= 0 else "too early" if down <= 0 and right <= 0 else "away"
        yield text, suspect.need_row + down, suspect.need_col + right


def folded(suspect: Suspect) -> Iterator[Guess]:
    """What lies behind a power of two shows what lies before it."""
    row, col = suspect.local
    step = 1 << (max(suspect.tile) - 1).bit_length() - 1  # the power of two below
    while step >= 1:
        if step < suspect.tile[0]:
            yield f"rows fold by {step}: row r+{step} holds row r", *suspect.globally(row % step, col)
        if step < suspect.tile[1]:
            yield (
                f"columns fold by {step}: column c+{step} holds column c",
                *suspect.globally(row, col % step),
            )
        step //= 2
