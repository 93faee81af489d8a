"""Layouts of every matrix instruction, solved from the card's runs and from the emulator's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np
from msgspec.structs import replace

from layoutprobe import instructions
from layoutprobe.errors import CodeObjectError, ExecutionError, ProbeError, ToolchainError, UsageError
from layoutprobe.fidelity.bench import Bench, Experiment, attempted, said
from layoutprobe.instructions import InstructionLayout, Variant
from layoutprobe.instructions.naming import documented
from layoutprobe.layouts.layout import HOLE, Layout, element_name
from layoutprobe.report.fidelity import Case

_NOT_RUN = (UsageError, ExecutionError, ToolchainError, CodeObjectError)
"""Errors of running; any other is the solver's: what came back is no matrix product."""


def _run(bench: Bench) -> Iterator[Case]:
    for variant in instructions.variants(bench.target.name):
        name = _name(variant)
        yield attempted(name, partial(_look, bench, variant, name))


def _name(variant: Variant) -> str:
    suffix = f", op_sel {variant.opsel}" if variant.opsel else ""
    return f"{variant.form.spelling}, wave{variant.wave}{suffix}"


def _look(bench: Bench, variant: Variant, name: str) -> Case:
    how = (variant.form.spelling, bench.target.name, variant.wave, variant.opsel)
    try:
        found = instructions.solve(*how, bench)
    except _NOT_RUN:
        raise
    except ProbeError as error:
        return Case(name, "differ", said(error))
    if bench.target.emulated and bench.on_card:
        other = instructions.solve(*how, bench.reference())
        why = _slots(found.operands, other.operands, "the emulator has") or _use(variant, found, other)
    else:
        why = _slots(found.operands, _of_document(variant, found), "the document has")
    return Case(name, "differ" if why else "agree", why or f"every slot of {', '.join(found.operands)}")


def _slots(found: Mapping[str, Layout], wanted: Mapping[str, Layout], whose: str) -> str:
    """The first slot that holds another element."""
    for matrix, layout in found.items():
        other = wanted[matrix]
        wrong = (layout.row != other.row) | (layout.col != other.col)
        if wrong.any():
            at = tuple(int(i) for i in np.argwhere(wrong)[0])
            return (
                f"{matrix}, {_place(layout, at)}: {layout.element(at)}, {whose} "
                f"{element_name(matrix, int(other.row[at]), int(other.col[at]))}; {int(wrong.sum())} slots differ"
            )
    return ""


def _use(variant: Variant, found: InstructionLayout, other: InstructionLayout) -> str:
    """The first slot that other outputs read; and whether D keeps what it held in the same slots.

    Which of several copies an output reads is a question of its own (`copies`).
    """
    fragments = variant.form.fragments(variant.wave, variant.opsel)
    for matrix, readers in found.readers.items():
        wrong = readers != other.readers[matrix]
        if wrong.any() and fragments[matrix].copies == 1:
            at = tuple(int(i) for i in np.argwhere(wrong)[0])
            mine, theirs = (_lanes(int(x[at])) for x in (readers, other.readers[matrix]))
            place = _place(found.operands[matrix], at)
            return f"{matrix}, {place} is read by outputs in {mine}; on the emulator by {theirs}"
    if (found.kept != other.kept).any():
        return "D keeps what it held before in other slots than on the emulator"
    return ""


def _place(layout: Layout, at: tuple[int, ...]) -> str:
    """A slot in words; all are of one wave."""
    return str(replace(layout.place(at), wave=None, matrix=""))


def _lanes(groups: int) -> str:
    named = [f"{16 * g}-{16 * g + 15}" for g in range(4) if groups >> g & 1]
    return "lanes " + ", ".join(named) if named else "no lane"


def _of_document(variant: Variant, found: InstructionLayout) -> dict[str, Layout]:
    """What the vendor's document has, in the slots that were seen to matter.

    Documents count the columns of C and D in each block; here the blocks of a product lie on a diagonal.
    """
    m, n, _ = variant.form.shape
    wanted = {}
    for matrix, layout in found.operands.items():
        fragment = variant.form.fragments(variant.wave, variant.opsel)[matrix]
        row, col = (x.reshape(layout.row.shape).astype(np.int32) for x in documented(fragment, variant.wave))
        if matrix in "CD" and variant.form.blocks > 1:
            col = np.where(row == HOLE, HOLE, col + n * (row // m))
        wanted[matrix] = Layout(matrix, layout.shape, row, col, layout.field_bits)
        assert (row != HOLE).any()
    return wanted


LAYOUTS = Experiment(
    name="layouts",
    question="Does every slot of every matrix instruction hold the element that the emulator takes it for?",
    meaning="every report on operands and accumulators is about another machine: do not use the emulator "
    "for this instruction",
    reference="a card of AMD: the emulator's layouts, solved the same way; a card of NVIDIA and the emulator "
    "itself: the vendor's document",
    refusal=lambda _: "",
    run=_run,
)
