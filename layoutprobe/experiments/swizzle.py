"""The store swizzle of a tile in LDS, and the addresses of the reads that feed an operand from it: given one, the
other; every answer runs as a kernel before it is told."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.arch import find, lds_model
from layoutprobe.arch.lds import LdsModel, LdsRead
from layoutprobe.brief import brief
from layoutprobe.capture.capture import Evidence
from layoutprobe.codegen.reads import ReadCode, formula
from layoutprobe.errors import ProbeError, UsageError
from layoutprobe.experiments.lds_places import (
    Place,
    Question,
    address_table,
    fitting,
    named,
    place_of,
    usual_read,
    worth_a_try,
)
from layoutprobe.experiments.lds_reads import delivery_of, digits, fetch_kernel, fetched, fields_of
from layoutprobe.layouts.polynomial import Polynomial
from layoutprobe.layouts.swizzle import SCHEMES
from layoutprobe.observe.cycles import cycles
from layoutprobe.report.lds_code import Base, Cost, Rung, SwizzleCandidate, SwizzleReport
from layoutprobe.solver.lds_reads import NOWHERE, Tiles, ladder, solve_addresses, solve_store

Ints = NDArray[np.int64]

_CHUNKS = (16, 8, 4)
"""Bytes that one lane stores at once, widest first."""


class Candidate(Struct, frozen=True, eq=False):
    """A store, reads that go with it, and what they cost.

    Attributes:
        place: where the tile lies.
        code: the reads.
        titles: what each read fills.
        loads: of all reads of one wave.
        stores: of writing the tile once, `chunk` bytes a lane.
        chunk: the widest store that the place leaves whole, in bytes; 0 where there is none.
    """

    place: Place
    code: ReadCode
    titles: tuple[str, ...]
    loads: Cost
    stores: Cost
    chunk: int

    __repr__ = brief


# Given the store


def solve_reads(asked: Question, stores: Sequence[str], read: str | None, top: int) -> SwizzleReport:
    """The addresses that go with stores.

    Args:
        asked: what is asked.
        stores: schemes and expressions; empty: all schemes, and those that are worth a try beside them.
        read: mnemonic; None: every read that can bring the operand.
        top: so many candidates.

    Raises:
        UsageError: a store or a read that is none.
    """
    arch = find(asked.bench.arch)
    reads = (
        [fitting(asked, arch.lds_read(read))]
        if read
        else [r for r in arch.reads if r.bits in (0, asked.bits)]
    )
    places, refused = _places(asked, stores, arch.lds_bytes)
    model = lds_model(asked.bench.arch, asked.bench.wave)
    found: list[Candidate] = []
    for one in reads:
        delivery, evidence = delivery_of(asked.bench, one, asked.bits)
        tiles = asked.tiles(delivery)
        for place in places:
            solved = solve_addresses(tiles, delivery, place.index, one.align)
            if solved.refusal:
                refused.append((f"{place.name}, {one.name}", solved.refusal, place.name))
            else:
                found.append(_candidate(asked, place, one, tiles, solved.address, model))
    found.sort(key=_order)
    shown = _distinct(found)[:top]
    for candidate in shown:
        check(asked, candidate)
    served = {one.place.name for one in found}
    told = [(what, why) for what, why, store in refused if store not in served] if stores or not shown else []
    return _report(asked, "store" if stores else "nothing", len(places) * len(reads), shown, told, evidence)


def _places(
    asked: Question, stores: Sequence[str], lds: int
) -> tuple[list[Place], list[tuple[str, str, str]]]:
    if stores:
        return [place_of(text, asked.shape, asked.bits, lds) for text in stores], []
    places, refused = [], []
    for text in (*SCHEMES, *worth_a_try(asked.shape, asked.bits)):
        try:
            places.append(place_of(text, asked.shape, asked.bits, lds))
        except UsageError as error:
            refused.append((text, error.what, text))
    return places, refused


def _order(candidate: Candidate) -> tuple[int, ...]:
    """Cheap reads first, then cheap and few stores, then few bases and short formulas."""
    bases = candidate.code.bases
    return (
        candidate.loads.cycles,
        candidate.stores.cycles,
        -candidate.chunk,
        len(bases),
        int(candidate.place.index.max()),
        sum(len(base.text) for base in bases),
    )


def _distinct(found: Sequence[Candidate]) -> list[Candidate]:
    """Each place once for each read: several formulas may be one table."""
    seen: dict[tuple[bytes, str], Candidate] = {}
    for candidate in found:
        seen.setdefault((candidate.place.index.tobytes(), candidate.code.read.name), candidate)
    return list(seen.values())


def _candidate(
    asked: Question, place: Place, read: LdsRead, tiles: Tiles, address: Ints, model: LdsModel
) -> Candidate:
    loads = cost(np.where(address == NOWHERE, 0, address), read.bytes, model, store=False)
    chunk = _chunk(place.index, asked.bits)
    return Candidate(
        place, read_code(read, address), tiles.titles, loads,
        _store_cost(place.index, asked.bits, chunk, model), chunk,
    )  # fmt: skip


def read_code(read: LdsRead, address: Ints) -> ReadCode:
    """The code for addresses."""
    bases, rungs = ladder(address)
    return ReadCode(read, tuple(formula("lane", address[base]) for base in bases), rungs)


def cost(address: Ints, size: int, model: LdsModel, *, store: bool) -> Cost:
    """Cycles of accesses, int64 [access, lane]."""
    total, ideal = cycles(address.astype(np.int32), size, model, store=store)
    return Cost(int(total.sum()), int(ideal.sum()))


def _chunk(index: Ints, bits: int) -> int:
    """Bytes of the widest store that puts neighbours of a row where they belong; 0: no such store."""
    for size in _CHUNKS:
        group = size * 8 // bits
        if index.shape[1] % group:
            continue
        parts = index.reshape(-1, group)
        if (np.diff(parts, axis=1) == 1).all() and not (parts[:, 0] * bits % (8 * size)).any():
            return size
    return 0


def _store_cost(index: Ints, bits: int, chunk: int, model: LdsModel) -> Cost:
    """Of lanes that store neighbouring chunks of the tile, row after row."""
    if not chunk:
        return Cost(0, 0)
    first = index.reshape(-1, chunk * 8 // bits)[:, 0] * bits // 8
    padded = np.full(-(-first.size // model.wave) * model.wave, -1, np.int64)
    padded[: first.size] = first
    return cost(padded.reshape(-1, model.wave), chunk, model, store=True)


# Given the addresses


def solve_stores(asked: Question, text: str, read: str | None) -> SwizzleReport:
    """The store that goes with addresses.

    Args:
        asked: what is asked.
        text: an expression of lane and read: the byte that the lane names.
        read: mnemonic; None: the read that exchanges elements of that width.

    Raises:
        UsageError: the addresses bring some element from two places, or need two at one.
    """
    arch = find(asked.bench.arch)
    one = fitting(asked, arch.lds_read(read or usual_read(asked)))
    delivery, evidence = delivery_of(asked.bench, one, asked.bits)
    tiles = asked.tiles(delivery)
    address = address_table(text, len(tiles.titles), asked.bench.wave, arch.lds_bytes)
    solved = solve_store(tiles, delivery, address)
    if solved.refusal:
        raise UsageError(
            "no store goes with these addresses",
            where={"address": text, "read": one.name},
            observed=solved.refusal,
            hint="`layoutprobe pack` shows what these reads bring, and the code that makes the operand of it",
        )
    model = lds_model(asked.bench.arch, asked.bench.wave)
    place = named(solved.index, asked.shape, asked.bits)
    candidate = _candidate(asked, place, one, tiles, address, model)
    check(asked, candidate)
    return _report(asked, "addresses", 1, [candidate], [], evidence)


# By execution


def check(asked: Question, candidate: Candidate) -> None:
    """Run the candidate: each slot must hold its element.

    The tile's elements are numbered, and the numbers travel in digits, one run each.

    Raises:
        ProbeError: a slot held another.
    """
    place, code = candidate.place, candidate.code
    kernel = fetch_kernel(code, asked.shape, asked.bits, place.formula if place.in_c else "where[i]")
    built = asked.bench.compiled(kernel)
    number = np.arange(place.index.size, dtype=np.int64).reshape(asked.shape)
    lds = -(-(int(place.index.max()) + 1) * asked.bits // 8 // 16) * 16 + 16
    count = len(code.reads) * code.read.words
    got = np.zeros((asked.bench.wave, count * 32 // asked.bits), np.int64)
    for at, digit in enumerate(digits(number, asked.bits)):
        words, _ = fetched(asked.bench, built, digit, place.index, asked.bits, lds, count)
        got |= fields_of(words, asked.bits) << at * asked.bits
    expected = _expected(asked, number)
    if not np.array_equal(got, expected):
        lane, slot = (int(x) for x in np.argwhere(got != expected)[0])
        raise ProbeError(
            "a generated kernel brings other elements than it was solved for: a bug in layoutprobe",
            where={"store": place.name, "read": code.read.name, "lane": lane, "slot": slot},
            expected=f"element {expected[lane, slot]} of the tile",
            observed=f"element {got[lane, slot]}",
        )


def _expected(asked: Question, number: Ints) -> Ints:
    """Numbers of the elements that the registers of the operands need, block after block: int64 [lane, slot]."""
    lanes, unit = asked.operand.lanes, asked.unit
    row, col = (axis.reshape(lanes, -1) for axis in (asked.operand.row, asked.operand.col))
    if asked.swapped:
        row, col = col, row
    blocks = [
        number[row + top, col + left]
        for top in range(0, asked.shape[0], unit[0])
        for left in range(0, asked.shape[1], unit[1])
    ]
    return np.concatenate(blocks, axis=1)


# As a report


def _report(
    asked: Question,
    given: str,
    tried: int,
    found: Sequence[Candidate],
    refused: Sequence[tuple[str, str]],
    evidence: Evidence,
) -> SwizzleReport:
    model = lds_model(asked.bench.arch, asked.bench.wave)
    costs = f"{model.evidence} ({model.sources['banks']})"
    if any(one.code.read.bits for one in found):
        costs += (
            "; nobody has published the phases of transposing reads: those of plain reads as wide are assumed"
        )
    return SwizzleReport(
        asked.subject, given, tried, tuple(map(_told, found)), tuple(refused), costs, evidence
    )


def _told(one: Candidate) -> SwizzleCandidate:
    place, code = one.place, one.code
    rungs = (Rung(t, at.base, at.flip, at.offset) for t, at in zip(one.titles, code.reads, strict=True))
    return SwizzleCandidate(
        place.name,
        place.formula,
        _kind(place.index),
        code.read.name,
        tuple(Base(base.text, base.kind) for base in code.bases),
        tuple(rungs),
        one.loads,
        one.stores if one.chunk else None,
        one.chunk,
        "\n".join(code.lines()),
    )


def _kind(index: Ints) -> str:
    """Whether a store is linear over GF(2)."""
    rows, cols = index.shape
    if rows & (rows - 1) or cols & (cols - 1):
        return "not of powers of two"
    return "linear over GF(2)" if Polynomial.of(index.ravel()).linear else "not linear over GF(2)"
