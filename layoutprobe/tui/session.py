"""The interactive inspector without a terminal: a moment of a recording, ways to others, and lines of text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.errors import UsageError
from layoutprobe.recording.model import Instruction, Span
from layoutprobe.recording.names import joined
from layoutprobe.recording.questions import Asked
from layoutprobe.recording.slots import Slot, element_of
from layoutprobe.recording.whereabouts import line_of, spans
from layoutprobe.text import printable

LETTERS = {"matrix": "M", "barrier": "B", "store": "S", "load": "L", "atomic": "A", "wait": "w", "end": "E"}
"""Kinds of a timeline, the first that fits for several; all else is a dot."""
_BANKS = 32


class Lines(Struct, frozen=True):
    """Lines of a pane, made when they are looked at.

    Attributes:
        title: of the pane.
        count: how many there are.
        line: number -> its text.
        current: the one that matters, -1 for none.
    """

    title: str
    count: int
    line: Callable[[int], str]
    current: int = -1


class Session:
    """A wave and a step of a recording, and how to go on from there.

    Attributes:
        wave: position in the recording's waves.
        step: of the wave, from 0; the moment is the one before its instruction.
        lane: whose registers are shown.
    """

    def __init__(self, asked: Asked) -> None:
        """Begin at a moment."""
        self.asked, self.recording = asked, asked.recording
        self.wave, self.lane = asked.wave, 0
        self.step = asked.replay.step(asked.row)[1]

    # Where we are.

    @property
    def rows(self) -> NDArray[np.int64]:
        """Rows of the wave."""
        return self.asked.replay.steps(self.wave)

    @property
    def row(self) -> int:
        """Row of the moment."""
        return int(self.rows[self.step])

    @property
    def inst(self) -> Instruction:
        """The instruction that is about to execute."""
        return self.recording.code[self._insts()[self.step]]

    def _insts(self) -> NDArray[np.int32]:
        return self.recording.steps.inst[self.rows]

    # Ways to other moments; each tells whether there was one.

    def move(self, by: int) -> bool:
        """Some instructions on, or back."""
        return self._to(self.step + by)

    def to_end(self, back: bool = False) -> bool:
        """To the last instruction, or the first."""
        return self._to(0 if back else self.rows.size - 1)

    def to_line(self, back: bool = False) -> bool:
        """To the next instruction of another source line; back: to where the stretch of the line before begins."""
        lines = np.array([line_of(self.recording.code[i]) for i in self._insts()])
        other = np.flatnonzero(lines != lines[self.step])
        if not back:
            return self._first(other[other > self.step])
        before = other[other < self.step]
        if not before.size:
            return False
        last = int(before[-1])
        same = np.flatnonzero(lines[: last + 1] != lines[last])
        return self._to(int(same[-1]) + 1 if same.size else 0)

    def to_kind(self, kind: str, back: bool = False) -> bool:
        """To the next instruction of a kind."""
        found = self.asked.replay.find(self.wave, self.step, kind=kind, back=back)
        return found is not None and self._to(found)

    def to_pass(self, back: bool = False) -> bool:
        """To where a loop begins again: the code goes back there."""
        insts = self._insts()
        return self._nearest(np.flatnonzero(np.diff(insts) <= 0) + 1, back)

    def to_wave(self, by: int) -> bool:
        """To another wave, at the moment it is at when this one is here."""
        wave = self.wave + by
        if not 0 <= wave < len(self.recording.waves):
            return False
        row = self.row
        self.wave = wave
        return self._to(min(int(np.searchsorted(self.rows, row)), self.rows.size - 1), True)

    def to_lane(self, by: int) -> bool:
        """To the registers of another lane."""
        self.lane = (self.lane + by) % self.recording.lanes
        return True

    def go(self, at: str) -> bool:
        """To the first execution of what `--at` names.

        Raises:
            UsageError: there is no such instruction.
        """
        found = Asked(self.recording, self.wave, at.strip())
        return self._to(found.replay.step(found.row)[1], True)

    def search(self, text: str, back: bool = False) -> bool:
        """To the next instruction whose text or source line has a text; of an element, to the next that moves it."""
        try:
            element = element_of(text, self.recording)
        except UsageError:
            wanted = text.strip().lower()
            fits = np.array([wanted in self._searched(one) for one in self.recording.code], np.bool_)
            return self._nearest(np.flatnonzero(fits[self._insts()]), back)
        rows = [cells[0] for cells in self.asked.follow(element).rows]
        return self._nearest(np.flatnonzero(np.isin(self.rows, np.array(rows, np.int64))), back)

    def _searched(self, one: Instruction) -> str:
        source = one.place.source
        text = self.recording.sources.get(source.file, {}).get(source.line, "") if source else ""
        return f"{one.text} {line_of(one)} {text}".lower()

    def _nearest(self, steps: NDArray[np.int64], back: bool) -> bool:
        return self._first(steps[steps < self.step][::-1] if back else steps[steps > self.step])

    def _first(self, steps: NDArray[np.int64]) -> bool:
        return bool(steps.size) and self._to(int(steps[0]))

    def _to(self, step: int, here: bool = False) -> bool:
        if not 0 <= step < self.rows.size or (step == self.step and not here):
            return False
        self.step = step
        self.asked.wave, self.asked.row = self.wave, self.row
        return True

    # What is shown.

    def head(self) -> str:
        """Kernel and moment in a line."""
        who = self.recording.waves[self.wave]
        size = " ".join(f"{name}={value}" for name, value in self.recording.size.items())
        return printable(
            f"{self.recording.kernel} {size}  workgroup {who.group} wave {who.index}  "
            f"step {self.step} of {self.rows.size}  {self.recording.evidence.kind}"
        )

    def source(self) -> Lines:
        """The source file of the instruction, its line marked."""
        place = self.inst.place
        if place.source is None or place.source.file not in self.recording.sources:
            why = "no line" if place.source is None else f"{place.source} (its text was not kept)"
            return Lines("source", 1, lambda _: printable(why))
        texts = self.recording.sources[place.source.file]
        last, here = max(texts, default=0), place.source.line
        used = {
            one.place.source.line for one in self.recording.code
            if one.place.source is not None and one.place.source.file == place.source.file
        }  # fmt: skip
        calls = "".join(f" in {call.source}" for call in place.inlined_at)

        def line(at: int) -> str:
            mark = ">" if at + 1 == here else "." if at + 1 in used else " "
            return printable(f"{mark}{at + 1:4} {texts.get(at + 1, '').expandtabs(2)}")

        return Lines(printable(f"{place.source}{calls}"), last, line, here - 1)

    def assembly(self) -> Lines:
        """The code, the instruction marked, with how often the wave has executed each."""
        code = self.recording.code
        here = int(self._insts()[self.step])
        times = np.bincount(self._insts()[: self.step], minlength=len(code))

        def line(at: int) -> str:
            one = code[at]
            return printable(f"{'>' if at == here else ' '}{one.place.pc:5x} {times[at] or '':>3} {one.text}")

        return Lines(f"assembly, PC {code[here].place.pc:#x}", len(code), line, here)

    def registers(self) -> Lines:
        """What the instruction reads and writes first (r, w), then every register of the lane that has a value."""
        held, r = self.asked.state, self.recording
        reads, writes = (_registers(part) for part in (self.inst.reads, self.inst.writes))
        named = {key: "r" * (key in reads) + "w" * (key in writes) for key in (*reads, *writes)}
        vector = [("v", int(at)) for at in np.flatnonzero(held.writer >= -1)]
        scalar = [("s", int(at)) for at in np.flatnonzero(held.sgpr_writer >= -1)]
        slots = [*named, *(key for key in (*vector, *scalar) if key not in named)]
        before = int(self.rows[self.step - 1]) if self.step else -9

        def line(at: int) -> str:
            kind, register = slots[at]
            lane = self.lane if kind == "v" else 0
            if kind == "v" and register >= r.vgprs:
                return ""
            (cells,) = self.asked.registers([Slot(kind, register, lane)]).rows
            writer = int(held.writer[register] if kind == "v" else held.sgpr_writer[register])
            new = "*" if writer == before else " "
            return printable(f"{named.get((kind, register), ''):2}{new}{cells[0]:7} {cells[2]} {cells[3]}")

        return Lines(f"registers, lane {self.lane}", len(slots), line, 0)

    def lds(self) -> Lines:
        """Every dword of LDS: its bank, what it holds, and which lanes the instruction accesses it from."""
        image, touched = self.asked.image, self.asked.touched()
        count = image.data.size // 4
        names = self.asked.names

        def line(at: int) -> str:
            part = slice(4 * at, 4 * at + 4)
            mark = ">" if 4 * at in touched else " "
            if (image.writer[part] < 0).all():
                return f"{mark}{4 * at:6} {at % _BANKS:2} never stored"
            bits = int.from_bytes(image.undefined[part].tobytes(), "little")
            text = joined(tuple(names.nibbles(image.tags[part].ravel().tolist(), bits)))
            lanes = f"  lanes {spans(touched[4 * at])}" if 4 * at in touched else ""
            return printable(f"{mark}{4 * at:6} {at % _BANKS:2} {text}{lanes}")

        first = min(touched, default=0) // 4
        return Lines("LDS: byte, bank" if count else "no LDS", count, line, first)

    def timeline(self, width: int) -> Lines:
        """A line for each wave of the workgroup, a column for each instruction of this one around the moment."""
        group = self.recording.waves[self.wave].group
        waves = [n for n, one in enumerate(self.recording.waves) if one.group == group]
        first = max(0, min(self.step - width // 2, self.rows.size - width))
        edges = np.append(self.rows, self.recording.steps.inst.size)[first : first + width + 1]

        def line(at: int) -> str:
            mark = ">" if waves[at] == self.wave else " "
            marks = "".join(self._letter(waves[at], low, high) for low, high in self._between(edges))
            return f"{mark}{self.recording.waves[waves[at]].index:3} {marks}"

        pointer = " " * (self.step - first + 5) + "v"
        return Lines(
            "timeline: " + " ".join(f"{letter} {kind}" for kind, letter in LETTERS.items()),
            len(waves) + 1,
            lambda at: pointer if at == 0 else line(at - 1),
            waves.index(self.wave) + 1,
        )

    @staticmethod
    def _between(edges: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
        for at in range(edges.size - 1):
            yield int(edges[at]), int(edges[at + 1])

    def _letter(self, wave: int, low: int, high: int) -> str:
        """What a wave executes in some rows."""
        rows = self.asked.replay.steps(wave)
        first, last = np.searchsorted(rows, [low, high])
        kinds = {self.recording.code[i].kind for i in self.recording.steps.inst[rows[first:last]].tolist()}
        return next((letter for kind, letter in LETTERS.items() if kind in kinds), "." if kinds else " ")


def _registers(found: Sequence[Span]) -> list[tuple[str, int]]:
    return [(span.kind, span.index + n) for span in found for n in range(span.count)]
