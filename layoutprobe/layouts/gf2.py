"""Layouts that are linear over GF(2): XOR together the (row, col) of every set bit of a slot.

A power-of-two layout is often fixed by the elements at the powers of two of each coordinate, which
is how Triton's LinearLayout states it: `lane = [[1, 0], [2, 0]]` says that bit 0 of the lane flips
bit 0 of the row and bit 1 flips bit 1. A coordinate that moves nothing has [0, 0]: replication.

    >>> print(fit_basis(layout).text)
    half = [[0, 1]], vgpr = [[0, 2], [0, 4], [0, 8]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 0]]

Two things go beyond Triton's notation, and are written only where a table needs them: `origin`, the
element of slot 0, and `where`, the parities of bits that slots with an element have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.errors import UsageError
from layoutprobe.layouts.fit import affine_conditions, bit_matrix, bits_of, fit_xor
from layoutprobe.layouts.layout import HOLE, Layout, field_name

Vector = tuple[int, int]
"""(row, col) that one bit of a coordinate flips."""

Grid = NDArray[np.int64]

MAX_TEXT = 8000
MAX_BITS = 16
"""Bits of all coordinates together: a table of 65536 slots is more than any operand has."""

MAX_INDEX = 1 << 16


class Basis(Struct, frozen=True):
    """A layout as XOR of (row, col) vectors.

    Attributes:
        vectors: coordinate -> one vector per bit, lowest bit first. Coordinates are "wave", "lane",
            "vgpr" and the field's name ("half", "byte", "nibble").
        field_bits: width of a field.
        origin: element of slot 0.
        where: (bits, parity) pairs: slots that hold an element are those in which these bits, each
            a (coordinate, bit number), have that parity.
    """

    vectors: Mapping[str, tuple[Vector, ...]]
    field_bits: int
    origin: Vector = (0, 0)
    where: tuple[tuple[tuple[tuple[str, int], ...], int], ...] = ()

    @property
    def field(self) -> str:
        """What a field is called."""
        return field_name(self.field_bits)

    @property
    def axes(self) -> tuple[str, str, str, str]:
        """Names of the axes of a table."""
        return ("wave", "lane", "vgpr", self.field)

    @property
    def extents(self) -> tuple[int, ...]:
        """Extents of the table: [wave, lane, vgpr, field]."""
        return tuple(1 << len(self.vectors.get(name, ())) for name in self.axes)

    def table(self) -> tuple[Grid, Grid]:
        """(row, col) of every slot, axes [wave, lane, vgpr, field]; HOLE where none is held."""
        row, col = (np.full(self.extents, start, np.int64) for start in self.origin)
        grids = dict(zip(self.axes, np.indices(self.extents, np.int64), strict=True))
        for name, vectors in self.vectors.items():
            for bit, (r, c) in enumerate(vectors):
                flag = grids[name] >> bit & 1
                row ^= flag * r
                col ^= flag * c
        for bits, parity in self.where:
            seen = np.zeros(self.extents, np.int64)
            for name, bit in bits:
                seen ^= grids[name] >> bit & 1
            row[seen != parity] = HOLE
            col[seen != parity] = HOLE
        return row, col

    @property
    def text(self) -> str:
        """One line, as Triton's `#ttg.linear` attribute has it."""
        parts = [
            f"{name} = [{', '.join(f'[{r}, {c}]' for r, c in self.vectors[name])}]"
            for name in reversed(self.axes)
            if self.vectors.get(name)
        ]
        if self.origin != (0, 0):
            parts.append(f"origin = [{self.origin[0]}, {self.origin[1]}]")
        return ", ".join(parts) + self._where()

    def lines(self, shape: tuple[int, int]) -> str:
        """Several lines, as Triton prints a LinearLayout.

        Args:
            shape: (rows, cols) of the matrix.
        """
        said = []
        for name in reversed(self.axes):
            for bit, (r, c) in enumerate(self.vectors.get(name, ())):
                said.append(f"{'   ' if bit else ' - '}{name}={1 << bit} -> ({r}, {c})")
        if self.origin != (0, 0):
            said.append(f" - origin = [{self.origin[0]}, {self.origin[1]}]")
        said.append(f"where out dims are: [row (size {shape[0]}), col (size {shape[1]})]{self._where()}")
        return "\n".join(said)

    def _where(self) -> str:
        terms = [
            f"{' ^ '.join(f'{name}.{bit}' for name, bit in bits)} = {parity}" for bits, parity in self.where
        ]
        return f" where {' and '.join(terms)}" if terms else ""


