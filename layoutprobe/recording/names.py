"""What a register or a byte of memory holds, in words: elements of the kernel's buffers, sums, addresses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.place import Element
from layoutprobe.recording.model import NOTHING, Buffer, Recording
from layoutprobe.recording.tags import FAR, FLAGS, HULL, OPAQUE, PRODUCT, Elements

HeldKind = Literal["element", "part", "padding", "sum", "computed", "unfollowed", "plain", "undefined"]
Box = tuple[tuple[int, int], ...]
"""First and last index along each axis."""


class Held(Struct, frozen=True):
    """What some bits hold.

    Attributes:
        bits: first and last of them.
        kind: "element": a moved copy of a whole element; "part": of some of its bits; "padding": a copy of what
            belongs to no index; "sum": a matrix instruction had a part in it; "computed": from elements;
            "unfollowed": through an instruction that is not followed; "plain": from no buffer (constants, ids,
            arguments); "undefined".
        text: in words.
        element: of "element" and "part".
        of: of "part", first and last bit within the element.
        tag: of what was computed, its number, see `Names.origin`; else 0.
    """

    bits: tuple[int, int]
    kind: HeldKind
    text: str
    element: Element | None = None
    of: tuple[int, int] | None = None
    tag: int = NOTHING


class Origin(Struct, frozen=True):
    """What something was computed from.

    Attributes:
        boxes: buffer -> indices, smallest and largest along each axis.
        product: a matrix instruction had a part in it.
        within: not from all elements of the boxes.
        unfollowed: an instruction that is not followed had a part in it.
    """

    boxes: dict[str, Box]
    product: bool
    within: bool
    unfollowed: bool


class Names:
    """Names of what a recording's registers and memories hold."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self._elements = Elements(recording.buffers)
        self._letters = {buffer.matrix: buffer.name for buffer in recording.buffers if buffer.matrix}
        self.origin = lru_cache(maxsize=1 << 16)(self._origin)
        self._number = {buffer.name: at for at, buffer in enumerate(recording.buffers)}

    def word(self, word: int, undefined: int = 0) -> tuple[Held, ...]:
        """What a register holds, by its tag, low bits first."""
        nibbles = self.recording.tags.nibbles(np.array([word], np.int32))[0]
        return tuple(self.nibbles(nibbles.tolist(), undefined))

    def nibbles(self, tags: Sequence[int], undefined: int = 0) -> Iterator[Held]:
        """The same of nibble tags, low first; set bits of `undefined` are undefined bits."""
        at = 0
        while at < len(tags):
            end = at + 1
            if undefined >> 4 * at & 15:
                while end < len(tags) and undefined >> 4 * end & 15:
                    end += 1
                yield Held((4 * at, 4 * end - 1), "undefined", "undefined")
            elif tags[at] > NOTHING:
                end = self._copied(tags, at, undefined)
                yield self._moved(tags[at], at, end)
            else:
                while end < len(tags) and tags[end] == tags[at] and not undefined >> 4 * end & 15:
                    end += 1
                yield self._made(tags[at], (4 * at, 4 * end - 1))
            at = end

    def _copied(self, tags: Sequence[int], at: int, undefined: int) -> int:
        """Where the nibbles of one element end that follow each other in it."""
        _, _, nibble = self._elements.index(tags[at])
        buffer = self._buffer(tags[at])
        width, end = self._elements.widths[self._number[buffer.name]], at + 1
        while (
            end < len(tags)
            and tags[end] == tags[at] + end - at
            and nibble + end - at < width
            and not undefined >> 4 * end & 15
        ):
            end += 1
        return end

    def _buffer(self, tag: int) -> Buffer:
        return self._elements.index(tag)[0]

    def _moved(self, tag: int, at: int, end: int) -> Held:
        buffer, index, nibble = self._elements.index(tag)
        bits = 4 * at, 4 * end - 1
        if index is None:
            return Held(bits, "padding", f"padding of {buffer.name}")
        element = Element(buffer.name, index)
        if end - at == self._elements.widths[self._number[buffer.name]]:
            return Held(bits, "element", str(element), element)
        of = 4 * nibble, 4 * (nibble + end - at) - 1
        return Held(bits, "part", f"{element} bits {of[0]}-{of[1]}", element, of)

    def _made(self, tag: int, bits: tuple[int, int]) -> Held:
        if tag == NOTHING:
            return Held(bits, "plain", "no element")
        origin = self.origin(tag)
        kind: HeldKind = "unfollowed" if origin.unfollowed else "sum" if origin.product else "computed"
        return Held(bits, kind, self.says(origin), tag=tag)

    def _origin(self, tag: int) -> Origin:
        """What a negative tag stands for."""
        row = self.recording.tags.origins[-1 - tag]
        boxes = {}
        for at, buffer in enumerate(self.recording.buffers):
            span = row[self._elements.first[at] : self._elements.first[at] + 2 * len(buffer.shape)].tolist()
            if span and span[0] != FAR:
                boxes[buffer.name] = tuple((span[n], -span[n + 1]) for n in range(0, len(span), 2))
        return Origin(boxes, bool(row[PRODUCT]), bool(row[HULL]), bool(row[OPAQUE]))

    def within(self, word: int, tags: Sequence[int]) -> bool:
        """A register by its tag comes from nothing else than what values of these nibble tags come from."""
        parts = {tag for tag in self.recording.tags.nibbles(np.array([word], np.int32))[0].tolist() if tag}
        wide = [self._box(tag) for tag in {tag for tag in tags if tag}]
        return any((self._box(part) >= box).all() for part in parts for box in wide)

    def _box(self, tag: int) -> NDArray[np.int32]:
        """Of a nibble tag, the columns of an origin that are its box."""
        row = self.recording.tags.origins[-1 - tag] if tag < 0 else self._elements.boxes(np.array([tag]))[0]
        return np.asarray(row[FLAGS:])

    def says(self, origin: Origin) -> str:
        """ "sum over k 0-31 of row 3, column 5", "from B[3][5], scale[0]"."""
        text = self._sum(origin) or self._from(origin)
        return f"{text}, not followed throughout" if origin.unfollowed and origin.boxes else text

    def _sum(self, origin: Origin) -> str:
        a, b = (origin.boxes.get(self._letters.get(letter, "")) for letter in "AB")
        if not origin.product or origin.within or a is None or b is None or a[-1] != b[-2]:
            return ""
        (row, last_row), (col, last_col) = a[-2], b[-1]
        batch = {box[:-2] for box in (a, b) if len(box) > 2}
        if row != last_row or col != last_col or len(batch) > 1:
            return ""
        others = {name: box for name, box in origin.boxes.items() if box is not a and box is not b}
        inside = f" of batch {_indices(batch.pop())}" if batch else ""
        text = f"sum over k {_range(a[-1])} of row {row}, column {col}{inside}"
        return text + (f", and {boxes_in_words(others)}" if others else "")

    def _from(self, origin: Origin) -> str:
        if not origin.boxes:
            return "not followed"
        start = "products of " if origin.product else "from "
        return f"{start}{'within ' if origin.within else ''}{boxes_in_words(origin.boxes)}"

    def address(self, low: int, high: int) -> str:
        """Of two registers that hold an address in a buffer, where that points: "A + 96, A[2][0]"; else ""."""
        return self.pointer(high << 32 | low)

    def pointer(self, address: int) -> str:
        """The same of an address; that of the byte behind a buffer counts."""
        for buffer in self.recording.buffers:
            offset = address - buffer.address
            if buffer.address and 0 <= offset <= buffer.nbytes:
                if offset == buffer.nbytes:
                    return f"{buffer.name} + {offset}, its end"
                start = self._elements.starts[self._number[buffer.name]]
                _, index, _ = self._elements.index(start + 2 * offset + 1)
                where = str(Element(buffer.name, index)) if index is not None else "padding"
                return f"{buffer.name} + {offset}, {where}"
        return ""

    def finds(self, element: Element) -> tuple[range, NDArray[np.bool_]]:
        """The nibble tags that an element's own nibbles have, and which rows of `Tags.origins` it has a part in.

        Raises:
            KeyError: there is no such buffer.
        """
        at = self._number[element.matrix]
        buffer = self.recording.buffers[at]
        flat = sum(i * stride for i, stride in zip(element.index, buffer.strides, strict=True))
        width = self._elements.widths[at]
        first = self._elements.starts[at] + flat * width + 1
        rows = self.recording.tags.origins
        inside = np.ones(len(rows), np.bool_)
        for axis, index in enumerate(element.index):
            column = self._elements.first[at] + 2 * axis
            inside &= (rows[:, column] <= index) & (rows[:, column + 1] <= -index) & (rows[:, column] != FAR)
        return range(first, first + width), inside


def joined(parts: Sequence[Held]) -> str:
    """What a register holds in one line: "A[3][5], A[3][6]"; where parts are no fields of equal width, with bits."""
    if len(parts) == 1:
        return parts[0].text
    widths = {part.bits[1] - part.bits[0] for part in parts}
    if len(widths) == 1 and all(part.kind == "element" for part in parts):
        return ", ".join(part.text for part in parts)
    return "; ".join(f"bits {part.bits[0]}-{part.bits[1]}: {part.text}" for part in parts)


def boxes_in_words(boxes: dict[str, Box]) -> str:
    """ "A[0-15][3], scale[0]"."""
    return ", ".join(name + "".join(f"[{_range(span)}]" for span in box) for name, box in boxes.items())


def _range(span: tuple[int, int]) -> str:
    return f"{span[0]}" if span[0] == span[1] else f"{span[0]}-{span[1]}"


def _indices(box: Box) -> str:
    return ", ".join(map(_range, box))
