"""From a launch to waves: kernel arguments, memory regions, and the state that a wave starts in.

The initial state is as the target's `LaunchAbi` says (LLVM AMDGPUUsage, "Initial Kernel Execution State").
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.arch import MAX_WORKGROUP, resources
from layoutprobe.arch.isa import LaunchAbi
from layoutprobe.brief import brief
from layoutprobe.codeobj.kernarg import PACKET_BYTES, Extent, dispatch_packet, segment_bytes
from layoutprobe.codeobj.model import CodeObject, Kernel
from layoutprobe.errors import UsageError
from layoutprobe.isa.dialect import isa_of
from layoutprobe.isa.inst import EXEC_HI, EXEC_LO, VGPR0
from layoutprobe.machine.cohort import Cohort, pack_mask
from layoutprobe.machine.machine import LaunchFacts, Machine, Waves
from layoutprobe.machine.memory import BASE_ADDRESS, Arena, ArenaPlan, Region, address
from layoutprobe.machine.registers import POISON, RegisterFile

MAX_MEMORY = 8 << 30
"""Bytes that buffers may take; a launch that wants more is refused."""
MAX_IMAGE = 256 << 20
MAX_WORKGROUPS = 1 << 24
MAX_BATCH_BYTES = 1 << 30
"""Bytes that registers, scratch and LDS of the waves that run together may take."""
BATCH_WAVES = 512
"""Waves that run together. More saves interpretation, fewer stay in the caches."""

_HOST_SERVICES = ("hidden_printf_buffer", "hidden_hostcall_buffer", "hidden_heap_v1")
"""Arguments that are null pointers here. Kernels compiled without optimisation have them and never
use them, so that having them is no reason to refuse a kernel. The same holds for the queue."""
_QUEUE = 2
"""Bit of the kernel code properties that asks for a pointer to the queue, of which there is none."""


class GlobalBuffer(Struct, frozen=True):
    """A buffer argument before it has an address."""

    name: str
    size: int
    data: bytes | NDArray[np.uint8]
    undefined: bool
    writable: bool = True

    __repr__ = brief


class GlobalMemory(Struct, frozen=True, eq=False):
    """The arena of a launch and where everything lies in it.

    Attributes:
        arena: global memory.
        buffers: one region per buffer.
        kernarg: the kernel's arguments, and at its end the dispatch packet; see `codeobj.kernarg.segment_bytes`.
        image: arena offset of code address 0.
    """

    arena: Arena
    buffers: tuple[Region, ...]
    kernarg: Region
    image: int


def place_memory(code: CodeObject, buffers: list[GlobalBuffer], kernarg_size: int) -> GlobalMemory:
    """Lay out global memory and load the code object's image.

    Raises:
        UsageError: the buffers are too large.
    """
    total = sum(b.size for b in buffers)
    if total > MAX_MEMORY:
        raise UsageError(f"the launch needs {total} bytes of buffers", expected=f"at most {MAX_MEMORY}")
    span = max((s.address + s.size for s in code.segments), default=0)
    if span > MAX_IMAGE:
        raise UsageError(f"the code object's image spans {span} bytes", expected=f"at most {MAX_IMAGE}")
    plan = ArenaPlan()
    regions = tuple(plan.add(b.name, b.size, writable=b.writable) for b in buffers)
    kernarg = plan.add("the kernel arguments", segment_bytes(kernarg_size), writable=False)
    parts = [(f"the code object at {s.address:#x}", s.address, s.size, s.writable) for s in code.segments]
    placed = plan.add_image(parts)
    undefined = [region for region, buffer in zip(regions, buffers, strict=True) if buffer.undefined]
    arena = plan.build(regions, undefined)
    for region, buffer in zip(regions, buffers, strict=True):
        arena.fill(region, buffer.data, undefined=buffer.undefined)
    return GlobalMemory(arena, regions, kernarg, load_image(code, arena, placed))


def load_image(code: CodeObject, arena: Arena, placed: list[Region]) -> int:
    """Fill the regions of a code object's segments; the arena offset of code address 0."""
    image = placed[0].start - code.segments[0].address if placed else 0
    for region, segment in zip(placed, code.segments, strict=True):
        arena.fill(region, segment.data)
    for relocation in code.relocations:
        at = image + relocation.address
        value = (BASE_ADDRESS + image + relocation.value) & 0xFFFF_FFFF_FFFF_FFFF
        arena.data.bytes[at : at + 8] = np.frombuffer(value.to_bytes(8, "little"), np.uint8)
    return image


