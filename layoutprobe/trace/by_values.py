"""Which elements a kernel multiplies, told by its outputs: for kernels without a matrix instruction.

One factor selects: B[k][n] is 1 where k = (n + first) % K, and 0 elsewhere. Then D[m][n] is the one element of A that
is multiplied for that k, and its number says which it is. With A as the selector, D tells the elements of B.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.isa.inst import Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.isa.lanes import passes_between_lanes
from layoutprobe.layouts.layout import HOLE
from layoutprobe.manifest.inputs import MOVED
from layoutprobe.manifest.model import Gemm
from layoutprobe.manifest.selection import Pick, numbers_of
from layoutprobe.numbers import NO_NUMBER, DigitCode
from layoutprobe.observe.sites import LoadSiteRecorder, LoadSites
from layoutprobe.place import Place
from layoutprobe.report.words import spans
from layoutprobe.solver.diagnose import LINE_ORDER, OTHER_BUFFER, UNEXPLAINED, Diagnosis, diagnose
from layoutprobe.solver.hypotheses import HYPOTHESES
from layoutprobe.solver.suspect import Suspect
from layoutprobe.trace.executed import executed
from layoutprobe.trace.places import loop_around, where
from layoutprobe.trace.routes import taken_from_lds
from layoutprobe.trace.stores import owners_of, writer_of
from layoutprobe.trace.subject import RunSpec, Subject

Ints = NDArray[np.int64]

INCOMPLETE = "incomplete-sum"
OTHER_MATRIX = "other-matrix"
_RUNS, _RUNS_OF_A_LINE = 4, 96
"""Runs with a selector that are made for a matrix: each asks for as many k as D has columns, or rows; and where that
is one."""
_MOSTLY = 0.5
"""Share of elements that must be known for a diagnosis."""
_FETCHED = 0.9
"""Share of the needed elements that must be used for saying that all were fetched."""
_NAMES = ("transposed", "leading-dimension", "shifted", "folded", "k-exchanged", "k-order")
_LAST = (LINE_ORDER,)
"""What explains most is asked last."""
_TILES = (16, 32, 8)
_KEEP = ("", "relu")
"""Activations that leave numbers of elements as they are. Of what else an epilogue reads, scales are 1, others 0."""


class UsedElements(Struct, frozen=True):
    """What is wrong with the elements that are multiplied.

    Attributes:
        diagnosis: by a name of the rules of operands.
        matrix: "A" or "B", or both.
        place: the load that is to blame, or the head of the loop.
        needed, held: the first wrong one in words.
        count: wrong ones.
    """

    diagnosis: Diagnosis
    matrix: str
    place: Place
    needed: str
    held: str
    count: int


class _Seen(Struct, frozen=True, eq=False):
    """Elements of one matrix, as the runs show them: axes [run, line, other line].

    `number` is that of an element, NO_NUMBER for what is none; `times`: how often it was added.
    """

    matrix: str
    shape: tuple[int, int]
    number: Ints
    times: Ints
    row: Ints
    col: Ints

    __repr__ = brief

    @property
    def known(self) -> NDArray[np.bool_]:
        # Two elements that are added are even, too, and look like a third one that was added twice.
        needed = self.number == self.row * self.shape[1] + self.col
        return np.asarray((self.number >= 0) & ((self.times == 1) | needed))

    @property
    def wrong(self) -> NDArray[np.bool_]:
        return np.asarray(self.known & (self.number != self.row * self.shape[1] + self.col))

    @property
    def wrong_line(self) -> NDArray[np.bool_]:
        """Elements of another row of A, or column of B."""
        row, col = np.divmod(self.number, self.shape[1])
        return np.asarray(self.known & ((row != self.row) if self.matrix == "A" else (col != self.col)))


def used_elements(subject: Subject) -> UsedElements | None:
    """What is wrong with the elements of A and B that are multiplied, or with where their sums are stored; None where
    nothing is, or nothing can be told.

    Raises:
        RunStoppedError: a run stopped at a fault.
    """
    return subject.once(_used)


def _used(subject: Subject) -> UsedElements | None:
    contract = subject.contract
    if not isinstance(contract, Gemm) or contract.split_k or contract.activation not in _KEEP:
        return None
    shapes = [subject.binding.buffers[name].shape for name in (contract.a, contract.b, contract.d)]
    if any(len(shape) != 2 for shape in shapes):
        return None
    if (lost := _never_loaded(subject, contract)) is not None:
        return lost
    seen = [_seen(subject, contract, matrix) for matrix in "AB"]
    return (
        _stored(subject, contract, seen) or _lines(subject, contract, seen) or _depth(subject, contract, seen)
    )


def _never_loaded(subject: Subject, contract: Gemm) -> UsedElements | None:
    """A factor that is never loaded, where the other one is: it is taken for both."""
    loads = {matrix: _sites(subject, contract, matrix) for matrix in "AB"}
    for matrix, other in ("AB", "BA"):
        if loads[other] and not loads[matrix]:
            what = f"{matrix} is never loaded, and {other} is: elements of another matrix are multiplied"
            place = replace(where(subject, loads[other][-1]), matrix=matrix)
            found = Diagnosis(OTHER_MATRIX, what, f"from which pointer is {matrix} loaded?")
            return UsedElements(found, matrix, place, f"elements of {matrix}", f"elements of {other}", 1)
    return None


def _stored(subject: Subject, contract: Gemm, seen: list[_Seen]) -> UsedElements | None:
    """Sums that are right, of rows and columns of other elements than those that they are stored to."""
    a, b = seen
    if not (a.wrong_line.any() and b.wrong_line.any()):
        return None
    row = np.where(a.known, a.number // a.shape[1], HOLE)[0]
    col = np.where(b.known, b.number % b.shape[1], HOLE)[0]
    there = (row != HOLE) & (col != HOLE)
    if there.mean() < _MOSTLY:
        return None
    stored = np.indices(row.shape)
    suspect = _one_slot_each("C", (stored[0], stored[1], row, col), there, row.shape, subject)
    found = _named(suspect, _NAMES)
    if found.name == UNEXPLAINED:
        return None
    at = tuple(int(x) for x in np.argwhere(there & ((stored[0] != row) | (stored[1] != col)))[0])
    place = writer_of(subject, contract.d, int(np.ravel_multi_index(at, row.shape)))
    return UsedElements(
        found,
        "C",
        replace(place or Place(kernel=subject.kernel.name), matrix="C"),
        f"{contract.d}[{row[at]}][{col[at]}]",
        f"stored to {contract.d}[{at[0]}][{at[1]}]",
        int((suspect.live[0, ..., 0] & ((stored[0] != row) | (stored[1] != col))).sum()),
    )


def selected(subject: Subject, contract: Gemm, matrix: str, least: int = 0) -> list[int]:
    """The first k of each run that shows elements of a matrix; `least`: so many are made where it takes them."""
    m, n = subject.binding.buffers[contract.d].shape[-2:]
    depth, step = subject.binding.buffers[contract.a].shape[-1], n if matrix == "A" else m
    firsts = [*range(0, depth, step)]
    runs = max(least, _RUNS if step > 1 else _RUNS_OF_A_LINE)
    return firsts if len(firsts) <= runs else [*firsts[: runs - 1], depth - step]


def _seen(subject: Subject, contract: Gemm, matrix: str) -> _Seen:
    name = contract.a if matrix == "A" else contract.b
    shape = subject.binding.buffers[name].shape
    m, n = subject.binding.buffers[contract.d].shape
    depth = shape[1] if matrix == "A" else shape[0]
    code = numbers_of(subject.binding, name)
    number, times, rows, cols = [], [], [], []
    i, j = np.indices((m, n))
    for first in selected(subject, contract, matrix):
        at, found = _decoded(subject, contract, code, name, first)
        number.append(at)
        times.append(found)
        k = ((j if matrix == "A" else i) + first) % depth
        rows.append(i if matrix == "A" else k)
        cols.append(k if matrix == "A" else j)
    return _Seen(matrix, (shape[0], shape[1]), *map(np.stack, (number, times, rows, cols)))


def _decoded(subject: Subject, contract: Gemm, code: DigitCode, name: str, first: int) -> tuple[Ints, Ints]:
    """Numbers of the elements that D shows, and how often each was added: 0 where D is 0."""
    digits, often = [], []
    for digit in range(code.digits):
        run = subject.run(RunSpec(Pick(name, digit, first).kind, (), alpha=1.0, beta=0.0))
        values = np.asarray(run.outputs[contract.d], np.float64)
        if run.beta and contract.c in run.inputs:
            values = values - run.beta * np.asarray(run.inputs[contract.c], np.float64)
        values = values / run.alpha
        whole = np.where(
            np.isfinite(values) & (values == np.rint(values)) & (values >= 0), values, -1
        ).astype(np.int64)
        # Digits are odd numbers: what is even was added twice.
        twice = np.where((whole > 0) & (whole % 2 == 0), 2, 1)
        often.append(np.where(whole == 0, 0, np.where(whole < 0, -1, twice)))
        digits.append((whole // np.maximum(twice, 1) + 1) // 2)
    alike = np.all([found == often[0] for found in often], axis=0)
    times = np.where(alike, often[0], -1)
    number = code.numbers([np.where(times > 0, digit, 0) for digit in digits])
    return np.where(times > 0, number, NO_NUMBER), times


# Elements of other lines


def _lines(subject: Subject, contract: Gemm, seen: list[_Seen]) -> UsedElements | None:
    """Elements of another row of A or column of B, or of another k in one of them."""
    sure = [one for one in seen if one.wrong.any() and one.known.mean() >= _MOSTLY]
    lines = [one for one in sure if one.wrong_line.any()]
    # An operand that is off by some k makes its partner seem to be off, too; one that selects twice shows no element.
    whole = [one for one in sure if one.known.all()]
    blamed = lines or (whole if len(sure) > 1 else sure)
    if len(blamed) != 1:
        return None
    (one,) = blamed
    total = one.shape[0] * one.shape[1]
    if (one.number >= total).any():
        return None
    suspect = _suspect(subject, one)
    found = _named(suspect, _NAMES)
    for tile in _TILES:
        if found.name == UNEXPLAINED and max(one.shape) > tile:
            found = _within(suspect, tile)
    if found.name == UNEXPLAINED:
        found = _named(suspect, _LAST)
    at = tuple(int(x) for x in np.argwhere(one.wrong)[0])
    letter = one.matrix
    needed = f"{letter}[{one.row[at]}][{one.col[at]}]"
    held = "{}[{}][{}]".format(letter, *divmod(int(one.number[at]), one.shape[1]))
    place = _taken(subject, contract, one, at) if found.name == UNEXPLAINED else None
    return UsedElements(
        _as_used(found, letter, f"{held} where {needed} belongs" if place else ""),
        letter,
        replace(place or _load(subject, contract, one), matrix=letter),
        needed,
        held,
        int(one.wrong.sum()),
    )


_FEW = 1 << 22
"""Bytes of all buffers: what is larger takes too long to follow step by step."""


def _taken(subject: Subject, contract: Gemm, one: _Seen, at: tuple[int, ...]) -> Place | None:
    """The load that takes an element of another k from LDS, where the one that is needed was stored, too."""
    taken = subject.binding.nbytes
    if one.wrong_line[at] or subject.sample or taken > _FEW:
        return None
    name = contract.a if one.matrix == "A" else contract.b
    owners = owners_of(subject, contract.d)
    x, y, z = (int(i) for i in owners.workgroup[at[1:]])
    lane = ((x, y, z), int(owners.wave[at[1:]]), int(owners.lane[at[1:]]))
    needed = int(one.row[at]) * one.shape[1] + int(one.col[at])
    held, wanted = (RunSpec(f"{MOVED}{name} {number} 1") for number in (int(one.number[at]), needed))
    return taken_from_lds(subject, RunSpec("normal"), (x, y, z), frozenset([lane]), held, wanted)


def _as_used(found: Diagnosis, letter: str, taken: str) -> Diagnosis:
    if found.name != UNEXPLAINED:
        return found
    if taken:
        return Diagnosis(
            OTHER_BUFFER,
            f"{taken} is taken from LDS: both were stored there",
            "which of the buffers is filled, and which is read, in this step?",
        )
    what = f"other elements of {letter} are multiplied than the sum needs"
    return Diagnosis(UNEXPLAINED, what, "compare row and column of the load with those of the sum")


def _suspect(subject: Subject, one: _Seen) -> Suspect:
    row, col = np.divmod(one.number, one.shape[1])
    return _one_slot_each(one.matrix, (row, col, one.row, one.col), one.known, one.shape, subject)


def _one_slot_each(
    matrix: str, axes: Sequence[Ints], live: NDArray[np.bool_], shape: tuple[int, ...], subject: Subject
) -> Suspect:
    """The elements as those of a suspect: rows and columns, held and needed, [run, row, column] or [row, column]."""

    def spread(axis: NDArray[Any]) -> NDArray[Any]:
        return axis.reshape(-1, *axis.shape[-2:], 1)

    row, col, need_row, need_col = (spread(np.where(live, axis, HOLE)) for axis in axes)
    return Suspect(
        matrix=matrix,
        row=row,
        col=col,
        need_row=need_row,
        need_col=need_col,
        live=spread(live),
        origin=np.zeros((len(row), 2), np.int64),
        tile=(shape[0], shape[1]),
        shape=(shape[0], shape[1]),
        extents=tuple(subject.sizes.items()),
    )


def _within(suspect: Suspect, tile: int) -> Diagnosis:
    """A diagnosis of tiles of a size: each needed element is looked at in a tile of its own."""
    live = suspect.live.ravel()
    flat = [x.ravel()[live] for x in (suspect.row, suspect.col, suspect.need_row, suspect.need_col)]
    row, col, need_row, need_col = (x[:, None, None, None] for x in flat)
    origin = np.stack([flat[2] // tile * tile, flat[3] // tile * tile], axis=1)
    local = replace(
        suspect, row=row, col=col, need_row=need_row, need_col=need_col, live=np.ones_like(row, np.bool_),
        origin=origin, tile=(tile, tile),
    )  # fmt: skip
    return _named(local, _NAMES)


def _named(suspect: Suspect, names: tuple[str, ...]) -> Diagnosis:
    return diagnose(suspect, without=[h.name for h in HYPOTHESES if h.name not in names])


def _load(subject: Subject, contract: Gemm, one: _Seen) -> Place:
    """The load of a matrix; of LDS where every element that is needed was fetched, and lies elsewhere in its tile."""
    from_lds = [inst for inst in executed(subject) if Kind.LDS in inst.kind and Kind.LOAD in inst.kind]
    if from_lds and _exchanged(one):
        turned = from_lds[-1] if len(from_lds) == 1 else _of_half(from_lds, one.matrix)
        return where(subject, turned)
    sites = _sites(subject, contract, one.matrix)
    return where(subject, sites[0]) if sites else Place(kernel=subject.kernel.name)


def _of_half(loads: list[Inst], matrix: str) -> Inst:
    """The load of LDS that differs in width from the others, or the first of A and the last of B."""
    return loads[0] if matrix == "A" else loads[-1]


def _exchanged(one: _Seen) -> bool:
    """What is needed is used, all of it, and in its tile."""
    used, needed = (np.unique(x[one.known]) for x in (one.number, one.row * one.shape[1] + one.col))
    row, col = np.divmod(one.number, one.shape[1])
    tile = _TILES[0]
    near = (row // tile == one.row // tile) & (col // tile == one.col // tile)
    return bool(near[one.known].all()) and np.isin(needed, used).mean() > _FETCHED


def _sites(subject: Subject, contract: Gemm, matrix: str) -> tuple[Inst, ...]:
    name = contract.a if matrix == "A" else contract.b
    loads = subject.run(RunSpec("integers", (LoadSiteRecorder,))).record(LoadSites).loads
    return loads.get(f"buffer {name}", ())


# What is left out or added again


def _depth(subject: Subject, contract: Gemm, seen: list[_Seen]) -> UsedElements | None:
    """k that no element of C has, or has twice."""
    if any(one.wrong.any() or (one.times < 0).any() for one in seen):
        return None
    one = seen[0]
    missing, doubled = (np.array(sorted(_k_where(one, times)), np.int64) for times in (0, 2))
    if not missing.size and not doubled.size:
        return None
    parts = [f"k {spans(missing)} never added"] if missing.size else []
    parts += [f"k {spans(doubled)} added more than once"] if doubled.size else []
    sites = _sites(subject, contract, "A")
    place = where(subject, sites[0]) if sites else Place(kernel=subject.kernel.name)
    if exchanges := [inst for inst in executed(subject) if passes_between_lanes(inst)]:
        parts.append("lanes add up their parts")
        place = where(subject, exchanges[-1])
    loop = loop_around(subject, sites[0].pc) if sites and _at_an_end(missing, one.shape[1]) else None
    hint = "check the bounds of the K loop, its tail, and what happens before the first step"
    return UsedElements(
        Diagnosis(INCOMPLETE, "the sum over k is not complete: " + ", ".join(parts), hint),
        "A and B",
        replace(loop or place, matrix="A and B"),
        f"every k from 0 to {one.shape[1] - 1} once",
        ", ".join(parts),
        int(((one.times == 0) | (one.times == 2)).sum()),
    )


def _k_where(one: _Seen, times: int) -> Iterator[int]:
    """k of which all elements that were asked for were added so often."""
    for k in np.unique(one.col):
        if (one.times[one.col == k] == times).all():
            yield int(k)


def _at_an_end(missing: Ints, depth: int) -> bool:
    """The first k, or the last, and nothing else."""
    whole = missing.size and missing[-1] - missing[0] + 1 == missing.size
    return bool(whole and (missing[0] == 0 or missing[-1] == depth - 1))
