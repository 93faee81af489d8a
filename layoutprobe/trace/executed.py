"""What of a kernel ran in the run on small integers, and the types in which it computes."""

from __future__ import annotations

from layoutprobe.arch.matrix import MatrixForm
from layoutprobe.instructions.meetings import element_types
from layoutprobe.isa.inst import Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.isa.matrix import matrix_form
from layoutprobe.manifest.coding import is_small_float
from layoutprobe.observe.coverage import Coverage
from layoutprobe.trace.gemm_faults import TILE
from layoutprobe.trace.narrow import Arithmetic, arithmetic
from layoutprobe.trace.subject import Subject


def executed(subject: Subject) -> tuple[Inst, ...]:
    """Instructions that ran in the run on small integers, once each."""
    return subject.plain().record(Coverage).insts


def read_types(subject: Subject) -> tuple[str, ...]:
    """Types of A and B of the matrix instructions that ran, with and without a sign."""
    found = {t for inst in executed(subject) if Kind.MATRIX in inst.kind for t in element_types(inst)}
    whole = {t.removeprefix("iu") for t in found if t.startswith("iu")}
    return tuple(sorted({t for t in found if not t.startswith("iu")} | {s + n for n in whole for s in "iu"}))


def small_floats(subject: Subject) -> str:
    """8-bit floats that the kernel's matrix instructions read, and that its buffers are not said to hold."""
    found = {t for inst in executed(subject) if Kind.MATRIX in inst.kind for t in element_types(inst)}
    given = {buffer.dtype for buffer in subject.binding.buffers.values()}
    return " and ".join(sorted({t for t in found - given if is_small_float(t)}))


def computed_in(subject: Subject) -> Arithmetic:
    """Types in which what ran adds up and rounds."""
    return subject.once(_arithmetic)


def _arithmetic(subject: Subject) -> Arithmetic:
    return arithmetic(subject.plain().record(Coverage))


def tile_of(subject: Subject) -> int:
    """Rows of D of the kernel's largest matrix instruction."""
    return subject.once(_tile)


def _tile(subject: Subject) -> int:
    return max((form.shape[0] for form in _forms(subject)), default=TILE)


def _forms(subject: Subject) -> list[MatrixForm]:
    forms = (matrix_form(inst) for inst in subject.insts.values() if Kind.MATRIX in inst.kind)
    return [form for form in forms if form is not None]
