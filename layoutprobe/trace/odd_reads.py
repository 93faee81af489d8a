"""A load from LDS that does not follow the pattern of the others, of a kernel whose contract names no product.

What such a kernel needs where is not known. But the loads of one kind that read one input, or what one kind of
store put there, are alike: what a lane finds, beside what the first lane finds, is the same of all of them, up to
bits of row and column that are flipped; and what their first lanes find fills an affine space over GF(2), as tiles
of powers of two do. One load that breaks what all others keep is told, and nothing where it is not plain which.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from math import prod
from operator import xor

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.isa.inst import Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.manifest.coding import Element
from layoutprobe.observe.lds_reads import LANE_BIT, STORE_BIT, WAVE_BIT, Fetch, Fetches, WatchFetches
from layoutprobe.place import Place
from layoutprobe.trace.operands import MOSTLY, Raw, numbers_of
from layoutprobe.trace.places import where
from layoutprobe.trace.subject import RunSpec, RunStoppedError, Subject

Ints = NDArray[np.int64]
LEAST = 4
"""Loads of one kind that make a pattern."""
_ROW = 32
"""Bits of an element's number below its row."""


class OddRead(Struct, frozen=True):
    """A load unlike all others of its kind.

    Attributes:
        place: where.
        what: in words.
    """

    place: Place
    what: str


class _Reads(Struct, frozen=True, eq=False):
    """What the waves of a workgroup find by one load.

    Attributes:
        inst: the load.
        source: the input whose elements they find, or the name of the store that put it there.
        key: int64 [wave, slot], row and column of each element, or store, wave, lane and byte, as bits of one
            number; -1 for none.
    """

    inst: Inst
    source: str
    key: Ints

    __repr__ = brief


def odd_read(subject: Subject) -> OddRead | None:
    """The load that alone breaks the pattern of the others; None where there is none, or no pattern."""
    return subject.once(_odd_read)


def _odd_read(subject: Subject) -> OddRead | None:
    try:
        runs = _runs(subject)
    except RunStoppedError:
        return None
    for told, reads in (
        (_element, _of_inputs(subject, runs)),
        (_storing, _of_stores(subject, runs)),
    ):
        if found := _unlike(list(reads)):
            odd, expected, others = found
            wave, slot = (int(x) for x in np.argwhere(odd.key != expected)[0])
            held, needed = (told(odd.source, int(keys[wave, slot])) for keys in (odd.key, expected))
            what = f"{odd.inst.name} finds {held} in LDS where it would find {needed} by the pattern of the {others} "
            return OddRead(where(subject, odd.inst), what + "others of its kind")
    return None


def _unlike(reads: Sequence[_Reads]) -> tuple[_Reads, Ints, int] | None:
    """The odd one, what it should find, and of how many others that is the pattern."""
    for kind in dict.fromkeys((one.inst.name, one.source) for one in reads):
        alike = [one for one in reads if (one.inst.name, one.source) == kind]
        if len(alike) >= LEAST and (found := _by_lanes(alike) or _by_loads(alike)) is not None:
            return found
    return None


def _element(buffer: str, key: int) -> str:
    return "no element" if key < 0 else str(Element(buffer, (key >> _ROW, key & (1 << _ROW) - 1)))


def _storing(store: str, key: int) -> str:
    if key < 0:
        return "what nobody stored"
    wave, lane = key >> WAVE_BIT & 0xFFFF, key >> LANE_BIT & 0xFF
    return f"what lane {lane} of wave {wave} stored by {store} number {key >> STORE_BIT}"


def _by_lanes(alike: Sequence[_Reads]) -> tuple[_Reads, Ints, int] | None:
    """The one load whose lanes find elements in an arrangement of its own; what it should find, and of how many."""
    kinds = _arrangements(alike)
    odd = [few[0] for few in kinds if len(few) == 1]
    if len(odd) != 1:
        return None
    lacking = [
        (others, first)
        for others in kinds
        if len(others) >= LEAST - 1 and (first := _missing([_start(one) for one in others])) is not None
    ]
    if len(lacking) != 1:
        return None
    others, first = lacking[0]
    return odd[0], _arranged(others[0]) ^ first, len(others)


def _by_loads(alike: Sequence[_Reads]) -> tuple[_Reads, Ints, int] | None:
    """The one load whose lanes find a wrong part; what it should find, and of how many others that is the pattern."""
    kinds = _arrangements(alike)
    if any(len(kind) < LEAST for kind in kinds):
        return None
    found = [one for one in map(_misplaced, kinds) if one is not None]
    return found[0] if len(found) == 1 else None


def _misplaced(alike: Sequence[_Reads]) -> tuple[_Reads, Ints, int] | None:
    starts = [_start(one) for one in alike]
    if len(set(starts)) == len(starts) and _is_affine(starts):
        return None
    wanted = {at: _missing([*starts[:at], *starts[at + 1 :]]) for at in range(len(starts))}
    odd = [(at, first) for at, first in wanted.items() if first is not None]
    # Where two loads find the same, one of them is right: the one that lies in the order of the code.
    odd = [one for one in odd if _in_order([*starts[: one[0]], one[1], *starts[one[0] + 1 :]])] or odd
    if len(odd) != 1:
        return None
    at, first = odd[0]
    return alike[at], alike[at].key ^ starts[at] ^ first, len(alike) - 1


