"""AMD cards as a backend, through the HIP runtime and AMD's own Python package.

hip-python loads libamdhip64 when its first function is called, so that everything that is missing shows
there, as one of the messages below.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.backends.base import Launch, RunResult
from layoutprobe.backends.card import run_on
from layoutprobe.capture.capture import Evidence
from layoutprobe.codeobj.model import CodeObject, Kernel
from layoutprobe.errors import ExecutionError, ProbeError, UsageError

INSTALL = "install it with: pip install 'layoutprobe[hip]'"
TIMEOUT = 30.0
EMULATED = "layoutprobe emulator"
"""A device whose name starts so is no card (hiphost): what comes from it was not measured."""

_END, _BUFFER, _SIZE = 3, 1, 2
"""HIP_LAUNCH_PARAM_END, _BUFFER_POINTER, _BUFFER_SIZE of hip_runtime_api.h."""
_LONGEST_NAP = 0.02


class _Card(Struct, frozen=True):
    """A card as the runtime describes it; `target` without features."""

    number: int
    name: str
    target: str

    def __str__(self) -> str:
        return f"{self.number}: {self.name} ({self.target})"


class HipBackend:
    """Runs launches on one AMD card."""

    name = "hip"

    def __init__(self, device: int | None = None, timeout: float = TIMEOUT) -> None:
        """Choose a card; it is opened by the first launch.

        Args:
            device: its number, as the runtime counts; None: the only one that runs the code.
            timeout: seconds that a kernel may take.
        """
        self.number = device
        self.timeout = timeout
        self._card: _Card | None = None
        self._lost = ""

    def run(self, launch: Launch) -> RunResult:
        """Run one launch to its end.

        Raises:
            UsageError: there is no ROCm, no such card, or the code is for another one.
            ExecutionError: the runtime reports a fault of the kernel, or the kernel does not end. The
                card cannot be used by this process any more.
        """
        if self._lost:
            raise ExecutionError(
                "the card was lost by an earlier kernel of this process", observed=self._lost, hint=_AGAIN
            )
        self._card = self._choose(launch.code.target)
        self._ask("open the card", "hipSetDevice", self._card.number)
        return run_on(self, launch, self.evidence)

    @property
    def evidence(self) -> Evidence:
        """What results of this backend rest on."""
        name = self.device["name"]
        return Evidence("emulated" if name.startswith(EMULATED) else "measured", name)

    @property
    def device(self) -> Mapping[str, str]:
        """Name, target, runtime and driver of the card."""
        card = self._card or self._choose("")
        return {"name": card.name, "target": card.target, **self._versions}

    @cached_property
    def _versions(self) -> Mapping[str, str]:
        runtime = self._ask("tell its version", "hipRuntimeGetVersion")
        driver = self._ask("tell its driver's version", "hipDriverGetVersion")
        return {"runtime": f"HIP runtime {_version(runtime)}", "driver": _version(driver)}

    @cached_property
    def _hip(self) -> Any:
        try:
            from hip import hip as module
        except ImportError as missing:
            raise UsageError(
                "AMD's Python package for HIP is not here", observed=str(missing), hint=INSTALL
            ) from missing
        hip: Any = module
        try:
            (status,) = hip.hipInit(0)
        except RuntimeError as missing:  # it finds no libamdhip64, or one without this function
            raise UsageError(
                "ROCm is not here: its HIP runtime, libamdhip64.so, cannot be loaded",
                observed=f"{missing!s:.300}",
                hint="install ROCm, or name its lib folder in LD_LIBRARY_PATH; "
                "a capture of somebody else's card can be replayed",
            ) from missing
        if status != hip.hipError_t.hipSuccess:
            raise _translated("start", status.name)
        return hip

    def _ask(self, what: str, call: str, *args: Any) -> Any:
        """The value that a call of the runtime returns.

        Raises:
            ProbeError: the runtime refuses; `what` says what was asked.
        """
        hip = self._hip
        try:
            status, *values = getattr(hip, call)(*args)
        except RuntimeError as missing:  # this libamdhip64 has no such function
            raise UsageError(
                f"the HIP runtime cannot {what}: it has no {call}", observed=f"{missing!s:.300}", hint=_UPDATE
            ) from missing
        if status != hip.hipError_t.hipSuccess:
            raise _translated(what, status.name)
        return values[0] if values else None

    @cached_property
    def _cards(self) -> Sequence[_Card]:
        count = self._ask("count the cards", "hipGetDeviceCount")
        return [self._describe(number) for number in range(count)]

    def _describe(self, number: int) -> _Card:
        """hip-python makes the structure since version 10; before, it is handed one."""
        try:
            properties = self._ask("describe a card", "hipGetDeviceProperties", number)
        except TypeError:
            properties = self._hip.hipDeviceProp_t()
            self._ask("describe a card", "hipGetDeviceProperties", properties, number)
        return _Card(number, _text(properties.name), _text(properties.gcnArchName).split(":")[0])

    def _choose(self, target: str) -> _Card:
        """The card to use for code of a target; "": whatever code.

        Raises:
            UsageError: there is none, or nobody said which of several.
        """
        cards = self._cards
        if not cards:
            raise _translated("count the cards", "hipErrorNoDevice")
        listed = "; ".join(map(str, cards))
        if self.number is not None and not 0 <= self.number < len(cards):
            raise UsageError(f"no AMD card {self.number} here", expected=f"one of: {listed}")
        fitting = [card for card in cards if self.number in (None, card.number)]
        fitting = [card for card in fitting if target in ("", card.target)]
        if not fitting:
            asked = cards if self.number is None else [cards[self.number]]
            raise UsageError(
                "this card does not run the code" if len(asked) == 1 else "no card here runs the code",
                expected=f"a card for {target}",
                observed="; ".join(map(str, asked)),
                hint="compile for the arch of the card, or choose another device",
            )
        if len(fitting) > 1:
            raise UsageError(
                "several cards here run the code, and none was chosen",
                observed=listed,
                hint=f"choose a device by its number, such as {fitting[0].number}",
            )
        return fitting[0]

    # What run_on asks of a card

    def allocate(self, size: int) -> Any:
        """Memory of so many bytes."""
        return self._ask(f"allocate {size} bytes", "hipMalloc", size)

    def free(self, pointer: Any) -> None:
        """Give it back; not to a lost card, where hipFree would wait for the kernel for ever."""
        if not self._lost:
            self._hip.hipFree(pointer)

    def fill(self, pointer: Any, byte: int, size: int) -> None:
        """Set all bytes."""
        self._ask("fill memory", "hipMemset", pointer, byte, size)

    def upload(self, pointer: Any, data: NDArray[Any]) -> None:
        """Copy a contiguous array to the card."""
        kind = self._hip.hipMemcpyKind.hipMemcpyHostToDevice
        self._ask("copy to the card", "hipMemcpy", pointer, data.ctypes.data, data.nbytes, kind)

    def download(self, data: NDArray[Any], pointer: Any) -> None:
        """Copy into a contiguous array."""
        kind = self._hip.hipMemcpyKind.hipMemcpyDeviceToHost
        self._ask("copy from the card", "hipMemcpy", data.ctypes.data, pointer, data.nbytes, kind)

    def load(self, code: CodeObject) -> Any:
        """A module."""
        return self._ask("load the code object", "hipModuleLoadData", code.image)

    def unload(self, module: Any) -> None:
        """Give it back."""
        if not self._lost:
            self._hip.hipModuleUnload(module)

    def launch(self, module: Any, launch: Launch, args: Sequence[Any]) -> None:
        """Run the kernel to its end, on a stream of its own."""
        segment = _packed(launch.code.kernel(launch.kernel), args)
        kernel = self._ask("find the kernel", "hipModuleGetFunction", module, launch.kernel.encode())
        size = ctypes.c_size_t(len(segment))
        held = ctypes.create_string_buffer(segment, max(len(segment), 1))
        extra = (ctypes.c_void_p * 5)(_BUFFER, ctypes.addressof(held), _SIZE, ctypes.addressof(size), _END)
        stream = self._ask("make a stream", "hipStreamCreate")
        try:
            extents = (*launch.grid, *launch.block, launch.dynamic_lds)
            address = ctypes.addressof(extra)
            self._ask("launch", "hipModuleLaunchKernel", kernel, *extents, stream, None, address)
            try:
                self._wait(stream)
            except ExecutionError as error:
                self._lost = error.what
                raise
        finally:
            if not self._lost:
                self._hip.hipStreamDestroy(stream)

    def _wait(self, stream: Any) -> None:
        """Wait for a stream, and not longer than the timeout.

        Raises:
            ExecutionError: the kernel failed, or has not ended.
        """
        errors = self._hip.hipError_t
        deadline, nap = time.monotonic() + self.timeout, 1e-4
        while True:
            (status,) = self._hip.hipStreamQuery(stream)
            if status == errors.hipSuccess:
                return
            if status != errors.hipErrorNotReady:
                raise _translated("finish the kernel", status.name)
            if time.monotonic() > deadline:
                raise ExecutionError(
                    f"the kernel has not ended within {self.timeout:g} s",
                    hint="a kernel that hangs cannot be stopped from here: it keeps the card until the "
                    "driver resets it. Run the kernel on the emulator, which says where it loops",
                    kind="time",
                )
            time.sleep(nap)
            nap = min(2 * nap, _LONGEST_NAP)


def _packed(kernel: Kernel, args: Sequence[Any]) -> bytes:
    """Explicit arguments as the kernel's metadata places them; the runtime adds the hidden ones.

    Raises:
        UsageError: the values are not those that the kernel takes.
    """
    values = [a.tobytes() if isinstance(a, np.generic) else int(a).to_bytes(8, "little") for a in args]
    places = kernel.explicit_args
    if [len(value) for value in values] != [place.size for place in places]:
        raise UsageError(
            f"the arguments do not fit kernel {kernel.name}",
            expected=f"{len(places)} of {', '.join(str(place.size) for place in places)} bytes",
            observed=f"{len(values)} of {', '.join(str(len(value)) for value in values)} bytes",
        )
    segment = bytearray(max((place.offset + place.size for place in places), default=0))
    for place, value in zip(places, values, strict=True):
        segment[place.offset : place.offset + place.size] = value
    return bytes(segment)


def _text(raw: bytes | str) -> str:
    """C strings are bytes before hip-python 10."""
    return (raw.split(b"\0")[0].decode("utf-8", "replace") if isinstance(raw, bytes) else raw).strip()


def _version(number: int) -> str:
    """7.2.53211 of 70253211."""
    return f"{number // 10**7}.{number // 10**5 % 100}.{number % 10**5}"


_AGAIN = "start again; if that does not help, the card needs a reset: see the kernel's log (dmesg)"
_UPDATE = "update ROCm and the amdgpu driver; AMD's compatibility table says which version knows the card"
_WHERE = "run it on the emulator: it names the source line and the lane"
_REFUSED = "the HIP runtime refuses the code object: it may be too old for the card or for the compiler"

_MEANINGS: Mapping[str, tuple[type[ProbeError], str, str]] = {
    "hipErrorNoDevice": (
        UsageError,
        "no AMD card can be used here",
        "see `rocminfo`; /dev/kfd must be readable (groups render and video), and ROCm must know the card",
    ),
    "hipErrorInvalidDevice": (UsageError, "no such AMD card here", "see `rocminfo`"),
    "hipErrorInsufficientDriver": (UsageError, "the amdgpu driver is too old for this ROCm", _UPDATE),
    "hipErrorOutOfMemory": (
        ExecutionError,
        "the card's memory is full",
        "end other programs that use the card",
    ),
    "hipErrorIllegalAddress": (ExecutionError, "the kernel accessed memory outside every allocation", _WHERE),
    "hipErrorLaunchTimeOut": (ExecutionError, "the driver stopped the kernel: it took too long", _WHERE),
    "hipErrorAssert": (ExecutionError, "an assertion of the kernel failed", _WHERE),
    **dict.fromkeys(
        ("hipErrorLaunchFailure", "hipErrorUnknown", "hipErrorDeinitialized", "hipErrorContextIsDestroyed"),
        (ExecutionError, "the card was lost", _AGAIN),
    ),
    **dict.fromkeys(
        ("hipErrorInvalidConfiguration", "hipErrorLaunchOutOfResources"),
        (
            ExecutionError,
            "the card cannot launch the kernel so: too many work-items, registers or LDS",
            _WHERE,
        ),
    ),
    **dict.fromkeys(
        (
            "hipErrorNoBinaryForGpu",
            "hipErrorInvalidImage",
            "hipErrorInvalidKernelFile",
            "hipErrorInvalidSource",
            "hipErrorInvalidDeviceFunction",
            "hipErrorSharedObjectInitFailed",
        ),
        (UsageError, _REFUSED, _UPDATE),
    ),
}


def _translated(what: str, status: str) -> ProbeError:
    """A status of HIP in words."""
    unknown = (ExecutionError, f"the HIP runtime cannot {what}", "see AMD's documentation of the error")
    kind, words, hint = _MEANINGS.get(status, unknown)
    return kind(words, where={"asked to": what}, observed=status, hint=hint)