def fit_basis(layout: Layout) -> Basis | None:
    """The basis that reproduces every cell of a table, holes included; None where there is none."""
    extents = layout.row.shape
    held = ~layout.holes
    if not held.any() or not layout.identified or any(extent & (extent - 1) for extent in extents):
        return None
    names = ("wave", "lane", "vgpr", field_name(layout.field_bits))
    bits = [
        (name, bit) for name, extent in zip(names, extents, strict=True) for bit in range(bits_of(extent))
    ]
    matrix = bit_matrix(extents, held)
    fits = [fit_xor(matrix, values[held].astype(np.int64)) for values in (layout.row, layout.col)]
    conditions = [] if held.all() else affine_conditions(matrix)
    if fits[0] is None or fits[1] is None or conditions is None:
        return None
    vectors: dict[str, tuple[Vector, ...]] = {}
    for (name, _), vector in zip(bits, zip(fits[0].weights, fits[1].weights, strict=True), strict=True):
        vectors[name] = (*vectors.get(name, ()), vector)
    where = tuple(
        (tuple(bit for number, bit in enumerate(bits) if mask >> number & 1), parity)
        for mask, parity in conditions
    )
    return Basis(vectors, layout.field_bits, (fits[0].base, fits[1].base), where)


_PAIR = r"[\[(]\s*(\d{1,6})\s*,\s*(\d{1,6})\s*[\])]"
_LIST = re.compile(rf"([a-z]+)\s*[:=]\s*\[\s*((?:{_PAIR.replace('(', '(?:', 2)}[\s,]*)*)\]")
"""The bracket form of one coordinate. No blank can match in two ways: hostile text costs no more."""

_ORIGIN = re.compile(r"-?\s*origin\s*[:=]\s*\[\s*(\d{1,6})\s*,\s*(\d{1,6})\s*\]")
_ARROW = re.compile(rf"-?\s*([a-z]+)\s*=\s*(\d{{1,6}})\s*->\s*{_PAIR}")
_SIZE_ONE = re.compile(r"-?\s*([a-z]+) is a size 1 dimension")
_OUT_DIMS = re.compile(r"where out dims are\s*:\s*\[[^\]]*\]")
_BIT = re.compile(r"([a-z]+)\.(\d{1,2})")
_BETWEEN = re.compile(r"[\s,;]*")


def is_basis(text: str) -> bool:
    """Whether a text is meant as a basis."""
    return "->" in text or re.search(r"[a-z]\s*[:=]\s*\[\s*[\[(\]]", text) is not None


def parse_basis(text: str, field_bits: int) -> Basis:
    """A basis as `Basis.text`, `Basis.lines`, or Triton print it.

    Triton's `register` numbers the elements of a lane: its low bits are those of the field, the
    rest the VGPR. `warp` is the wave; `block` may have no bits.

    Args:
        text: the basis.
        field_bits: width of a field of the operand that it speaks of.

    Raises:
        UsageError: not a basis, or larger than any operand.
    """
    if len(text) > MAX_TEXT:
        raise UsageError(
            "The GF(2) basis is too long", expected=f"at most {MAX_TEXT} characters", observed=str(len(text))
        )
    body, _, condition = _without_out_dims(_unwrapped(text)).partition(" where ")
    found: dict[str, list[Vector]] = {}
    origin = (0, 0)
    for name, bit, vector in _entries(body):
        if name == "origin":
            origin = vector or (0, 0)
            continue
        if vector is None and name in found:
            raise _refused(text, f"{name} is given twice")
        bits = found.setdefault(name, [])
        if vector is None:
            continue
        if bit is not None and bit != 1 << len(bits):
            raise _refused(text, f"{name}={bit} where {name}={1 << len(bits)} comes next")
        bits.append(vector)
    vectors = _named(found, field_bits, text)
    return Basis(vectors, field_bits, origin, _conditions(condition, vectors, text))


