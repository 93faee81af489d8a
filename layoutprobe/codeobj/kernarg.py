"""What a runtime writes for a launch: the kernarg segment, with explicit and hidden arguments, and the packet.

Source: LLVM AMDGPUUsage, "Code Object V5 Metadata", value kinds of .args; of the packet HSA Runtime Programmer's
Reference Manual 1.2, 2.8.3.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from math import prod

from layoutprobe.codeobj.model import Argument, Kernel
from layoutprobe.errors import UsageError

Extent = tuple[int, int, int]

_PACKET = struct.Struct("<6H5I4Q")
PACKET_BYTES = _PACKET.size
_KERNEL_DISPATCH = 2
"""Type of the packet, in bits 7:0 of its header."""


def segment_bytes(arguments: int) -> int:
    """Room for a kernarg segment and the packet behind it.

    Compilers widen scalar loads past the last argument, up to the segment's alignment of 64.
    """
    return (arguments + 63) // 64 * 64 + 64 + PACKET_BYTES


def dispatch_packet(kernel: Kernel, grid: Extent, block: Extent, lds_size: int, kernarg: int) -> bytes:
    """The packet of a launch; there is no queue, and no signal when it is done.

    Args:
        kernel: that is launched.
        grid: workgroups in x, y, z; the packet counts work-items.
        block: work-items of a workgroup in x, y, z.
        lds_size: bytes of LDS of a workgroup.
        kernarg: address of the arguments.
    """
    items = (count * size for count, size in zip(grid, block, strict=True))
    return _PACKET.pack(
        _KERNEL_DISPATCH,
        _dimensions(grid, block),
        *block,
        0,
        *(count & 0xFFFFFFFF for count in items),
        kernel.scratch_size,
        lds_size,
        0,
        kernarg,
        0,
        0,
    )


def pack_kernarg(
    kernel: Kernel,
    explicit: Sequence[bytes | int],
    grid: Extent,
    block: Extent,
    dynamic_lds: int = 0,
    served: Mapping[str, int] | None = None,
) -> bytes:
    """Lay out the kernarg segment of one launch.

    Args:
        kernel: whose arguments.
        explicit: one value per explicit argument: its raw bytes, or an integer (a pointer, a
            scalar) that fits its size.
        grid: workgroups in x, y, z. All of them are full, so the remainders are 0.
        block: work-items of a workgroup in x, y, z.
        dynamic_lds: bytes of LDS beyond the static allocation.
        served: value kind -> value, of hidden arguments that only a runtime can serve (printf, hostcall,
            heap, queues); the others are null pointers.

    Returns:
        The segment; bytes that belong to no argument are 0.

    Raises:
        UsageError: the values do not fit the kernel's arguments, or the launch the kernel.
    """
    _check_launch(kernel, grid, block, dynamic_lds)
    arguments = kernel.explicit_args
    if len(explicit) != len(arguments):
        raise UsageError(
            f"kernel {kernel.name} takes {len(arguments)} arguments",
            expected=", ".join(f"{_title(a, i)}: {a.size} bytes" for i, a in enumerate(arguments)) or "none",
            observed=f"{len(explicit)} values",
        )
    end = max((a.offset + a.size for a in kernel.args), default=0)
    segment = bytearray(max(end, kernel.kernarg_size, kernel.descriptor.kernarg_size))
    for index, (argument, value) in enumerate(zip(arguments, explicit, strict=True)):
        raw = _encode(argument, index, value)
        segment[argument.offset : argument.offset + argument.size] = raw
    values = {**hidden_values(grid, block, dynamic_lds), **(served or {})}
    for argument in kernel.args:
        if argument.hidden:
            value = values.get(argument.kind, 0) % (1 << 8 * argument.size)
            segment[argument.offset : argument.offset + argument.size] = value.to_bytes(
                argument.size, "little"
            )
    return bytes(segment)


def hidden_values(grid: Extent, block: Extent, dynamic_lds: int) -> dict[str, int]:
    """Value kind -> value, of the hidden arguments that are not 0."""
    values = {"hidden_dynamic_lds_size": dynamic_lds, "hidden_grid_dims": _dimensions(grid, block)}
    for axis, count, size in zip("xyz", grid, block, strict=True):
        values[f"hidden_block_count_{axis}"] = count
        values[f"hidden_group_size_{axis}"] = size
    return values


def _dimensions(grid: Extent, block: Extent) -> int:
    """Dimensions of the launch: 1 to 3, the last one that has more than one work-item."""
    return max((axis + 1 for axis in range(3) if grid[axis] * block[axis] > 1), default=1)


def _check_launch(kernel: Kernel, grid: Extent, block: Extent, dynamic_lds: int) -> None:
    # The ranges are those of the packet and of the hidden arguments: u32, u16, u32.
    for what, extent, limit in (("grid", grid, 1 << 32), ("block", block, 1 << 16)):
        if len(extent) != 3 or not all(0 < size < limit for size in extent):
            raise UsageError(
                f"no such {what}: {extent}",
                where={"kernel": kernel.name},
                expected=f"three extents from 1 to {limit - 1}",
            )
    if prod(block) > kernel.max_workgroup_size:
        raise UsageError(
            "the workgroup is larger than the kernel was compiled for",
            where={"kernel": kernel.name},
            expected=f"at most {kernel.max_workgroup_size} work-items",
            observed=f"{prod(block)} = {' x '.join(map(str, block))}",
            hint="launch smaller workgroups, or compile with a larger __launch_bounds__",
        )
    if not 0 <= dynamic_lds < 1 << 32:
        raise UsageError(f"no such size of dynamic LDS: {dynamic_lds}", where={"kernel": kernel.name})


def _encode(argument: Argument, index: int, value: bytes | int) -> bytes:
    if isinstance(value, int):
        try:
            return value.to_bytes(argument.size, "little", signed=value < 0)
        except OverflowError:
            observed = f"{value}"
    elif len(value) == argument.size:
        return value
    else:
        observed = f"{len(value)} bytes"
    raise UsageError(
        f"a value does not fit {_title(argument, index)}",
        where={"offset": argument.offset, "kind": argument.kind},
        expected=f"{argument.size} bytes",
        observed=observed,
    )


def _title(argument: Argument, index: int) -> str:
    return f"argument {index}" + (f" ({argument.name})" if argument.name else "")
