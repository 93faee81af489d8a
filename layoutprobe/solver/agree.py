"""Do loads, instruction and stores of a probe agree? The law of the product, and who breaks it.

Each wave executes the instruction once; `solver.product` holds that against where D is stored. A
kernel that permutes K (or M, or N) jointly is right; the result says so. Names of rows, columns and
k are used only to say who is wrong.

Coordinates are compared within each wave's tile, so that A, B and D may come from different runs
in which the waves divide the work differently.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.errors import UsageError
from layoutprobe.layouts.explain import explain
from layoutprobe.layouts.layout import HOLE, Layout
from layoutprobe.report.finding import Finding
from layoutprobe.solver.interaction import Interaction
from layoutprobe.solver.product import (
    FOREIGN,
    Coordinates,
    Factors,
    Targets,
    Terms,
    geometry_of,
    judge,
    terms_of,
)

if TYPE_CHECKING:
    from layoutprobe.solver.diagnose import Diagnosis

Ints = NDArray[np.int64]
Origins = Mapping[str, NDArray[np.int64]]


class Agreement(Struct, frozen=True, eq=False):
    """Whether the law holds, and if not, where and why.

    Attributes:
        holds: the law holds in every wave.
        gauge: axes ("M", "N", "K") along which the kernel permutes jointly, compared with the
            convention; empty if it follows the convention exactly.
        needed: "A", "B", "D" -> what every live slot must hold, in the coordinates of the given
            layout and following the kernel's own order where it holds; HOLE in dead slots.
        mismatch: "A", "B", "D" -> bool, axes of the layout: live slots that break the law.
        diagnoses: "A", "B", "D" -> cause, for the operands that have one.
        findings: one for each cause.
        assumed: operands that were not observed, for which the convention stood in (for k: the
            order of the other operand). Where there are any, `holds` says nothing about them.
    """

    holds: bool
    gauge: tuple[str, ...]
    needed: Mapping[str, Layout]
    mismatch: Mapping[str, NDArray[np.bool_]]
    diagnoses: Mapping[str, Diagnosis]
    findings: tuple[Finding, ...]
    assumed: tuple[str, ...]

    __repr__ = brief

    @property
    def relation(self) -> str:
        """The result in words."""
        if not self.holds:
            return "broken"
        if not self.gauge:
            return "holds exactly"
        return "holds modulo a joint permutation of " + " and of ".join(self.gauge)


class _Side(Struct, eq=False, dict=True):
    """One operand, flattened to [wave, slot], in coordinates of the wave's tile."""

    layout: Layout
    anchor: Layout
    origin: Ints
    tile: tuple[int, int]

    @cached_property
    def row(self) -> Ints:
        """Of what each slot holds: [wave, slot]; HOLE for none."""
        return self._inside(self.layout.row, 0)

    @cached_property
    def col(self) -> Ints:
        """Of what each slot holds: [wave, slot]; HOLE for none."""
        return self._inside(self.layout.col, 1)

    def _inside(self, coordinate: Coordinates, axis: int) -> Ints:
        hole = self.layout.holes.reshape(self.layout.waves, -1)
        inside = coordinate.reshape(hole.shape) - self.origin[:, axis : axis + 1]
        # A neighbour tile's element must not pass for a hole, nor a hole for an element at -1.
        inside[inside == HOLE] = HOLE - 1
        return np.where(hole, HOLE, inside)

    @cached_property
    def need_row(self) -> Ints:
        """Of what the instruction takes each slot for: [wave, slot]."""
        return np.broadcast_to(self.anchor.row.reshape(1, -1), self.row.shape).astype(np.int64)

    @cached_property
    def need_col(self) -> Ints:
        """Of what the instruction takes each slot for: [wave, slot]."""
        return np.broadcast_to(self.anchor.col.reshape(1, -1), self.row.shape).astype(np.int64)

    def at(self, slots: Ints) -> tuple[Coordinates, Coordinates]:
        """Row and column by wave and slot; FOREIGN where it is none of the tile."""
        row, col = (
            np.where((held >= 0) & (held < extent), held, FOREIGN).astype(np.int32)[:, slots]
            for held, extent in zip((self.row, self.col), self.tile, strict=True)
        )
        return row, col

    @property
    def live(self) -> NDArray[np.bool_]:
        """Slots that some output reads: [1, slot]."""
        return np.asarray(self.anchor.row.reshape(1, -1) != HOLE)


