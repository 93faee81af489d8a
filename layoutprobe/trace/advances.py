"""Findings about a pointer that is moved by a wrong distance, at the instruction that moves it.

Where it shows, at a load or a store, is often far below.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from layoutprobe.isa.inst import Inst, Operand
from layoutprobe.isa.kind import Kind
from layoutprobe.layouts.layout import HOLE
from layoutprobe.manifest.files import ASSEMBLY
from layoutprobe.observe.advances import Advance, AdvanceRecorder, Advances
from layoutprobe.report.finding import Finding, Related, Role
from layoutprobe.solver.suspect import Suspect
from layoutprobe.trace.places import where
from layoutprobe.trace.subject import RunSpec, Subject


def at_batch_advance(subject: Subject, found: Finding, buffer: str, role: Role) -> Finding:
    """A wrong batch stride, at the addition of a wrong distance to the buffer's pointer, where a workgroup was seen
    to make exactly one such.

    Args:
        subject: the kernel.
        found: the finding, at the access.
        buffer: name of the buffer.
        role: what the access does.
    """
    access = found.place
    if access.workgroup is None:
        return found
    alone = frozenset([subject.binding.number_of(access.workgroup)])
    moved = [
        one
        for one in subject.runner(RunSpec("integers", (AdvanceRecorder,), alone=alone)).record(Advances).found
        if one.buffer == f"buffer {buffer}" and _is_wrong(subject, one, buffer)
    ]
    if len(moved) != 1:
        return found
    place = replace(
        where(subject, moved[0].inst), workgroup=access.workgroup, wave=access.wave, matrix=access.matrix
    )
    if not place.line:
        return found
    way = found.related if any(step.place.pc == access.pc for step in found.related) else None
    related = way or (Related(role, access), *found.related)
    return replace(found, place=place, related=related)


def _is_wrong(subject: Subject, advance: Advance, buffer: str) -> bool:
    """It moves the pointer, and not by whole batches."""
    bound = subject.binding.buffers[buffer]
    right = bound.strides[0] * bound.itemsize if len(bound.strides) > 2 else 0
    return advance.by != 0 and (right == 0 or advance.by % right != 0)


_DEEP = 3
"""Steps from an address back to what it is made of."""


class _Pace(Struct, frozen=True):
    """By how many rows (or k) what is accessed moves on from one time to the next, and by how many it should."""

    held: int
    needed: int


def at_step_advance(subject: Subject, found: Finding, suspect: Suspect, role: Role) -> Finding:
    """Elements that are off by more each time, at the addition that moves the address on from one time to the next.

    Args:
        subject: the kernel.
        found: the finding, at the access.
        suspect: what slots hold, and what they need.
        role: what the access does.
    """
    stores = suspect.matrix in "CD"
    pace = _along_registers(suspect) if stores else _along_k(suspect)
    access = next((inst for pc, inst in subject.insts.items() if pc == found.place.pc), None)
    if pace is None or access is None:
        return found
    stride = suspect.strides[suspect.matrix == "A"] * suspect.bits // 8
    moved = _moved_before(subject, access) if stores else _moved_in_loop(subject, access, pace.held * stride)
    if moved is None:
        return found
    place = where(subject, moved)
    if not place.line or place.line == found.place.line:
        return found
    by, unit = pace.held, "row" if stores else "k"
    times = "from store to store" if stores else "from step to step"
    what = f"{found.what}; what its address moves on by at {place.line} makes {by} {unit}{'s' * (stores and by > 1)} "
    here = found.place
    place = replace(place, workgroup=here.workgroup, wave=here.wave, lane=here.lane, matrix=here.matrix)
    way = found.related if any(step.place.pc == here.pc for step in found.related) else None
    return replace(
        found,
        what=f"{what}{times}, and {pace.needed} are needed",
        place=place,
        related=way or (Related(role, here), *found.related),
    )


def _along_k(suspect: Suspect) -> _Pace | None:
    """How k goes on from execution to execution, where all else is right."""
    axes = (suspect.row, suspect.need_row), (suspect.col, suspect.need_col)
    (line, line_needed), (k, needs) = axes if suspect.matrix == "A" else axes[::-1]
    if ((line != line_needed) & suspect.live & (line != HOLE)).any():
        return None
    pairs = {
        (int(need[live].min()), int(held[live].min()))
        for need, held, live in zip(needs, k, suspect.live & (k != HOLE), strict=True)
        if live.any()
    }
    return _pace(sorted(pairs))


def _along_registers(suspect: Suspect) -> _Pace | None:
    """How rows go on from register to register of a lane, where the first one is right in all lanes."""
    held = (suspect.live & (suspect.row != HOLE))[0, :, 0]
    if ((suspect.row - suspect.need_row)[0, :, 0][held]).any():
        return None
    live = suspect.live[0, 0, :, 0]
    rows = zip(
        suspect.need_row[0, 0, :, 0][live].tolist(), suspect.row[0, 0, :, 0][live].tolist(), strict=True
    )
    return _pace(sorted((need, held) for need, held in rows if held != HOLE))


def _pace(pairs: Sequence[tuple[int, int]]) -> _Pace | None:
    """The two paces, where both are even and differ: of (needed, held)."""
    steps = [(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(pairs)]
    if not steps or min(needed for needed, _ in steps) < 1:
        return None
    needed, held = min(steps)
    even = all(one * held == other * needed for one, other in steps)
    return _Pace(held, needed) if even and held not in (0, needed) else None


def _moved_in_loop(subject: Subject, access: Inst, by: int) -> Inst | None:
    """The one addition in the loop around a load that moves its address on by so many bytes. What is compared counts
    the passes, and compilers take it for addresses as well: its line says nothing of these."""
    back = [
        i for i in subject.insts.values() if i.kind & Kind.BRANCH and i.branch_target <= access.pc <= i.pc
    ]
    loop = min(back, key=lambda inst: inst.pc - inst.branch_target, default=None)
    within = [i for i in subject.insts.values() if loop and loop.branch_target <= i.pc <= loop.pc]
    address = {r for operand in _of_address(access) for r in operand.registers()}
    for _ in range(_DEEP):
        made = (i for i in within if i.kind & (Kind.SALU | Kind.VALU) and _written(i) & address)
        address |= {r for inst in made for operand in inst.src for r in operand.registers()}
    adds = [inst for inst in within if _adds_to_itself(inst) & address]
    fits = [inst for inst in adds if by in (operand.number for operand in inst.src)]
    compared = {r for i in within if "_cmp" in i.name for operand in i.src for r in operand.registers()}
    return fits[0] if len(fits) == 1 and not _adds_to_itself(fits[0]) & compared else None


def _moved_before(subject: Subject, access: Inst) -> Inst | None:
    """The last addition to the register that says where a store goes; in assembly, what makes what it adds:
    what a compiler makes of an index may lie anywhere."""
    above = sorted((i for i in subject.insts.values() if i.pc < access.pc), key=lambda inst: inst.pc)
    address = {r for operand in _of_address(access) for r in operand.registers()}
    add = next((inst for inst in reversed(above) if _adds_to_itself(inst) & address), None)
    if add is None or subject.case.source is None or subject.case.source.suffix.lower() not in ASSEMBLY:
        return add
    others = {r for operand in add.src for r in operand.registers()} - _adds_to_itself(add)
    made = next((inst for inst in reversed(above) if inst.pc < add.pc and others & _written(inst)), None)
    return made if made is not None and made.kind & (Kind.SALU | Kind.VALU) else add


def _of_address(access: Inst) -> tuple[Operand, ...]:
    """Operands that say where: what is stored is no address."""
    return (access.src[0], access.src[-1])


def _adds_to_itself(inst: Inst) -> set[int]:
    """Registers to which an instruction adds something; the high half of an address goes with the low one."""
    if not inst.name.startswith(("v_add_nc_u32", "v_add_co_u32", "v_add_u32", "s_add_u32", "s_add_i32")):
        return set()
    return _written(inst) & {r for operand in inst.src for r in operand.registers()}


def _written(inst: Inst) -> set[int]:
    return {r for operand in inst.dst[:1] for r in operand.registers()}
