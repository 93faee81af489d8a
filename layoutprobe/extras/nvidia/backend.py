"""NVIDIA cards as a backend, through the CUDA driver API and NVIDIA's own Python package."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutprobe.backends.base import Launch, RunResult
from layoutprobe.backends.card import run_on
from layoutprobe.capture.capture import Evidence
from layoutprobe.codeobj.model import CodeObject
from layoutprobe.errors import ExecutionError, UsageError
from layoutprobe.extras.nvidia.names import cuda_runs, of_cuda

INSTALL = "install it with: pip install 'layoutprobe[cuda]'"


class CudaBackend:
    """Runs launches on one NVIDIA card."""

    name = "cuda"

    def __init__(self, device: int = 0) -> None:
        """Choose a card; it is opened by the first launch.

        Args:
            device: its number, as the driver counts.
        """
        self.number = device

    def run(self, launch: Launch) -> RunResult:
        """Run one launch to its end.

        Raises:
            UsageError: there is no driver or no such card, or the code is for another one.
            ExecutionError: the card reports a fault of the kernel.
        """
        self._check_target(launch.code.target)
        return run_on(self, launch, self.evidence)

    @property
    def evidence(self) -> Evidence:
        """What results of this backend rest on."""
        return Evidence("measured", self.device["name"])

    @cached_property
    def device(self) -> Mapping[str, str]:
        """Name, target and driver of the card."""
        raw = self._ask("name the card", "cuDeviceGetName", 128, self._handle)
        version = self._ask("tell its version", "cuDriverGetVersion")
        return {
            "name": raw.split(b"\0")[0].decode("utf-8", "replace").strip(),
            "target": self._target,
            "runtime": f"CUDA driver API {version // 1000}.{version % 1000 // 10}",
        }

    @cached_property
    def _driver(self) -> Any:
        try:
            from cuda.bindings import driver
        except ImportError as missing:
            raise UsageError(
                "NVIDIA's Python package is not here", observed=str(missing), hint=INSTALL
            ) from missing
        try:
            (status,) = driver.cuInit(0)
        except RuntimeError as missing:  # the package finds no libcuda
            status = missing
        if status != driver.CUresult.CUDA_SUCCESS:
            raise UsageError(
                "no NVIDIA card can be used here",
                observed=f"{status!s:.200}",
                hint="see `nvidia-smi`; a capture of somebody else's card can be replayed",
            )
        return driver

    def _ask(self, what: str, call: str, *args: Any) -> Any:
        """The value that a call of the driver returns.

        Raises:
            ExecutionError: the driver refuses; `what` says what was asked.
        """
        status, *values = getattr(self._driver, call)(*args)
        if status != self._driver.CUresult.CUDA_SUCCESS:
            said = str(status).removeprefix("CUresult.")
            raise ExecutionError(f"the NVIDIA driver cannot {what}", observed=said)
        return values[0] if values else None

    @cached_property
    def _handle(self) -> Any:
        count = self._ask("count the cards", "cuDeviceGetCount")
        if not 0 <= self.number < count:
            raise UsageError(f"no NVIDIA card {self.number} here", observed=f"{count} cards, from 0 on")
        device = self._ask("open the card", "cuDeviceGet", self.number)
        context = self._ask("open the card", "cuDevicePrimaryCtxRetain", device)
        self._ask("open the card", "cuCtxSetCurrent", context)
        return device

    @cached_property
    def _target(self) -> str:
        kinds = self._driver.CUdevice_attribute
        parts = [
            self._ask(
                "tell its kind",
                "cuDeviceGetAttribute",
                getattr(kinds, f"CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_{part}"),
                self._handle,
            )
            for part in ("MAJOR", "MINOR")
        ]
        return of_cuda(*parts)

    def _check_target(self, target: str) -> None:
        if not cuda_runs(self._target, target):
            raise UsageError(
                "this card does not run the code", expected=f"a card for {target}", observed=self._target
            )

    # What run_on asks of a card

    def allocate(self, size: int) -> Any:
        """Memory of so many bytes."""
        return self._ask(f"allocate {size} bytes", "cuMemAlloc", size)

    def free(self, pointer: Any) -> None:
        """Give it back."""
        self._driver.cuMemFree(pointer)

    def fill(self, pointer: Any, byte: int, size: int) -> None:
        """Set all bytes."""
        self._ask("fill memory", "cuMemsetD8", pointer, byte, size)

    def upload(self, pointer: Any, data: NDArray[Any]) -> None:
        """Copy a contiguous array to the card."""
        self._ask("copy to the card", "cuMemcpyHtoD", pointer, data.ctypes.data, data.nbytes)

    def download(self, data: NDArray[Any], pointer: Any) -> None:
        """Copy into a contiguous array."""
        self._ask("copy from the card", "cuMemcpyDtoH", data.ctypes.data, pointer, data.nbytes)

    def load(self, code: CodeObject) -> Any:
        """A module."""
        return self._ask("load the code", "cuModuleLoadData", code.image)

    def unload(self, module: Any) -> None:
        """Give it back."""
        self._driver.cuModuleUnload(module)

    def launch(self, module: Any, launch: Launch, args: Sequence[Any]) -> None:
        """Run the kernel to its end."""
        kernel = self._ask("find the kernel", "cuModuleGetFunction", module, launch.kernel.encode())
        values, types = [], []
        for argument in args:
            scalar = isinstance(argument, np.generic)
            values.append(argument.item() if scalar else int(argument))
            types.append(_CTYPES[argument.dtype] if scalar else ctypes.c_void_p)
        extents = (*launch.grid, *launch.block, launch.dynamic_lds)
        self._ask("launch", "cuLaunchKernel", kernel, *extents, 0, (tuple(values), tuple(types)), 0)
        self._ask("finish the kernel", "cuCtxSynchronize")


_CTYPES = {
    np.dtype(np.int32): ctypes.c_int32,
    np.dtype(np.uint32): ctypes.c_uint32,
    np.dtype(np.int64): ctypes.c_int64,
    np.dtype(np.float32): ctypes.c_float,
}