def facts_of(kernel: Kernel, memory: GlobalMemory, arithmetic: str) -> LaunchFacts:
    """The facts of a launch that instructions can tell."""
    properties = kernel.descriptor.properties
    services = [a.kind for a in kernel.args if a.kind in _HOST_SERVICES]
    mode = kernel.descriptor.rsrc1 >> 12 & 0xFF
    queue = ["the queue"] if properties >> _QUEUE & 1 else []
    return LaunchFacts(memory.image, arithmetic, (*services, *queue), kernel.uses_dynamic_stack, mode)


def write_packet(memory: GlobalMemory, kernel: Kernel, grid: Extent, block: Extent, lds_size: int) -> None:
    """Put the dispatch packet where waves will find it."""
    packet = dispatch_packet(kernel, grid, block, lds_size, address(memory.kernarg))
    memory.arena.fill(_packet(memory.kernarg), packet)


def _packet(kernarg: Region) -> Region:
    return Region("the dispatch packet", kernarg.end - PACKET_BYTES, kernarg.end, False)


def wave_bytes(code: CodeObject, kernel: Kernel, lds_size: int) -> int:
    """Memory that one wave takes while it runs, at most: registers, scratch and LDS, with shadows."""
    vgprs = vgpr_count(code, kernel) * kernel.wavefront_size * 4
    scratch = kernel.scratch_size * kernel.wavefront_size
    return 2 * (vgprs + scratch + lds_size)


def vgpr_count(code: CodeObject, kernel: Kernel) -> int:
    """VGPRs that the descriptor allocates to a wave.

    Raises:
        UsageError: the target's registers are not known, or it has no waves of the kernel's size.
    """
    files = resources(code.target).vgprs
    if kernel.wavefront_size not in files:
        raise UsageError(
            f"{code.target} has no waves of {kernel.wavefront_size} lanes",
            where={"kernel": kernel.name},
            expected=" or ".join(str(size) for size in files) + " lanes",
        )
    return ((kernel.descriptor.rsrc1 & 63) + 1) * files[kernel.wavefront_size].encoded


