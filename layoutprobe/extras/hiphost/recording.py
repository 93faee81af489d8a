"""Records a launch of a program, for `layoutprobe inspect`: one workgroup, on the data that the program gave."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

from msgspec.structs import replace

from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.codeobj.parameters import signature_of
from layoutprobe.engine.base import Dispatch
from layoutprobe.errors import ExecutionError
from layoutprobe.extras.hiphost.choice import Choice
from layoutprobe.machine.memory import BASE_ADDRESS, Region
from layoutprobe.numbers import TYPES, element_type
from layoutprobe.recording.model import Buffer, Group, Recording
from layoutprobe.recording.recorder import Record, RunRecorder

_NO_CONTRACT = "the launch of a program has no contract that would say what operands need; a manifest has"
_MOST_BYTES = 256 << 20
"""Of allocations whose elements are told apart."""
Run = Callable[[Dispatch], None]


class LaunchRecorder:
    """Records the first launch that is chosen.

    Attributes:
        recording: of it; None where there was none, and `missed` says why.
    """

    def __init__(self, choice: Choice, group: Group) -> None:
        self.recording: Recording | None = None
        self.missed = "none of the launches that --save asks for came"
        self._choice, self._group = choice, group
        self._seen = 0
        self._begun = False
        self._lock = threading.Lock()

    def around(self, run: Run) -> Run:
        """What executes the kernels of one program, and records."""
        return lambda dispatch: self._run(run, dispatch)

    def _run(self, run: Run, dispatch: Dispatch) -> None:
        """Run a kernel.

        Raises:
            ExecutionError: as `run` does; a recording ends where that stopped.
            UsageError: as `run` does.
        """
        with self._lock:
            self._seen += 1
            mine = not self._begun and self._choice.includes(dispatch, self._seen)
            self._begun |= mine
            number = self._seen
        inside = all(at < extent for at, extent in zip(self._group, dispatch.grid, strict=True))
        if mine and not inside:
            self.missed = f"launch {number} has {dispatch.grid} workgroups, and no {self._group}"
        if not (mine and inside):
            run(dispatch)
            return
        arena = dispatch.memory.arena
        regions, named = arena.regions, dict(_named(dispatch))
        observer = RunRecorder(Record((self._group,), tuple(_buffer(*one) for one in named.items())))
        # A recording knows buffers by the names of their regions.
        called = {region: replace(region, name=f"buffer {name}") for name, (region, _) in named.items()}
        arena.use(called.get(region, region) for region in regions)
        cut = ""
        try:
            run(replace(dispatch, observers=(*dispatch.observers, observer)))
        except ExecutionError as fault:
            cut = f"the run stopped: {fault.what}"
            raise
        finally:
            made = observer.record()
            self.recording = replace(
                made,
                size={"launch": number},
                evidence=EmulatorBackend().evidence,
                cut=made.cut or cut,
                unjudged=_NO_CONTRACT,
            )
            arena.use(regions)


def _named(dispatch: Dispatch) -> Iterator[tuple[str, tuple[Region, str]]]:
    """Name of a parameter -> the allocation that it points to, and the type of its elements; each allocation once."""
    kernel, memory = dispatch.kernel, dispatch.memory
    signature = signature_of(dispatch.code, kernel)
    seen: set[Region] = set()
    total = 0
    for number, argument in enumerate(kernel.explicit_args):
        start = memory.kernarg.start + argument.offset
        at = int.from_bytes(memory.arena.data.bytes[start : start + argument.size].tobytes(), "little")
        region = memory.arena.region_at(at - BASE_ADDRESS) if argument.kind == "global_buffer" else None
        if region is None or region in seen or total + region.end - region.start > _MOST_BYTES:
            continue
        seen.add(region)
        total += region.end - region.start
        declared = signature.parameters[number] if signature and number < len(signature.parameters) else None
        yield (
            (declared.name if declared else "") or f"argument{number}",
            (region, declared.dtype if declared else ""),
        )


def _buffer(name: str, what: tuple[Region, str]) -> Buffer:
    region, dtype = what
    size, known = region.end - region.start, dtype if dtype in TYPES else "u8"
    return Buffer(name, known, (size // element_type(known).storage.itemsize,), (1,), 0, size, role="inout")
