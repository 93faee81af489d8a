"""Every matrix instruction of a target, solved by running a probe of it.

>>> from layoutprobe import instructions
>>> instructions.names("gfx1151")[0]
'v_wmma_f32_16x16x16_f16'
>>> found = instructions.solve("v_wmma_f32_16x16x16_f16")
>>> found.operands["D"].element((0, 16, 0, 0))
'D[1][0]'
"""

from __future__ import annotations

from collections.abc import Iterator

from layoutprobe.arch import DEFAULT, find, matrix_form
from layoutprobe.backends.base import Backend
from layoutprobe.backends.source import Source, chosen
from layoutprobe.instructions.probe import Prober, Variant
from layoutprobe.instructions.solving import result_of
from layoutprobe.layouts.instruction import InstructionLayout


def names(arch: str = DEFAULT) -> list[str]:
    """Mnemonics of the target's matrix instructions, in the order of their opcodes.

    Raises:
        UsageError: no such target.
    """
    return list(find(arch).matrix)


def variants(arch: str = DEFAULT) -> Iterator[Variant]:
    """Every instruction of the target, in all its wave sizes, with every op_sel or index key.

    Scales are taken from the lowest bytes of their registers: which bytes changes nothing else.
    """
    for form in find(arch).matrix.values():
        for wave in form.waves:
            for opsel in form.opsels(wave)[: 1 if form.scaled else None]:
                yield Variant(form, arch, wave, opsel)


def solve(
    instruction: str,
    arch: str = DEFAULT,
    wave: int | None = None,
    opsel: int = 0,
    backend: Backend | Source | str | None = None,
    compiler: str | None = None,
) -> InstructionLayout:
    """Layout of A, B, C and D of one instruction, by executing it.

    Args:
        instruction: mnemonic; with the modifiers that choose formats, where they do: "... cbsz:0 blgp:4".
        arch: target that has it.
        wave: lanes of a wave, 32 or 64; the smaller one that executes it unless given.
        opsel: 4 for the upper half of 16-bit C and D on RDNA3; the index key of sparse forms; of scaled ones
            the byte of A's scales and four times that of B's.
        backend: where the probe runs, or its name; the emulator by default. Or a source of captures.
        compiler: which compiler; see `layoutprobe.toolchain`.

    Raises:
        UsageError: the target has no such instruction, or not in this form.
        ToolchainError: the probe does not compile.
        ExecutionError: the probe does not run.
        ProbeError: what came back is no matrix product of the documented shape.
    """
    form = matrix_form(arch, instruction)
    wave = wave or form.waves[0]
    form.fragments(wave, opsel)  # refuses what does not exist
    return result_of(Prober(Variant(form, arch, wave, opsel), chosen(backend, arch), compiler))


__all__ = ["InstructionLayout", "Prober", "Variant", "names", "result_of", "solve", "variants"]
