"""What the operands of matrix instructions hold, whatever the kernel computes: no product need be its contract."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np

from layoutprobe.recording.code import register_name
from layoutprobe.recording.model import Instruction, Recording, Span
from layoutprobe.recording.names import Box, Held, HeldKind, Names, boxes_in_words
from layoutprobe.recording.replay import Replay

_SPARSE = ("v_swmmac", "v_smfmac")
_WORDS: dict[HeldKind, str] = {
    "element": "", "part": "parts of ", "padding": "padding", "computed": "from ", "sum": "products of ",
    "unfollowed": "not followed", "plain": "no element", "undefined": "undefined",
}  # fmt: skip
_OF_ELEMENTS: tuple[HeldKind, ...] = ("element", "part", "computed", "sum")


def family_of(one: Instruction) -> str:
    """ "wmma", "mfma", "swmmac" or "smfmac"."""
    return (one.place.instruction or "").removeprefix("v_").partition("_")[0]


def operands_of(one: Instruction) -> dict[str, Span]:
    """Registers of a matrix instruction's operands by their letters; a constant accumulator has none."""
    sparse = (one.place.instruction or "").startswith(_SPARSE)
    spans = list(one.reads)
    found = dict(zip("AB", spans, strict=False))
    if sparse:
        found |= zip(("index", "C"), spans[2:], strict=False)
    elif len(spans) > 2 and spans[2].count == one.writes[0].count:
        found |= zip(("C", "scale A", "scale B"), spans[2:], strict=False)
    else:
        found |= zip(("scale A", "scale B"), spans[2:], strict=False)
    return {name: span for name, span in found.items() if span.kind == "v"}


def registers_of(span: Span, recording: Recording) -> str:
    """Their names: "v[17:24]", "a[0:3]", "v7"."""
    first, last = (register_name(span.kind, span.index + n, recording.first_acc) for n in (0, span.count - 1))
    return first if span.count == 1 else f"{first[0]}[{first[1:]}:{last[1:]}]"


def held_by(names: Names, replay: Replay, moments: Iterable[tuple[int, int]], span: Span) -> Iterator[Held]:
    """What the slots of an operand hold at moments (wave, row), register by register and lane by lane."""
    rows = slice(span.index, span.index + span.count)
    for wave, row in moments:
        state = replay.registers(wave, row)
        both = np.stack([state.tags[rows].astype(np.int64), state.undefined[rows].astype(np.int64)], axis=-1)
        pairs, counts = np.unique(both.reshape(-1, 2), axis=0, return_counts=True)
        for (tag, undefined), count in zip(pairs.tolist(), counts.tolist(), strict=True):
            for part in names.word(tag, undefined):
                yield from [part] * count


def in_words(names: Names, slots: Iterable[Held]) -> str:
    """All slots of an operand in a line, kind by kind: "512 slots: q[0-15][0-15]"."""
    counts = Counter[HeldKind]()
    boxes: dict[HeldKind, dict[str, Box]] = {}
    for slot in slots:
        counts[slot.kind] += 1
        if slot.element is not None:
            box = tuple((at, at) for at in slot.element.index)
            _widen(boxes.setdefault(slot.kind, {}), {slot.element.matrix: box})
        elif slot.tag < 0:
            _widen(boxes.setdefault(slot.kind, {}), names.origin(slot.tag).boxes)
    return "; ".join(
        f"{count} slots: {_WORDS[kind]}" + (boxes_in_words(boxes[kind]) if kind in _OF_ELEMENTS else "")
        for kind, count in counts.most_common()
    )


def _widen(boxes: dict[str, Box], by: dict[str, Box]) -> None:
    for name, box in by.items():
        old = boxes.get(name, box)
        boxes[name] = tuple((min(a, c), max(b, d)) for (a, b), (c, d) in zip(old, box, strict=True))