def batches(
    grid: Extent,
    waves_per_group: int,
    bytes_per_wave: int,
    most: int = BATCH_WAVES,
    watched: frozenset[int] = frozenset(),
    *,
    others: bool = True,
) -> Iterator[tuple[NDArray[np.int64], bool]]:
    """Workgroup ids in batches of `most` waves or one workgroup: int64 [workgroup, 3], x fastest; and whether they
    are watched: those whose numbers are among `watched`, which come first, or all where that is empty; without
    `others` there are no more than those.

    Raises:
        UsageError: the grid, or one workgroup of it, is too large to emulate.
    """
    total = grid[0] * grid[1] * grid[2]
    if bytes_per_wave * waves_per_group > MAX_BATCH_BYTES:
        raise UsageError(
            f"one workgroup needs {bytes_per_wave * waves_per_group} bytes of registers, scratch and LDS",
            expected=f"at most {MAX_BATCH_BYTES}",
            hint="the kernel's descriptor asks for too much scratch",
        )
    if total > MAX_WORKGROUPS:
        raise UsageError(f"a grid of {total} workgroups", expected=f"at most {MAX_WORKGROUPS}",
                         hint="probe a smaller problem: the layout does not depend on its size")  # fmt: skip
    waves = min(most, MAX_BATCH_BYTES // max(bytes_per_wave, 1))
    step = max(1, waves // waves_per_group)
    if not watched:  # there may be millions
        for first in range(0, total, step):
            yield _ids(np.arange(first, min(first + step, total)), grid), True
        return
    chosen = np.isin(np.arange(total), list(watched))
    for these in (True, False) if others else (True,):
        mine = np.flatnonzero(chosen == these)
        for first in range(0, mine.size, step):
            yield _ids(mine[first : first + step], grid), these


def _ids(numbers: NDArray[np.int64], grid: Extent) -> NDArray[np.int64]:
    return np.stack([numbers % grid[0], numbers // grid[0] % grid[1], numbers // (grid[0] * grid[1])], axis=1)


def make_waves(group_ids: NDArray[np.int64], waves_per_group: int) -> Waves:
    """The waves of a batch of workgroups, workgroup by workgroup."""
    count = len(group_ids)
    return Waves(
        np.repeat(np.arange(count), waves_per_group),
        np.tile(np.arange(waves_per_group), count),
        np.repeat(group_ids, waves_per_group, axis=0),
    )


def check_launchable(kernel: Kernel, block: Extent, lds_size: int, lds_limit: int) -> None:
    """Refuse in words what the emulator or the hardware cannot launch.

    Raises:
        UsageError: too much LDS, an empty or too large workgroup.
    """
    if lds_size > lds_limit:
        raise UsageError(f"the workgroup needs {lds_size} bytes of LDS", where={"kernel": kernel.name},
                         expected=f"at most {lds_limit}")  # fmt: skip
    items = block[0] * block[1] * block[2]
    if not 1 <= items <= MAX_WORKGROUP:
        raise UsageError(f"a workgroup of {items} work-items", expected=f"1 to {MAX_WORKGROUP}")


def start_cohort(
    machine: Machine, code: CodeObject, kernel: Kernel, block: Extent, kernarg: Region
) -> Cohort:
    """All waves of the batch at the kernel's entry, with the registers that hardware sets up."""
    count = machine.waves.workgroup.size
    vgprs, lanes = vgpr_count(code, kernel), kernel.wavefront_size
    regs = RegisterFile.filled(vgprs, count, lanes, POISON)
    shadow = RegisterFile.filled(vgprs, count, lanes, 0xFFFFFFFF)
    undef = (1 << VGPR0 + vgprs) - 1
    for register, value in initial_values(machine, code, kernel, block, kernarg):
        target, mask = (regs.u, shadow.u) if register >= VGPR0 else (regs.su, shadow.su)
        index = register - VGPR0 if register >= VGPR0 else register
        target[index][...] = value
        mask[index][...] = 0
        undef &= ~(1 << register)
    if machine.defined:
        undef, shadow = 0, RegisterFile.filled(vgprs, count, lanes, 0)
    return Cohort(machine, kernel.entry, np.arange(count), regs, shadow, undef)


def initial_values(
    machine: Machine, code: CodeObject, kernel: Kernel, block: Extent, kernarg: Region
) -> Iterator[tuple[int, Any]]:
    """The registers that hardware sets up, and their values: uint32 [wave, 1] or one for all, of v0 [wave, lane]."""
    waves, lanes = machine.waves, kernel.wavefront_size
    abi = isa_of(code, kernel).launch
    yield from _user_sgprs(abi, kernel, kernarg)
    for register, ids in _workgroup_ids(abi, waves, kernel):
        yield register, ids[:, None].astype(np.uint32)
    items = waves.index[:, None] * lanes + np.arange(lanes)
    yield VGPR0, _work_item_ids(abi, items, block, kernel.descriptor.rsrc2 >> 11 & 3)
    size = block[0] * block[1] * block[2]
    active = pack_mask(items < size)
    yield EXEC_LO, active[:, :1]
    yield EXEC_HI, active[:, 1:] if lanes == 64 else 0


def _workgroup_ids(abi: LaunchAbi, waves: Waves, kernel: Kernel) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Scalar registers that hold the ids of the workgroup: [wave]."""
    x, y, z = waves.group_id.T
    known = {"x": x, "y": y, "z": z, "wave": waves.index}
    behind = kernel.descriptor.user_sgprs
    for row in abi.ids:
        if row.bit is not None and not kernel.descriptor.rsrc2 >> row.bit & 1:
            continue
        packed = np.zeros_like(x)
        for name, shift in row.ids.items():
            packed |= known[name] << shift
        yield behind if row.register is None else row.register, packed
        behind += row.register is None


def _user_sgprs(abi: LaunchAbi, kernel: Kernel, kernarg: Region) -> Iterator[tuple[int, int]]:
    """Values of the user SGPRs, in the order in which the descriptor enables them."""
    held = {
        "kernarg": _halves(address(kernarg)),
        "packet": _halves(address(_packet(kernarg))),
        "null": (0, 0),  # see facts_of
        "scratch": (kernel.scratch_size,),
        "": (),
    }
    at = 0
    for row in abi.user_sgprs:
        if kernel.descriptor.properties >> row.bit & 1:
            yield from enumerate(held[row.holds], at)
            at += row.dwords


def _halves(pointer: int) -> tuple[int, int]:
    return pointer & 0xFFFFFFFF, pointer >> 32


def _work_item_ids(
    abi: LaunchAbi, items: NDArray[np.int64], block: Extent, dimensions: int
) -> NDArray[np.uint32]:
    """v0: x, and y and z as far as the descriptor asks for them."""
    ids = (items % block[0], items // block[0] % block[1], items // (block[0] * block[1]))
    packed = np.zeros_like(items)
    for axis, own in zip("xyz"[: dimensions + 1], ids, strict=False):
        packed |= own << abi.work_item[axis]
    return packed.astype(np.uint32)
