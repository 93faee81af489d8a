"""Questions about a recorded run: what registers and LDS hold, why, where an element is, and how it got there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from layoutprobe.errors import UsageError
from layoutprobe.isa.inst import SCC
from layoutprobe.place import Element
from layoutprobe.recording.code import register_name
from layoutprobe.recording.model import INACTIVE, SPACES, Group, Instruction, Recording
from layoutprobe.recording.names import Names, joined
from layoutprobe.recording.operands import family_of, held_by, in_words, operands_of, registers_of
from layoutprobe.recording.replay import Lds, Registers, Replay
from layoutprobe.recording.slots import Slot, element_of, slot_of, slots_of
from layoutprobe.recording.ways import STEPS, Ways
from layoutprobe.recording.whereabouts import Whereabouts, line_of, spans, writer_in_words
from layoutprobe.report.answer import Answer, Cell

_NUMBERED = ("matrix", "wmma", "mfma", "swmmac", "smfmac", "barrier", "store", "load", "wait", "atomic")
_MATRIX = ("wmma", "mfma", "swmmac", "smfmac")
_BANKS = 32


class Asked:
    """A recording, and a moment of it: the one before a row of a wave."""

    def __init__(
        self, recording: Recording, wave: int = 0, at: str | None = None, iteration: int = 0
    ) -> None:
        """Find the moment.

        Args:
            recording: the run.
            wave: position in `Recording.waves`.
            at: "FILE:LINE", "0x1f58", or a kind and a number in the order of the code: "mfma:3", "barrier:0".
                By default the first matrix instruction, else the first one.
            iteration: of the executions by the wave.

        Raises:
            UsageError: there is no such instruction, or it was not executed so often.
        """
        self.recording, self.replay, self.names = recording, Replay(recording), Names(recording)
        if not 0 <= wave < len(recording.waves):
            raise UsageError(f"no wave {wave}", expected=f"0 to {len(recording.waves) - 1}")
        self.wave = wave
        rows = self.replay.steps(wave)
        position = self._position(at)
        found = rows[np.isin(recording.steps.inst[rows], position)]
        if not 0 <= iteration < found.size:
            often = f"--iteration 0 to {found.size - 1}" if found.size else "an instruction that it executes"
            raise UsageError(
                f"wave {recording.waves[wave].index} does not execute it {iteration + 1} times",
                expected=often, observed=f"{found.size} times", hint=recording.cut or None,
            )  # fmt: skip
        self.row = int(found[iteration])
        self.iteration = iteration

    def _position(self, at: str | None) -> list[int]:
        """Which instructions are meant; of a line, the first one there."""
        code = self.recording.code
        if at is None:
            matrix = [n for n, one in enumerate(code) if one.kind == "matrix"]
            return matrix[:1] or [0]
        kind, _, number = at.partition(":")
        if kind in _NUMBERED and number.isascii() and number.isdecimal():
            kind = "matrix" if kind in _MATRIX else kind
            fits = [n for n, one in enumerate(code) if one.kind == kind][int(number[:9]) :][:1]
        elif at.lower().startswith("0x"):
            fits = [n for n, one in enumerate(code) if f"{one.place.pc:#x}" == at.lower()]
        else:
            fits = [n for n, one in enumerate(code) if at in _lines(one)][:1]
        if not fits:
            raise UsageError(
                f"no instruction at {at[:80]!r}", expected=self._could_be(at),
                hint="--timeline lists loads, stores, waits, barriers and matrix instructions as they are executed",
            )  # fmt: skip
        return fits

    def _could_be(self, at: str) -> str:
        """What `at` can be where it is nothing: numbers of that kind, lines of that file, PCs; else their forms."""
        code = self.recording.code
        kind, _, number = at.partition(":")
        if kind in _NUMBERED and number.isascii() and number.isdecimal():
            count = sum(one.kind == ("matrix" if kind in _MATRIX else kind) for one in code)
            return f"{kind}:0 to {kind}:{count - 1}" if count else f"another kind: the code has no {kind}"
        if at.lower().startswith("0x"):
            first, last = code[0].place.pc or 0, code[-1].place.pc or 0
            return f"where an instruction begins, from {first:#x} to {last:#x}"
        lines = {line.rpartition(":")[::2] for one in code for line in _lines(one)}
        here = sorted(int(number) for name, number in lines if name == kind and number.isdecimal())
        if here:
            return f"a line of {kind} with code: {spans(here)}"
        return "FILE:LINE, a PC as 0x1f58, or a kind and its number, as mfma:3, barrier:0 or store:1"

    def __repr__(self) -> str:
        who = self.recording.waves[self.wave]
        return (
            f"<moment of {self.recording.kernel}: workgroup {who.group}, wave {who.index}, before "
            f"{self._inst(self.row).place.site}, execution {self.iteration}>"
        )

    @property
    def inst(self) -> Instruction:
        """The instruction that is about to execute."""
        return self._inst(self.row)

    @property
    def state(self) -> Registers:
        """All registers of the wave as numpy: `vgprs` and `undefined` are uint32 [vgpr, lane]."""
        return self.replay.registers(self.wave, self.row)

    @property
    def image(self) -> Lds:
        """LDS of the workgroup as numpy: `data` and `undefined` are uint8 [byte]."""
        return self.replay.lds(self.wave, self.row)

    # Answers.

    def registers(self, wanted: str | Sequence[Slot], lanes: Sequence[int] | None = None) -> Answer:
        """What registers hold at the moment.

        Args:
            wanted: names as "v40-55,s4,exec", or slots.
            lanes: of names of VGPRs; by default all.

        Raises:
            UsageError: there is no such register or lane.
        """
        held = self.state
        rows: list[tuple[Cell, ...]] = []
        for slot in slots_of(wanted, self.recording, lanes) if isinstance(wanted, str) else wanted:
            name = self._name(slot)
            if slot.kind == "s":
                value, bits = int(held.sgprs[slot.register]), int(held.sgprs_undefined[slot.register])
                word, writer, lane = (
                    int(held.sgpr_tags[slot.register]),
                    int(held.sgpr_writer[slot.register]),
                    None,
                )
                after = int(held.sgprs[min(slot.register + 1, SCC)])
            else:
                at = slot.register, slot.lane
                value, bits, word = int(held.vgprs[at]), int(held.undefined[at]), int(held.tags[at])
                writer, lane = int(held.writer[slot.register]), slot.lane
                after = int(held.vgprs[min(slot.register + 1, len(held.vgprs) - 1), slot.lane])
            text = joined(self.names.word(word, bits))
            pointer = self.names.address(value, after)
            text = f"address {pointer}" if pointer and text == "no element" else text
            rows.append((name, lane, f"{value:#010x}", text, self._by(writer)))
        return self._answer(
            "registers",
            ("register", "lane", "value", "holds", "written by"),
            rows,
            f"{len(rows)} registers of lanes" if len(rows) != 1 else "1 register of a lane",
        )

    def events(self) -> Answer:
        """What `at` can be: every matrix instruction, barrier, load, store, atomic and wait that was executed."""
        r = self.recording
        numbers: dict[str, int] = {}
        counts = np.zeros((len(r.waves), len(r.code)), np.int64)
        np.add.at(counts, (r.steps.wave, r.steps.inst), 1)
        rows: list[tuple[Cell, ...]] = []
        for at, one in enumerate(r.code):
            if one.kind in _NUMBERED:
                number = numbers[one.kind] = numbers.get(one.kind, -1) + 1
                times = counts[:, at]
                if times.any():
                    often = spans(sorted({int(n) for n in times}))
                    rows.append((f"{one.kind}:{number}", one.text, line_of(one), f"{one.place.pc:#x}", often))
        return self._answer(
            "recording", ("at", "instruction", "line", "PC", "times a wave"), rows,
            f"{r.steps.inst.size} instructions of {len(r.waves)} waves were recorded", moment=False,
        )  # fmt: skip

    def products(self) -> Answer:
        """What the operands of every matrix instruction hold where the waves of the workgroup execute it first."""
        r = self.recording
        rows: list[tuple[Cell, ...]] = []
        unnamed = 0
        mine = [wave for wave, who in enumerate(r.waves) if who.group == r.waves[self.wave].group]
        matrix = (at for at, one in enumerate(r.code) if one.kind == "matrix")
        for number, at in enumerate(matrix):
            found = ((wave, np.flatnonzero(r.steps.inst[self.replay.steps(wave)] == at)[:1]) for wave in mine)
            moments = [(wave, self.replay.row(wave, int(step[0]))) for wave, step in found if step.size]
            for letter, span in operands_of(r.code[at]).items() if moments else ():
                held = list(held_by(self.names, self.replay, moments, span))
                unnamed += sum(one.kind in ("unfollowed", "undefined") for one in held)
                rows.append((f"{family_of(r.code[at])}:{number}", line_of(r.code[at]), letter, registers_of(span, r),
                             in_words(self.names, held)))  # fmt: skip
        what = f"{unnamed} slots are undefined or not followed" if unnamed else "every slot is named"
        return self._answer(
            "operands", ("at", "line", "operand", "registers", "holds"), rows,
            f"{len(rows)} operands of matrix instructions, each where waves execute it first: {what}", moment=False,
        )  # fmt: skip

    def operand(self, letter: str, lanes: Sequence[int] | None = None) -> Answer:
        """What an operand of the matrix instruction at the moment holds, register by register.

        Raises:
            UsageError: it is no matrix instruction, or has no such operand in registers.
        """
        known = operands_of(self.inst) if self.inst.kind == "matrix" else {}
        if not known:
            raise UsageError(
                f"no matrix instruction at {self.inst.place.site}",
                hint="--at wmma:0 (or mfma:0) is the first",
            )
        if letter.upper().replace("D", "C") not in known:
            raise UsageError(
                f"no operand {letter[:40]!r} in registers", expected=f"one of: {', '.join(known)}"
            )
        return self.registers(registers_of(known[letter.upper().replace("D", "C")], self.recording), lanes)

    def timeline(self) -> Answer:
        """Loads, stores, waits, barriers and matrix instructions of all recorded waves, in the order of execution."""
        r = self.recording
        rows: list[tuple[Cell, ...]] = []
        steps = [0] * len(r.waves)
        for row, (inst, wave) in enumerate(zip(r.steps.inst.tolist(), r.steps.wave.tolist(), strict=True)):
            one, who = r.code[inst], r.waves[wave]
            if one.kind in _NUMBERED:
                group = ",".join(map(str, who.group))
                rows.append((row, group, who.index, steps[wave], one.kind, one.text, line_of(one)))
            steps[wave] += 1
        return self._answer(
            "timeline", ("row", "workgroup", "wave", "step", "kind", "instruction", "line"), rows,
            f"{len(rows)} events; a row is an instruction of a wave as the emulator executes them, and no cycle",
            moment=False,
        )  # fmt: skip

    def lds(self, first: int = 0, last: int | None = None) -> Answer:
        """What LDS of the workgroup holds at the moment, dword by dword; stretches that nobody wrote are one row."""
        image = self.image
        last = image.data.size - 1 if last is None else min(last, image.data.size - 1)
        touched = self.touched()
        rows: list[tuple[Cell, ...]] = []
        hole = None
        for byte in range(first // 4 * 4, last + 1, 4):
            part = slice(byte, byte + 4)
            if (image.writer[part] < 0).all():
                hole = byte if hole is None else hole
                continue
            if hole is not None:
                rows.append((hole, None, None, f"never stored up to byte {byte - 1}", "", ""))
                hole = None
            value, bits = (int.from_bytes(a[part].tobytes(), "little") for a in (image.data, image.undefined))
            text = joined(tuple(self.names.nibbles(image.tags[part].ravel().tolist(), bits)))
            writer, lane = int(image.writer[part].max()), int(image.lane[byte])
            who = f"wave {self.recording.waves[self.replay.step(writer)[0]].index} lane {lane}"
            note = spans(touched.get(byte, []))
            rows.append(
                (byte, byte // 4 % _BANKS, f"{value:#010x}", text, f"{self._by(writer)}, {who}", note)
            )
        if hole is not None:
            rows.append((hole, None, None, f"never stored up to byte {last}", "", ""))
        stored = int((image.writer[first : last + 1] >= 0).sum())
        return self._answer(
            "lds", ("byte", "bank", "value", "holds", "stored by", "lanes here"), rows,
            f"{stored} of {last + 1 - first} bytes have been stored",
        )  # fmt: skip

    def why(self, slot: str | Slot) -> Answer:
        """The way of a register's content back to where it was loaded, instruction by instruction.

        Args:
            slot: one register of one lane, as "v40:3".

        Raises:
            UsageError: there is none, or several are meant.
        """
        if isinstance(slot, str):
            slot = slot_of(slot, self.recording)
        if slot.kind == "s":
            raise UsageError(
                "the way of a scalar register is not followed", hint="name a VGPR of a lane: v40:3"
            )
        rows: list[tuple[Cell, ...]] = []
        for depth, row, wave, register, lane, note in Ways(self.replay, self.names).back(
            self.wave, self.row, slot
        ):
            one = self._inst(row)
            held = self.replay.registers(wave, row + 1)
            text = note or joined(
                self.names.word(int(held.tags[register, lane]), int(held.undefined[register, lane]))
            )
            calls = "".join(f" in {call.source}" for call in one.place.inlined_at)
            where = f"{self._name(Slot('v', register, lane))} of wave {self.recording.waves[wave].index} lane {lane}"
            rows.append((depth, self.replay.step(row)[1], one.text, f"{line_of(one)}{calls}", where, text))
        what = f"{self._name(slot)} of lane {slot.lane}"
        steps = "1 instruction" if len(rows) == 1 else f"{len(rows)} instructions"
        steps += ", and no further" if len(rows) == STEPS else ""
        begun = int(self.state.writer[slot.register]) == -1
        unwritten = f"{what} holds what the launch put there" if begun else f"nobody has written {what}"
        return self._answer(
            "why", ("depth", "step", "instruction", "line", "register", "holds"), rows,
            f"{what} was followed over {steps}" if rows else unwritten,
        )  # fmt: skip

    def where(self, element: str | Element) -> Answer:
        """Everywhere an element, as "A[3][5]", is at the moment: registers of all waves of the workgroup, and LDS.

        Raises:
            UsageError: there is no such element.
        """
        element = element_of(element, self.recording) if isinstance(element, str) else element
        rows, summary = Whereabouts(self.replay, self.names).at(element, self.wave, self.row)
        return self._answer("where", ("in", "place", "lanes", "holds", "written by"), rows, summary)

    def follow(self, element: str | Element) -> Answer:
        """The journey of an element through the recorded waves in time: who moved it, and what was computed of it.

        Raises:
            UsageError: there is no such element.
        """
        element = element_of(element, self.recording) if isinstance(element, str) else element
        rows = Whereabouts(self.replay, self.names).journey(element)
        columns = ("row", "wave", "step", "instruction", "line", "to", "lanes", "holds")
        return self._answer(
            "follow", columns, rows, f"{element} is moved or used {len(rows)} times", moment=False
        )

    # Parts of them.

    def touched(self) -> dict[int, list[int]]:
        """LDS dword -> lanes that the instruction at the moment accesses it from."""
        a = self.recording.accesses
        found: dict[int, list[int]] = {}
        for at in self.replay.accessed(self.row):
            if a.space[at] == SPACES.index("LDS"):
                for lane in np.flatnonzero(a.address[at] != INACTIVE).tolist():
                    start = int(a.address[at, lane])
                    for byte in range(start // 4 * 4, start + int(a.size[at]), 4):
                        found.setdefault(byte, []).append(lane)
        return found

    def _inst(self, row: int) -> Instruction:
        return self.recording.code[int(self.recording.steps.inst[row])]

    def _by(self, row: int) -> str:
        return writer_in_words(self.recording, row)

    def _name(self, slot: Slot) -> str:
        return register_name(slot.kind, slot.register, self.recording.first_acc)

    def _answer(
        self, question: str, columns: tuple[str, ...], rows: Sequence[tuple[Cell, ...]], summary: str,
        moment: bool = True,
    ) -> Answer:  # fmt: skip
        r = self.recording
        size = " ".join(f"{name}={value}" for name, value in r.size.items())
        about = [("kernel", f"{r.kernel} on {r.target}, {size}".rstrip(", "))]
        who, one = r.waves[self.wave], self._inst(self.row)
        if moment:
            about.append(("before", f"{one.text}, {line_of(one)}, PC {one.place.pc:#x}"))
            about.append(("moment", f"workgroup {who.group}, wave {who.index}, execution {self.iteration}, step "
                          f"{self.replay.step(self.row)[1]}"))  # fmt: skip
        else:
            about.append(("moment", f"workgroup {who.group}, from its first instruction on"))
        if r.cut:
            about.append(("cut", r.cut))
        return Answer(question, tuple(about), columns, tuple(rows), summary, r.evidence)


def asked(
    recording: Recording,
    at: str | None = None,
    *,
    wave: int = 0,
    iteration: int = 0,
    group: Group | None = None,
) -> Asked:
    """A moment of a recording; arguments as of `Asked`, but `wave` counts in the workgroup.

    Args:
        group: the workgroup; by default the first one.

    Raises:
        UsageError: there is no such moment, or the wave was not recorded.
    """
    group = group or recording.waves[0].group
    position = recording.wave_at(group, wave)
    if position is None:
        known = [one for one in recording.waves if one.group == group]
        groups = ", ".join(map(str, list(dict.fromkeys(one.group for one in recording.waves))[:8]))
        raise UsageError(
            f"workgroup {group} has no wave {wave}" if known else f"workgroup {group} was not recorded",
            expected=f"waves {spans(sorted(one.index for one in known))}" if known else f"one of {groups}",
        )
    return Asked(recording, position, at, iteration)


def _lines(one: Instruction) -> set[str]:
    """The lines of an instruction: its own, and those of the calls around it, by path and by name."""
    sources = [one.place.source, *(call.source for call in one.place.inlined_at)]
    known = {str(source) for source in sources if source is not None and not one.place.near}
    return known | {name.rpartition("/")[2] for name in known}
