"""Interaction: what a matrix instruction expects in its slots, observed by executing it.

Meetings (A slot, B slot, D slot) make classes: an A slot and the D slots it reaches share a row;
a B slot and the D slots it reaches share a column; an A slot and the B slots it meets share a k.
Names of rows, columns and k cannot be observed; `convention` says how they were given.

An instruction may read a copy of an operand for some outputs and another copy for the rest. Then
the outputs fall into blocks that have no B (or A) slot in common, and only the documented shape
says that they form one matrix: blocks are stacked until they fill M x N.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.capture.capture import Capture, Evidence
from layoutprobe.errors import ProbeError, UsageError
from layoutprobe.layouts.layout import HOLE, Layout
from layoutprobe.solver.classes import Labels, components
from layoutprobe.solver.experiment import (
    Experiment,
    Meetings,
    Slots,
    format_of,
    interaction_experiment,
    read_meetings,
)
from layoutprobe.solver.lines import block_of, name_k, name_lines, not_a_product, stack

NO_READER = -1
BOTH_HALVES = 2
"""Value of `readers` where outputs of both half-waves read a slot."""

OWN_ORDER = {
    "M": "rows as this kernel orders them in A and D alike",
    "N": "columns as this kernel orders them in B and D alike",
    "K": "k as this kernel orders it in A and B alike",
}
"""What names the lines of an axis along which a kernel permutes jointly."""


@dataclass(frozen=True, eq=False)
class Interaction:
    """What the instruction was found to do with its slots. Layouts have one wave.

    Attributes:
        shape: (M, N, K) of the instruction, as documented.
        meetings: every product that was seen.
        needed: "A", "B", "C", "D" -> the element each slot must hold, under `convention`; HOLE in
            slots that no output depends on.
        live: "A", "B", "C", "D" -> bool, some output depends on the slot; axes of the layouts.
        readers: the same -> int32, the half-wave whose outputs read the slot (0 or 1), BOTH_HALVES
            or NO_READER.
        blocks: groups of outputs that share no copy of an operand; 1 where every slot is needed
            by the whole matrix.
        stacked: "rows" or "columns": along which the blocks make up the matrix; "" for one block.
        rules: "M", "N", "K" -> how the lines of that axis got their names, in words.
        ambiguity: what execution cannot tell, in words.
        evidence: of the capture.
    """

    shape: tuple[int, int, int]
    meetings: Meetings
    needed: Mapping[str, Layout]
    live: Mapping[str, NDArray[np.bool_]]
    readers: Mapping[str, NDArray[np.int32]]
    blocks: int
    stacked: str
    rules: Mapping[str, str]
    ambiguity: str
    evidence: Evidence

    __repr__ = brief

    def convention(self, own: Sequence[str] = ()) -> str:
        """How rows, columns and k got their names, in words.

        Args:
            own: axes for which `needed` was replaced by the kernel's own order.
        """
        said = {**self.rules, **{axis: OWN_ORDER[axis] for axis in own}}
        return "; ".join(said[axis] for axis in "MNK")


def solve_interaction(capture: Capture) -> Interaction:
    """Layouts that the instruction of an interaction capture needs.

    Args:
        capture: inputs "a", "b", "c" and output "d", all uint32 [wave, vgpr, lane]; parameters
            "dtype" (of A and B) and "shape" (M, N, K).

    Raises:
        UsageError: the capture is not that of this experiment.
        ProbeError: the instruction is not a matrix product of that shape.
    """
    experiment, shape = _experiment_of(capture)
    return solve_meetings(
        read_meetings(experiment, np.asarray(capture.outputs["d"])),
        (experiment.a_slots, experiment.b_slots, experiment.d_slots),
        shape,
        32 // experiment.a_slots[2],
        capture.evidence,
    )


def _experiment_of(capture: Capture) -> tuple[Experiment, tuple[int, int, int]]:
    dtype, shape = str(capture.parameters.get("dtype", "f16")), capture.parameters.get("shape", (16, 16, 16))
    fields = 32 // format_of(dtype).bits
    try:
        arrays = {name: np.asarray(capture.inputs[name]) for name in "abc"}
        arrays["d"] = np.asarray(capture.outputs["d"])
        m, n, k = (int(extent) for extent in shape)
    except (KeyError, TypeError, ValueError):
        raise UsageError(
            "Not an interaction capture", expected="inputs a, b, c; output d; shape (M, N, K)"
        ) from None
    if any(array.ndim != 3 or array.dtype != np.uint32 for array in arrays.values()) or min(m, n, k) < 1:
        raise UsageError(
            "Not an interaction capture", expected="uint32 [wave, vgpr, lane], and a positive shape"
        )

    def slots(name: str, fields: int) -> Slots:
        _, vgprs, lanes = arrays[name].shape
        return lanes, vgprs, fields

    experiment = interaction_experiment(slots("a", fields), slots("b", fields), slots("d", 1), dtype)
    fed = {"a": experiment.a, "b": experiment.b, "c": experiment.c}
    if (
        not all(np.array_equal(arrays[name], fed[name]) for name in fed)
        or len(arrays["d"]) != experiment.waves
    ):
        raise UsageError(
            "The capture was not fed with this version's interaction experiment", hint="record it again"
        )
    if not capture.defined("d").all():
        raise ProbeError("The interaction probe returned undefined bits", hint="the probe kernel is at fault")
    return experiment, (m, n, k)


def solve_meetings(
    met: Meetings,
    slots: tuple[Slots, Slots, Slots],
    shape: tuple[int, int, int],
    field_bits: int,
    evidence: Evidence,
    result_bits: int = 32,
) -> Interaction:
    """The same from the meetings themselves.

    Args:
        met: slots that meet.
        slots: extents of A, B, and C and D.
        shape: (M, N, K).
        field_bits: width of an element of A and B.
        evidence: what it rests on.
        result_bits: width of a slot of C and D.

    Raises:
        ProbeError: they are not those of an M x N x K product.
    """
    m, n, _ = shape
    a_slots, b_slots, d_slots = slots
    n_a, n_b, n_d = (int(np.prod(s)) for s in slots)
    row_a, row_d = components(met.a, met.d, n_a, n_d)
    col_b, col_d = components(met.b, met.d, n_b, n_d)
    k_a, k_b = components(met.a, met.b, n_a, n_b)
    block_row, stacked, blocks = stack(row_d, col_d, shape)
    block_col = block_of(col_d, row_d, block_row)
    block_k = block_of(k_a, row_a, block_row)
    rows, row_rule = name_lines(row_a, a_slots, block_row, m, blocks if stacked == "columns" else 1)
    cols, col_rule = name_lines(col_b, b_slots, block_col, n, blocks if stacked == "rows" else 1)
    ks, k_rule = name_k(k_a, a_slots, block_k, m if "modulo" in row_rule else 0)
    _check_product(met, (rows[row_d], cols[col_d], ks[k_a]), (k_a, k_b), row_d, shape)

    live_d = row_d >= 0
    row_of_d, col_of_d = np.where(live_d, rows[row_d], HOLE), np.where(live_d, cols[col_d], HOLE)
    live_a, live_b = row_a >= 0, col_b >= 0
    row_of_c, col_of_c = np.full(n_d, HOLE), np.full(n_d, HOLE)
    row_of_c[met.c], col_of_c[met.c] = row_of_d[met.c_to], col_of_d[met.c_to]
    named = {
        "A": (np.where(live_a, rows[row_a], HOLE), np.where(live_a, ks[k_a], HOLE), a_slots, field_bits),
        "B": (np.where(live_b, ks[k_b], HOLE), np.where(live_b, cols[col_b], HOLE), b_slots, field_bits),
        "C": (row_of_c, col_of_c, d_slots, result_bits),
        "D": (row_of_d, col_of_d, d_slots, result_bits),
    }
    needed = {name: _layout(name, shape, *parts) for name, parts in named.items()}
    d_half = np.arange(n_d) // (n_d // d_slots[0]) * 2 // d_slots[0]
    readers = {
        "A": _readers(met.a, d_half[met.d], a_slots),
        "B": _readers(met.b, d_half[met.d], b_slots),
        "C": _readers(met.c, d_half[met.c_to], d_slots),
        "D": _readers(np.flatnonzero(live_d), d_half[live_d], d_slots),
    }
    gauge = "equal modulo a joint permutation of K in A and B, of M in A and D, and of N in B and D"
    if blocks > 1:
        gauge += f"; separately for each of {blocks} groups of output {stacked}, as each reads its own copies"
    return Interaction(
        shape=shape,
        meetings=met,
        needed=needed,
        live={name: ~layout.holes for name, layout in needed.items()},
        readers=readers,
        blocks=blocks,
        stacked=stacked,
        rules={"M": f"row of A = {row_rule}", "N": f"column of B = {col_rule}", "K": k_rule},
        ambiguity=gauge,
        evidence=evidence,
    )


def _check_product(
    met: Meetings,
    names: tuple[Labels, Labels, Labels],
    k_labels: tuple[Labels, Labels],
    row_d: Labels,
    shape: tuple[int, int, int],
) -> None:
    """Every output must be a sum over all k, each once."""
    m, n, k = shape
    row_of_d, col_of_d, k_of_a = names
    if (k_labels[0][met.a] != k_labels[1][met.b]).any() or met.a.size != m * n * k:
        raise not_a_product(shape, f"{met.a.size} products")
    term = (row_of_d[met.d] * n + col_of_d[met.d]) * k + k_of_a[met.a]
    if (
        int(k_of_a.max()) >= k
        or np.unique(term).size != m * n * k
        or np.unique(met.d).size != (row_d >= 0).sum()
    ):
        raise not_a_product(shape, "some outputs miss a k, or have one twice")


def _layout(
    name: str, shape: tuple[int, int, int], row: Labels, col: Labels, slots: Slots, bits: int
) -> Layout:
    m, n, k = shape
    extent = {"A": (m, k), "B": (k, n)}.get(name, (m, n))
    axes = (1, *slots)
    return Layout(name, extent, row.astype(np.int32).reshape(axes), col.astype(np.int32).reshape(axes), bits)


def _readers(slot: Labels, half: Labels, slots: Slots) -> NDArray[np.int32]:
    read = np.zeros((2, int(np.prod(slots))), np.bool_)
    read[half, slot] = True
    which = np.select([read[0] & read[1], read[0], read[1]], [BOTH_HALVES, 0, 1], NO_READER)
    return which.astype(np.int32).reshape(1, *slots)
