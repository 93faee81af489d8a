"""Layouts as CuTe writes them: (thread, value) -> index of an element, as shape:stride.

`((16,2),16):((1,0),16)` says: 16 threads step through consecutive indices, the two halves of a wave
(stride 0) hold the same, and each further value lies 16 indices on. As in CUTLASS's MMA traits,
indices run down columns of (M, K) for A, of (N, K) for B, and of (M, N) for C and D: `index_text`
says it for a matrix. A value is an element of a lane, low bits first: value = vgpr * fields + field.

Where only one field of every VGPR is used (16-bit C and D of some instructions), a value is a VGPR,
and the form ends in `in half 0`.
"""

from __future__ import annotations

import re
from typing import TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.errors import UsageError
from layoutprobe.layouts.layout import HOLE, Layout, field_name

Grid = NDArray[np.int64]
Modes: TypeAlias = tuple[tuple[int, int], ...]
"""(shape, stride) pairs, fastest first."""

Tree: TypeAlias = "int | tuple[Tree, ...]"

MAX_TEXT = 400
MAX_DEPTH = 8
MAX_SIZE = 1 << 16
MAX_STRIDE = 1 << 20


class Strided(Struct, frozen=True):
    """A TV layout.

    Attributes:
        thread, value: modes of the thread and of the value.
        field: the one field of every VGPR that holds an element; None where all do.
    """

    thread: Modes
    value: Modes
    field: int | None = None

    @property
    def threads(self) -> int:
        """How many threads it speaks of."""
        return _size(self.thread)

    @property
    def values(self) -> int:
        """How many values a thread has."""
        return _size(self.value)

    def index(self) -> Grid:
        """Index of the element in every [thread, value]."""
        return _offsets(self.thread)[:, None] + _offsets(self.value)[None, :]

    def text(self, field_bits: int = 16) -> str:
        """`((16,2),16):((1,0),16)`."""
        shape = ",".join(_nested([extent for extent, _ in modes]) for modes in (self.thread, self.value))
        stride = ",".join(_nested([step for _, step in modes]) for modes in (self.thread, self.value))
        inside = f" in {field_name(field_bits)} {self.field}" if self.field is not None else ""
        return f"({shape}):({stride}){inside}"


def index_text(matrix: str) -> str:
    """What an index counts, in words: "index = m + M*k"."""
    return {"A": "index = m + M*k", "B": "index = n + N*k"}.get(matrix, "index = m + M*n")


def element_of(index: Grid, matrix: str, shape: tuple[int, int]) -> tuple[Grid, Grid]:
    """(row, col) of an index; beyond the matrix the column (of B: the row) leaves it."""
    along = shape[1] if matrix == "B" else shape[0]
    far, near = np.divmod(index, along)
    return (far, near) if matrix == "B" else (near, far)


def fit_cute(layout: Layout) -> Strided | None:
    """The shape:stride that reproduces every cell of a table; None where there is none."""
    if not layout.identified or layout.holes.all():
        return None
    rows, cols = layout.shape
    row, col = layout.row.astype(np.int64), layout.col.astype(np.int64)
    index = col + cols * row if layout.matrix == "B" else row + rows * col
    field: int | None = None
    if layout.holes.any():
        used = np.flatnonzero(~layout.holes.all(axis=(0, 1, 2)))
        if used.size != 1 or layout.holes[..., used[0]].any():
            return None
        field = int(used[0])
        index = index[..., [field]]
    waves, lanes, vgprs, fields = index.shape
    table = index.reshape(waves * lanes, vgprs * fields)
    if not np.array_equal(table, table[:, :1] + table[:1, :] - table[0, 0]) or table[0, 0] != 0:
        return None
    thread, value = _modes(table[:, 0]), _modes(table[0])
    if thread is None or value is None:
        return None
    return Strided(thread, value, field)


def _modes(offsets: Grid) -> Modes | None:
    """Offsets of 0..n-1 as modes with the longest run first, or None."""
    size = offsets.size
    if size == 1:
        return ((1, 0),) if offsets[0] == 0 else None
    step = int(offsets[1] - offsets[0])
    if step < 0:
        return None
    straight = offsets[0] + step * np.arange(size)
    wrong = np.flatnonzero(offsets != straight)
    run = int(wrong[0]) if wrong.size else size
    run = max(extent for extent in range(1, run + 1) if size % extent == 0)
    if run == 1:
        return None
    blocks = offsets.reshape(-1, run)
    if not np.array_equal(blocks, blocks[:, :1] + step * np.arange(run)):
        return None
    if run == size:
        return ((run, step),)
    rest = _modes(blocks[:, 0])
    return None if rest is None else ((run, step), *rest)


def _size(modes: Modes) -> int:
    return int(np.prod([extent for extent, _ in modes], dtype=np.int64))


def _offsets(modes: Modes) -> Grid:
    total = np.zeros(1, np.int64)
    for extent, step in modes:
        total = (total[None, :] + (step * np.arange(extent, dtype=np.int64))[:, None]).ravel()
    return total


