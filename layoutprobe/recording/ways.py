"""Ways of values: from a register of a lane back to the loads that brought what it holds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from layoutprobe.isa.transposing import exchange_of
from layoutprobe.recording.model import INACTIVE, SPACES, Instruction
from layoutprobe.recording.names import Names
from layoutprobe.recording.replay import Replay
from layoutprobe.recording.slots import Slot

STEPS = 64
"""Instructions that are followed back."""


class Ways:
    """Follows values of a recording."""

    def __init__(self, replay: Replay, names: Names) -> None:
        self.replay, self.names, self.recording = replay, names, replay.recording

    def _inst(self, row: int) -> Instruction:
        return self.recording.code[int(self.recording.steps.inst[row])]

    def back(self, wave: int, row: int, slot: Slot) -> Iterator[tuple[int, int, int, int, int, str]]:
        """Depth, row, wave, register, lane, and a remark, from a register back to loads."""
        todo = [(0, wave, row, slot.register, slot.lane)]
        seen: set[tuple[int, int, int]] = set()
        while todo and len(seen) < STEPS:
            depth, wave, row, register, lane = todo.pop()
            writer = int(self.replay.registers(wave, row).writer[register])
            if writer < 0 or (writer, register, lane) in seen:
                continue
            seen.add((writer, register, lane))
            one = self._inst(writer)
            if self._keeps(wave, writer, register, lane):
                todo.append((depth, wave, writer, register, lane))
            loaded = self._loaded(writer, register, lane) if one.kind == "load" else None
            if loaded is not None and loaded[0] != "LDS":
                yield (
                    depth,
                    writer,
                    wave,
                    register,
                    lane,
                    f"loaded from {loaded[0]} {self.names.pointer(loaded[1])}",
                )
                continue
            yield depth, writer, wave, register, lane, ""
            if loaded is not None:
                store = self._stored(wave, writer, loaded[1])
                if store is not None:
                    todo.append((depth + 1, *store))
            elif one.kind != "matrix":
                todo += [
                    (depth + 1, wave, writer, *source)
                    for source in self._sources(one, wave, writer, register, lane)
                ]

    def _keeps(self, wave: int, row: int, register: int, lane: int) -> bool:
        """A row writes a part of a register, and leaves elements in the rest."""
        before, after = (
            self.recording.tags.nibbles(self.replay.registers(wave, at).tags[register, lane][None])[0]
            for at in (row, row + 1)
        )
        return bool(((before == after) & (after != 0)).any() and (before != after).any())

    def _loaded(self, row: int, register: int, lane: int) -> tuple[str, int] | None:
        """Memory and address that a load took a register of a lane from."""
        a = self.recording.accesses
        exchange = exchange_of(self._inst(row).place.instruction or "", self.recording.lanes)
        for at in self.replay.accessed(row):
            dword = register - int(a.register[at])
            if a.store[at] or not 0 <= dword < max(1, int(a.size[at]) // 4):
                continue
            byte = 4 * dword
            if exchange is not None:  # the lane's first element there: another one named its address
                lane, bit = exchange.source(lane, 32 * dword)
                byte = bit // 8
            if a.address[at, lane] != INACTIVE:
                return SPACES[int(a.space[at])], int(a.address[at, lane]) + byte
        return None

    def _stored(self, wave: int, row: int, byte: int) -> tuple[int, int, int, int] | None:
        """Who stored a byte of LDS that a wave reads in a row: wave, row, register, lane."""
        image, a = self.replay.lds(wave, row), self.recording.accesses
        writer, lane = int(image.writer[byte]), int(image.lane[byte])
        if writer < 0:
            return None
        for at in self.replay.accessed(writer):
            offset = byte - int(a.address[at, lane])
            if a.store[at] and 0 <= offset < a.size[at] and a.register[at] >= 0:
                return self.replay.step(writer)[0], writer, int(a.register[at]) + offset // 4, lane
        return None

    def _sources(
        self, one: Instruction, wave: int, row: int, register: int, lane: int
    ) -> list[tuple[int, int]]:
        """Register and lane of the sources that have a part in a result: those with the same element, if any has;
        else one that holds the same, in whichever lane; else those of the lane that come from nothing else."""
        before, after = self.replay.registers(wave, row), self.replay.registers(wave, row + 1)
        wanted = self.recording.tags.nibbles(after.tags[register, lane][None])[0]
        spans = [span for span in one.reads if span.kind == "v"]
        named = list(dict.fromkeys(span.index + n for span in spans for n in range(span.count)))
        for lanes in ([lane], range(self.recording.lanes)):
            moved = [
                (source, at)
                for source in named
                for at in lanes
                if np.isin(
                    wanted[wanted > 0], self.recording.tags.nibbles(before.tags[source, at][None])[0]
                ).any()
            ]
            if moved:
                return moved[:2]
        same = [
            (source, at)
            for at in (lane, *range(self.recording.lanes))
            for source in named
            if before.tags[source, at] == after.tags[register, lane]
        ]
        if same:
            return same[:1]
        tagged = [(source, lane) for source in reversed(named) if before.tags[source, lane] != 0]
        fits = [at for at in tagged if self.names.within(int(before.tags[at]), wanted.tolist())]
        return fits or tagged  # of two halves of an instruction, the other one has no part in it
