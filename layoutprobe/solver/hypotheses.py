"""Named ways in which a layout goes wrong, each built from the right layout.

To add a failure class, write its function in `solver/guesses.py` and list it in HYPOTHESES.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct

from layoutprobe.solver import guesses
from layoutprobe.solver.addressing import leading_dimension, thread_for_lane
from layoutprobe.solver.guesses import Guess
from layoutprobe.solver.suspect import Suspect

COPY = "half-wave-copy"
"""The hypothesis that copies differ."""


class Hypothesis(Struct, frozen=True):
    """A failure class.

    Attributes:
        name: stable short name.
        matrices: operands that it can hit.
        guesses: from a suspect to the layouts that this failure would leave, each with its sentence.
        hint: the next step for the kernel's author.
        title, why: of its rules, see `Rule`.
    """

    name: str
    matrices: str
    guesses: Callable[[Suspect], Iterator[Guess]]
    hint: str
    title: str
    why: str


HYPOTHESES: tuple[Hypothesis, ...] = (
    Hypothesis(
        "transposed",
        "ABCD",
        guesses.transposed,
        "exchange the two indices of this access",
        "rows and columns are exchanged",
        "Every slot holds the element whose row and column are exchanged: the two indices of one access "
        "stand in the wrong order, or the tile lies the other way round in memory. On a symmetric or "
        "constant matrix the result is right, on any other it is not.",
    ),
    Hypothesis(
        "halves-swapped",
        "AB",
        guesses.halves_swapped,
        "the lower k goes into the low bits of a VGPR",
        "the fields within every VGPR are in reverse order",
        "The instruction takes the element of the lowest k from the lowest bits of a VGPR. Here the fields "
        "are packed the other way round, so that each k meets another one.",
    ),
    Hypothesis(
        "lds-one-sided",
        "AB",
        guesses.lds_one_sided,
        "use one index function for the store and the load",
        "LDS is written with one scheme and read with another",
        "A swizzle or padding stands on one side only: the store and the load compute the byte of an element "
        "by two functions, so the load returns another element of the tile.",
    ),
    Hypothesis(
        "lds-stride",
        "AB",
        guesses.wrong_stride,
        "use one row stride for the store and the load",
        "rows of LDS are read at another distance than they were written",
        "The row stride of the store and of the load differ. Row 0 is right, and every further row is off by "
        "more.",
    ),
    Hypothesis(
        "k-exchanged",
        "AB",
        guesses.k_exchanged,
        "check the order in which vectors along k are joined",
        "neighbouring groups of k are exchanged",
        "Vectors along k are joined in another order than the partner's, so that products of different k are "
        "added. The same exchange in A and in B would be right.",
    ),
    Hypothesis(
        "k-order",
        "AB",
        guesses.k_order,
        "load both operands by one formula of k, or permute both alike",
        "an operand takes k in another order than its partner",
        "Each slot must meet the slot of its partner that holds the same k. Any order is right that A and B share; "
        "here one of them has an order of its own, so that products of different k are added.",
    ),
    Hypothesis(
        "half-wave-rows",
        "CD",
        guesses.half_rows,
        "use the row formula of this instruction in the epilogue",
        "the epilogue takes another row formula than the instruction has",
        "Which rows the two half-waves hold differs between architectures: every other row on RDNA3, "
        "consecutive ones on RDNA4. The store uses the formula of the other one.",
    ),
    Hypothesis(
        "row-runs",
        "CD",
        guesses.row_runs,
        "use the row formula of this instruction in the epilogue: `layoutprobe layout` shows it",
        "the epilogue takes another length of the runs of rows than the instruction has",
        "An accumulator of MFMA has rows in runs along its VGPRs: four rows of 32 bits, then the rows of the next "
        "group of lanes; of 64 bits one by one. The store's row formula has runs of another length, such as that "
        "of another type or generation.",
    ),
    Hypothesis(
        "half-wave-ignored",
        "CD",
        guesses.no_half_wave,
        "add the rows of the lane's group: see the needed form",
        "the epilogue ignores in which half-wave a lane is",
        "Lanes of the upper half-wave (on CDNA: of every group as wide as a row) hold other rows than those of the "
        "lower one. The store's row does not depend on the group, so all store to one place and only one stays.",
    ),
    Hypothesis(
        "half-waves-exchanged",
        "CD",
        guesses.half_waves_exchanged,
        "check which rows lane / 16 stands for in the store",
        "the half-waves are exchanged",
        "Every lane stores what the lane across the half-wave should.",
    ),
    Hypothesis(
        "leading-dimension",
        "ABCD",
        leading_dimension,
        "take the leading dimension of this matrix: K of a row-major A, N of a row-major B or C",
        "lines of a matrix are taken another distance apart than they lie in memory",
        "The index multiplies the row (or column) by another number than the matrix has elements from one to the "
        "next: K for N, the tile's width for the matrix's. Line 0 is right, and every further one is off by more.",
    ),
    Hypothesis(
        "thread-for-lane",
        "ABCD",
        thread_for_lane,
        "take the lane: threadIdx.x % 32 in waves of 32",
        "the number of the thread stands where the lane belongs",
        "Formulas of fragments are in terms of the lane. With a flat block of several waves threadIdx.x goes on "
        "where the lane begins again, so that all waves but the first leave their tile.",
    ),
    Hypothesis(
        "shifted",
        "ABCD",
        guesses.shifted,
        "look for a wrong stride or tile offset",
        "every element comes from a constant distance away",
        "All slots are off by the same number of rows and columns: a tile offset or a base address is wrong.",
    ),
    Hypothesis(
        "other-wave",
        "ABCD",
        guesses.other_wave,
        "check how the wave's number becomes a tile offset",
        "waves hold the tile that belongs to another wave",
        "Within a wave everything is right, but the wave has the tile of another one.",
    ),
    Hypothesis(
        "folded",
        "ABCD",
        guesses.folded,
        "look for an index that is masked or divided too much",
        "rows or columns fold onto others",
        "Several rows or columns hold the elements of one: an index lost a bit to a mask, a remainder or a "
        "division, and the elements that it would have reached are never used.",
    ),
    Hypothesis(
        COPY,
        "AB",
        guesses.half_wave_copy,
        "index with lane % 16, so that both half-waves load it",
        "one half-wave holds no copy of the operand",
        "On RDNA3 the instruction wants A and B in both half-waves. One of them was loaded with other "
        "elements or none, so half of the result is wrong.",
    ),
    Hypothesis(
        "group-shift",
        "AB",
        guesses.group_shift,
        "how many k of one step has a lane of this instruction: 16 on RDNA3, 8 on RDNA4, 4 or 8 of an MFMA",
        "a group of lanes begins at a wrong k",
        "Groups of lanes share the k of a step between them: each begins where the one before it ends. One of them "
        "begins elsewhere, as in a kernel for an instruction with another number of k in a lane.",
    ),
    Hypothesis(
        "stored-order",
        "CD",
        guesses.stored_order,
        "write down row and column of each VGPR and lane: `layoutprobe layout` shows those of this instruction",
        "rows or columns of a tile of C are stored to others",
        "The accumulators are right. The formula by which a store takes its row (or column) from VGPR and lane is "
        "not that of the instruction, so that rows change places.",
    ),
    Hypothesis(
        "line-order",
        "AB",
        guesses.line_order,
        "compare the row (or column) that a lane loads with the one that its sums are stored to",
        "rows of A or columns of B are taken in another order than they are stored",
        "Every k is right, and the line that a lane has is not the one that it should have: the index of the lane is "
        "shifted, masked, or exchanged with another.",
    ),
)
"""Failure classes, most telling first: the first exact one is named."""
