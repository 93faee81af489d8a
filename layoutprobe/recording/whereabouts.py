"""Where an element is, and where it went: registers of all waves, LDS and global memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from layoutprobe.place import Element
from layoutprobe.recording.code import register_name
from layoutprobe.recording.model import INACTIVE, NOTHING, RUN, SPACES, Instruction, Recording
from layoutprobe.recording.names import Names, joined
from layoutprobe.recording.replay import Replay
from layoutprobe.report.answer import Cell

Row = tuple[Cell, ...]


class Whereabouts:
    """Finds elements in a recording. Lanes of a register, or of what an instruction wrote, are one row: of places and
    of what they hold it says the first, and how many others there are."""

    def __init__(self, replay: Replay, names: Names) -> None:
        self._replay, self._names, self._recording = replay, names, replay.recording

    def at(self, element: Element, wave: int, row: int) -> tuple[list[Row], str]:
        """Where it is in a wave's workgroup before a row, copies first, and that in a sentence."""
        r = self._recording
        own, inside = self._names.finds(element)
        moved: list[Row] = []
        made: list[Row] = []
        copies = uses = 0
        for number, who in enumerate(r.waves):
            if who.group != r.waves[wave].group:
                continue
            held = self._replay.registers(number, row)
            here = self._has(held.tags, own, inside)
            for register in np.flatnonzero(here.any(axis=1)).tolist():
                lanes = np.flatnonzero(here[register])
                words, bits = (part[register, lanes].tolist() for part in (held.tags, held.undefined))
                text = _several([joined(self._names.word(*each)) for each in zip(words, bits, strict=True)])
                name, by = self._register(register), writer_in_words(r, int(held.writer[register]))
                computed = all(word < NOTHING for word in words)
                (made if computed else moved).append(
                    (f"wave {who.index}", name, spans(lanes.tolist()), text, by)
                )
                copies, uses = (copies, uses + lanes.size) if computed else (copies + lanes.size, uses)
        image = self._replay.lds(wave, row)
        for byte in np.flatnonzero((image.tags == own.start).any(axis=1)).tolist():
            by = writer_in_words(r, int(image.writer[byte]))
            moved.append(("LDS", f"byte {byte}", "", str(element), by))
            copies += 1
        told = f"{element} is in {copies} places" + (
            f", and what was computed of it in {uses}" if uses else ""
        )
        return moved + made, told

    def journey(self, element: Element) -> list[Row]:
        """Who moved it, and what was computed of it, in time."""
        r = self._recording
        own, inside = self._names.finds(element)
        hits: dict[tuple[int, str], list[tuple[int, int, str]]] = {}
        for at, lane in np.argwhere(self._has(r.vectors.tag, own, inside)).tolist():
            place = self._register(int(r.vectors.register[at]))
            key = int(r.vectors.row[at]), ""
            hits.setdefault(key, []).append((lane, int(r.vectors.tag[at, lane]), place))
        for at, lane in np.argwhere(self._has(r.stored.tag, own, inside)).tolist():
            access = int(r.stored.access[at])
            address = int(r.accesses.address[access, lane])
            if address != INACTIVE:
                space = SPACES[int(r.accesses.space[access])]
                byte = address + 4 * int(r.stored.dword[at])
                place = self._names.pointer(byte) if space == "global" else f"{space} byte {byte}"
                key = int(r.accesses.row[access]), space
                hits.setdefault(key, []).append((lane, int(r.stored.tag[at, lane]), place))
        return [self._step(row, found) for (row, _), found in sorted(hits.items())]

    def _step(self, row: int, found: Sequence[tuple[int, int, str]]) -> Row:
        """What an instruction did with it in some lanes: lane, word, place."""
        r = self._recording
        one, (wave, step) = r.code[int(r.steps.inst[row])], self._replay.step(row)
        holds = _several([joined(self._names.word(word)) for _, word, _ in found])
        lanes, places = sorted({lane for lane, _, _ in found}), [place for _, _, place in found]
        about = (row, r.waves[wave].index, step, one.text, line_of(one))
        return (*about, _several(places), spans(lanes), holds)

    def _register(self, register: int) -> str:
        return register_name("v", register, self._recording.first_acc)

    def _has(self, words: NDArray[np.int32], own: range, inside: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which words name an element: bool, of their shape."""
        tags = self._recording.tags
        rows = (tags.words >= own.start) & (tags.words < own.stop)
        rows |= np.where(
            tags.words < 0, inside[-1 - np.minimum(tags.words, -1)] if inside.size else False, False
        )
        fits = np.asarray(rows.any(axis=1))[np.where(words < RUN, np.maximum(words, 0), 0)]
        run = words >= RUN
        first = 8 * (words.astype(np.int64) - RUN) + 1
        fits = np.where(run, (first < own.stop) & (first + 8 > own.start), fits)
        if inside.size:
            fits = np.where(words < 0, inside[-1 - np.minimum(words, -1)], fits)
        return np.asarray(fits)


def writer_in_words(recording: Recording, row: int) -> str:
    """Who wrote in a row: "ds_load_b128 at gemm.hip:97"."""
    if row < 0:
        return "the launch" if row == -1 else "nobody"
    return recording.code[int(recording.steps.inst[row])].place.site


def line_of(one: Instruction) -> str:
    """Its line; its PC where the compiler gave it none."""
    return one.place.line or f"PC {one.place.pc:#x}"


def _several(texts: Sequence[str]) -> str:
    """The first of several, and how many others there are."""
    known = dict.fromkeys(texts)
    more = len(known) - 1
    return next(iter(known)) + (f", and {more} other{'s' if more > 1 else ''}" if more else "")


def spans(numbers: Sequence[int]) -> str:
    """Ascending numbers in words: "0-3, 16"."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number <= parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ", ".join(f"{low}" if low == high else f"{low}-{high}" for low, high in parts)
