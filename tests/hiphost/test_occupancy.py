"""What a program is told of occupancy is what `layoutprobe occupancy` says of the kernel's own figures."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutprobe.arch import occupancy, resources
from layoutprobe.extras.hiphost.device import EmulatedDevice, HipError
from layoutprobe.toolchain.compile import compile_hip

HUNGRY = """
#include <hip/hip_runtime.h>
extern "C" __global__ __launch_bounds__(BOUND) void hungry(int *out) {
  __shared__ int tile[1024];
  tile[threadIdx.x] = threadIdx.x;
  __syncthreads();
  asm volatile("; a block may be too large for the registers of a unit" ::: LAST);
  out[threadIdx.x] = tile[BOUND - 1 - threadIdx.x];
}
"""
"""Takes all registers up to LAST."""


@pytest.mark.parametrize(
    ("target", "bound", "last"),
    [
        ("gfx1151", 1024, "v40"),
        ("gfx1151", 1024, "v100"),
        ("gfx1151", 256, "v230"),
        ("gfx942", 512, "v40"),
        ("gfx942", 256, "a90"),
    ],
)
def test_queries_agree_with_the_command(tmp_path: Path, target: str, bound: int, last: str) -> None:
    """Every block, with two amounts of dynamic LDS; the best block is the best of all."""
    source = tmp_path / "hungry.hip"
    source.write_text(HUNGRY)
    code = compile_hip(source, target=target, defines={"BOUND": str(bound), "LAST": f'"{last}"'}).data
    device = EmulatedDevice(target)
    try:
        id, function = device.function(device.load(code), "hungry")
        kernel, unified = function.kernel, resources(target).unified
        vgprs = min(kernel.vgprs, 256)
        assert kernel.vgprs > int(last[1:]), "the registers are taken"
        for dynamic in (0, 20_000):
            room = {
                items: occupancy(
                    target,
                    vgprs,
                    agprs=kernel.vgprs - vgprs if unified else 0,
                    lds=4096 + dynamic,
                    workgroup=items,
                    wave=kernel.wavefront_size,
                ).workgroups
                or 0
                for items in range(kernel.wavefront_size, bound + 1, kernel.wavefront_size)
            }
            assert {items: device.blocks_per_unit(id, items, dynamic) for items in room} == room
            blocks, best = device.best_block(id, dynamic, 0)
            assert blocks == room[best]
            assert blocks * best == max(blocks * items for items, blocks in room.items())
            assert device.best_block(id, dynamic, 100)[1] <= 100
        with pytest.raises(HipError, match="hipErrorInvalidValue"):
            device.blocks_per_unit(id, 64, 1 << 20)
    finally:
        device.close()
