"""What every backend does: run one kernel of one code object on given arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.capture.capture import Evidence
from layoutprobe.codeobj.model import CodeObject
from layoutprobe.isa.inst import Inst
from layoutprobe.machine.observer import Observer


class Buffer(Struct, frozen=True, eq=False):
    """A global-memory argument.

    Attributes:
        data: initial contents, C-contiguous; its size is the size of the allocation.
        undefined: the kernel gets memory whose contents nobody has set (`data` gives only the
            size and dtype), as from hipMalloc.
        name: what faults and observers call it; "": the argument's name in the code object.
        pointers: the kernel gets, instead of the buffer's address, that of an array which it may only read:
            of pointers to these bytes of the buffer. Empty for the buffer itself.
        bits: those of `data` that are undefined, where some are: set ones, unsigned, shaped like it.
    """

    data: NDArray[Any]
    undefined: bool = False
    name: str = ""
    pointers: tuple[int, ...] = ()
    bits: NDArray[Any] | None = None

    __repr__ = brief


class Launch(Struct, frozen=True, eq=False):
    """One kernel launch.

    Attributes:
        code: the code object.
        kernel: name of the kernel in it.
        grid: number of workgroups in x, y, z.
        block: work-items of a workgroup in x, y, z.
        args: explicit arguments in order: Buffer, or a numpy scalar of the argument's own size.
        dynamic_lds: bytes of LDS beyond the static allocation.
        watched: workgroups that observers are told of, see `engine.Dispatch`.
        order, others: in which workgroups come, and whether only watched ones do, see there; a card decides the
            one itself, and runs all.
        changes: instructions that are executed in place of others, see there; the emulator alone can do that.
        budget: instructions that it may issue; 0 for the backend's own.
        defined: registers and LDS that nobody has set count as defined, see there; buffers are what they are.
    """

    code: CodeObject
    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    args: Sequence[Buffer | np.generic]
    dynamic_lds: int = 0
    watched: frozenset[int] = frozenset()
    order: str = ""
    others: bool = True
    changes: Mapping[int, tuple[Inst, ...]] = field(default_factory=dict)
    budget: int = 0
    defined: bool = False

    __repr__ = brief


class RunResult(Struct, frozen=True, eq=False):
    """What a launch left in its buffers.

    Attributes:
        buffers: one array per argument (None for scalars), shaped like the Buffer's data.
        undefined: per buffer the bits that are undefined, as an unsigned array of the same
            shape, or None where all are defined or the backend cannot know.
        evidence: what kind of run this was.
    """

    buffers: tuple[NDArray[Any] | None, ...]
    undefined: tuple[NDArray[Any] | None, ...]
    evidence: Evidence

    __repr__ = brief


class Backend(Protocol):
    """Runs launches. The same code object and the same solver serve all backends."""

    name: str

    @property
    def device(self) -> Mapping[str, str]:
        """What runs the launches: "name", "target", "runtime"...; empty where no card does."""
        ...

    def run(self, launch: Launch) -> RunResult:
        """Run one launch to its end.

        Raises:
            ExecutionError: the kernel did what no correct kernel does, or cannot be executed.
        """
        ...


class WatchedBackend(Backend, Protocol):
    """A backend whose launches can be watched, as the gate needs it."""

    @property
    def evidence(self) -> Evidence:
        """What results of this backend rest on."""
        ...

    def run(self, launch: Launch, observers: Sequence[Observer] = ()) -> RunResult:
        """Run one launch to its end; see Backend."""
        ...
