"""What the rest of the program may ask about a target; each fact with its source."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from msgspec import Struct, field

from layoutprobe.arch.isa import Isa
from layoutprobe.arch.lds import PLAIN_READS, LdsModel, LdsRead
from layoutprobe.arch.matrix import MatrixForm
from layoutprobe.arch.registers import Resources
from layoutprobe.arch.transposing import GlobalRead
from layoutprobe.errors import UsageError, did_you_mean, one_of

_EITHER_SIGN = {"i8": "iu8", "u8": "iu8", "i4": "iu4", "u4": "iu4"}
"""Integers whose sign is a modifier of the instruction (RDNA), and so no part of its name."""


class Arch(Struct, frozen=True, dict=True):
    """A target.

    Attributes:
        name: as compilers name it.
        product: what people call it.
        wave_size: lanes of a wave that compilers use by default, and the probes with them.
        lds_bytes: LDS that one workgroup may have.
        sources: where the facts come from, by attribute.
        matrix: all matrix instructions by their spelling, in the order of their opcodes.
        probed: matrix instructions that the layout probes execute; the first of a type of A is the one that is
            meant where only the type is given.
        isa: how its code is read, and what the code must obey; None where it is not known here.
        resources: what its waves share; None where it is not known here.
        lds: its banks, and which lanes of an access are served together.
        reads: instructions that read LDS, those first in which lanes exchange elements.
        global_reads: loads from global memory whose lanes exchange elements.
        emulated: the emulator executes its code.
        probes: where its probes lie below probes/, for those who execute them: "", "cdna/", "nvidia/".
        macros: for libraries that do not know the target, but another one with the same matrix instructions.
        tile_units: attributes of Triton's IR that mean its matrix instructions -> their version.
        facts_only: nothing here executes its code; what a code object alone tells can be told.
    """

    name: str
    product: str
    wave_size: int
    lds_bytes: int
    lds: LdsModel
    sources: Mapping[str, str]
    matrix: Mapping[str, MatrixForm] = field(default_factory=dict)
    probed: tuple[MatrixForm, ...] = ()
    isa: Isa | None = None
    resources: Resources | None = None
    reads: tuple[LdsRead, ...] = PLAIN_READS
    global_reads: tuple[GlobalRead, ...] = ()
    emulated: bool = True
    probes: str = ""
    facts_only: bool = False
    macros: Mapping[str, int] = field(default_factory=dict)
    tile_units: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def arithmetic(self) -> tuple[str, ...]:
        """How its matrix instructions can be emulated: "ieee", and "silicon" where that is known of some."""
        known = (form.arithmetic for form in self.matrix.values())
        return tuple(dict.fromkeys(("ieee", *(mode for modes in known for mode in modes))))

    def matrix_form(self, name: str) -> MatrixForm:
        """The matrix instruction of that mnemonic.

        Raises:
            UsageError: the target has none of that name.
        """
        if name in self.matrix:
            return self.matrix[name]
        complete = [form for form in self.matrix.values() if form.name == name and form.written]
        if complete:
            raise UsageError(
                f"{name} has other layouts for other formats of A and B, and these are part of its name",
                expected=f"{name} cbsz:A blgp:B, as assemblers write it; 0 to 4 are fp8, bf8, fp6, bf6, fp4",
                hint=f"for example '{complete[0].spelling}'",
            )
        raise UsageError(
            f"{self.name} has no matrix instruction {name[:80]!r}",
            expected=one_of(name, self.matrix),
            hint=did_you_mean(name, self.matrix),
        )

    def lds_read(self, name: str) -> LdsRead:
        """The read of LDS of that mnemonic.

        Raises:
            UsageError: the target has none of that name.
        """
        for read in self.reads:
            if read.name == name:
                return read
        names = [read.name for read in self.reads]
        raise UsageError(
            f"{self.name} has no read of LDS called {name[:60]!r}",
            expected="one of: " + ", ".join(names),
            hint=did_you_mean(name, names),
        )

    @cached_property
    def transposing(self) -> Mapping[int, LdsRead | GlobalRead]:
        """Bits of an element -> the load that transposes such elements."""
        every: tuple[LdsRead | GlobalRead, ...] = (*self.reads, *self.global_reads)
        return {read.bits: read for read in every if read.bits}

    @cached_property
    def probed_types(self) -> Mapping[str, MatrixForm]:
        """Element type of A -> the instruction that the probes execute unless another is named."""
        return {form.dtype: form for form in reversed(self.probed)}

    def probed_instruction(self, name: str) -> MatrixForm:
        """The instruction of that spelling, which the probes execute.

        Raises:
            UsageError: the target has none of that name, or no probe executes it.
        """
        form = self.matrix_form(name)
        if form in self.probed:
            return form
        raise UsageError(
            f"no probe executes {form.spelling} of {self.name}",
            expected="one of: " + ", ".join(each.spelling for each in self.probed),
            hint="`layoutprobe layout` shows which element it needs in which slot",
        )

    def probed_form(self, dtype: str) -> MatrixForm:
        """The instruction that the probes execute for operands of a type.

        Raises:
            UsageError: the target has none, or no probe executes it; lists those with a probe.
        """
        known = self.probed_types
        if found := known.get(dtype):
            return found
        probed = f"one of: {', '.join(known)}" if known else "another target"
        types = {type for form in self.matrix.values() for type in (form.a, form.b)}
        asked = dtype if dtype in types else _EITHER_SIGN.get(dtype, dtype)
        real = list(dict.fromkeys(f.name for f in self.matrix.values() if asked in (f.a, f.b)))
        if real:
            raise UsageError(
                f"layoutprobe has no probe yet for the {asked} matrix instructions of {self.name}",
                where={"instructions": ", ".join(real)},
                expected=probed,
                hint="choose another dtype or arch",
            )
        raise UsageError(
            f"{self.name} has no matrix instruction for dtype {dtype[:40]!r}",
            expected=probed,
            hint="choose another dtype",
        )