def _refused(text: str, why: str) -> UsageError:
    return UsageError(
        f"GF(2) basis: {why}",
        where={"basis": text if len(text) <= 80 else text[:77] + "..."},
        expected="for each coordinate one [row, col] per bit, lowest bit first",
        hint="write it as `half = [[0, 1]], vgpr = [[0, 2]], lane = [[1, 0]]`, or as Triton prints it",
    )


def _unwrapped(text: str) -> str:
    text = re.sub(r"^#?[a-z_.]*\s*<", "", text.strip()).removesuffix(">").strip()
    return text.removeprefix("{").removesuffix("}").strip()


def _without_out_dims(text: str) -> str:
    return _OUT_DIMS.sub("", text, count=1)


def _entries(body: str) -> Iterator[tuple[str, int | None, Vector | None]]:
    """(coordinate, value of the bit or None, vector or None for a coordinate without bits)."""
    at = 0
    while (at := _BETWEEN.match(body, at).end()) < len(body):  # type: ignore[union-attr]  # matches ""
        if match := _ORIGIN.match(body, at):
            yield "origin", None, (int(match[1]), int(match[2]))
        elif match := _ARROW.match(body, at):
            yield match[1], int(match[2]), (int(match[3]), int(match[4]))
        elif match := _SIZE_ONE.match(body, at):
            yield match[1], None, None
        elif match := _LIST.match(body, at):
            yield match[1], None, None
            for pair in re.finditer(_PAIR, match[2]):
                yield match[1], None, (int(pair[1]), int(pair[2]))
        else:
            raise _refused(body, f"cannot read {body[at : at + 24]!r}")
        at = match.end()


def _named(found: Mapping[str, list[Vector]], field_bits: int, text: str) -> Mapping[str, tuple[Vector, ...]]:
    """Vectors under this project's names of coordinates."""
    field = field_name(field_bits)
    fields = max(32 // field_bits, 1).bit_length() - 1
    vectors: dict[str, tuple[Vector, ...]] = {}
    for name, bits in found.items():
        if name in ("register", "reg"):
            parts = {field: tuple(bits[:fields]), "vgpr": tuple(bits[fields:])}
        elif name in ("wave", "warp"):
            parts = {"wave": tuple(bits)}
        elif name in ("lane", "vgpr", field) or (name == "block" and not bits):
            parts = {name: tuple(bits)}
        else:
            raise _refused(text, f"there is no coordinate {name!r} with bits here; known: {field}, vgpr, lane,"
                           " wave, or Triton's register and warp")  # fmt: skip
        for key, value in parts.items():
            if key in vectors:
                raise _refused(text, f"{key} is given twice")
            vectors[key] = value
    vectors.pop("block", None)
    if not vectors or sum(map(len, vectors.values())) > MAX_BITS:
        raise _refused(text, f"it has no coordinates, or more than {MAX_BITS} bits")
    if any(max(vector) > MAX_INDEX for bits in vectors.values() for vector in bits):
        raise _refused(text, f"a row or column above {MAX_INDEX}")
    return vectors


def _conditions(
    text: str, vectors: Mapping[str, tuple[Vector, ...]], whole: str
) -> tuple[tuple[tuple[tuple[str, int], ...], int], ...]:
    conditions = []
    for term in filter(None, (part.strip() for part in text.split(" and "))):
        left, _, parity = (part.strip() for part in term.partition("="))
        bits = [_BIT.fullmatch(bit.strip()) for bit in left.split("^")]
        named = tuple((bit[1], int(bit[2])) for bit in bits if bit is not None)
        if parity not in ("0", "1") or len(named) != len(bits):
            raise _refused(whole, f"cannot read the condition {term[:40]!r}")
        if any(bit >= len(vectors.get(name, ())) for name, bit in named):
            raise _refused(whole, f"no such bit: {term[:40]!r}")
        conditions.append((named, int(parity)))
    return tuple(conditions)
