"""What is said of a solved instruction, the same in every format. Imports no terminal library."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from layoutprobe.layouts.dialects import ClosedForm, closed_forms
from layoutprobe.layouts.instruction import InstructionLayout
from layoutprobe.layouts.queries import Answer, copies_text

Lines = list[tuple[str, str]]

NO_FORM = "no closed form in this dialect reproduces the table"


class Shown(Struct, frozen=True, eq=False):
    """What of an instruction is shown.

    Attributes:
        solved: the instruction.
        matrices: which operands.
        dialects: which dialects; one alone is written over several lines where it has such a form.
        answers: to questions; where there are any, nothing else is shown in the table.
        colour: pictures: one colour for each "row", "col" or "k"; "auto" takes what tells lanes apart.
        theme: pictures: "light", "dark", or "auto": as the reader's.
    """

    solved: InstructionLayout
    matrices: tuple[str, ...]
    dialects: tuple[str, ...]
    answers: tuple[Answer, ...] = ()
    colour: str = "auto"
    theme: str = "auto"


def title(solved: InstructionLayout) -> str:
    """One line: what was solved."""
    opsel = f", op_sel {solved.opsel}" if solved.opsel else ""
    return f"{solved.instruction} on {solved.arch}, wave{solved.wave}{opsel}"


def basis(solved: InstructionLayout) -> Lines:
    """What the layouts rest on, and what execution leaves open."""
    lines = [
        ("blocks", _blocks(solved)),
        ("names", solved.convention),
        ("gauge", solved.ambiguity or str(solved.gauge)),
        *((subject, text) for subject, text in solved.sources.items() if subject != "names"),
        (
            "evidence",
            f"{solved.evidence}, {solved.launches} {'launch' if solved.launches == 1 else 'launches'}",
        ),
    ]
    return [(label, text) for label, text in lines if text]


def _blocks(solved: InstructionLayout) -> str:
    """Of an instruction that computes several products at once, each of rows and columns of its own."""
    count, (rows, cols) = solved.gauge.blocks, solved.operands["D"].shape
    if solved.gauge.stacked != "products":
        return ""
    m, n = rows // count, cols // count
    return (
        f"{count} products of {m} x {n}: product b has the rows of A and the columns of B from {m}*b and {n}*b on, "
        "and is block b on the diagonal of C and D; the rest of C and D is in no slot"
    )


def operand_line(solved: InstructionLayout, matrix: str) -> str:
    """ "A: 16 x 16 (M x K), 8 VGPRs of 2 elements; every element sits in 2 lanes"."""
    layout = solved.operands[matrix]
    axes = {
        "A": "M x K",
        "B": "K x N",
        "index": "places of A in their groups",
        "scale A": "M x blocks of k",
        "scale B": "blocks of k x N",
    }.get(matrix, "M x N")
    if matrix == "A" and solved.sparse:
        axes = "M x K/2, compressed"
    each = f" of {layout.fields} elements" if layout.fields > 1 else ""
    if layout.registers > 1:
        held = "an element" if layout.fields == 1 else f"{layout.fields} elements"
        each = f", every {layout.registers} of which hold {held}"
    copies = copies_text(layout)
    count = layout.vgprs * layout.registers
    registers = f"{count} {'VGPR' if count == 1 else 'VGPRs'}{each}"
    size = f"{layout.shape[0]} x {layout.shape[1]} ({axes}), {registers}"
    unread = int((~layout.holes & ~solved.live[matrix]).sum())
    dead = f"; {unread} slots were not seen to be read" if unread else ""
    return f"{matrix}: {size}{f'; {copies}' if copies else ''}{dead}"


def forms(shown: Shown, matrix: str) -> list[tuple[str, ClosedForm | None]]:
    """(dialect, form or None) of an operand."""
    found = {form.dialect: form for form in closed_forms(shown.solved.operands[matrix], shown.dialects)}
    return [(dialect, found.get(dialect)) for dialect in shown.dialects]


def answer_text(answer: Answer) -> str:
    """An answer in one sentence."""
    places = answer.places
    unread = " (not seen to be read)"
    if answer.question[len(answer.matrix)] == ":":
        return ", ".join(
            f"{p.name}: {p.element}" + ("" if p.read or "no element" in p.element else unread) for p in places
        )
    if not places:
        return "in no slot"
    return ", ".join(p.name + ("" if p.read else unread) for p in places)


def readings(shown: Shown) -> Lines:
    """How to read each dialect that is shown."""
    read: dict[str, dict[str, list[str]]] = {}
    for matrix in shown.matrices:
        for dialect, form in forms(shown, matrix):
            if form is not None:
                read.setdefault(dialect, {}).setdefault(form.convention, []).append(matrix)
    said = []
    for dialect, conventions in read.items():
        for number, (text, who) in enumerate(conventions.items()):
            named = f"{', '.join(who)}: {text}" if len(conventions) > 1 else text
            said.append((dialect if not number else "", named))
    grouped: dict[int, list[str]] = {}
    for matrix in shown.matrices if said else ():
        grouped.setdefault(shown.solved.operands[matrix].registers, []).append(matrix)
    for count, who in grouped.items():
        if count > 1:
            text = f"counts groups of {count} registers, which begin with an element"
            said.append(("vgpr", f"{', '.join(who)}: {text}"))
    return said


def matrices_of(solved: InstructionLayout, chosen: Sequence[str] | None) -> tuple[str, ...]:
    """The operands to show, in their usual order."""
    return tuple(name for name in solved.operands if chosen is None or name in chosen)
