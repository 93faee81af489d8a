"""A block that no size of the manifest has, for a kernel that asks how large its block is.

Whoever reads `blockDim` means to bear several; a manifest has one, mostly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod

from msgspec.structs import replace

from layoutprobe.arch.isa import USER_SGPRS
from layoutprobe.codeobj.model import Kernel
from layoutprobe.errors import UsageError
from layoutprobe.isa.inst import Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.manifest.binding import bind
from layoutprobe.manifest.model import BLOCK, Expression, KernelCase

_SIZES = tuple(f"hidden_group_size_{axis}" for axis in "xyz")
_DWORD, _ADDS = 4, ("s_add_u32", "s_add_co_u32", "s_add_nc_u64")


def other_block(case: KernelCase, kernel: Kernel, insts: Mapping[int, Inst]) -> KernelCase | None:
    """The kernel with a block of half as many waves again, which is no power of two of them; None where it never
    asks for the size of its block, has other blocks in the manifest, or would have to bear more than it may."""
    if BLOCK in case.fixed or not _asks(kernel, (inst for _, inst in sorted(insts.items()))):
        return None
    try:
        blocks = {bind(case, sizes).block for sizes in case.sizes}
    except UsageError:  # it is told where that size is run
        return None
    (count, *rest), *more = blocks
    waves = -(-count // kernel.wavefront_size)
    new = (waves + max(waves // 2, 1)) * kernel.wavefront_size
    if more or prod(rest) != 1 or new > kernel.max_workgroup_size:
        return None
    return replace(case, block=(Expression.of(new), *case.block[1:]))


def _asks(kernel: Kernel, insts: Iterable[Inst]) -> bool:
    """Whether a scalar load takes what the launch says of the size of a block, behind the arguments."""
    wanted = [one.offset for one in kernel.args if one.kind in _SIZES]
    held = _of_arguments(kernel)  # registers with an address of the arguments -> bytes behind the first
    for inst in insts:
        bases = [held[one.index] for one in inst.src if one.kind == "s" and one.index in held]
        if not bases or not inst.dst:
            continue
        numbers = [one.number for one in inst.src if one.number is not None]
        if inst.name in _ADDS and numbers:
            held[inst.dst[0].index] = bases[0] + numbers[0]
        elif Kind.SMEM in inst.kind and Kind.LOAD in inst.kind:
            first = bases[0] + inst.mods.get("offset", 0)
            if any(first <= at < first + _DWORD * inst.dst[0].regs for at in wanted):
                return True
    return False


def _of_arguments(kernel: Kernel) -> dict[int, int]:
    """The scalar register that holds the address of the arguments when a wave begins -> 0; empty without one."""
    at = 0
    for row in USER_SGPRS:
        if kernel.descriptor.properties >> row.bit & 1:
            if row.holds == "kernarg":
                return {at: 0}
            at += row.dwords
    return {}
