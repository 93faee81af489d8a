"""Facts about a gfx target that the rest of the program may ask for, each with its source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from layoutprobe.arch.matrix import MatrixForm
from layoutprobe.errors import UsageError, did_you_mean

_EITHER_SIGN = {"i8": "iu8", "u8": "iu8", "i4": "iu4", "u4": "iu4"}
"""Integers whose sign is a modifier of the instruction (RDNA), and so no part of its name."""


@dataclass(frozen=True)
class MatrixInstruction:
    """One matrix instruction, by the types of its operands.

    Attributes:
        name: mnemonic.
        dtype: element type of A and B.
        field_bits: width of an element of A and B in its register.
        a_vgprs, b_vgprs, d_vgprs: registers per operand.
        shape: (M, N, K).
        copies_every: lanes l and l + copies_every are documented to hold the same elements of A
            and of B; 0 where nothing is replicated.
    """

    name: str
    dtype: str
    field_bits: int
    a_vgprs: int
    b_vgprs: int
    d_vgprs: int
    shape: tuple[int, int, int]
    copies_every: int = 0


@dataclass(frozen=True)
class Arch:
    """A gfx target.

    Attributes:
        name: as compilers name it.
        product: what people call it.
        wave_size: lanes of a wave that the probes use.
        lds_bytes: LDS that one workgroup may have.
        lds_banks: dword banks.
        instructions: matrix instructions by the element type of A and B.
        sources: where the facts come from, by attribute.
        matrix: all matrix instructions by mnemonic, in the order of their opcodes.
        emulated: the emulator executes its code; otherwise only a card does.
        probes: where its probes lie below probes/: "" or "nvidia/".
    """

    name: str
    product: str
    wave_size: int
    lds_bytes: int
    lds_banks: int
    instructions: Mapping[str, MatrixInstruction]
    sources: Mapping[str, str]
    matrix: Mapping[str, MatrixForm] = field(default_factory=dict)
    emulated: bool = True
    probes: str = ""

    def matrix_form(self, name: str) -> MatrixForm:
        """The matrix instruction of that mnemonic.

        Raises:
            UsageError: the target has none of that name.
        """
        if name in self.matrix:
            return self.matrix[name]
        raise UsageError(
            f"{self.name} has no matrix instruction {name[:80]!r}",
            expected="one of: " + ", ".join(self.matrix),
            hint=did_you_mean(name, self.matrix),
        )

    def matrix_instruction(self, dtype: str) -> MatrixInstruction:
        """The instruction for operands of a type.

        Raises:
            UsageError: the target has none, or no probe executes it; lists those with a probe.
        """
        if found := self.instructions.get(dtype):
            return found
        probed = f"one of: {', '.join(self.instructions)}" if self.instructions else "another target"
        types = {type for form in self.matrix.values() for type in (form.a, form.b)}
        asked = dtype if dtype in types else _EITHER_SIGN.get(dtype, dtype)
        real = [form.name for form in self.matrix.values() if asked in (form.a, form.b)]
        if real:
            raise UsageError(
                f"layoutprobe has no probe yet for the {asked} matrix instructions of {self.name}",
                where={"instructions": ", ".join(real)},
                expected=probed,
                hint="choose with --dtype or --arch",
            )
        raise UsageError(
            f"{self.name} has no matrix instruction for dtype {dtype[:40]!r}",
            expected=probed,
            hint="choose with --dtype",
        )
