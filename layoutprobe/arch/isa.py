"""The instruction set of a family: how its code is read, and what its code must obey."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from msgspec import Struct, field

from layoutprobe.arch.hazards import NONE, Hazards
from layoutprobe.arch.matrix import MatrixForm

_HEXADECIMAL = "0123456789abcdef"

MODE = "MODE"
HARDWARE = (MODE, "SHADER_CYCLES", "SHADER_CYCLES_LO", "SHADER_CYCLES_HI", "STATUS", "TRAPSTS", "HW_ID", "HW_ID1",
            "HW_ID2", "GPR_ALLOC", "LDS_ALLOC", "IB_STS", "SH_MEM_BASES", "XCC_ID")  # fmt: skip
"""Hardware registers, as LLVM names them; families number them differently."""

SignedField = tuple[str, int]
"""A field's name, and its width where it is two's complement; 0 where it is unsigned."""


class Encodings(Struct, frozen=True):
    """How the bytes of an instruction are read, as far as families differ.

    Attributes:
        table: the module of the decoder's package that has the encodings.
        markers: what source 0 of a vector instruction holds where a second word follows -> that word's kind.
        m0: encoding of M0; `isa.inst` numbers it M0 whatever it is here.
        no_address: encoding of a scalar address that is not there.
        halves: bit 7 of a 16-bit VGPR number of VOP1, VOP2 and VOPC chooses the upper half.
        buffer: upper six bits of the first word of buffer instructions, and the package's class of them;
            None where the package finds them by itself.
        offset: encoding -> its field with the immediate offset.
        address, data: fields of FLAT, GLOBAL and SCRATCH with the vector address and the data to store.
        resource: field of buffer instructions with the resource descriptor.
        cache_policy: fields that tell what an access asks of the caches.
        old_value: the field whose lowest bit has an atomic return the old value.
        compared_width: the operand table gives the result of an atomic compare-and-swap the width of its
            data, which are two values.
        wave_wide_permute: ds_permute and its like count lanes through the whole of a wave64, and not
            through each half by itself.
        paired: the package's class of instructions of two parts, and the upper half of the word that such a
            one begins with; the package looks at the second part alone.
        both_masks: v_cmpx writes the mask in its destination as well as EXEC.
        widths: mnemonic -> field -> bits, where the package's operand table has none.
        fnuz: conversions of 8-bit floats mean FNUZ's and not OCP's.
        cleared: 16-bit results of these mnemonics clear the upper half of their register; others keep it.
        absent: mnemonics that the package's table has and the target has not.
        renamed: mnemonic of the package's table -> as assemblers spell it.
        hardware: number of a hardware register in S_GETREG and S_SETREG -> its name, one of HARDWARE.
    """

    table: str
    markers: Mapping[int, str]
    m0: int
    no_address: int
    halves: bool
    buffer: tuple[int, str] | None
    offset: Mapping[str, SignedField]
    address: str
    data: str
    resource: str
    cache_policy: tuple[str, ...]
    old_value: str
    compared_width: bool
    wave_wide_permute: bool
    paired: tuple[str, int] | None = None
    both_masks: bool = False
    widths: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    fnuz: bool = False
    cleared: frozenset[str] = frozenset()
    absent: frozenset[str] = frozenset()
    renamed: Mapping[str, str] = field(default_factory=dict)
    hardware: Mapping[int, str] = field(default_factory=dict)


Piece = tuple[int, int]
"""Lowest bit and width of a part of a field."""


class Counting(Struct, frozen=True):
    """The wait counters of a wave.

    Attributes:
        loads: counts vector loads, and atomics that return.
        stores: counts vector stores, and atomics that do not return; may be the same as `loads`.
        lds: counts LDS operations.
        scalars: counts scalar loads; may be the same as `lds`.
        waits: wait instruction -> counter -> pieces of its 16-bit immediate, lowest first, that say how
            many operations may stay outstanding; no pieces: none may.
        bits: counter -> width. All ones wait for nothing.
        spelling: how a wait is written, with {counter} and {count}.
        flat_in_order: a FLAT operation is done in order with the others of both its counters; else it is done
            for certain only when nothing is outstanding.
    """

    loads: str
    stores: str
    lds: str
    scalars: str
    waits: Mapping[str, Mapping[str, tuple[Piece, ...]]]
    bits: Mapping[str, int]
    spelling: str
    flat_in_order: bool = True

    @property
    def loading(self) -> tuple[str, ...]:
        """The counters whose operations write registers, each once."""
        return tuple(dict.fromkeys((self.loads, self.lds, self.scalars)))

    def limit(self, counter: str) -> int:
        """The largest count."""
        return (1 << self.bits[counter]) - 1


class UserSgpr(Struct, frozen=True):
    """Scalar registers that the descriptor can ask for.

    Attributes:
        bit: of kernel_code_properties, which asks for it.
        dwords: how many registers.
        holds: "kernarg" (address of the arguments), "packet" (of the dispatch packet), "null" (an address that must
            not be used), "scratch" (bytes of scratch of a lane), or "" where a wave finds nothing defined.
    """

    bit: int
    dwords: int
    holds: str = ""


USER_SGPRS = (
    UserSgpr(0, 4),
    UserSgpr(1, 2, "packet"),
    UserSgpr(2, 2, "null"),  # the queue
    UserSgpr(3, 2, "kernarg"),
    UserSgpr(4, 2),
    UserSgpr(5, 2),
    UserSgpr(6, 1, "scratch"),
)
"""Of every AMD target (LLVM AMDGPUUsage, "Initial Kernel Execution State")."""

WORK_ITEM = {"x": 0, "y": 10, "z": 20}
"""v0 of every target here (the same page)."""


class IdRegister(Struct, frozen=True):
    """A scalar register with ids of the workgroup.

    Attributes:
        ids: "x", "y", "z" (workgroup) or "wave" (number of the wave in it) -> lowest bit.
        register: its number; None for the next one behind the user SGPRs.
        bit: of compute_pgm_rsrc2, which asks for it; None where every wave has it.
    """

    ids: Mapping[str, int]
    register: int | None = None
    bit: int | None = None


class LaunchAbi(Struct, frozen=True):
    """The state in which a wave starts.

    Attributes:
        user_sgprs: in the order of their registers.
        ids: registers with the ids of the workgroup, in the order of their registers.
        work_item: "x", "y", "z" -> lowest bit in v0; y and z as the descriptor asks for them.
        modes: parts of the floating-point mode that are on where that bit of RSRC1 is set.
    """

    user_sgprs: tuple[UserSgpr, ...]
    ids: tuple[IdRegister, ...]
    work_item: Mapping[str, int]
    modes: Mapping[str, int] = field(default_factory=dict)


LAUNCH = LaunchAbi(
    user_sgprs=USER_SGPRS,
    ids=(IdRegister({"x": 0}, bit=7), IdRegister({"y": 0}, bit=8), IdRegister({"z": 0}, bit=9)),
    work_item=WORK_ITEM,
    modes={"DX10 clamp": 21, "IEEE mode": 23},
)
"""Of GFX9 to GFX11 (LLVM AMDGPUUsage, "Initial Kernel Execution State")."""


class Isa(Struct, frozen=True, eq=False, dict=True):
    """An instruction set.

    Attributes:
        title: what people call it.
        encodings: how code is read.
        prefixes: a processor named by one of these and one more hexadecimal digit has it.
        generic: LLVM's names for all processors that have it.
        counting: wait counters.
        launch: the state in which a wave starts.
        matrix: matrix instructions by their spelling.
        split_barrier: a wave arrives at a barrier with one instruction and waits there with another.
        hazards: wait states that the code itself must keep.
    """

    title: str
    encodings: Encodings
    prefixes: tuple[str, ...]
    generic: tuple[str, ...]
    counting: Counting
    launch: LaunchAbi
    matrix: Mapping[str, MatrixForm]
    split_barrier: bool
    hazards: Hazards = NONE

    def form(self, name: str, mods: Mapping[str, int]) -> MatrixForm | None:
        """The matrix instruction of that mnemonic that the encoded modifiers choose; None where there is none."""
        forms = self._forms.get(name, [])
        return forms[0] if len(forms) == 1 else next((form for form in forms if form.selected(mods)), None)

    @cached_property
    def _forms(self) -> Mapping[str, list[MatrixForm]]:
        found: dict[str, list[MatrixForm]] = {}
        for form in self.matrix.values():
            found.setdefault(form.name, []).append(form)
        return found

    def executes(self, target: str) -> bool:
        """The processor of that name has it, known here or not."""
        return target in self.generic or (target[:-1] in self.prefixes and target[-1] in _HEXADECIMAL)
