"""The access that is to blame for a wrong operand: which of those that its value passed through.

A value comes from global memory, perhaps through LDS, to a matrix instruction. Where it did not pass
through LDS, the load looked in a wrong place. Where it did, the images of LDS tell: is the element that was
needed nowhere, the load from global memory did not fetch it; does it lie in another byte than the one that
was read, the store and the load do not agree; and if it lay in that very byte, it did so at another time.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.isa.kind import Kind
from layoutprobe.layouts.explain import explain_places
from layoutprobe.layouts.layout import HOLE
from layoutprobe.observe.load_path import Step
from layoutprobe.observe.tiles import IMAGES, Images
from layoutprobe.report.words import spans
from layoutprobe.solver.diagnose import (
    BATCH_STRIDE,
    BEYOND,
    LDS_ADDRESSES,
    LDS_OFFSET,
    LINE_ORDER,
    OTHER_BUFFER,
    OTHER_LANE,
    OTHER_MATRIX,
    OTHER_STEP,
    OVERLAP,
    STALE,
    TRANSPOSED,
    UNEXPLAINED,
    Diagnosis,
    unexplained,
)
from layoutprobe.solver.hypotheses import COPY
from layoutprobe.solver.product import UNDEFINED
from layoutprobe.trace.culprits import Culprit, culprits_of
from layoutprobe.trace.forms import is_order_of_k, plainness, scheme
from layoutprobe.trace.lds_tiles import TileMap, tile_maps
from layoutprobe.trace.load_path import exchanges, lds_byte, load_paths
from layoutprobe.trace.problem import require_product
from layoutprobe.trace.subject import RunStoppedError, Subject

Ints = NDArray[np.int64]


_OF_LANES = (COPY, UNEXPLAINED, LINE_ORDER)
"""Diagnoses that say no more than that lanes hold the elements of others."""


_OF_FETCHING = ("leading-dimension", TRANSPOSED, UNEXPLAINED, LINE_ORDER)
"""Diagnoses that may be about the load from global memory, where LDS lacks what is needed."""
_MOST = 0.9
"""Share of the needed elements that must lie in LDS for saying that they were fetched."""


class Blame(Struct, frozen=True, eq=False):
    """What is to blame for a culprit's value.

    Attributes:
        diagnosis: the culprit's, or a better one.
        path: accesses that the value passed through, from the operand back; empty where not known.
        at: position in `path` of the access that is to blame; None: it is the matrix instruction.
        read: LDS byte that the value was read from; None where it did not pass through LDS.
        lies: LDS byte in which the needed element lies; None where it was not seen in LDS.
    """

    diagnosis: Diagnosis
    path: tuple[Step, ...]
    at: int | None = None
    read: int | None = None
    lies: int | None = None

    __repr__ = brief


def blames(subject: Subject) -> tuple[tuple[Culprit, Blame], ...]:
    """Wrong operands A and B, each with what is to blame for it.

    Raises:
        NoProductError, UndecidedError, RunStoppedError: as `analysis_of`.
    """
    return subject.once(_blames)


def _blames(subject: Subject) -> tuple[tuple[Culprit, Blame], ...]:
    return tuple((one, _blame(subject, one)) for one in culprits_of(subject) if one.slot.matrix in "AB")


def _blame(subject: Subject, culprit: Culprit) -> Blame:
    path = load_paths(subject).get(culprit.slot.target, ())
    passed = exchanges(subject).get(culprit.slot.target)
    if passed is not None and culprit.diagnosis.name in _OF_LANES:
        return Blame(
            _other_lane(culprit, passed), (passed, *(step for step in path if step.inst != passed.inst)), 0
        )
    loads = [at for at, step in enumerate(path) if Kind.LOAD in step.inst.kind]
    if not loads:
        return Blame(culprit.diagnosis, path)
    read = lds_byte(path)
    if read is None or culprit.diagnosis.name in (BEYOND, BATCH_STRIDE):
        through = read is not None or culprit.diagnosis.name not in LDS_ADDRESSES
        return Blame(culprit.diagnosis if through else unexplained(culprit.suspect), path, loads[-1])
    slot = culprit.slot
    read += slot.field * slot.bits // 8 % 2
    tiles = _of_matrix(subject, culprit)
    lies = {byte for tile in tiles if (byte := tile.byte_of(*_element(culprit))) is not None}
    found = Blame(culprit.diagnosis, path, loads[0], read, min(lies, default=None))
    if loads[-1] != loads[0] and (fetched := _brought_astray(subject, culprit)):
        return replace(found, at=loads[-1], diagnosis=fetched)
    if path[0].lds_byte is not None and read in lies:
        return _at_another_time(found)
    if loads[-1] != loads[0] and culprit.diagnosis.name in _OF_FETCHING and not _fetched(culprit, tiles):
        return replace(found, at=loads[-1])
    if lies:
        return _in_another_place(subject, culprit, found, tiles)
    if _seen(culprit, tiles) and loads[-1] != loads[0] and slot.number != UNDEFINED:
        return replace(found, at=loads[-1])
    return found


def _other_lane(culprit: Culprit, passed: Step) -> Diagnosis:
    letter = culprit.slot.executions.letter(culprit.slot.matrix)
    what = f"lanes pass {letter} to each other by {passed.inst.name}, and it comes from a wrong one, or is taken "
    return Diagnosis(
        OTHER_LANE,
        f"{what}where a lane's own value belongs",
        "from which lane does each get a value (ds_bpermute_b32 takes 4 * lane), and which keep their own?",
    )


def tiles_of(subject: Subject) -> tuple[TileMap, ...]:
    """The tiles of all matrices that were seen in LDS; none where the run stopped."""
    return subject.once(_tiles)


def _tiles(subject: Subject) -> tuple[TileMap, ...]:
    try:
        return tuple(tile_maps(subject, subject.coded()))
    except RunStoppedError:
        return ()


def _of_matrix(subject: Subject, culprit: Culprit) -> list[TileMap]:
    letter = culprit.slot.executions.letter(culprit.slot.matrix)
    return [tile for tile in tiles_of(subject) if tile.buffer == _buffer(subject, letter)]


def _buffer(subject: Subject, letter: str) -> str:
    return str(getattr(require_product(subject), letter.lower()))


def _element(culprit: Culprit) -> tuple[int, int]:
    row, col = culprit.need
    return (col, row) if culprit.slot.executions.swapped else (row, col)


def _seen(culprit: Culprit, tiles: Sequence[TileMap]) -> bool:
    """What was read was seen in LDS, so that what was needed would have been, too."""
    return any(_cells(tile, *_coordinates(culprit)[0]).max(initial=-1) >= 0 for tile in tiles)


def _fetched(culprit: Culprit, tiles: Sequence[TileMap]) -> bool:
    """Nearly all elements that are needed of the tiles that were seen were stored to LDS, wherever there.

    Of the waves and steps that share a diagnosis only some tiles were seen: nothing is said of the others. What takes
    the place of an element in a transposed tile was brought with it: where that was seen, so should the element be.
    """
    held, (row, col) = _coordinates(culprit)
    asked, there = np.zeros(row.shape, np.bool_), np.zeros(row.shape, np.bool_)
    for tile in tiles:
        if culprit.diagnosis.name == TRANSPOSED:
            asked |= _cells(tile, *held) >= 0
        (top, left), (tall, wide) = tile.corner, tile.shape
        asked |= (row >= top) & (row < top + tall) & (col >= left) & (col < left + wide)
        there |= _cells(tile, row, col) >= 0
    return bool(asked.any() and there[asked].mean() > _MOST)


def _brought_astray(subject: Subject, culprit: Culprit) -> Diagnosis | None:
    """Steps along k come to LDS twice or never, where those of the partner come once each."""
    if culprit.diagnosis.name != OTHER_STEP:
        return None
    letter = culprit.slot.executions.letter(culprit.slot.matrix)
    mine, theirs = _brought(subject, letter), _brought(subject, "B" if letter == "A" else "A")
    twice = sorted(k for k, times in mine.items() if times > 1)
    if not twice or max(theirs.values(), default=0) > 1:
        return None
    every = len(subject.coded()[0].record(Images).images) < IMAGES
    never = sorted(theirs.keys() - mine.keys()) if every else []
    told = f"k {spans(np.array(twice))} twice" + (f", k {spans(np.array(never))} never" if never else "")
    return Diagnosis(
        OTHER_STEP,
        f"{culprit.diagnosis.what}; it comes so from global memory: {told}",
        "does this load go on along k in every step, as that of the other matrix does?",
    )


def _brought(subject: Subject, letter: str) -> Counter[int]:
    """How often each k of the first line of each tile was stored to LDS."""
    times: Counter[int] = Counter()
    for tile in tiles_of(subject):
        if tile.buffer == _buffer(subject, letter):
            line, along = (tile.row, tile.col) if letter == "A" else (tile.col, tile.row)
            times.update(along[line == line[line != HOLE].min()].tolist())
    return times


# At another time


def _at_another_time(found: Blame) -> Blame:
    if found.diagnosis.name == OTHER_MATRIX:
        what = "two matrices lie in the same bytes of LDS: one overwrites the other"
        hint = "check where in LDS the tile of each matrix begins, and how large it is, padding included"
        return replace(found, diagnosis=Diagnosis(OVERLAP, what, hint), at=_store_of(found.path))
    if found.diagnosis.name not in (OTHER_STEP, UNEXPLAINED):
        return found
    steps = found.diagnosis.what.partition(": ")[2] if found.diagnosis.name == OTHER_STEP else ""
    told = f": {steps}" if steps else ""
    return replace(
        found,
        diagnosis=Diagnosis(
            STALE,
            f"the load looks in the right place of LDS at the wrong time{told}",
            "the tile must be there before it is loaded, and stay until all waves have loaded it: barriers, "
            "and a buffer for each tile that is under way",
        ),
    )


# In another place


def _in_another_place(subject: Subject, culprit: Culprit, found: Blame, tiles: Sequence[TileMap]) -> Blame:
    """The store or the load: whichever follows no rule, or another one than the other matrix does."""
    if found.diagnosis.name == OTHER_STEP and not _in_one_tile(culprit, tiles):
        what = f"{found.diagnosis.what}, and the tile lies in another part of LDS than the load looks in"
        hint = "which of the buffers is filled, and which is read, in this step?"
        return replace(found, diagnosis=Diagnosis(OTHER_BUFFER, what, hint))
    stored, loaded = _forms(subject, culprit, tiles)
    diagnosis = unexplained(culprit.suspect) if _step_by_line(culprit) else found.diagnosis
    letter = culprit.slot.executions.letter(culprit.slot.matrix)
    if diagnosis.name in (UNEXPLAINED, LINE_ORDER, LDS_ADDRESSES[0]) and is_order_of_k(
        stored, loaded, letter
    ):
        line = "row" if letter == "A" else "column"
        what = f"{letter} meets its partner at other k, in every {line} alike"
        return replace(found, diagnosis=Diagnosis("k-order", what, _ONE_ORDER))
    if diagnosis.name in (UNEXPLAINED, LINE_ORDER) and stored and loaded and stored != loaded:
        what = f"LDS is written as {stored}, and read as {loaded}"
        diagnosis = Diagnosis(LDS_ADDRESSES[0], what, "use one index function for the store and the load")
    if diagnosis.name == LDS_ADDRESSES[0] and plainness(stored) == plainness(loaded) == 2:
        what = f"LDS is written with the scheme `{scheme(stored)}` and read with `{scheme(loaded)}`"
        diagnosis = replace(diagnosis, what=what)
    alike = stored and loaded and plainness(stored) == plainness(loaded)
    by_store = plainness(stored) < plainness(loaded) or (alike and _as_partner(subject, culprit, loaded))
    at = _store_of(found.path) if by_store else found.at
    as_loaded = found.path[0].lds_byte is not None
    if diagnosis.name == UNEXPLAINED and as_loaded and (apart := _constant_distance(culprit, tiles)):
        who, apart = ("stores put rows", -apart) if by_store else ("loads look", apart)
        what = f"{who} {abs(apart)} bytes {'beyond' if apart > 0 else 'before'} their place in LDS"
        hint = "compare offset and base of this access with those of its neighbours"
        diagnosis = Diagnosis(LDS_OFFSET, what, hint)
    return replace(found, diagnosis=diagnosis, at=at)


_ONE_ORDER = "load both operands by one formula of k: which k does each take in this step?"


def _constant_distance(culprit: Culprit, tiles: Sequence[TileMap]) -> int:
    """Bytes from where the needed elements lie to where those lie that were read, in all wrong slots alike;
    else 0."""
    apart = []
    held, needed = _coordinates(culprit)
    for tile in tiles:
        read, lies = _cells(tile, *held), _cells(tile, *needed)
        known = (read >= 0) & (lies >= 0)
        apart.append(tile.itemsize * (read - lies)[known])
    found = np.unique(np.concatenate(apart))
    found = found[found != 0]
    return int(found[0]) if found.size == 1 else 0


def _step_by_line(culprit: Culprit) -> bool:
    """Which K step a slot holds depends on its row (of A) or column (of B): that is no matter of the step."""
    if culprit.diagnosis.name != OTHER_STEP:
        return False
    s = culprit.suspect
    use = s.live & (s.row != HOLE)
    held, need = (s.col, s.need_col) if s.matrix == "A" else (s.row, s.need_row)
    shifts = np.unique(np.stack([need[use], (held - need)[use]]), axis=1)
    return bool(np.unique(shifts[0]).size < shifts.shape[1])


def _in_one_tile(culprit: Culprit, tiles: Sequence[TileMap]) -> bool:
    """What was read and what was needed were in LDS together, in one tile: no other buffer is at fault."""
    held, needed = _coordinates(culprit)
    return any(((_cells(tile, *held) >= 0) & (_cells(tile, *needed) >= 0)).any() for tile in tiles)


def _store_of(path: Sequence[Step]) -> int | None:
    """What put the value into LDS, nearest to the operand: a store, or a load that goes straight there."""
    stores = Kind.STORE | Kind.ATOMIC
    for at, step in enumerate(path):
        straight = at > 0 and Kind.LOAD in step.inst.kind and Kind.LDS not in step.inst.kind
        if step.inst.kind & stores or straight:
            return at
    return None


def _as_partner(subject: Subject, culprit: Culprit, form: str) -> bool:
    """The other matrix lies in LDS by that function of line and k, or by one of that name."""
    letter = "B" if culprit.slot.executions.letter(culprit.slot.matrix) == "A" else "A"
    others = (tile.form() for tile in tiles_of(subject) if tile.buffer == _buffer(subject, letter))
    return any(scheme(_exchanged(other[0].text)) == scheme(form) for other in others if other is not None)


def _exchanged(form: str) -> str:
    """The same function in the words of the other matrix: k is the column of A and the row of B."""
    return re.sub(r"\b(row|col)\b", lambda word: "col" if word[0] == "row" else "row", form)


def _forms(subject: Subject, culprit: Culprit, tiles: Sequence[TileMap]) -> tuple[str, str]:
    """The closed forms by which the tile was stored and is loaded; "" where there is none."""
    tile = next((t for t in tiles if t.byte_of(*_element(culprit)) is not None), None)
    if tile is None:
        return "", ""
    form = tile.form()
    loaded = _loaded_as(subject, culprit, tile, turned=form is not None and form[1])
    return form[0].text if form else "", loaded


def _loaded_as(subject: Subject, culprit: Culprit, tile: TileMap, *, turned: bool) -> str:
    """Where loads look for the elements of a tile, as a formula: a load that returned an element looked in
    the cell that holds it."""
    rows, cols, cells = (np.concatenate(x) for x in zip(*_looked_at(subject, culprit, tile), strict=True))
    row, col = rows - tile.corner[0], cols - tile.corner[1]
    if turned:
        return explain_places(col, row, cells, tile.shape[::-1], ("col", "row"))
    return explain_places(row, col, cells, tile.shape)


def _looked_at(subject: Subject, culprit: Culprit, tile: TileMap) -> Iterator[tuple[Ints, Ints, Ints]]:
    def role(one: Culprit) -> tuple[str, bool]:
        return one.slot.matrix, one.slot.executions.swapped

    for other in culprits_of(subject):
        if role(other) != role(culprit):
            continue
        held, needed = _coordinates(other)
        cells = _cells(tile, *held)
        known = (cells >= 0) & (_cells(tile, *needed) >= 0)
        yield needed[0][known], needed[1][known], cells[known]


class PlacesInLds(Struct, frozen=True, eq=False):
    """Where a wave looked for the elements of an operand, and where they lie: bytes of LDS.

    Attributes:
        wave: in its workgroup.
        read, lies: int64 [slot], of live slots of which both are known.
        tile: int64 [cell], where elements of the tile lie.
    """

    wave: int
    read: Ints
    lies: Ints
    tile: Ints

    __repr__ = brief


def places_in_lds(subject: Subject, letter: str, byte: int | None) -> PlacesInLds | None:
    """Of the first wave whose operand A or B came from a wrong place in LDS; None where that is not known.

    Args:
        subject: the kernel.
        letter: the matrix, as the contract names it.
        byte: that was read; of several operands the one that this is the first wrong byte of is taken.

    Raises:
        NoProductError, UndecidedError, RunStoppedError: as `blames`.
    """
    for culprit, found in blames(subject):
        if culprit.slot.executions.letter(culprit.slot.matrix) != letter or found.read != byte:
            continue
        first = replace(culprit.suspect, **{
            name: getattr(culprit.suspect, name)[:1] for name in ("row", "col", "need_row", "need_col", "live")
        })  # fmt: skip
        held, needed = _coordinates(replace(culprit, suspect=first))
        for tile in _of_matrix(subject, culprit):
            cells = np.stack([_cells(tile, *held), _cells(tile, *needed)])
            read, lies = tile.first + tile.itemsize * cells[:, (cells >= 0).all(axis=0)]
            if (read != lies).any():
                there = tile.first + tile.itemsize * np.flatnonzero(tile.row != HOLE)
                wave = int(first.wave[0]) if first.wave.size else 0
                return PlacesInLds(wave, read, lies, there)
    return None


def _coordinates(culprit: Culprit) -> tuple[tuple[Ints, Ints], tuple[Ints, Ints]]:
    """Rows and columns, by the names of the contract, that live slots held and needed."""
    s = culprit.suspect
    held, needed = (s.row[s.live], s.col[s.live]), (s.need_row[s.live], s.need_col[s.live])
    return (held[::-1], needed[::-1]) if culprit.slot.executions.swapped else (held, needed)


def _cells(tile: TileMap, row: Ints, col: Ints) -> Ints:
    """Cell of a tile that holds each element; -1 for none."""
    (top, left), (tall, wide) = tile.corner, tile.shape
    table = np.full((tall, wide), -1, np.int64)
    held = np.flatnonzero(tile.row != HOLE)
    table[tile.row[held] - top, tile.col[held] - left] = held
    inside = (row >= top) & (row < top + tall) & (col >= left) & (col < left + wide)
    return np.where(inside, table[np.where(inside, row - top, 0), np.where(inside, col - left, 0)], -1)
