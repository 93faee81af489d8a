"""Launches that come before a kernel, on the buffers that they share with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe.backends.base import Buffer, Launch, WatchedBackend
from layoutprobe.errors import ExecutionError
from layoutprobe.gate.build import Built
from layoutprobe.machine.observer import Observer
from layoutprobe.manifest.binding import Binding, bind
from layoutprobe.manifest.model import Argument
from layoutprobe.numbers import element_type

Held = Mapping[str, Buffer]
"""What buffers hold, by the names of arguments."""


def run_before(
    builts: Sequence[Built],
    binding: Binding,
    held: Held,
    factors: tuple[float, float],
    backend: WatchedBackend,
    observers: Sequence[Observer],
    fields: Sequence[Mapping[str, Any]] = (),
) -> Held:
    """What the launches before a kernel leave in the buffers.

    Args:
        builts: their code, in order.
        binding: the kernel that comes after them.
        held: what the buffers hold before the first.
        factors: alpha and beta of the run.
        backend: where they run.
        observers: of each.
        fields: what is otherwise in the launch of each.

    Raises:
        ExecutionError: a fault of one of them, which the message names.
    """
    found = dict(held)
    for n, (built, case) in enumerate(zip(builts, binding.case.before, strict=True)):
        bound = bind(case, binding.sizes)
        launch = Launch(
            built.code,
            built.kernel.name,
            bound.grid,
            bound.block,
            [argument_of(bound, argument, found, factors) for argument in case.arguments],
            bound.dynamic_lds,
            **(fields[n] if fields else {}),
        )
        try:
            result = backend.run(launch, observers)
        except ExecutionError as error:
            error.what = f"{case.name}, which is launched before: {error.what}"
            raise
        for argument, raw, bits in zip(case.arguments, result.buffers, result.undefined, strict=True):
            if raw is not None:
                found[argument.name] = Buffer(raw, name=argument.name, bits=bits)
    return found


def argument_of(
    binding: Binding, argument: Argument, held: Held, factors: tuple[float, float]
) -> Buffer | np.generic:
    """An argument as a launch takes it."""
    if argument.is_buffer:
        return replace(held[argument.name], pointers=binding.buffers[argument.name].pointers)
    if argument.role == "null":
        return np.uint64(0)
    if argument.role == "bytes":
        return np.void(argument.raw)
    given = binding.scalars[argument.name]
    value = {"alpha": factors[0], "beta": factors[1]}.get(str(given), given)
    kind = element_type(argument.dtype)
    packed = kind.store(np.asarray(value, np.float64 if kind.is_float else kind.storage))
    return packed.dtype.type(packed)


def undefined_bits(buffer: Buffer) -> NDArray[np.uint8]:
    """Which bits of a buffer are undefined, as bytes."""
    if buffer.bits is not None:
        return np.ascontiguousarray(buffer.bits).view(np.uint8).reshape(-1)
    return np.full(buffer.data.nbytes, 0xFF if buffer.undefined else 0, np.uint8)


def contents(buffer: Buffer, like: np.dtype[Any]) -> NDArray[Any]:
    """What a buffer holds, as elements of a type: launches may take it for different ones."""
    return np.ascontiguousarray(buffer.data).view(np.uint8).reshape(-1).view(like)
