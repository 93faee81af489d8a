"""The seam for engines: what every engine runs, and what it gives back.

An engine runs one kernel on global memory that holds its arguments and its image already, writes to that
memory, and tells the observers of the events that they ask for. It knows neither launches with buffers
(`backends.emulator`) nor HIP (`extras.hiphost`): both stand on this seam.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec import Struct, field

from layoutprobe.codeobj.kernarg import Extent
from layoutprobe.codeobj.model import CodeObject, Kernel
from layoutprobe.isa.inst import Inst
from layoutprobe.machine.launch import GlobalMemory
from layoutprobe.machine.observer import Observer

DEFAULT_BUDGET = 3_000_000
"""Instructions issued before a kernel counts as endless: some 10 s of a single wave, and hundreds
of times what a GEMM of a thousand cubed needs."""
ARITHMETIC = ("ieee", "silicon")
IN_TURN, LAST_FIRST = "in turn", "last first"
"""Orders of workgroups (`Dispatch.order`)."""
FIRST_WAVE, LAST_WAVE = "first wave", "last wave"
"""Orders of the waves in each."""


class Dispatch(Struct, frozen=True, eq=False):
    """A kernel and all that its run depends on.

    Attributes:
        code, kernel: what to run; `check_launchable` has accepted the kernel.
        memory: is written to.
        grid: workgroups in x, y, z.
        block: work-items of a workgroup in x, y, z.
        lds_size: bytes of LDS of a workgroup, dynamic ones included.
        observers: watch the run.
        watched: numbers of the workgroups that they are told of, x fastest, but for those observers that want to be
            told of all (`Observer.everywhere`); empty for all.
        budget: instructions that may be issued before the kernel counts as endless. An instruction counts
            once for all waves that execute it together.
        arithmetic: how matrix instructions and DOT2 round: "ieee" (exact products, one rounding at the
            end), or "silicon" (as found on a card: RDNA3's measured on gfx1151, CDNA3's as published).
        order: in which workgroups come: "" (side by side, as many as fit), IN_TURN (one after the other), or
            LAST_FIRST (see `turns.LastFirst`); or in which their waves do: FIRST_WAVE or LAST_WAVE.
        others: workgroups that are not watched run, too.
        changes: what is executed in place of the instruction at an address: see `machine.program.changed`.
        defined: registers, LDS and scratch count as defined from the beginning: they hold a poison of which no right
            result is made. Such runs are several times as fast where undefined bits meet matrix instructions.
    """

    code: CodeObject
    kernel: Kernel
    memory: GlobalMemory
    grid: Extent
    block: Extent
    lds_size: int
    observers: Sequence[Observer] = ()
    budget: int = DEFAULT_BUDGET
    arithmetic: str = "ieee"
    watched: frozenset[int] = frozenset()
    order: str = ""
    others: bool = True
    changes: Mapping[int, tuple[Inst, ...]] = field(default_factory=dict)
    defined: bool = False

    def watching(self, chosen: bool) -> Sequence[Observer]:
        """Who is told of workgroups that are among those to watch, or are not."""
        return self.observers if chosen else [o for o in self.observers if o.everywhere]


class Grain(Struct, frozen=True):
    """How fine the sieve of an engine is (`Engine.clears`).

    Attributes:
        memory, lds: log2 of the bytes of global memory, and of LDS, that no two waves may share.
    """

    memory: int
    lds: int


class Finished(Struct, frozen=True, eq=False):
    """A run that came to its end.

    Attributes:
        issued: instructions, counted as the budget counts them.
        kept: what the engine would give back to the system now. Keep it until the results are copied:
            freed before, its registers would go back page by page, and the next launch would fault them in
            again, which is a fifth of the time of a small GEMM.
    """

    issued: int
    kept: object = None


class Engine(Protocol):
    """Runs dispatches. It may keep what it has learnt of a kernel, so that a second run starts at once."""

    name: str

    def run(self, dispatch: Dispatch) -> Finished:
        """Run a kernel to its end.

        Raises:
            ExecutionError: a fault of the kernel, something that the engine does not know, or the budget is
                spent; with kernel, source line and PC.
            UsageError: the grid, or one workgroup of it, is too large.
        """
        ...

    def clears(self, dispatch: Dispatch, grain: Grain) -> bool:
        """Run a kernel to its end if it does nothing that anybody might object to who watches memory.

        That is: no fault, no undefined bits loaded or stored, nothing touched by two waves one of which stores, but
        in LDS with a barrier between, and no barriers apart. Whether what it stops at is wrong, `run` must show
        to observers.

        Args:
            dispatch: nobody watches it. Its waves may wait for each other: where one tells another, it stops.
            grain: how fine to look.

        Returns:
            Whether it ran; if not, global memory is as it was.
        """
        ...