def _arrangements(alike: Sequence[_Reads]) -> list[list[_Reads]]:
    """Loads whose lanes find elements arranged alike."""
    kinds: dict[bytes, list[_Reads]] = {}
    for one in alike:
        kinds.setdefault(_arranged(one).tobytes(), []).append(one)
    return list(kinds.values())


def _arranged(one: _Reads) -> Ints:
    """Elements of all lanes beside that of the first; where there is none, -1."""
    return np.where(one.key < 0, -1, one.key ^ _start(one))


def _start(one: _Reads) -> int:
    return int(one.key.flat[0])


def _missing(starts: Sequence[int]) -> int | None:
    """What makes an affine space of some numbers; None where one more does not."""
    found = reduce(xor, starts)
    if min(starts) < 0 or found in starts or not _is_affine([*starts, found]):
        return None
    return found


def _is_affine(numbers: Sequence[int]) -> bool:
    """Different numbers that are all sums of one and some fixed differences."""
    space = {0}
    for number in numbers:
        if number ^ numbers[0] not in space:
            space |= {known ^ number ^ numbers[0] for known in space}
            if len(space) > len(numbers):
                return False
    return len(space) == len(set(numbers)) == len(numbers)


def _in_order(numbers: Sequence[int]) -> bool:
    """Each bit of the position flips the same bits of the number."""
    steps = [numbers[1 << bit] ^ numbers[0] for bit in range((len(numbers) - 1).bit_length())]
    return all(
        number == reduce(xor, (step for bit, step in enumerate(steps) if at >> bit & 1), numbers[0])
        for at, number in enumerate(numbers)
    )


def _runs(subject: Subject) -> list[Fetches]:
    """The first workgroup of the coded runs."""
    if not any(inst.kind & (Kind.LDS | Kind.LOAD) == Kind.LDS | Kind.LOAD for inst in subject.insts.values()):
        return []
    watch = (WatchFetches((0, 0, 0)),)
    digits = range(subject.coding.code.digits)
    return [subject.run(RunSpec(f"code{d}", watch, alpha=1.0, beta=0.0)).record(Fetches) for d in digits]


def _by_load(runs: Sequence[Fetches]) -> Iterator[list[list[Fetch]]]:
    """Of each load, run by run, what its waves find; of those that the same waves execute in all runs."""
    for pc in sorted({pc for run in runs for pc, _ in run.first}):
        waves = [sorted(wave for at, wave in run.first if at == pc) for run in runs]
        if all(each == waves[0] for each in waves):
            yield [[run.first[pc, wave] for wave in waves[0]] for run in runs]


def _of_inputs(subject: Subject, runs: Sequence[Fetches]) -> Iterator[_Reads]:
    """Loads whose waves find elements of one input."""
    buffers = (subject.binding.buffers[name] for name in subject.coding.shapes)
    types = {buffer.element.bits: buffer.dtype for buffer in buffers}
    for fetches in _by_load(runs):
        raw: list[list[Raw]] = [
            [
                (
                    np.stack([one.words for one in each], axis=1),
                    np.stack([one.undefined for one in each], axis=1),
                )
            ]
            for each in fetches
        ]
        for bits, dtype in types.items():
            found = _of_one_input(subject, numbers_of(raw, dtype, bits, subject.coding).astype(np.int64))
            if found is not None:
                yield _Reads(fetches[0][0].inst, *found)
                break


def _of_one_input(subject: Subject, numbers: Ints) -> tuple[str, Ints] | None:
    """The input that most slots hold elements of, and their rows and columns; None where they hold anything."""
    for name, start in subject.coding.starts().items():
        shape = subject.coding.shapes[name]
        local = numbers - start
        mine = (numbers >= 0) & (local >= 0) & (local < prod(shape))
        if mine.size and mine.mean() > MOSTLY:
            row, col = np.divmod(local, shape[-1])
            return name, np.where(mine, row << _ROW | col, -1)
    return None


def _of_stores(subject: Subject, runs: Sequence[Fetches]) -> Iterator[_Reads]:
    """Loads by the stores that put there what their waves find; stores of a kind are numbered as they stand."""
    found = [
        (each[0].inst, np.stack([one.stored.ravel() for one in each]))
        for each in (e[0] for e in _by_load(runs[:1]))
    ]
    pcs = np.unique(
        np.concatenate([np.zeros(0, np.int64), *(key[key >= 0] >> STORE_BIT for _, key in found)])
    )
    names = [_kind_of(subject, pc) for pc in pcs]
    rank = np.asarray([names[:at].count(name) for at, name in enumerate(names)])
    for inst, key in found:
        if key.flat[0] < 0:
            continue
        at = np.searchsorted(pcs, key >> STORE_BIT).clip(max=pcs.size - 1)
        key = np.where(key < 0, -1, rank[at] << STORE_BIT | key & (1 << STORE_BIT) - 1)
        yield _Reads(inst, _kind_of(subject, pcs[at.flat[0]]), key)


def _kind_of(subject: Subject, pc: int) -> str:
    return subject.insts[int(pc)].name.removesuffix("_d16_hi")
