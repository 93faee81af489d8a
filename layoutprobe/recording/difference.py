"""Two recorded runs side by side: the same moments of two kernels, or of two versions of one, the first difference
in time first.

Moments are those that both have, whatever registers and lines a compiler chose: the n-th matrix instruction of a
wave, its n-th barrier, load and store. What is compared is what the elements are, and their values.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.errors import UsageError
from layoutprobe.recording.code import register_name
from layoutprobe.recording.common import Common
from layoutprobe.recording.model import INACTIVE, SPACES, Group, Instruction, Recording, Wave
from layoutprobe.recording.names import Names, joined
from layoutprobe.recording.questions import asked
from layoutprobe.recording.replay import Registers, Replay
from layoutprobe.recording.whereabouts import line_of, spans
from layoutprobe.report.answer import Answer, Cell

KINDS = ("load", "store", "matrix", "barrier")
"""Instructions that are moments."""
_COUNTED = ("load", "store")
"""Of these the n-th is the n-th of the other side only where there are as many."""
_COLUMNS = ("waves", "step", "moment", "line", "other line", "slot", "holds", "other holds", "differ")
_MOST = 4096
"""Rows of an answer."""


class Seen(Struct, frozen=True, eq=False):
    """What one side shows at a moment.

    Attributes:
        tags: nibble tags [slot, lane, 8].
        values, undefined: [slot, lane].
        shown: bool [slot, lane], which of them count.
        places: name of each slot; of a lane, `lane` of each is said, too.
        to: where each lane's slot goes in global memory, "" for registers and LDS.
    """

    tags: NDArray[np.int32]
    values: NDArray[np.uint32]
    undefined: NDArray[np.uint32]
    shown: NDArray[np.bool_]
    places: tuple[str, ...]
    to: NDArray[np.int64] | None = None

    __repr__ = brief


class Side:
    """One of the two runs."""

    def __init__(self, recording: Recording) -> None:
        self.recording, self.replay, self.names = recording, Replay(recording), Names(recording)
        self._kinds = np.array([one.kind for one in recording.code])

    def inst(self, row: int) -> Instruction:
        """The instruction of a row."""
        return self.recording.code[int(self.recording.steps.inst[row])]

    def rows(self, wave: int, kind: str) -> NDArray[np.int64]:
        """Rows of a wave with instructions of a kind."""
        rows = self.replay.steps(wave)
        return rows[self._kinds[self.recording.steps.inst[rows]] == kind]

    def seen(self, wave: int, row: int) -> Seen:
        """What is compared: what a matrix instruction reads, a load brought, a store stores; LDS at barriers."""
        kind = self.inst(row).kind
        if kind == "matrix":
            return self._read(wave, row)
        if kind == "load":
            return self._loaded(wave, row)
        return self._stored(row) if kind == "store" else self._lds(wave, row)

    def _read(self, wave: int, row: int) -> Seen:
        spans_ = [span for span in self.inst(row).reads if span.kind == "v"]
        held = self.replay.registers(wave, row)
        which = [span.index + n for span in spans_ for n in range(span.count)]
        shown = np.ones((len(which), self.recording.lanes), np.bool_)
        return self._registers(held, which, shown)

    def _loaded(self, wave: int, row: int) -> Seen:
        at, held = self.replay.written(wave, row), self.replay.registers(wave, row + 1)
        which = self.recording.vectors.register[at].tolist()
        active = np.zeros(self.recording.lanes, np.bool_)
        for access in self.replay.accessed(row):
            active |= self.recording.accesses.address[access] != INACTIVE
        shown = np.broadcast_to(active, (len(which), active.size))
        return self._registers(held, which, shown)

    def _stored(self, row: int) -> Seen:
        r = self.recording
        access = self.replay.accessed(row)
        first, last = np.searchsorted(r.stored.access, [access.start, access.stop])
        of = r.stored.access[first:last]
        address = r.accesses.address[of]
        space = SPACES[int(r.accesses.space[access.start])] if access else ""
        byte = 4 * r.stored.dword[first:last]
        places = tuple(f"{space} + {offset}" for offset in byte.tolist())
        to = np.where(address == INACTIVE, INACTIVE, address + byte[:, None])
        return Seen(
            self._nibbles(r.stored.tag[first:last]), r.stored.value[first:last], r.stored.undefined[first:last],
            address != INACTIVE, places, to if space == "global" else None,
        )  # fmt: skip

    def _lds(self, wave: int, row: int) -> Seen:
        image = self.replay.lds(wave, row)
        count = image.data.size // 4
        data, undefined = (
            np.ascontiguousarray(part[: 4 * count]).view("<u4") for part in (image.data, image.undefined)
        )
        places = tuple(f"LDS byte {4 * n}" for n in range(count))
        stored = image.writer[: 4 * count : 4] >= 0
        tags = image.tags[: 4 * count].reshape(count, 1, 8)
        return Seen(tags, data[:, None], undefined[:, None], stored[:, None], places)

    def _registers(self, held: Registers, which: Sequence[int], shown: NDArray[np.bool_]) -> Seen:
        """VGPRs by number; shown is bool [register, lane]."""
        return Seen(
            self._nibbles(held.tags[which]),
            held.vgprs[which],
            held.undefined[which],
            shown,
            self._named(which),
        )

    def _nibbles(self, words: NDArray[np.int32]) -> NDArray[np.int32]:
        return self.recording.tags.nibbles(words)

    def _named(self, registers: Sequence[int]) -> tuple[str, ...]:
        return tuple(register_name("v", one, self.recording.first_acc) for one in registers)


class Difference:
    """Two recordings, to be compared."""

    def __init__(self, one: Recording, other: Recording) -> None:
        """Take two recordings.

        Raises:
            UsageError: they have no wave in common, or buffers of other shapes.
        """
        if one.lanes != other.lanes:
            raise UsageError("waves of 32 and of 64 lanes are not compared lane by lane",
                             expected=f"{one.lanes} lanes", observed=f"{other.lanes}")  # fmt: skip
        self._sides = Side(one), Side(other)
        self._common = Common((one, other))
        self._waves = [wave for wave in one.waves if wave in other.waves]
        if not self._waves:
            raise UsageError("no workgroup was recorded of both", hint="name it: --workgroup")

    def found(self, wave: int | None = None, row: int | None = None) -> Answer:
        """Moments that differ, a row for each: its first slot, and how many of its slots differ. Waves that differ
        alike, in the same slots of the same moment, are one row, with what the lowest of them holds.

        Args:
            wave: position in the first recording's waves, to compare one moment alone: a row for each slot of it.
            row: of the first recording, that moment.
        """
        rows: list[tuple[int, int, tuple[Cell, ...]]] = []
        compared, differing, notes = 0, 0, []
        for who in self._waves:
            mine, theirs = (side.recording.waves.index(who) for side in self._sides)
            if wave is not None and mine != wave:
                continue
            for kind in KINDS:
                one, other = self._sides[0].rows(mine, kind), self._sides[1].rows(theirs, kind)
                if one.size != other.size:
                    notes.append((kind, one.size, other.size))
                if kind in _COUNTED and one.size != other.size:
                    continue
                if kind == "barrier" and not self._shows_lds(who):
                    continue
                for number, (at, there) in enumerate(zip(one.tolist(), other.tolist(), strict=False)):
                    if row is not None and at != row:
                        continue
                    compared += 1
                    told = self._told(who, f"{kind} {number}", (mine, theirs), (at, there), row is not None)
                    differing += bool(told)
                    rows += [(at, who.index, cells) for cells in told]
        return self._answer(_merged(rows), compared, differing, notes)

    def _shows_lds(self, who: Wave) -> bool:
        """LDS is compared once for a workgroup, where both have as much of it."""
        first = next(wave for wave in self._waves if wave.group == who.group)
        sizes = {side.recording.lds_size for side in self._sides}
        return who == first and len(sizes) == 1

    def _told(
        self, who: Wave, moment: str, waves: tuple[int, int], rows: tuple[int, int], every: bool
    ) -> list[tuple[Cell, ...]]:
        """What differs at a moment."""
        one, other = (side.seen(w, row) for side, w, row in zip(self._sides, waves, rows, strict=True))
        insts = [side.inst(row) for side, row in zip(self._sides, rows, strict=True)]
        lines = [line_of(inst) for inst in insts]
        step = self._sides[0].replay.step(rows[0])[1]
        start = (step, moment, lines[0], lines[1] if lines[1] != lines[0] else "")
        if insts[0].kind == "matrix" and insts[0].place.instruction != insts[1].place.instruction:
            return [
                (*start, "", insts[0].place.instruction, insts[1].place.instruction, "another instruction")
            ]
        if one.tags.shape != other.tags.shape:
            return [(*start, "", f"{len(one.tags)} dwords", f"{len(other.tags)} dwords", "another width")]
        wrong = self._wrong(one, other)
        slots = np.argwhere(wrong).tolist()
        count = f"{len(slots)} of {int((one.shown | other.shown).sum())}"
        return [
            (*start, self._slot(one, slot, lane), *self._held((one, other), slot, lane), count)
            for slot, lane in (slots if every else slots[:1])
        ]

    def _wrong(self, one: Seen, other: Seen) -> NDArray[np.bool_]:
        """Slots that differ: bool [slot, lane]."""
        ids = [self._common.numbers(at, seen.tags) for at, seen in enumerate((one, other))]
        known = ~(one.undefined | other.undefined)
        wrong = (
            (ids[0] != ids[1]).any(axis=-1)
            | ((one.values ^ other.values) & known != 0)
            | (one.undefined != other.undefined)
        )
        wrong = (wrong & one.shown & other.shown) | (one.shown != other.shown)
        if one.to is not None and other.to is not None:
            for slot, lane in np.argwhere(one.shown & other.shown).tolist():
                places = [self._common.place(at, int(seen.to[slot, lane]))  # type: ignore[index]
                          for at, seen in enumerate((one, other))]  # fmt: skip
                wrong[slot, lane] |= places[0] != places[1]
        return np.asarray(wrong)

    def _slot(self, seen: Seen, slot: int, lane: int) -> str:
        return seen.places[slot] if seen.tags.shape[1] == 1 else f"{seen.places[slot]} lane {lane}"

    def _held(self, both: tuple[Seen, Seen], slot: int, lane: int) -> list[str]:
        """What both hold in words; with values where the words are the same."""
        texts = []
        for side, seen in zip(self._sides, both, strict=True):
            text = joined(
                tuple(side.names.nibbles(seen.tags[slot, lane].tolist(), int(seen.undefined[slot, lane])))
            )
            if not seen.shown[slot, lane]:
                text = "nothing"
            elif seen.to is not None:
                text += f" to {side.names.pointer(int(seen.to[slot, lane]))}"
            texts.append(text)
        if texts[0] == texts[1]:
            texts = [
                f"{text} = {int(seen.values[slot, lane]):#010x}"
                for text, seen in zip(texts, both, strict=True)
            ]
        return texts

    def _answer(
        self, rows: list[tuple[Cell, ...]], compared: int, differing: int, notes: list[tuple[str, int, int]]
    ) -> Answer:
        one, other = (side.recording for side in self._sides)
        every = spans(sorted(wave.index for wave in self._waves))
        size = " ".join(f"{name}={value}" for name, value in one.size.items())
        about = [("kernel", f"{one.kernel} on {one.target}, {size}".rstrip(", ")),
                 ("other", f"{other.kernel} on {other.target}, {other.evidence}"),
                 ("moment", f"workgroup {self._waves[0].group}, waves {every}")]  # fmt: skip
        for kind, mine, theirs in dict.fromkeys(notes):
            skipped = ": not compared" if kind in _COUNTED else ""
            about.append(("counts", f"a wave executes {mine} of {kind} here, {theirs} there{skipped}"))
        if one.lds_size != other.lds_size:
            about.append(("LDS", f"{one.lds_size} bytes here, {other.lds_size} there: not compared"))
        about += [(name, r.cut) for name, r in (("cut", one), ("other cut", other)) if r.cut]
        if len(rows) > _MOST:
            about.append(("rows", f"the first {_MOST} of {len(rows)}"))
        waves = str(rows[0][0]) if rows else ""
        who = f"wave{'s' if not waves.isdigit() else ''} {waves}"
        first = f"; first {rows[0][2]} of {who}, step {rows[0][1]}" if rows else ""
        counts = ", but not as many are executed" if notes and not rows else ""
        summary = f"{differing} of {compared} moments differ{first}{counts}"
        return Answer("diff", tuple(about), _COLUMNS, tuple(rows[:_MOST]), summary, one.evidence)


def _merged(rows: list[tuple[int, int, tuple[Cell, ...]]]) -> list[tuple[Cell, ...]]:
    """Row, wave and cells, as they were executed: one for all waves at which moment, lines, slot and count agree."""
    alike: dict[tuple[Cell, ...], list[tuple[int, tuple[Cell, ...]]]] = {}
    for _, wave, cells in sorted(rows, key=lambda one: one[0]):
        _, *moment, _, _, count = cells
        alike.setdefault((*moment, count), []).append((wave, cells))
    lowest = (min(each, key=lambda one: one[0])[1] for each in alike.values())
    return [
        (spans(sorted({wave for wave, _ in each})), *cells)
        for each, cells in zip(alike.values(), lowest, strict=True)
    ]


def differ(answer: Answer) -> int:
    """0 nothing differs, 1 something does, 2 that was not to be decided: a run ends early, or counts differ."""
    labels = {label for label, _ in answer.about}
    return 1 if answer.rows else 2 if labels & {"counts", "cut", "other cut"} else 0


def differences(
    one: Recording,
    other: Recording,
    at: str | None = None,
    *,
    wave: int | None = None,
    iteration: int | None = None,
    workgroup: Group | None = None,
) -> Answer:
    """What differs between two recordings: in time, or at one moment of the first, see `questions.asked`.

    Raises:
        UsageError: they cannot be compared, or there is no such moment.
    """
    both = Difference(one, other)
    if at is None and wave is None and iteration is None:
        return both.found()
    moment = asked(one, at, wave=wave or 0, iteration=iteration or 0, group=workgroup)
    kind = moment.inst.kind
    if kind not in KINDS:
        raise UsageError(
            f"{moment.inst.text} is nothing to compare", expected=f"an instruction of {', '.join(KINDS)}"
        )
    return both.found(moment.wave, moment.row)
