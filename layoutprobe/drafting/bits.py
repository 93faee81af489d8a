"""Buffers of integers that are the bits of floats, as the matrix instructions of a kernel tell."""

from __future__ import annotations

from collections.abc import Mapping

from layoutprobe.codeobj.model import CodeObject, Kernel
from layoutprobe.isa.kind import Kind
from layoutprobe.isa.matrix import matrix_form
from layoutprobe.isa.store import load_instructions
from layoutprobe.numbers import element_type

_INTEGERS = {8: ("i8", "u8"), 16: ("i16", "u16")}


def types_read(code: CodeObject, kernel: Kernel) -> Mapping[str, str]:
    """ "A", "B" -> the type of 8 or 16 bits that all matrix instructions of a kernel take it for."""
    matrices = [inst for inst in load_instructions(code, kernel).values() if Kind.MATRIX in inst.kind]
    forms = [form for form in map(matrix_form, matrices) if form is not None]
    found = {"A": {form.a for form in forms}, "B": {form.b for form in forms}}
    return {letter: kinds.pop() for letter, kinds in found.items() if len(kinds) == 1}


def float_behind(declared: str, taken: str) -> str:
    """The float that a matrix instruction takes elements for which the source declares as integers; "" for none."""
    kind = element_type(taken) if taken else None
    fits = kind is not None and kind.is_float and declared in _INTEGERS.get(kind.bits, ())
    return taken if fits else ""
