"""Where captures come from: a backend that runs the probe now, or (`recorded.py`) somebody's file.

Whoever wants a capture states a `Request`. Code is built only where something will run it, so that
a capture can be replayed with no compiler at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe import plugins
from layoutprobe.arch import find
from layoutprobe.backends.base import Backend, Launch, RunResult
from layoutprobe.backends.stacking import parted, stacked
from layoutprobe.brief import brief
from layoutprobe.capture.capture import Capture
from layoutprobe.errors import UsageError, did_you_mean


class Prepared(Struct, frozen=True, eq=False):
    """A launch that is ready to go.

    Attributes:
        launch: the launch.
        outputs: name -> position among the launch's arguments.
        toolchain: what built its code.
        stacked: workgroup n, of a grid along x, reads and writes number n along the first axis of every
            argument, and nothing else; so launches of the same kernel can be one.
    """

    launch: Launch
    outputs: Mapping[str, int]
    toolchain: Mapping[str, str]
    stacked: bool = False


class Request(Struct, frozen=True, eq=False):
    """One run of one probe.

    Attributes:
        probe: its name.
        arch: target to run it on.
        inputs: arrays by argument name.
        parameters: what selects the run; plain values.
        prepare: builds the code and makes the launch.
    """

    probe: str
    arch: str
    inputs: Mapping[str, NDArray[Any]]
    parameters: Mapping[str, Any]
    prepare: Callable[[], Prepared]

    __repr__ = brief


@runtime_checkable
class Source(Protocol):
    """Answers requests with captures."""

    def capture(self, request: Request) -> Capture:
        """What the probe reads and writes.

        Raises:
            ProbeError: it cannot be run, or was not recorded.
        """
        ...


class Live(Struct, frozen=True, eq=False):
    """Runs every request on a backend."""

    backend: Backend

    def capture(self, request: Request) -> Capture:
        """Build, launch, and keep what came back."""
        prepared = request.prepare()
        return self._kept(request, prepared, self.backend.run(prepared.launch))

    def together(self, requests: Sequence[Request]) -> list[Capture]:
        """The captures of several requests: of one launch, where all are stacked and of one kernel."""
        prepared = [request.prepare() for request in requests]
        launches = [one.launch for one in prepared]
        kernels = {(one.code.digest, one.kernel, one.block, one.dynamic_lds) for one in launches}
        if len(kernels) == 1 and all(one.stacked for one in prepared):
            results = parted(self.backend.run(stacked(launches)), launches)
        else:
            results = [self.backend.run(launch) for launch in launches]
        return [self._kept(*one) for one in zip(requests, prepared, results, strict=True)]

    def _kept(self, request: Request, prepared: Prepared, result: RunResult) -> Capture:
        outputs, undefined = {}, {}
        for name, at in prepared.outputs.items():
            data, mask = result.buffers[at], result.undefined[at]
            assert data is not None, "an output is a buffer"
            outputs[name] = data
            if mask is not None:
                undefined[name] = mask
        return Capture(
            probe=request.probe,
            arch=prepared.launch.code.target,
            evidence=result.evidence,
            inputs=dict(request.inputs),
            outputs=outputs,
            undefined=undefined,
            parameters=dict(request.parameters),
            toolchain=prepared.toolchain,
            device=self.backend.device,
        )


def captures_of(source: Source, requests: Sequence[Request]) -> list[Capture]:
    """The answers to requests of which none depends on another's answer."""
    return (
        source.together(requests) if isinstance(source, Live) else [source.capture(one) for one in requests]
    )


def source_of(backend: Backend | Source) -> Source:
    """A source as it is; a backend as one that runs every request."""
    return backend if isinstance(backend, Source) else Live(backend)


def _hip(device: int | None) -> Backend:
    from layoutprobe.backends.hip import HipBackend

    return HipBackend(device)


EMULATOR = "emulator"
_CARDS: dict[str, Callable[[int | None], Backend]] = {"hip": _hip}


def register_backend(name: str, make: Callable[[int | None], Backend]) -> None:
    """Add a backend that runs code on cards.

    Args:
        name: as `--backend` has it.
        make: number of the card, or None for the one that the backend chooses -> the backend.
    """
    _CARDS[name] = make


def backend_names() -> tuple[str, ...]:
    """What can execute, by name."""
    plugins.load()
    return EMULATOR, *_CARDS


def chosen(
    backend: Backend | Source | str | None,
    arch: str,
    *,
    device: int | None = None,
    arithmetic: str | None = None,
) -> Source:
    """What answers requests for a target.

    Args:
        backend: one of `backend_names`, the thing itself, or None for the emulator.
        arch: the target.
        device: number of the card; None: the one that the backend chooses.
        arithmetic: of the emulator; see `EmulatorBackend`.

    Raises:
        UsageError: no such backend, an option that it does not take, or the emulator is asked for
            code that it does not execute.
    """
    emulates = backend is None or backend == EMULATOR
    if not emulates and arithmetic is not None:
        raise UsageError("only the emulator has modes of arithmetic", hint="leave arithmetic out")
    if (emulates or not isinstance(backend, str)) and device is not None:
        raise UsageError("only a card has a number", hint="leave device out, or name a backend")
    if backend is None or backend == EMULATOR:
        if not find(arch).emulated:
            raise UsageError(
                f"the emulator does not execute code for {arch}",
                hint="run it on a card (backend cuda), or replay a capture",
            )
        from layoutprobe.backends.emulator import EmulatorBackend

        return Live(EmulatorBackend(arithmetic=arithmetic or "ieee"))
    if isinstance(backend, str):
        known = backend_names()
        if backend not in _CARDS:
            raise UsageError(
                f"no backend named {backend[:40]!r}",
                expected="one of: " + ", ".join(known) + "; or replay FILE, in Python Replay.of(FILE)",
                hint=did_you_mean(backend, known),
            )
        return Live(_CARDS[backend](device))
    if isinstance(backend, Source) or callable(getattr(backend, "run", None)):
        return source_of(backend)
    raise UsageError(
        "`backend` must be a name, or an object that runs launches",
        expected="one of: " + ", ".join(backend_names()) + "; or a layoutprobe.backends.base.Backend",
        observed=type(backend).__name__,
    )