def agree(
    a_loaded: Layout | None,
    b_loaded: Layout | None,
    d_stored: Layout | None,
    interaction: Interaction,
    origins: Origins | None = None,
) -> Agreement:
    """Check loads and stores against what the instruction does with its slots.

    Args:
        a_loaded, b_loaded: what the operand registers were found to hold, or None.
        d_stored: which element of C each accumulator slot was stored to, or None. Where an
            operand is None, the interaction's convention stands in for it, but for the order of k,
            which is taken from the other operand.
        interaction: what meets what.
        origins: "A", "B", "D" -> int [wave, 2], first row and column of each wave's tile. Where it
            is missing, the tile that holds the lowest observed row and column is taken; a load
            that is wrong by whole tiles is then not seen.

    Raises:
        UsageError: a layout has other slots than the instruction, or the waves differ.
    """
    given = {"A": a_loaded, "B": b_loaded, "D": d_stored}
    waves = _waves(given, interaction)
    sides = {
        name: _side(name, layout, interaction, waves, (origins or {}).get(name))
        for name, layout in given.items()
    }
    a, b, d = sides["A"], sides["B"], sides["D"]
    terms = terms_of(interaction)
    if a_loaded is None and b_loaded is not None:
        a.col[:, terms.a] = terms.compressed(b.row[:, terms.b])
    elif b_loaded is None and a_loaded is not None:
        b.row[:, terms.b] = terms.dense(a.col[:, terms.a], terms.second)
    ok = _law(a, b, d, interaction, terms)
    gauge = _settle_names(a, b, d, ok, interaction.shape[2], terms)
    mismatch = {
        name: np.zeros(side.layout.row.shape, np.bool_)
        if all(ok.values()) or given[name] is None
        else (side.live & ((side.row != side.need_row) | (side.col != side.need_col))).reshape(
            side.layout.row.shape
        )
        for name, side in sides.items()
    }
    diagnoses, findings = {}, []
    for name, side in sides.items():
        if mismatch[name].any():
            diagnoses[name], finding = _finding(name, side, mismatch[name])
            findings.append(finding)
    return Agreement(
        holds=all(ok.values()),
        gauge=gauge,
        needed={name: _needed(side) for name, side in sides.items()},
        mismatch=mismatch,
        diagnoses=diagnoses,
        findings=tuple(findings),
        assumed=tuple(name for name, layout in given.items() if layout is None),
    )


def _waves(given: Mapping[str, Layout | None], interaction: Interaction) -> int:
    counts = {layout.waves for layout in given.values() if layout is not None}
    for name, layout in given.items():
        want = interaction.needed[name].row.shape[1:]
        if layout is not None and layout.row.shape[1:] != want:
            raise UsageError(
                f"The slots of {name} are not those of the instruction",
                expected=f"lanes, VGPRs, fields = {want}",
                observed=str(layout.row.shape[1:]),
            )
    if len(counts) != 1:
        raise UsageError(
            "A, B and D must come from the same number of waves",
            observed=", ".join(map(str, sorted(counts))) or "no layout at all",
        )
    return counts.pop()


