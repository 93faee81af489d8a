"""Where bits come from, as numbers: nibble tags, words of eight of them, and origins of what was computed.

An *origin* is a row of columns in which the smaller value is the wider claim, so that the origin of what two
values were computed to is the minimum of theirs, column by column:

* column 0: -1 where a matrix instruction had a part in it, else 0;
* column 1: -1 where the box below is wider than what went into it, else 0;
* column 2: -1 where an instruction had a part that is not followed, else 0;
* then for each buffer and each of its axes two columns: the smallest index, and minus the largest one; FAR in both
  where the buffer has no part.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutprobe.numbers import element_type
from layoutprobe.recording.model import NOTHING, RUN, Buffer, Tags, nibbles_of

Ints = NDArray[np.int32]
FAR = np.iinfo(np.int32).max
PRODUCT, HULL, OPAQUE = range(3)
"""Columns of an origin."""
FLAGS = 3
_EIGHT = np.arange(8, dtype=np.int32)
_MOST = 1 << 20
"""Origins that are told apart; beyond, all of them are one that is not followed."""


class Elements:
    """Which element of which buffer a moved nibble belongs to.

    Attributes:
        starts: number of each buffer's first nibble. Each begins with a dword.
        columns: of an origin.
    """

    def __init__(self, buffers: Sequence[Buffer]) -> None:
        self.buffers = tuple(buffers)
        sizes = [8 * -(-buffer.nbytes // 4) for buffer in buffers]
        self.starts = tuple(int(at) for at in np.cumsum([0, *sizes])[:-1])
        self.ends = tuple(start + size for start, size in zip(self.starts, sizes, strict=True))
        self.widths = tuple(max(1, element_type(buffer.dtype).storage.itemsize * 2) for buffer in buffers)
        firsts = np.cumsum([FLAGS, *(2 * len(buffer.shape) for buffer in buffers)])
        self.first = tuple(int(at) for at in firsts[:-1])
        self.columns = int(firsts[-1])

    def normal(self, tags: Ints) -> Ints:
        """Moved tags as that of the first nibble of their element; others as they are."""
        out = tags.copy()
        for start, end, width in zip(self.starts, self.ends, self.widths, strict=True):
            if width > 1:
                mine = (tags > start) & (tags <= end)
                np.copyto(out, start + (tags - 1 - start) // width * width + 1, where=mine)
        return out

    def index(self, number: int) -> tuple[Buffer, tuple[int, ...] | None, int]:
        """Of a moved nibble: the buffer, the element's index (None in its padding), and which nibble of it."""
        for buffer, start, end, width in zip(self.buffers, self.starts, self.ends, self.widths, strict=True):
            if start <= number - 1 < end:
                element, nibble = divmod(number - 1 - start, width)
                index, inside = unravel(np.array([element]), buffer)
                return buffer, tuple(int(at[0]) for at in index) if inside[0] else None, nibble
        raise ValueError(f"no nibble {number}")

    def boxes(self, tags: Ints) -> Ints:
        """Origins of single elements, from their (positive) tags: [tag, column]."""
        out = np.full((tags.size, self.columns), FAR, np.int32)
        out[:, :FLAGS] = 0
        for at, buffer in enumerate(self.buffers):
            mine = (tags > self.starts[at]) & (tags <= self.ends[at])
            if not mine.any():
                continue
            index, inside = unravel(
                (tags[mine].astype(np.int64) - 1 - self.starts[at]) // self.widths[at], buffer
            )
            for axis, value in enumerate(index):
                column = self.first[at] + 2 * axis
                out[mine, column], out[mine, column + 1] = value, -value
            rows = np.flatnonzero(mine)
            out[rows[~inside], OPAQUE] = -1  # padding has no index
        return out


def unravel(element: NDArray[Any], buffer: Buffer) -> tuple[list[NDArray[np.int64]], NDArray[np.bool_]]:
    """Index along each axis of elements of the storage, and which of them lie in the tensor."""
    index = [np.zeros(element.shape, np.int64) for _ in buffer.shape]
    left, inside = element.astype(np.int64), np.ones(element.shape, np.bool_)
    for axis in sorted(range(len(buffer.shape)), key=lambda axis: -buffer.strides[axis]):
        index[axis], left = np.divmod(left, buffer.strides[axis])
        inside &= index[axis] < buffer.shape[axis]
    return index, inside & (left == 0)


