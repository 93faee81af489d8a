"""Closed forms of layouts. Each reproduces its table exactly, holes included, or is not shown.

>>> explain(layout)
'A[16*wave + lane % 16][2*vgpr + half]'
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.layouts.fit import Fit, affine_conditions, bit_matrix, bits_of, fit_sum, fit_xor
from layoutprobe.layouts.layout import HOLE, Layout, field_name
from layoutprobe.layouts.swizzle import SCHEMES, Index, of_bits


class _Bit(Struct, frozen=True):
    """One bit of one coordinate: bit number `shift` of `name`, which has `width` bits."""

    name: str
    shift: int
    width: int


def _named_bits(names: tuple[str, ...], extents: tuple[int, ...]) -> list[_Bit]:
    found = []
    for name, extent in zip(names, extents, strict=True):
        width = bits_of(extent)
        found += [_Bit(name, shift, width) for shift in range(width)]
    return found


def explain(layout: Layout, names: tuple[str, str, str, str] | None = None) -> str:
    """A formula for the element in every slot, or "" where no simple one reproduces the table.

    The axes are called wave, lane, vgpr and by the width of a field, unless `names` says otherwise.

    Slots that hold nothing must be describable too: `... where lane / 16 = lane % 2`. Where elements
    were not identified there is nothing to explain.
    """
    names = names or ("wave", "lane", "vgpr", field_name(layout.field_bits))
    extents = layout.row.shape
    held = ~layout.holes
    if not held.any() or not layout.identified:
        return ""
    bits, matrix = _named_bits(names, extents), bit_matrix(extents, held)
    axes = []
    for values in (layout.row, layout.col):
        text = _formula(bits, matrix, values[held].astype(np.int64))
        if not text:
            return ""
        axes.append(text)
    condition = ""
    if not held.all():
        if any(extent & (extent - 1) for extent in extents):
            return ""
        conditions = affine_conditions(matrix)
        if conditions is None:
            return ""
        condition = " where " + " and ".join(_condition_text(bits, *pair) for pair in conditions)
    return f"{layout.matrix}[{axes[0]}][{axes[1]}]{condition}"


class LdsForm(Struct, frozen=True, eq=False):
    """How a tile lies in LDS, as a function of the element.

    Attributes:
        text: in words: "padded: row*24 + col", "index = 20*row + col".
        shape: lines of the tile, and elements of a line.
        scheme: it is one of those that have a name.
        index: cell of the elements (line, place in the line); broadcasts.
    """

    text: str
    shape: tuple[int, int]
    scheme: bool
    index: Callable[[Index, Index], Index]

    @property
    def steps(self) -> tuple[int, int]:
        """Cells from the first element to the next line and to the next place; 0 where there is none."""
        zero = np.array(0)
        line, place = (np.array(min(1, extent - 1)) for extent in self.shape)
        first = int(self.index(zero, zero))
        return abs(int(self.index(line, zero)) - first), abs(int(self.index(zero, place)) - first)


def explain_lds(
    row: NDArray[np.int32],
    col: NDArray[np.int32],
    shape: tuple[int, int],
    names: tuple[str, str] = ("row", "col"),
    width: int = 16,
) -> LdsForm | None:
    """What scheme an LDS map follows, or None where none reproduces it exactly.

    Args:
        row, col: element in every cell, in address order; HOLE where none was stored.
        shape: rows and columns of the tile as it lies in LDS.
        names: what the matrix calls them.
        width: bits of an element.
    """
    index = np.arange(row.size)
    for scheme in (of_bits(scheme, width) for scheme in SCHEMES.values()):
        if scheme.refusal(shape) or scheme.size(shape) > row.size + shape[1]:
            continue
        want_row, want_col = scheme.inverse(index, shape)
        if np.array_equal(want_row, row) and np.array_equal(want_col, col):
            text = f"{scheme.name}: {scheme.formula(shape, *names)}"
            return LdsForm(text, shape, True, partial(scheme.index, shape=shape))
    held = row != HOLE
    elements = np.sort(row[held].astype(np.int64) * shape[1] + col[held])
    if not elements.size or (elements[1:] == elements[:-1]).any():
        return None
    bits = _named_bits(names, shape)
    grid = np.zeros(shape, np.bool_)
    grid[row[held], col[held]] = True
    place = np.zeros(shape, np.int64)
    place[row[held], col[held]] = index[held]
    text = _formula(bits, bit_matrix(shape, grid), place[grid]) if grid.all() else ""
    return LdsForm(f"index = {text}", shape, False, lambda line, at: place[line, at]) if text else None


def explain_places(
    row: NDArray[np.int64],
    col: NDArray[np.int64],
    place: NDArray[np.int64],
    shape: tuple[int, int],
    names: tuple[str, str] = ("row", "col"),
) -> str:
    """What scheme accesses to a tile in LDS follow, in the words of `LdsForm`; "" where none gives them all.

    Args:
        row, col, place: element that was looked for, and the cell where: one of each an access.
        shape: rows and columns of the tile as it lies in LDS.
        names: what the matrix calls them.
    """
    if not place.size:
        return ""
    for scheme in SCHEMES.values():
        if not scheme.refusal(shape) and np.array_equal(scheme.index(row, col, shape), place):
            return f"{scheme.name}: {scheme.formula(shape, *names)}"
    bits = _named_bits(names, shape)
    axes = dict(zip(names, (row, col), strict=True))
    text = _formula(bits, np.stack([(axes[bit.name] >> bit.shift) & 1 for bit in bits], axis=1), place)
    return f"index = {text}" if text else ""


def closed_form(names: tuple[str, ...], extents: tuple[int, ...], values: NDArray[np.int64]) -> str:
    """A formula for a table over some coordinates, in the pattern language; "" where no simple one gives it.

    Args:
        names: of the axes.
        extents: of the axes.
        values: one for each point, shaped as `extents`.
    """
    where = np.ones(extents, np.bool_)
    return _formula(_named_bits(names, extents), bit_matrix(extents, where), values[where].astype(np.int64))


def _formula(bits: list[_Bit], matrix: NDArray[np.int64], value: NDArray[np.int64]) -> str:
    """The value as a sum, or, where that subtracts or is none, as an XOR if this is no longer."""
    summed = fit_sum(matrix, value)
    if summed is not None and min(summed.weights, default=0) >= 0:
        return _sum_text(bits, summed)
    texts = [_sum_text(bits, summed)] if summed else []
    if mixed := fit_xor(matrix, value):
        texts.insert(0, _xor_text(bits, mixed))
    return min(texts, key=len, default="")


class _Run(Struct, frozen=True):
    """Neighbouring bits of one coordinate with weights w, 2w, 4w...: `w * (x / d % m)`."""

    name: str
    shift: int
    count: int
    width: int
    weight: int

    @property
    def reach(self) -> int:
        """Bits that the term can set."""
        mask = 0
        for step in range(self.count):
            mask |= abs(self.weight) << step
        return mask

    def text(self) -> str:
        part = self.name
        if self.shift:
            part += f" / {1 << self.shift}"
        if self.shift + self.count < self.width:
            part += f" % {1 << self.count}"
        if abs(self.weight) == 1:
            return part
        return f"{abs(self.weight)}*({part})" if " " in part else f"{abs(self.weight)}*{part}"


def _runs(bits: list[_Bit], weights: tuple[int, ...], xor: bool = False) -> list[_Run]:
    """Runs of bits; under XOR only of weights that share no bit, for there w ^ 2w is not 3w."""
    runs: list[_Run] = []
    for bit, weight in zip(bits, weights, strict=True):
        if weight == 0:
            continue
        last = runs[-1] if runs else None
        if (
            last is not None
            and last.name == bit.name
            and last.shift + last.count == bit.shift
            and last.weight << last.count == weight
            and not (xor and last.reach & weight)
        ):
            runs[-1] = _Run(last.name, last.shift, last.count + 1, last.width, last.weight)
        else:
            runs.append(_Run(bit.name, bit.shift, 1, bit.width, weight))
    order = {"wave": 0, "row": 0, "vgpr": 1, "lane": 2, "col": 2}
    return sorted(runs, key=lambda run: order.get(run.name, 3))


def _sum_text(bits: list[_Bit], fit: Fit) -> str:
    text = ""
    # Largest step first, as one writes it: 16*wave + 2*vgpr + half.
    for run in sorted(_runs(bits, fit.weights), key=lambda run: -abs(run.weight)):
        sign = (" - " if run.weight < 0 else " + ") if text else ("-" if run.weight < 0 else "")
        text += sign + run.text()
    if not text:
        return str(fit.base)
    return text + (f" {'-' if fit.base < 0 else '+'} {abs(fit.base)}" if fit.base else "")


def _xor_text(bits: list[_Bit], fit: Fit) -> str:
    """Terms that touch disjoint bits are added; the rest is XORed: `(2*vgpr + half) ^ 8*(lane % 2)`."""
    groups: list[tuple[int, list[str]]] = []
    terms = [(run.reach, run.text()) for run in _runs(bits, fit.weights, xor=True)]
    if fit.base:
        terms.append((fit.base, str(fit.base)))
    for reach, text in terms:
        for at, (taken, members) in enumerate(groups):
            if not taken & reach:
                groups[at] = (taken | reach, [*members, text])
                break
        else:
            groups.append((reach, [text]))
    return " ^ ".join(f"({' + '.join(m)})" if len(m) > 1 else _tight(m[0]) for _, m in groups)


def _tight(term: str) -> str:
    return f"({term})" if " " in term and "*" not in term else term


def _condition_text(bits: list[_Bit], mask: int, parity: int) -> str:
    terms = [
        _Run(bit.name, bit.shift, 1, bit.width, 1).text()
        for number, bit in enumerate(bits)
        if mask >> number & 1
    ]
    if len(terms) == 2:
        return f"{terms[0]} {'!=' if parity else '='} {terms[1]}"
    return f"{' ^ '.join(terms)} = {parity}"
