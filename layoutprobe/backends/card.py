"""What all cards have in common: arguments go there, the kernel runs, buffers come back.

What the caller calls undefined, memory or some bits of it, is launched twice, filled with one byte and then with its
complement: bits that differ in the end were never written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from layoutprobe.backends.base import Buffer, Launch, RunResult
from layoutprobe.capture.capture import Evidence, raw_bits
from layoutprobe.codeobj.model import CodeObject
from layoutprobe.errors import UsageError

_FILLS = (0xA5, 0x5A)


class Card(Protocol):
    """The few things that a driver is asked for. Handles are the driver's own."""

    def allocate(self, size: int) -> Any:
        """Memory of so many bytes."""

    def free(self, pointer: Any) -> None:
        """Give it back; never raises."""

    def fill(self, pointer: Any, byte: int, size: int) -> None:
        """Set all bytes."""

    def upload(self, pointer: Any, data: NDArray[Any]) -> None:
        """Copy a contiguous array to the card."""

    def download(self, data: NDArray[Any], pointer: Any) -> None:
        """Copy into a contiguous array."""

    def load(self, code: CodeObject) -> Any:
        """A module."""

    def unload(self, module: Any) -> None:
        """Give it back; never raises."""

    def launch(self, module: Any, launch: Launch, args: Sequence[Any]) -> None:
        """Run the kernel to its end; buffers are pointers, scalars as they are in the launch."""


def run_on(card: Card, launch: Launch, evidence: Evidence) -> RunResult:
    """Run one launch to its end.

    Raises:
        ProbeError: whatever the card's driver has to say.
    """
    unset = [
        isinstance(argument, Buffer) and (argument.undefined or argument.bits is not None)
        for argument in launch.args
    ]
    first = _once(card, launch, _FILLS[0])
    undefined: list[NDArray[Any] | None] = [None] * len(unset)
    if any(unset):
        second = _once(card, launch, _FILLS[1])
        for i, (one, other) in enumerate(zip(first, second, strict=True)):
            if unset[i] and one is not None and other is not None:
                bits = raw_bits(one) ^ raw_bits(other)
                undefined[i] = bits if bits.any() else None
    return RunResult(tuple(first), tuple(undefined), evidence)


def _once(card: Card, launch: Launch, fill: int) -> list[NDArray[Any] | None]:
    with ExitStack() as stack:
        args = [stack.enter_context(_placed(card, argument, fill)) for argument in launch.args]
        module = card.load(launch.code)
        stack.callback(card.unload, module)
        card.launch(module, launch, args)
        results: list[NDArray[Any] | None] = []
        for argument, pointer in zip(launch.args, args, strict=True):
            data = np.empty_like(argument.data, order="C") if isinstance(argument, Buffer) else None
            if data is not None:
                card.download(data, pointer)
            results.append(data)
        return results


@contextmanager
def _placed(card: Card, argument: Buffer | np.generic, fill: int) -> Iterator[Any]:
    """The argument as the card takes it."""
    if not isinstance(argument, Buffer):
        yield argument
        return
    if argument.pointers:
        raise UsageError(
            "arrays of pointers in device memory are filled in by the emulator alone",
            where={"argument": argument.name},
        )
    data = np.ascontiguousarray(argument.data)
    pointer = card.allocate(max(data.nbytes, 1))
    try:
        if argument.undefined:
            card.fill(pointer, fill, data.nbytes)
        else:
            card.upload(pointer, data if argument.bits is None else _filled(data, argument.bits, fill))
        yield pointer
    finally:
        card.free(pointer)


def _filled(data: NDArray[Any], bits: NDArray[Any], fill: int) -> NDArray[Any]:
    """Contents of which the undefined bits are those of a fill."""
    unset = np.ascontiguousarray(bits).view(np.uint8)
    known = data.view(np.uint8).reshape(unset.shape) & ~unset
    return np.ascontiguousarray(known | (unset & np.uint8(fill)))