class TagTable:
    """Numbers tags while a run goes on."""

    def __init__(self, buffers: Sequence[Buffer]) -> None:
        self.elements = Elements(buffers)
        self._words = _Rows(8)
        self._words.numbers(np.zeros((1, 8), np.int32))
        self._origins = _Rows(self.elements.columns)
        self._united: dict[tuple[int, int], int] = {}
        opaque = np.full((1, self.elements.columns), FAR, np.int32)
        opaque[:, :FLAGS] = 0, 0, -1
        self.opaque = -1 - int(self._origins.numbers(opaque)[0])

    @property
    def nbytes(self) -> int:
        """Bytes that it takes, without Python's own."""
        return self._words.nbytes + self._origins.nbytes

    def tags(self) -> Tags:
        """All of it."""
        return Tags(self._words.rows.copy(), self._origins.rows.copy(), self.elements.starts)

    def nibbles(self, words: Ints) -> Ints:
        """int32 [..., 8] of word numbers [...]."""
        return nibbles_of(self._words.rows, words)

    def words(self, nibbles: Ints) -> Ints:
        """Word numbers [...] of int32 [..., 8]."""
        first = nibbles[..., 0]
        out = first.copy()
        rest = (first > NOTHING) | ~_all_eight(nibbles == first[..., None])
        if rest.any():
            nibbles = nibbles[rest]
            some = RUN + (nibbles[:, 0] - 1) // 8
            run = (nibbles[:, 0] % 8 == 1) & _all_eight(nibbles - nibbles[:, :1] == _EIGHT)
            if not run.all():
                some[~run] = self._words.numbers(nibbles[~run])
            out[rest] = some
        return out

    def part(self, words: Ints, first: int, count: int) -> Ints:
        """Words that have some of the nibbles of others at their low end, and nothing above."""
        if (first, count) == (0, 8):
            return words
        nibbles = np.zeros((*words.shape, 8), np.int32)
        nibbles[..., :count] = self.nibbles(words)[..., first : first + count]
        return self.words(nibbles)

    def whole(self, words: Ints) -> Ints:
        """Tags of what all bits of registers make together: one of a moved element, or of what was computed."""
        if (words <= NOTHING).all():
            return words
        unique, back = np.unique(words, return_inverse=True)
        made = unique.copy()
        some = unique > NOTHING
        made[some] = self.unite_all(self.elements.normal(self.nibbles(unique[some])))
        return np.asarray(made[back].reshape(words.shape))

    def unite(self, one: Ints, other: Ints) -> Ints:
        """Tags of what was computed from two; a positive one stands for its whole element."""
        plain = np.where(one == NOTHING, other, one)
        differ = (one != other) & (one != NOTHING) & (other != NOTHING)
        if not differ.any():
            return plain
        low, high = np.minimum(one[differ], other[differ]), np.maximum(one[differ], other[differ])
        pairs, back = np.unique(low.astype(np.int64) << 32 | high.astype(np.uint32), return_inverse=True)
        plain[differ] = self._of_pairs(pairs)[back]
        return plain

    def _of_pairs(self, pairs: NDArray[np.int64]) -> Ints:
        known = self._united
        found = [known.get(key, 0) for key in pairs.tolist()]
        out = np.array(found, np.int32)
        new = np.flatnonzero(out == 0)
        if new.size:
            one = (pairs[new] >> 32).astype(np.int32)
            other = (pairs[new] & 0xFFFFFFFF).astype(np.uint32).view(np.int32)
            out[new] = self._numbered(self._wider(self._rows_of(one), self._rows_of(other)))
            known.update(zip(pairs[new].tolist(), out[new].tolist(), strict=True))
        return out

    def unite_all(self, tags: Ints) -> Ints:
        """The same along the last axis, neighbours first, so that what is a box is seen to be one."""
        flat = tags.reshape(-1, tags.shape[-1])
        out: Ints = flat.min(axis=-1, initial=NOTHING)
        np.copyto(out, flat.max(axis=-1, initial=NOTHING), where=out == NOTHING)
        several = np.flatnonzero(((flat != out[:, None]) & (flat != NOTHING)).any(axis=-1))
        if several.size:
            out[several] = self._numbered(self._hulls(flat[several]))
        return out.reshape(tags.shape[:-1])

    def _hulls(self, tags: Ints) -> Ints:
        """Origins of what was computed from the tags of each line: int32 [line, column] from [line, tag]."""
        unique, back = np.unique(tags, return_inverse=True)
        rows, back = self._rows_of(unique), back.reshape(tags.shape)
        if tags.shape[1] > 2:
            starts = rows[:, FLAGS::2].astype(np.int64)
            low = np.where(starts == FAR, 0, starts).sum(axis=1)[back]
            back = np.take_along_axis(back, np.argsort(low, axis=-1, kind="stable"), axis=-1)
        held = rows[back].transpose(1, 0, 2)
        while len(held) > 1:
            odd = held[-1:] if len(held) % 2 else held[:0]
            pairs = held[: len(held) // 2 * 2].reshape(-1, 2, *held.shape[1:])
            made = self._wider(*(pairs[:, at].reshape(-1, held.shape[-1]) for at in (0, 1)))
            held = np.concatenate([made.reshape(-1, *held.shape[1:]), odd])
        return np.asarray(held[0])

    def sums(self, rows: Ints, cols: Ints, before: Ints, *, hull: bool = False) -> Ints:
        """Tags of sums that a matrix instruction adds to what was there before; all of one shape."""
        parts = [self._rows_of(part.ravel()) for part in np.broadcast_arrays(rows, cols, before)]
        made = self._wider(self._wider(parts[0], parts[1]), parts[2])
        some = (made[:, FLAGS:] != FAR).any(axis=1) | (made[:, OPAQUE] != 0)
        made[:, PRODUCT] = -1
        made[:, HULL] = -1 if hull else made[:, HULL]
        tags = np.full(len(made), NOTHING, np.int32)
        if self._origins.count > _MOST:
            tags[some] = self.opaque
        else:  # every slot is a sum of its own: nobody looks for it among those that are there
            tags[some] = -1 - self._origins.add(made[some])
        return tags.reshape(np.broadcast_shapes(rows.shape, cols.shape, before.shape))

    def computed(self, tags: Ints, *, hull: bool = False) -> Ints:
        """Tags of values computed from those, and from nothing else; NOTHING stays.

        Args:
            tags: as `unite` takes them.
            hull: not from all of those.
        """
        if not hull and (tags <= NOTHING).all():
            return tags
        unique, back = np.unique(tags, return_inverse=True)
        rows = self._rows_of(unique)
        rows[:, HULL] = -1 if hull else rows[:, HULL]
        made = np.where(unique == NOTHING, NOTHING, self._numbered(rows))
        return np.asarray(made[back].reshape(tags.shape).astype(np.int32))

    def _rows_of(self, tags: Ints) -> Ints:
        """Origins of tags: int32 [tag, column]; a copy."""
        made = tags < 0
        if made.all():
            return np.asarray(self._origins.rows[-1 - tags])
        rows = self.elements.boxes(tags)
        rows[made] = self._origins.rows[-1 - tags[made]]
        return rows

    def _numbered(self, rows: Ints) -> Ints:
        if self._origins.count > _MOST:
            return np.full(len(rows), self.opaque, np.int32)
        return np.asarray(-1 - self._origins.numbers(rows))

    def _wider(self, one: Ints, other: Ints) -> Ints:
        """Origins of what was computed from two; the box is marked where it is wider than both together."""
        out = np.minimum(one, other)
        for at, buffer in enumerate(self.elements.buffers):
            if not buffer.shape:
                continue
            span = slice(self.elements.first[at], self.elements.first[at] + 2 * len(buffer.shape))
            both = np.flatnonzero(np.maximum(one[:, span.start], other[:, span.start]) != FAR)
            if not both.size:  # a part of one of them alone is as wide as it was
                continue
            left, right = one[both, span], other[both, span]
            a, b, common, hull = _volume(np.stack([left, right, np.maximum(left, right), out[both, span]]))
            out[both[a + b - common != hull], HULL] = -1
        return out


def _all_eight(of: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """`of.all(axis=-1)` of [..., 8], at a tenth of the time."""
    return np.asarray(np.ascontiguousarray(of).view(np.uint64)[..., 0] == 0x0101010101010101)


def _volume(spans: Ints) -> NDArray[np.float64]:
    """Elements in boxes of one buffer: [...] from int32 [..., 2 * axis]."""
    volume = np.ones(spans.shape[:-1], np.float64)
    for low, high in zip(
        spans.T[0::2], spans.T[1::2], strict=True
    ):  # prod() along a short axis takes ten times as long
        volume *= np.maximum(1 - low.T.astype(np.float64) - high.T, 0)
    return volume


class _Rows:
    """Rows of numbers, each once, in the order in which they came."""

    def __init__(self, width: int) -> None:
        self._known: dict[int, int] = {}
        self._doubles: dict[bytes, int] = {}
        self._held = np.zeros((64, width), np.int32)
        self._factors = _factors(width)
        self.count = 0

    @property
    def rows(self) -> Ints:
        """All of them: int32 [row, column]."""
        return self._held[: self.count]

    @property
    def nbytes(self) -> int:
        """Bytes of the rows."""
        return self.rows.nbytes

    def numbers(self, rows: Ints) -> Ints:
        """Numbers of rows, old or new."""
        rows = np.ascontiguousarray(rows)
        sums = rows.view(np.uint32).astype(np.uint64) @ self._factors
        keys = sums.tolist()
        out = np.fromiter(map(self._known.get, keys, repeat(-1)), np.int32, len(keys))
        if (out < 0).any():
            new = np.flatnonzero(out < 0)
            _, first, back = np.unique(sums[new], return_index=True, return_inverse=True)
            added = self.add(rows[new[first]])
            self._known.update(zip(sums[new[first]].tolist(), added.tolist(), strict=True))
            out[new] = added[back]
        other = (self._held[out] != rows).any(axis=1)
        for at in np.flatnonzero(other).tolist():  # two rows of one sum: once in ages
            key = rows[at].tobytes()
            if key not in self._doubles:
                self._doubles[key] = int(self.add(rows[at : at + 1])[0])
            out[at] = self._doubles[key]
        return np.asarray(out)

    def add(self, rows: Ints) -> Ints:
        """Numbers of rows that are new, or taken for new."""
        while self.count + len(rows) > len(self._held):
            self._held = np.concatenate([self._held, np.empty_like(self._held)])
        self._held[self.count : self.count + len(rows)] = rows
        self.count += len(rows)
        return np.arange(self.count - len(rows), self.count, dtype=np.int32)


def _factors(width: int) -> NDArray[np.uint64]:
    return np.random.default_rng(12).integers(1, 1 << 63, width, np.uint64) | np.uint64(1)
