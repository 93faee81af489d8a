"""tinygrad's own HIP backend as a host program: its allocator, its launches, its kernels.

Two things are missing without ROCm, and are put in here: where the library is (tinygrad does not ask the
loader), and a compiler (AMD's comgr, with the two device functions that tinygrad calls).
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

os.environ["DEV"] = "HIP"
os.environ["PARALLEL"] = "0"  # workers of its own would not have the compiler
os.environ["HIP_PATH"] = os.environ["LD_LIBRARY_PATH"].split(":")[0] + "/libamdhip64.so"

import numpy as np
from tinygrad import Device, Tensor, dtypes
from tinygrad.device import Compiler
from tinygrad.runtime.support import compiler_amd

from layoutprobe.toolchain.compile import compile_hip

DEVICE_LIBRARY = """
#define PICK(what) d == 0 ? __builtin_amdgcn_##what##_x() : d == 1 ? __builtin_amdgcn_##what##_y() : \\
  __builtin_amdgcn_##what##_z()
#define DEVICE extern "C" __attribute__((device, const)) unsigned long
DEVICE __ockl_get_local_id(unsigned d) { return PICK(workitem_id); }
DEVICE __ockl_get_group_id(unsigned d) { return PICK(workgroup_id); }
"""


class Clang(Compiler):  # type: ignore[misc]  # tinygrad has no types
    def __init__(self, arch: str) -> None:
        self.arch = arch
        super().__init__(None)

    def compile(self, src: str) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "kernel.hip"
            path.write_text(src + DEVICE_LIBRARY)
            return compile_hip(path, target=self.arch, flags=("-w",)).data


def main() -> None:
    compiler_amd.HIPCompiler = Clang
    rng = np.random.default_rng(0)
    a = rng.integers(-8, 8, (64, 48)).astype(np.float16)
    b = rng.integers(-8, 8, (48, 32)).astype(np.float16)
    product = (Tensor(a).matmul(Tensor(b), dtype=dtypes.float) + 1).relu()
    expected = np.maximum(a.astype(np.float32) @ b.astype(np.float32) + 1, 0)
    assert np.array_equal(product.numpy(), expected)
    assert np.array_equal(product.sum(axis=1).numpy(), expected.sum(1))
    assert np.array_equal(product.T.contiguous().max(axis=1).numpy(), expected.max(0))
    print(f"tinygrad on {Device['HIP'].arch}: as expected")


if __name__ == "__main__":
    main()