def _side(
    name: str, layout: Layout | None, interaction: Interaction, waves: int, origin: Ints | None
) -> _Side:
    anchor = interaction.needed[name]
    tile = anchor.shape
    if layout is None:
        origin = np.zeros((waves, 2), np.int64) if origin is None else np.asarray(origin, np.int64)
        row, col = (
            np.where(anchor.holes, HOLE, held + origin[:, axis, None, None, None]).astype(np.int32)
            for axis, held in enumerate((anchor.row, anchor.col))
        )
        rows, cols = (int(extent) for extent in origin.max(axis=0) + tile)
        layout = Layout(name, (rows, cols), row, col, anchor.field_bits)
    if origin is None:
        flat = (waves, -1)
        big = np.iinfo(np.int32).max
        counts = (anchor.row.reshape(1, -1) != HOLE) & ~layout.holes.reshape(flat)
        low = [np.where(counts, axis.reshape(flat), big).min(axis=1) for axis in (layout.row, layout.col)]
        found = [np.where(x == big, 0, x // size * size) for x, size in zip(low, tile, strict=True)]
        origin = np.stack(found, axis=1).astype(np.int64)
    return _Side(layout, anchor, np.asarray(origin, np.int64), tile)


def _law(a: _Side, b: _Side, d: _Side, interaction: Interaction, terms: Terms) -> dict[str, bool]:
    """Along which axes the law holds; each wave is one execution, and one accumulator."""
    g, (m, n, k) = geometry_of(interaction), interaction.shape
    targets = Targets(*d.at(g.d))
    a_row, a_col = a.at(g.a)
    a_k = terms.dense(a_col, np.arange(k) % terms.of // terms.kept * terms.kept).astype(np.int32)
    judged = judge(Factors(np.arange(len(a.row)), a_row, a_k, *b.at(g.b)[::-1]), targets, g, k)
    products = int(g.product.max()) + 1
    covered, (row_apart, col_apart) = targets.cover(m, n, products), targets.scattered()
    return {
        "M": covered and not judged.a_bad.any() and not row_apart.any(),
        "N": covered and not judged.b_bad.any() and not col_apart.any(),
        "K": not judged.k_bad.any() and bool((judged.counted == 1).all()),
    }


def _settle_names(
    a: _Side, b: _Side, d: _Side, ok: Mapping[str, bool], depth: int, terms: Terms
) -> tuple[str, ...]:
    """Let the needed coordinates follow the kernel's own order where that order is consistent."""
    gauge = []
    if ok["M"]:
        gauge += ["M"] if _differs(d.row, d.need_row, d) or _differs(a.row, a.need_row, a) else []
        a.need_row, d.need_row = np.where(a.live, a.row, HOLE), np.where(d.live, d.row, HOLE)
    if ok["N"]:
        gauge += ["N"] if _differs(d.col, d.need_col, d) or _differs(b.col, b.need_col, b) else []
        b.need_col, d.need_col = np.where(b.live, b.col, HOLE), np.where(d.live, d.col, HOLE)
    if ok["K"]:
        gauge += ["K"] if _differs(a.col, a.need_col, a) or _differs(b.row, b.need_row, b) else []
        a.need_col, b.need_row = np.where(a.live, a.col, HOLE), np.where(b.live, b.row, HOLE)
    elif _differs(a.col, a.need_col, a) and _differs(b.row, b.need_row, b):
        # Neither follows the convention: perhaps the kernel has an order of its own, and only one
        # of the two breaks it. The order that most slots agree on decides.
        kept, of = terms.kept, terms.of
        named, a_k, b_k = a.need_col[:, terms.a] // kept, a.col[:, terms.a] // kept, b.row[:, terms.b] // of
        order = _plurality(named, a_k, b_k, depth // of)
        if order is not None:
            a.need_col = np.where(a.live, order[a.need_col // kept] * kept + a.need_col % kept, HOLE)
            b.need_row = np.where(b.live, order[b.need_row // of] * of + b.need_row % of, HOLE)
    return tuple(gauge)


def _differs(held: Ints, needed: Ints, side: _Side) -> bool:
    return bool(((held != needed) & side.live).any())


def _plurality(named: Ints, a_k: Ints, b_k: Ints, k: int) -> Ints | None:
    """For every k (or group of k) of the convention the one that most slots hold; None unless that permutes them."""
    votes = np.zeros((k, k), np.int64)
    for held in (a_k, b_k):
        valid = (held >= 0) & (held < k)
        np.add.at(votes, (named[valid], held[valid]), 1)
    order = votes.argmax(axis=1)
    return order if np.unique(order).size == k else None


def _needed(side: _Side) -> Layout:
    live = np.broadcast_to(side.live, side.need_row.shape)
    axes = side.layout.row.shape
    row = np.where(live, side.need_row + side.origin[:, :1], HOLE).astype(np.int32).reshape(axes)
    col = np.where(live, side.need_col + side.origin[:, 1:], HOLE).astype(np.int32).reshape(axes)
    return Layout(side.layout.matrix, side.layout.shape, row, col, side.layout.field_bits)


def _finding(name: str, side: _Side, mismatch: NDArray[np.bool_]) -> tuple[Diagnosis, Finding]:
    from layoutprobe.solver.cause_rules import OPERAND_RULES, STORE_RULES  # what is right needs no causes
    from layoutprobe.solver.diagnose import diagnose
    from layoutprobe.solver.suspect import Suspect

    layout, needed = side.layout, _needed(side)
    waves = mismatch.any(axis=(1, 2, 3))
    live = np.broadcast_to(side.live, side.row.shape).reshape(layout.row.shape)
    cause = diagnose(
        Suspect(
            matrix=name,
            row=layout.row[waves].astype(np.int64),
            col=layout.col[waves].astype(np.int64),
            need_row=needed.row[waves].astype(np.int64),
            need_col=needed.col[waves].astype(np.int64),
            live=live[waves],
            origin=side.origin[waves],
            tile=side.tile,
            shape=layout.shape,
            bits=layout.field_bits,
        )
    )
    slot = tuple(int(x) for x in np.argwhere(mismatch)[0])
    form = explain(layout)
    return cause, Finding(
        (STORE_RULES if name == "D" else OPERAND_RULES)[cause.name],
        what=cause.what + (f"; the slots hold {form}" if form else ""),
        place=layout.place(slot),
        expected=needed.element(slot),
        observed=layout.element(slot),
        hint=cause.hint,
        count=int(mismatch.sum()),
    )
