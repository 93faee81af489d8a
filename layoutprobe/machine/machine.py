"""What the cohorts of a batch of workgroups share: all that semantics see beside their cohort's registers.

Semantics get a cohort. They read and write its registers, and reach through `cohort.machine` the three
memories, the barrier's signals, the facts of the launch, and those who want to be told of events. How a
fault reads is in `machine.faults`; which program runs, semantics never ask.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.machine.events import Events
from layoutprobe.machine.memory import BASE_ADDRESS, Arena, Memory
from layoutprobe.machine.registers import Array


class Waves(Struct, frozen=True, eq=False):
    """The waves of a batch.

    Attributes:
        workgroup: int64 [wave], position of the wave's workgroup in the batch.
        index: int64 [wave], position of the wave in its workgroup.
        group_id: int64 [wave, 3], workgroup id in x, y, z.
    """

    workgroup: NDArray[np.int64]
    index: NDArray[np.int64]
    group_id: NDArray[np.int64]

    __repr__ = brief


CLOCK_STEP = 64
"""What a clock goes on by from one read to the next."""


class Clock(Struct):
    """The counter of a launch."""

    ticks: int = 0


class LaunchFacts(Struct, frozen=True):
    """What an instruction can tell of the launch.

    Attributes:
        image: arena offset at which code address 0 lies.
        arithmetic: of matrix instructions and DOT2: "ieee", or "silicon" (as a card rounds).
        clock: what waves read as time, see `Machine.tick`.
        null: what a null pointer may stand for, in words: things of a host that are not made here.
        mode: rounding in bits 3:0, subnormals in bits 7:4, as MODE has them.
        dynamic_stack: scratch is a stack of which the compiler did not know how large it gets.
    """

    image: int = 0
    arithmetic: str = "ieee"
    null: tuple[str, ...] = ()
    dynamic_stack: bool = False
    mode: int = 0xF0
    clock: Clock = field(default_factory=Clock)


class Machine:
    """State and facts of one batch.

    Attributes:
        arena: global memory.
        waves: which waves there are.
        wave_size: lanes of a wave.
        lds: LDS of all workgroups of the batch, one after the other.
        lds_size: bytes of LDS that a workgroup has.
        lds_base: int64 [wave, 1], where the workgroup of a wave has its LDS.
        scratch: private memory of all lanes.
        scratch_size, scratch_stride: bytes of a lane, and from one lane's to the next's.
        signalled: bool [wave], waves that have signalled the barrier which they will wait at (RDNA4).
        facts: of the launch.
        events: who is told of what.
        defined: registers, LDS and scratch that nobody has set count as defined.
    """

    def __init__(
        self,
        arena: Arena,
        waves: Waves,
        wave_size: int,
        *,
        lds_size: int = 0,
        scratch_size: int = 0,
        facts: LaunchFacts | None = None,
        events: Events | None = None,
        lds: Memory | None = None,
        defined: bool = False,
    ) -> None:
        self.arena = arena
        self.waves = waves
        self.wave_size = wave_size
        self.facts = facts or LaunchFacts()
        self.events = events or Events()
        self.lds_size = lds_size
        stride = lds_stride(lds_size)
        groups = int(waves.workgroup.max()) + 1 if waves.workgroup.size else 0
        self.lds = lds or Memory(stride * groups, undefined=True)
        self.lds_base = (waves.workgroup * stride)[:, None]
        self.signalled = np.zeros(waves.workgroup.size, np.bool_)
        self.scratch_size = scratch_size
        self.scratch_stride = (scratch_size + 15) // 16 * 16
        self.scratch = Memory(self.scratch_stride * wave_size * waves.workgroup.size, undefined=True)
        self.defined = defined
        if defined:
            self.lds.define()
            self.scratch.define()

    def tick(self) -> int:
        """The clock: further with each read. It is emulated, and measures nothing."""
        self.facts.clock.ticks += CLOCK_STEP
        return self.facts.clock.ticks

    def code_address(self, pc: int) -> int:
        """Virtual address at which a code address is loaded."""
        return BASE_ADDRESS + self.facts.image + pc

    def scratch_base(self, waves: NDArray[np.int64]) -> Array:
        """Byte of the scratch memory at which each lane's part starts: int64 [wave, lane]."""
        return (waves[:, None] * self.wave_size + np.arange(self.wave_size)) * self.scratch_stride


def lds_stride(lds_size: int) -> int:
    """Bytes from the LDS of a workgroup to that of the next."""
    return (lds_size + 15) // 16 * 16
