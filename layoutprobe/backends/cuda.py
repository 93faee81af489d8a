"""NVIDIA cards as a backend, through the CUDA driver API and NVIDIA's own Python package.

What the caller calls undefined memory is launched twice, filled with one pattern and then with its
complement: bits that differ in the end were never written.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutprobe.backends.base import Buffer, Launch, RunResult
from layoutprobe.capture.capture import Evidence
from layoutprobe.errors import ExecutionError, UsageError

INSTALL = "install it with: pip install 'layoutprobe[cuda]'"
_FILLS = (0xA5, 0x5A)


class CudaBackend:
    """Runs launches on one NVIDIA card."""

    name = "cuda"

    def __init__(self, device: int = 0) -> None:
        """Choose a card.

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
        passes = 2 if any(isinstance(a, Buffer) and a.undefined for a in launch.args) else 1
        results = [self._launch(launch, fill) for fill in _FILLS[:passes]]
        undefined: list[NDArray[Any] | None] = [None] * len(launch.args)
        if passes == 2:
            for i, argument in enumerate(launch.args):
                if isinstance(argument, Buffer) and argument.undefined:
                    first, second = (_raw(result[i]) for result in results)
                    undefined[i] = bits if (bits := first ^ second).any() else None
        return RunResult(tuple(results[0]), tuple(undefined), self.evidence)

    @property
    def evidence(self) -> Evidence:
        """What results of this backend rest on."""
        return Evidence("measured", self.device["name"])

    @cached_property
    def device(self) -> Mapping[str, str]:
        """Name, compute capability, and driver of the card."""
        driver = self._driver
        raw = _checked(driver, driver.cuDeviceGetName(128, self._handle), "name the card")
        version = _checked(driver, driver.cuDriverGetVersion(), "tell its version")
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
            _checked(driver, driver.cuInit(0), "start")
        except RuntimeError as missing:  # the package finds no libcuda
            raise UsageError(
                "no NVIDIA driver here", observed=f"{missing!s:.200}", hint="replay a capture instead"
            ) from missing
        return driver

    @cached_property
    def _handle(self) -> Any:
        driver = self._driver
        count = _checked(driver, driver.cuDeviceGetCount(), "count the cards")
        if not 0 <= self.number < count:
            raise UsageError(f"no NVIDIA card {self.number} here", observed=f"{count} cards")
        device = _checked(driver, driver.cuDeviceGet(self.number), "open the card")
        context = _checked(driver, driver.cuDevicePrimaryCtxRetain(device), "open the card")
        _checked(driver, driver.cuCtxSetCurrent(context), "open the card")
        return device

    @cached_property
    def _target(self) -> str:
        driver, wanted = self._driver, self._driver.CUdevice_attribute
        parts = []
        for part in ("MAJOR", "MINOR"):
            attribute = getattr(wanted, f"CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_{part}")
            parts.append(
                _checked(driver, driver.cuDeviceGetAttribute(attribute, self._handle), "tell its kind")
            )
        return f"sm_{parts[0]}{parts[1]}"

    def _check_target(self, target: str) -> None:
        """Code for one card runs on later ones of the same major version, and on no others."""
        here, wanted = (text.removeprefix("sm_").rstrip("af") for text in (self._target, target))
        if not wanted.isdecimal() or here[:-1] != wanted[:-1] or int(here) < int(wanted):
            raise UsageError(
                "this card does not run the code", expected=f"a card for {target}", observed=self._target
            )

    def _launch(self, launch: Launch, fill: int) -> list[NDArray[Any] | None]:
        driver = self._driver
        with self._memory(launch, fill) as (values, types, pointers):
            module = _checked(driver, driver.cuModuleLoadData(launch.code.image), "load the code")
            try:
                kernel = _checked(
                    driver, driver.cuModuleGetFunction(module, launch.kernel.encode()), "find the kernel"
                )
                _checked(
                    driver,
                    driver.cuLaunchKernel(
                        kernel, *launch.grid, *launch.block, launch.dynamic_lds, 0, (values, types), 0
                    ),
                    "launch",
                )
                _checked(driver, driver.cuCtxSynchronize(), "finish the kernel")
                return [
                    None if p is None else self._read(p, a)
                    for p, a in zip(pointers, launch.args, strict=True)
                ]
            finally:
                driver.cuModuleUnload(module)

    @contextmanager
    def _memory(
        self, launch: Launch, fill: int
    ) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...], list[Any]]]:
        """Arguments as the driver takes them: values, C types, and pointers (None for scalars)."""
        driver = self._driver
        pointers: list[Any] = []
        values: list[Any] = []
        types: list[Any] = []
        try:
            for argument in launch.args:
                if not isinstance(argument, Buffer):
                    pointers.append(None)
                    values.append(argument.item())
                    types.append(_CTYPES[argument.dtype])
                    continue
                data = np.ascontiguousarray(argument.data)
                pointer = _checked(driver, driver.cuMemAlloc(max(data.nbytes, 1)), "allocate memory")
                pointers.append(pointer)
                if argument.undefined:
                    _checked(driver, driver.cuMemsetD8(pointer, fill, data.nbytes), "fill memory")
                else:
                    _checked(driver, driver.cuMemcpyHtoD(pointer, data.ctypes.data, data.nbytes), "copy")
                values.append(int(pointer))
                types.append(ctypes.c_void_p)
            yield tuple(values), tuple(types), pointers
        finally:
            for pointer in pointers:
                if pointer is not None:
                    driver.cuMemFree(pointer)

    def _read(self, pointer: Any, argument: Buffer | np.generic) -> NDArray[Any]:
        assert isinstance(argument, Buffer)
        out = np.empty(argument.data.shape, argument.data.dtype)
        _checked(self._driver, self._driver.cuMemcpyDtoH(out.ctypes.data, pointer, out.nbytes), "copy back")
        return out


_CTYPES = {
    np.dtype(np.int32): ctypes.c_int32,
    np.dtype(np.uint32): ctypes.c_uint32,
    np.dtype(np.int64): ctypes.c_int64,
    np.dtype(np.float32): ctypes.c_float,
}


def _raw(array: NDArray[Any] | None) -> NDArray[np.unsignedinteger]:
    assert array is not None
    return array.view(np.dtype(f"u{array.dtype.itemsize}"))


def _checked(driver: Any, answer: tuple[Any, ...], what: str) -> Any:
    """The value behind a call's status."""
    status, *values = answer
    if status != driver.CUresult.CUDA_SUCCESS:
        raise ExecutionError(
            f"the NVIDIA driver cannot {what}", observed=str(status).removeprefix("CUresult.")
        )
    return values[0] if values else None
