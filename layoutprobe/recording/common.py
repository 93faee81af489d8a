"""Two recordings in one numbering: which tags of theirs say the same of where bits come from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from layoutprobe.errors import UsageError
from layoutprobe.recording.model import Buffer, Recording
from layoutprobe.recording.tags import FAR, FLAGS, Elements, unravel

Longs = NDArray[np.int64]


class Common:
    """Numbers of nibble tags of several recordings, which are equal where the tags say the same.

    Buffers are the same by their letter in the matrix product, else by name: their order, addresses and strides may
    differ, their shapes may not.
    """

    def __init__(self, recordings: Sequence[Recording]) -> None:
        """Number them.

        Raises:
            UsageError: a buffer has another shape in the other recording.
        """
        self._recordings = recordings
        self._first = _starts(recordings)
        origins = [self._origins(recording) for recording in recordings]
        _, numbers = np.unique(np.concatenate(origins), axis=0, return_inverse=True)
        self._origin = np.split(numbers.ravel(), np.cumsum([len(part) for part in origins])[:-1])

    def numbers(self, which: int, nibbles: NDArray[np.int32]) -> Longs:
        """Numbers of nibble tags of one of the recordings, of their shape."""
        recording, origins = self._recordings[which], self._origin[which]
        found = origins[-1 - np.minimum(nibbles, -1)] if origins.size else np.zeros(nibbles.shape, np.int64)
        out = np.where(nibbles < 0, -1 - found, 0)
        elements = Elements(recording.buffers)
        for buffer, start, end, width in zip(
            recording.buffers, elements.starts, elements.ends, elements.widths, strict=True
        ):
            mine = (nibbles > start) & (nibbles <= end)
            element, nibble = np.divmod(nibbles[mine].astype(np.int64) - 1 - start, width)
            out[mine] = self._first[key_of(buffer)] + _along(element, buffer) * width + nibble + 1
        return np.asarray(out)

    def place(self, which: int, address: int) -> tuple[str, int]:
        """Of an address in global memory: which buffer, and which element counted along its axes; else ("", 0)."""
        for buffer in self._recordings[which].buffers:
            offset = address - buffer.address
            if buffer.address and 0 <= offset < buffer.nbytes:
                width = Elements([buffer]).widths[0]
                element = np.array([2 * offset // width])
                return key_of(buffer), int(_along(element, buffer)[0])
        return "", 0

    def _origins(self, recording: Recording) -> NDArray[np.int32]:
        """Rows of origins, with the columns of all buffers of all recordings in one order."""
        elements, rows = Elements(recording.buffers), recording.tags.origins
        shapes = {key_of(b): len(b.shape) for r in self._recordings for b in r.buffers}
        columns = [rows[:, :FLAGS]]
        for key, axes in shapes.items():
            at = [n for n, buffer in enumerate(recording.buffers) if key_of(buffer) == key]
            far = np.full((len(rows), 2 * axes), FAR, np.int32)
            columns.append(rows[:, elements.first[at[0]] :][:, : 2 * axes] if at else far)
        return np.concatenate(columns, axis=1)


def key_of(buffer: Buffer) -> str:
    """What a buffer is called where another kernel may call it otherwise."""
    return buffer.matrix or buffer.name


def _along(element: Longs, buffer: Buffer) -> Longs:
    """Elements of the storage, counted along the axes; those of no index lie behind all others."""
    index, inside = unravel(element, buffer)
    flat = np.zeros(element.shape, np.int64)
    for at, extent in zip(index, buffer.shape, strict=True):
        flat = flat * extent + at
    return np.where(inside, flat, int(np.prod(buffer.shape)) + element)


def _starts(recordings: Sequence[Recording]) -> dict[str, int]:
    """Number of the first nibble of each buffer."""
    shapes: dict[str, tuple[int, ...]] = {}
    starts: dict[str, int] = {}
    total = 0
    for recording in recordings:
        for buffer in recording.buffers:
            key = key_of(buffer)
            if shapes.setdefault(key, buffer.shape) != buffer.shape:
                raise UsageError(
                    f"{key} has another shape in the other kernel",
                    expected=" x ".join(map(str, shapes[key])),
                    observed=" x ".join(map(str, buffer.shape)),
                    hint="compare both at one size: --size",
                )
            if key not in starts:
                starts[key] = total
                total += 64 * (int(np.prod(buffer.shape)) + buffer.nbytes + 1)
    return starts
