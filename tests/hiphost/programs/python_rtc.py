"""hip-python's way to compile at run time: the source, the target that the device names, a launch, a comparison."""

import ctypes
import sys
from typing import Any

import hip as bindings
import numpy as np

hip: Any = bindings.hip  # its types say less than its documentation
hiprtc: Any = bindings.hiprtc
SOURCE = b"""
extern "C" __global__ void saxpy(float a, const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}
"""


def checked(result: tuple[Any, ...]) -> Any:
    status, *values = result
    if int(status):
        sys.exit(f"{status}")
    return values[0] if len(values) == 1 else values


def main() -> None:
    device = checked(hip.hipGetDeviceProperties(0))
    program = checked(hiprtc.hiprtcCreateProgram(SOURCE, b"saxpy", 0, None, None))
    options = [b"--offload-arch=" + device.gcnArchName.encode()]
    checked(hiprtc.hiprtcCompileProgram(program, len(options), options))
    code = bytearray(checked(hiprtc.hiprtcGetCodeSize(program)))
    checked(hiprtc.hiprtcGetCode(program, code))
    module = checked(hip.hipModuleLoadData(code))
    kernel = checked(hip.hipModuleGetFunction(module, b"saxpy"))
    n = 1000
    x, y = np.arange(n, dtype=np.float32), np.ones(n, np.float32)
    on_x, on_y = (checked(hip.hipMalloc(a.nbytes)) for a in (x, y))
    for to, array in ((on_x, x), (on_y, y)):
        checked(hip.hipMemcpy(to, array, array.nbytes, hip.hipMemcpyKind.hipMemcpyHostToDevice))
    arguments = (ctypes.c_float(2), on_x, on_y, ctypes.c_int32(n))
    block = hip.dim3(x=256)
    grid = hip.dim3(x=-(-n // 256))
    checked(
        hip.hipModuleLaunchKernel(
            kernel,
            *(grid.x, grid.y, grid.z, block.x, block.y, block.z),
            sharedMemBytes=0,
            stream=None,
            kernelParams=None,
            extra=arguments,
        )
    )
    checked(hip.hipMemcpy(y, on_y, y.nbytes, hip.hipMemcpyKind.hipMemcpyDeviceToHost))
    print("passed" if np.array_equal(y, 1 + 2 * x) else "failed")


if __name__ == "__main__":
    main()