def _nested(numbers: list[int]) -> str:
    return str(numbers[0]) if len(numbers) == 1 else f"({','.join(map(str, numbers))})"


_TOKEN = re.compile(r"\s*(?:(\d{1,7})|_(\d{1,7})|(.))")
_FORM = re.compile(r"\s*([(\d_][(),\d\s_]*):([(),\d\s_]*)(?:\s+in\s+[a-z]+\s+(\d))?\s*")


def is_cute(text: str) -> bool:
    """Whether a text is meant as shape:stride."""
    return len(text) <= MAX_TEXT and _FORM.fullmatch(text) is not None


def parse_cute(text: str) -> Strided:
    """A TV layout from `((4,8),(2,2)):((32,1),(16,8))`; static integers may have CuTe's underscore.

    Raises:
        UsageError: not a layout of (thread, value), shape and stride do not match, or too large.
    """
    match = _FORM.fullmatch(text[: MAX_TEXT + 1])
    if match is None or len(text) > MAX_TEXT:
        raise _refused(text, "not of the form shape:stride")
    shape, stride = _tree(match[1], text), _tree(match[2], text)
    if not (isinstance(shape, tuple) and isinstance(stride, tuple) and len(shape) == len(stride) == 2):
        raise _refused(text, "it needs two modes, (thread, value), in shape and stride")
    thread, value = (_flat(a, b, text) for a, b in zip(shape, stride, strict=True))
    for modes in (thread, value):
        size = 1
        for extent, step in modes:
            size *= extent
            if not 0 < size <= MAX_SIZE or step > MAX_STRIDE:
                raise _refused(
                    text, f"an extent of 0, more than {MAX_SIZE} threads or values, or a huge stride"
                )
    if _size(thread) * _size(value) > MAX_SIZE:
        raise _refused(text, f"more than {MAX_SIZE} slots")
    return Strided(thread, value, None if match[3] is None else int(match[3]))


def table_of(form: Strided, matrix: str, shape: tuple[int, int], fields: int) -> tuple[Grid, Grid]:
    """(row, col) of every slot, axes [wave = 1, lane, vgpr, field]; HOLE where none is held.

    Args:
        form: the TV layout.
        matrix, shape: the matrix that it speaks of, and its (rows, cols).
        fields: fields of a VGPR of the operand.

    Raises:
        UsageError: values do not fill VGPRs, or there is no such field.
    """
    row, col = element_of(form.index(), matrix, shape)
    if form.field is None:
        if form.values % fields:
            raise UsageError(f"{form.values} values do not fill VGPRs of {fields} elements")
        extents = (1, form.threads, form.values // fields, fields)
        return row.reshape(extents), col.reshape(extents)
    if form.field >= fields:
        raise UsageError(f"there is no field {form.field} in VGPRs of {fields} elements")
    whole = (np.full((1, form.threads, form.values, fields), HOLE, np.int64) for _ in range(2))
    out_row, out_col = whole
    out_row[0, :, :, form.field], out_col[0, :, :, form.field] = row, col
    return out_row, out_col


def _refused(text: str, why: str) -> UsageError:
    return UsageError(
        f"CuTe layout: {why}",
        where={"layout": text if len(text) <= 80 else text[:77] + "..."},
        expected="(thread, value) shape:stride, as in ((16,2),16):((1,0),16)",
    )


def _tree(text: str, whole: str) -> Tree:
    """Nested tuples of integers."""
    tokens = [number or static or other for number, static, other in _TOKEN.findall(text.strip())]
    tree, rest = _node(tokens, 0, whole, 0)
    if rest != len(tokens):
        raise _refused(whole, f"unexpected {tokens[rest]!r}")
    return tree


def _node(tokens: list[str], at: int, whole: str, depth: int) -> tuple[Tree, int]:
    if at >= len(tokens) or depth > MAX_DEPTH:
        raise _refused(whole, "it ends too early" if at >= len(tokens) else "nested too deeply")
    if tokens[at].isdecimal():
        return int(tokens[at]), at + 1
    if tokens[at] != "(":
        raise _refused(whole, f"unexpected {tokens[at]!r}")
    parts: list[Tree] = []
    while True:
        part, at = _node(tokens, at + 1, whole, depth + 1)
        parts.append(part)
        if at >= len(tokens) or tokens[at] not in (",", ")"):
            raise _refused(whole, "a bracket is not closed")
        if tokens[at] == ")":
            return tuple(parts), at + 1


def _flat(shape: Tree, stride: Tree, whole: str) -> Modes:
    if isinstance(shape, int) and isinstance(stride, int):
        return ((shape, stride),)
    if isinstance(shape, tuple) and isinstance(stride, tuple) and len(shape) == len(stride):
        return tuple(mode for a, b in zip(shape, stride, strict=True) for mode in _flat(a, b, whole))
    raise _refused(whole, "shape and stride are not nested alike")
