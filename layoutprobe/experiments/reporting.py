"""From what was solved to a `LayoutReport`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.capture.capture import Capture
from layoutprobe.experiments.judging import Judged
from layoutprobe.experiments.runs import Accumulators, Operands
from layoutprobe.layouts.explain import explain
from layoutprobe.layouts.layout import Layout
from layoutprobe.layouts.swizzle import SCHEMES, of_bits, per_chunk
from layoutprobe.layouts.views import MEANT
from layoutprobe.probing.bench import Bench, Coding, spelled
from layoutprobe.report.finding import Finding
from layoutprobe.report.layout import LayoutReport, LdsMap
from layoutprobe.solver.agree import Agreement
from layoutprobe.solver.coverage import coverage
from layoutprobe.solver.interaction import Interaction
from layoutprobe.solver.lane_groups import in_groups
from layoutprobe.solver.movement import Movement

Mask = NDArray[np.bool_]

SPARSE = (
    "columns 2g and 2g + 1 of A are the elements kept of k 4g to 4g + 3; which two, an index operand says, "
    "whose bits `layoutprobe layout` shows; loads are judged for every index"
)
"""What a reader of a dump must know of a sparse instruction."""


class Shown(Struct, frozen=True):
    """The part of a report that is about the matrix shown."""

    matrix: str
    tile: tuple[int, int, int]
    loaded: Layout
    mismatch: Mask
    needed: Layout | None = None
    live: Mask | None = None
    readers: NDArray[np.int32] | None = None
    convention: str = ""
    ambiguity: str = ""
    undecided: str = ""
    lds_map: LdsMap | None = None
    about: tuple[tuple[str, str], ...] = ()

    __repr__ = brief


def show_view(view: str, seen: Movement, operand: Shown, together: int) -> Shown:
    """What lanes fetch or receive of an operand; nothing is needed of it, and so nothing is wrong with it.

    `together`: lanes that hand each other what they fetch.
    """
    return replace(
        operand,
        loaded=seen.layout,
        needed=None,
        mismatch=np.zeros(seen.layout.row.shape, np.bool_),
        live=None,
        readers=None,
        about=(("view", MEANT[view]), ("wave 0", in_groups(view, seen.layout, together))),
    )


def show_operand(
    matrix: str, operands: Operands, judged: Judged, instruction: Interaction, agreement: Agreement
) -> Shown:
    """An operand beside what the instruction needs, in all its copies."""
    loaded = operands.moved[matrix].layout
    shown = _beside_instruction(matrix, operands.tile, loaded, instruction, agreement)
    about = (("sparse", SPARSE),) if instruction.index.size else ()
    return replace(shown, needed=judged.needed, mismatch=judged.mismatch, about=about)


def show_accumulators(matrix: str, accumulators: Accumulators, agreement: Agreement) -> Shown:
    """C and D sit in the same slots, and the epilogue's stores are about both."""
    tile, instruction = accumulators.tile, accumulators.instruction
    shown = _beside_instruction("D", tile, accumulators.stored.layout, instruction, agreement)
    loaded, needed = (replace(layout, matrix=matrix) for layout in (shown.loaded, agreement.needed["D"]))
    # Who reads a copy is a question about operands: an accumulator has none.
    return replace(shown, matrix=matrix, loaded=loaded, needed=needed, readers=None)


def _beside_instruction(
    matrix: str,
    tile: tuple[int, int, int],
    loaded: Layout,
    instruction: Interaction,
    agreement: Agreement,
) -> Shown:
    """A layout beside what the instruction needs; the same of every wave, as was observed of one."""
    ambiguity = instruction.ambiguity
    if agreement.gauge and not agreement.assumed:
        ambiguity += f"; this kernel {agreement.relation}"
    return Shown(
        matrix,
        tile,
        loaded,
        agreement.mismatch[matrix],
        agreement.needed[matrix],
        np.broadcast_to(instruction.live[matrix], loaded.row.shape),
        np.broadcast_to(instruction.half_waves(matrix), loaded.row.shape),
        instruction.convention(agreement.gauge),
        ambiguity,
    )


def undecided(ambiguous: Sequence[Movement]) -> str:
    """Why nothing can be decided while the patterns leave elements of these matrices open."""
    if not ambiguous:
        return ""
    names = " and of ".join(moved.layout.matrix for moved in ambiguous)
    return (
        f"the patterns do not tell all elements of {names} apart, such as {ambiguous[0].twins}; "
        "what they leave open is shown as ?; give another pattern in addition"
    )


def report(
    command: str,
    bench: Bench,
    captures: Sequence[Capture],
    codings: Sequence[Coding],
    shown: Shown,
    findings: Sequence[Finding],
    *,
    by_k: bool = False,
    in_lds: bool = True,
) -> LayoutReport:
    """The whole report. The first capture is the one that the command is about; `by_k`: lines in LDS are of one k;
    not `in_lds`: nothing is there."""
    instruction = bench.form.spelling
    return LayoutReport(
        command=command,
        arch=captures[0].arch,
        instruction="" if command == "roundtrip" else instruction,
        matrix=shown.matrix,
        dtype=bench.form.types,
        lds=bench.lds if in_lds else "",
        tile=shown.tile,
        patterns=tuple(spelled(coding.pattern) for coding in codings),
        loaded=shown.loaded,
        needed=shown.needed,
        mismatch=shown.mismatch,
        live=shown.live,
        readers=shown.readers,
        closed_form=explain(shown.loaded),
        needed_form="" if shown.needed is None else explain(shown.needed),
        convention=shown.convention,
        ambiguity=shown.ambiguity,
        coverage=coverage(shown.loaded, shown.needed),
        findings=tuple(findings),
        evidence=tuple(dict.fromkeys(capture.evidence for capture in captures)),
        toolchain=_toolchain(captures),
        undecided=shown.undecided,
        lds_map=shown.lds_map,
        about=(*shown.about, *((("unproven", bench.form.contested),) if bench.form.contested else ())),
        acc=bench.acc,
        lds_form=_lds_form(bench, shown.matrix, shown.loaded.shape, by_k=by_k) if in_lds else "",
    )


def _lds_form(bench: Bench, matrix: str, shape: tuple[int, int], *, by_k: bool) -> str:
    """Where an element lies in LDS: A as it is, B transposed, so that k is contiguous in both; or the reverse."""
    if matrix not in "AB":
        return ""
    turned, bits = (matrix == "A") == by_k, bench.form.element_bits(matrix)
    lines, length = shape[::-1] if turned else shape
    length = max(length, 2 * per_chunk(bits))  # schemes exchange chunks
    return of_bits(SCHEMES[bench.lds], bits).formula(
        (lines, length), *(("col", "row") if turned else ("row", "col"))
    )


def _toolchain(captures: Sequence[Capture]) -> dict[str, str]:
    """The compiler once, and every probe's flags and digest."""
    found: dict[str, str] = {}
    for capture in captures:
        for key, value in capture.toolchain.items():
            own = key in ("flags", "source", "code_object")
            found.setdefault(f"{capture.probe} {key}" if own else key, value)
    return found
