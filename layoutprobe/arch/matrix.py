"""What a matrix instruction is: one description for every family."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

import numpy as np
from msgspec import Struct, field

from layoutprobe.arch.fragments import Fragment
from layoutprobe.errors import UsageError
from layoutprobe.numbers import element_type
from layoutprobe.numbers.sums import Sum, SumRule

Fragments = Mapping[str, Fragment]
"""Of "A", "B", "C", "D"; where A is sparse "index"; where there are scales "scale A" and "scale B"."""


SCALED = 32
"""Neighbouring k that share a scale (OCP Microscaling Formats 1.0)."""


class Choice(Struct, frozen=True):
    """What decides between layouts of one instruction: as one number, and as decoded modifiers.

    Attributes:
        number: decoded modifiers -> the number, which counts as op_sel.
        mods: the inverse.
    """

    number: Callable[[Mapping[str, int]], int]
    mods: Callable[[int], Mapping[str, int]]


OPSEL = Choice(lambda mods: mods.get("opsel", 0), lambda opsel: {"opsel": opsel})
"""op_sel itself."""


class MatrixForm(Struct, frozen=True, eq=False):
    """One matrix instruction: D = A * B + C, or D += A * B with a sparse A.

    Where modifiers say of which types A and B are, each pair is a form of its own.

    Attributes:
        name: mnemonic.
        a, b: element types of A and of B. fp8 and bf8 are OCP's, CDNA3's are called fp8_fnuz and bf8_fnuz.
        result: element type of C and D.
        shape: (M, N, K); K is the dense one.
        layout: (the form, lanes of a wave, op_sel) -> where the documents put each element.
        document: what `layout` follows, in words.
        waves: sizes of a wave that can execute it.
        op_sel: wave size -> what op_sel can be, where that is more than 0.
        sparse: of every four k of A two are kept, and an index operand tells which.
        blocks: products that it computes at once, see `Fragment`.
        arithmetic: how the emulator can compute it: "ieee", and "silicon" where a card was studied.
        modifiers: signs of integers, and clamp, are modifiers of it rather than parts of its name.
        language: of the probe that executes it: "hip" or "cuda".
        sums: how the unit is published to add products; None where nothing of that kind is.
        select: decoded modifiers that tell this form from others of its mnemonic.
        written: those that assemblers write, as they write them.
        choice: what counts as op_sel: a half, an index set, bytes of scales.
        scaled: two more operands hold scales, one for each block of A's and of B's k. What counts as op_sel
            is the byte of A's, and four times that of B's.
        broadcasts: operands whose blocks or lanes a modifier rearranges: "A" (cbsz, abid), "B" (blgp).
        adds: arithmetic -> how the emulator adds products, where it is one of these rules.
        contested: why nobody can be sure of its layout; "" where somebody can.
        builtin: how HIP calls it, with {a}, {b}, {c} for the operands, {wave} for the lanes of a wave, and {upper}
            for "true" where C and D are upper halves, else "false"; "" where it takes more than these operands.
        passes: groups of four cycles that it takes, which wait states depend on; 0 where they do not.
    """

    name: str
    a: str
    b: str
    result: str
    shape: tuple[int, int, int]
    layout: Callable[[MatrixForm, int, int], Fragments]
    document: str
    waves: tuple[int, ...]
    op_sel: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    sparse: bool = False
    blocks: int = 1
    arithmetic: tuple[str, ...] = ("ieee",)
    modifiers: bool = True
    language: str = "hip"
    sums: SumRule | None = None
    select: Mapping[str, int] = field(default_factory=dict)
    written: str = ""
    choice: Choice = OPSEL
    scaled: bool = False
    broadcasts: str = ""
    adds: Mapping[str, Sum] = field(default_factory=dict)
    passes: int = 0
    contested: str = ""
    builtin: str = ""

    @property
    def spelling(self) -> str:
        """Mnemonic, and the modifiers that choose this form, as assemblers write them."""
        return self.name + self.written

    @property
    def dtype(self) -> str:
        """What users call the type of A: without the variant that the target decides."""
        return self.a.removesuffix("_fnuz")

    @property
    def b_dtype(self) -> str:
        """The same of B."""
        return self.b.removesuffix("_fnuz")

    @property
    def types(self) -> str:
        """Types of A and B in words: "f16", "fp8 and fp4"."""
        return " and ".join(dict.fromkeys((self.dtype, self.b_dtype)))

    def selected(self, mods: Mapping[str, int]) -> bool:
        """Whether these decoded modifiers choose this form among those of its mnemonic."""
        return all(mods.get(name, 0) == value for name, value in self.select.items())

    def unproven(self, mods: Mapping[str, int]) -> str:
        """Why nobody can be sure of what it does with these decoded modifiers; "" where somebody can."""
        if "A" in self.broadcasts and 1 < 1 << mods.get("cbsz", 0) < self.blocks:
            return "cbsz gives A to some blocks and not to all, of which AMD's documents say contradictory things"
        return self.contested

    def chosen(self, opsel: int) -> dict[str, int]:
        """Decoded modifiers that choose this form and that op_sel; those that are not 0."""
        mods = {**self.select, **self.choice.mods(opsel)}
        return {name: value for name, value in mods.items() if value}

    @property
    def bits(self) -> int:
        """Width of an element of A; of most instructions of B, too."""
        return element_type(self.a).bits

    @property
    def b_bits(self) -> int:
        """Width of an element of B."""
        return element_type(self.b).bits

    def element_bits(self, matrix: str) -> int:
        """Width of an element of "A", "B", "C" or "D"."""
        return {"A": self.bits, "B": self.b_bits}.get(matrix, self.result_bits)

    @property
    def result_bits(self) -> int:
        """Width of an element of C and D."""
        return element_type(self.result).bits

    @property
    def halves(self) -> bool:
        """op_sel says which half of their registers C and D fill: 0 the lower, 4 the upper."""
        return (
            not self.sparse
            and self.result_bits == 16
            and any(4 in choices for choices in self.op_sel.values())
        )

    def opsels(self, wave: int) -> tuple[int, ...]:
        """What op_sel can be: 0 or 4 where it chooses a half of C and D, the index keys of a sparse form."""
        return self.op_sel.get(wave, (0,))

    def fragments(self, wave: int, opsel: int = 0) -> Fragments:
        """Documented fragments of "A", "B", "C", "D", if sparse "index", and if scaled "scale A", "scale B".

        Raises:
            UsageError: no wave of that size executes it, or it takes no such op_sel.
        """
        return _fragments(self, wave, opsel)

    def vgprs(self, wave: int) -> Mapping[str, int]:
        """Registers of every operand."""
        return {name: fragment.vgprs for name, fragment in self.fragments(wave).items()}

    def copies_every(self, wave: int) -> int:
        """Lanes so far apart are documented to hold the same elements of A and of B; 0: none are."""
        lane = self.fragments(wave)["A"].lane
        return int(np.ptp(lane[:2, 0, 0]))


@cache
def _fragments(form: MatrixForm, wave: int, opsel: int) -> Fragments:
    if wave not in form.waves:
        expected = " or ".join(str(size) for size in form.waves)
        raise UsageError(f"{form.name} is not executed by waves of {wave} lanes", expected=expected)
    if opsel not in form.opsels(wave):
        raise UsageError(
            f"{form.name} takes no op_sel {opsel}",
            expected="one of: " + ", ".join(str(o) for o in form.opsels(wave)),
        )
    return form.layout(form, wave, opsel)


def by_name(*forms: MatrixForm) -> Mapping[str, MatrixForm]:
    """A table of forms, by their spelling."""
    return {form.spelling: form for form in forms}


def wmma_builtin(types: str, generation: str, last: str = "") -> str:
    """How HIP calls a WMMA (clang 19, BuiltinsAMDGPU.def); integers are signed, and sums wrap around.

    Args:
        types: types and shape, as in the mnemonic.
        generation: how the name ends.
        last: an argument more.
    """
    operands = "true, {a}, true, {b}, {c}, false" if "_iu" in types else "{a}, {b}, {c}" + last
    return f"__builtin_amdgcn_wmma_{types}_w{{wave}}{generation}({operands})"
