"""Wait states of GFX9 as CDNA3 and CDNA4 need them.

Sources: LLVM, GCNHazardRecognizer.cpp (release 18, and the pull requests that added gfx950: 117262, 117263,
117283 to 117287, 117844, 118589, 126132, 126732, 140218); CDNA3 ISA guide, 4.5 and 7.5. Where
the code of clang 22.1.8 shows the number, tests/cdna asks it. What a card does without the wait is reported as
"the old value", and not published.
"""

from __future__ import annotations

from collections.abc import Mapping

from layoutprobe.arch.hazards import Hazard, Hazards, Link, Use

_MATRIX = "LLVM, checkMAIHazards90A and checkMAIVALUHazards"
_VECTOR = "LLVM, checkVALUHazards; CDNA3 ISA guide, 4.5"
_SHARED = (
    "LLVM, checkMAIHazards90A; that another instruction on the same accumulator needs it as well: LLVM pull "
    "request 218363, which no release has yet"
)

Passes = Mapping[int, int]


def _plus(states: int, extra: int = 0) -> Passes:
    """Passes and so many; `extra` more from four passes on."""
    return {passes: passes + states + (extra if passes > 2 else 0) for passes in (2, 4, 8, 16)}


def hazards(*, longer: bool) -> Hazards:
    """Of a target; CDNA4's results take longer."""
    extra = int(longer)
    return Hazards(
        (*_of_d(extra), *_of_f32(), *_of_f64(longer), *_of_dot(), *_VECTORS, *(_NEWER if longer else ()))
    )


def _users(
    first: Use, states: Passes, memory: Passes | None = None, over: Passes | None = None
) -> list[Hazard]:
    """Whoever takes D, and whoever overwrites it."""
    rows = ((Use.AB, states), (Use.READ, states), (Use.MEMORY, memory or states), (Use.WRITE, over or states))
    return [Hazard(first, then, needed, _MATRIX) for then, needed in rows]


def _shared(first: Use, then: Use, chain: Passes, other: Passes, source: str = _MATRIX) -> list[Hazard]:
    """Who goes on accumulating: with the same instruction on the same registers D is handed on."""
    links: tuple[tuple[Link, Passes], ...] = (("chain", chain), ("other", other))
    return [Hazard(first, then, states, source, link) for link, states in links]


def _of_d(extra: int) -> list[Hazard]:
    handed = {passes: passes + 1 + extra for passes in (2, 4, 8, 16)}
    return [
        *_users(Use.D, _plus(3, extra)),
        *_shared(Use.D, Use.C, {2: 2}, handed, _SHARED),
        *_shared(Use.D, Use.WIDE_C, {}, _plus(1, extra), _SHARED),
        Hazard(Use.C, Use.WRITE, {2: 1, 4: 3, 8: 7, 16: 15}, _MATRIX),
    ]


def _of_f32() -> list[Hazard]:
    return [*_users(Use.F32_D, _plus(2)), *_shared(Use.F32_D, Use.WIDE_C, {2: 2}, _plus(0), _SHARED)]


def _of_f64(longer: bool) -> list[Hazard]:
    """4x4x4 has 4 passes, 16x16x4 has 8, and 16 on CDNA4."""
    taken = {4: 6, 8: 11, 16: 19}
    return [
        *_users(Use.F64_D, taken, memory={4: 9, 8: 18, 16: 18}, over={4: 6, 8: 11, 16: 11}),
        *_shared(Use.F64_D, Use.WIDE_C, {4: 4}, {4: 4, 8: 9, 16: 17}, _SHARED),
        Hazard(Use.F64_UNIT, Use.F64_FMA, 2, _MATRIX),
    ]


def _of_dot() -> list[Hazard]:
    takers = (Use.READ, Use.MEMORY)
    return [
        *(Hazard(Use.DOT, then, 3, _MATRIX) for then in takers),
        *(Hazard(Use.DOT, then, 3, _MATRIX, "other") for then in (Use.DOT_C, Use.WRITE)),
    ]


_VECTORS = (
    Hazard(Use.RESULT, Use.OPERAND, 2, _MATRIX),
    Hazard(Use.EXEC, Use.MATRIX_EXEC, 4, _MATRIX),
    Hazard(Use.SCALAR, Use.SCALAR_READ, 2, _VECTOR),
    Hazard(Use.SCALAR, Use.MEMORY_SCALAR, 5, "LLVM, checkVMEMHazards; CDNA3 ISA guide, 4.5"),
    Hazard(Use.SCALAR, Use.LANE, 4, "LLVM, checkRWLaneHazards; CDNA3 ISA guide, 4.5"),
    Hazard(Use.SCALAR, Use.DIV_FMAS, 4, "LLVM, checkDivFMasHazards; CDNA3 ISA guide, 4.5"),
    Hazard(Use.EXEC, Use.LANE_EXEC, 4, _VECTOR),
    Hazard(Use.RESULT, Use.LANE_READ, 1, _VECTOR),
    Hazard(Use.RESULT, Use.DPP, 2, "LLVM, checkDPPHazards; CDNA3 ISA guide, 4.5"),
    Hazard(Use.EXEC, Use.DPP_EXEC, 5, "LLVM, checkDPPHazards; CDNA3 ISA guide, 4.5"),
    Hazard(Use.TRANS, Use.PLAIN_READ, 1, _VECTOR),
    Hazard(Use.PART, Use.TOUCH, 1, _VECTOR),
    Hazard(Use.STORED, Use.WRITE, 2, _VECTOR),
    Hazard(Use.M0, Use.DIRECT, 1, "LLVM, checkReadM0Hazards; CDNA3 ISA guide, 4.5"),
)

_NEWER = (
    Hazard(Use.RESULT, Use.SWAP, 2, "LLVM, checkPermlaneHazards"),
    Hazard(Use.EXEC, Use.SWAP_EXEC, 4, "LLVM, checkPermlaneHazards"),
)
