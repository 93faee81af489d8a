"""What registers and LDS held in a recorded run, by name, as its page shows it: every name once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from layoutprobe.recording.model import NOTHING, Recording
from layoutprobe.recording.names import Held, Names, joined
from layoutprobe.recording.operands import operands_of
from layoutprobe.recording.replay import Replay
from layoutprobe.report.kernel_view import Contents, HeldOperands

MOST_NAMES = 1 << 17
"""Dwords of lanes of which a page says what they hold, of LDS and of operands."""

Ints = NDArray[np.int32]


def contents_of(names: Names, tags: Ints, undefined: NDArray[np.uint32]) -> tuple[Contents, Ints]:
    """What words with these tags and undefined bits hold, and which of it each does: int32, of their shape."""
    words = np.stack([tags.astype(np.int64), undefined.astype(np.int64)], axis=-1)
    unique, held = np.unique(words.reshape(-1, 2), axis=0, return_inverse=True)
    each = [names.word(tag, bits) for tag, bits in unique.tolist()]
    lines = [_line(names, parts) for parts in each]
    tensors = tuple(sorted({name for name, _ in lines if name}))
    numbers = [(tensors.index(name), row) if name else (-1, -1) for name, row in lines]
    contents = Contents(tuple(map(joined, each)), tensors, np.array(numbers, np.int32).reshape(-1, 2))
    return contents, held.reshape(tags.shape).astype(np.int32)


def _line(names: Names, parts: Sequence[Held]) -> tuple[str, int]:
    """Of what a register holds, the buffer and the row of the first element; "" and -1 where it comes from none."""
    for part in parts:
        if part.element is not None and part.element.index:
            return part.element.matrix, part.element.index[-2:][0]
        if part.tag < NOTHING:
            for name, box in names.origin(part.tag).boxes.items():
                return name, box[-2:][0][0]
    return "", -1


def held_operands(recording: Recording, why: str) -> HeldOperands | None:
    """What operands of matrix instructions hold, as far as a page has room; None where there are none.

    Args:
        recording: the run.
        why: nothing says what they should.
    """
    operands = {at: operands_of(one) for at, one in enumerate(recording.code) if one.kind == "matrix"}
    rows = np.flatnonzero(np.isin(recording.steps.inst, list(operands)))
    if not rows.size:
        return None
    replay, shown = Replay(recording), 0
    letters = tuple(dict.fromkeys(letter for spans in operands.values() for letter in spans))
    table: list[tuple[int, int, int, int]] = []
    tags: list[Ints] = [np.zeros((0, recording.lanes), np.int32)]
    undefined = [np.zeros((0, recording.lanes), np.uint32)]
    for row in rows.tolist():
        spans = operands[int(recording.steps.inst[row])]
        room = sum(span.count for span in spans.values()) + sum(map(len, tags))
        if room * recording.lanes > MOST_NAMES:
            break
        held = replay.registers(int(recording.steps.wave[row]), row)
        for letter, span in spans.items():
            table.append((row, letters.index(letter), span.index, span.count))
            tags.append(held.tags[span.index : span.index + span.count])
            undefined.append(held.undefined[span.index : span.index + span.count])
        shown += 1
    contents, words = contents_of(Names(recording), np.concatenate(tags), np.concatenate(undefined))
    numbers = np.array(table, np.int32).reshape(-1, 4).T
    return HeldOperands(why, contents, letters, numbers, recording.first_acc, words, rows.size - shown)
