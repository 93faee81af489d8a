"""Registers, lanes and elements by their names in questions."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from layoutprobe.errors import UsageError
from layoutprobe.isa.inst import EXEC_LO, M0, SCC, VCC_LO
from layoutprobe.place import Element
from layoutprobe.recording.model import Recording

_RANGE = re.compile(
    r"([vas])(?:(\d{1,4})(?:-\1?(\d{1,4}))?|\[(\d{1,4})(?::(\d{1,4}))?\])(?::(\d{1,3}))?", re.ASCII
)
"""v40, v40-55, v40-v55, v[40:55], each with a lane behind a colon."""
_HINT = "the text of an instruction names its registers: --timeline lists them, --tui walks through them"
_NAMED = {"vcc": (VCC_LO, 2), "exec": (EXEC_LO, 2), "m0": (M0, 1), "scc": (SCC, 1)}


class Slot(Struct, frozen=True):
    """A register of a lane; of a scalar register the lane is 0."""

    kind: str
    register: int
    lane: int


def slots_of(text: str, recording: Recording, lanes: Sequence[int] | None = None) -> list[Slot]:
    """Registers by name: "v40-55,a3,s4,vcc,exec", ranges also as "v40-v55" and as assembly has them, "v[40:55]"; each
    VGPR in these lanes, by default in all; "v40:3" in lane 3.

    Raises:
        UsageError: there is no such register or lane.
    """
    found: list[Slot] = []
    for part in text.split(","):
        name = part.strip().lower()
        match = _RANGE.fullmatch(name)
        if name in _NAMED:
            first, count = _NAMED[name]
            found += [Slot("s", first + n, 0) for n in range(count if recording.lanes == 64 else 1)]
            continue
        if match is None:
            raise UsageError(
                f"no register named {part.strip()[:40]!r}",
                expected="v40, v40-55, v[40:55], v40:3 (in lane 3), a3, s4-7, vcc, exec, m0, scc",
                hint=_HINT,
            )
        letter, *numbers, lane = match.groups()
        low, *rest = (int(number) for number in numbers if number)
        high = rest[0] if rest else low
        first = max(recording.first_acc, 0) if letter == "a" else 0
        limit = 106 if letter == "s" else recording.vgprs - first
        here = [int(lane)] if lane else list(lanes if lanes is not None else range(recording.lanes))
        if letter == "a" and recording.first_acc < 0:
            raise UsageError(
                f"no register {part.strip()[:40]!r}: the kernel has no AccVGPRs",
                expected=f"v0 to v{limit - 1}",
                hint=_HINT,
            )
        if not low <= high < limit or max(here, default=0) >= recording.lanes:
            raise UsageError(
                f"{part.strip()[:40]!r} is beyond the wave's registers or lanes",
                expected=f"{letter}0 to {letter}{limit - 1}, lanes 0 to {recording.lanes - 1}",
                hint=_HINT,
            )
        kind = "s" if letter == "s" else "v"
        found += [
            Slot(kind, first + n, at) for n in range(low, high + 1) for at in ([0] if kind == "s" else here)
        ]
    return found


def slot_of(text: str, recording: Recording) -> Slot:
    """One register of one lane by its name, "v40:3".

    Raises:
        UsageError: there is none, or several are meant.
    """
    slots = slots_of(text, recording)
    if len(slots) != 1:
        raise UsageError(
            f"{text[:40]!r} is not one register of one lane",
            expected="v40:3, register 40 of lane 3",
            hint=_HINT,
        )
    return slots[0]


def element_of(text: str, recording: Recording) -> Element:
    """An element by its name, "A[3][5]": of a buffer, else of the product's A, B or C.

    Raises:
        UsageError: there is none.
    """
    match = re.fullmatch(r"\s*([A-Za-z_]\w*)((?:\[\d{1,9}\])+)\s*", text)
    name = match[1] if match else ""
    buffer = next((b for b in recording.buffers if b.name == name), None) or next(
        (b for b in recording.buffers if b.matrix and b.matrix == name), None
    )
    index = tuple(int(i) for i in re.findall(r"\d+", match[2])) if match else ()
    if (
        buffer is None
        or len(index) != len(buffer.shape)
        or any(i >= extent for i, extent in zip(index, buffer.shape, strict=True))
    ):
        known = ", ".join(b.name + "".join(f"[0-{e - 1}]" for e in b.shape) for b in recording.buffers)
        raise UsageError(
            f"no element {text[:60]!r}", expected=f"one of {known}",
            hint="--registers and --lds tell which elements are there",
        )  # fmt: skip
    return Element(buffer.name, index)
