"""The engine that executes with numpy: one operation serves all waves at a PC."""

from __future__ import annotations

from math import prod

import numpy as np

from layoutprobe import semantics
from layoutprobe.codeobj.model import CodeObject, Kernel
from layoutprobe.engine.base import FIRST_WAVE, IN_TURN, LAST_FIRST, LAST_WAVE, Dispatch, Finished, Grain
from layoutprobe.engine.scheduler import Scheduler
from layoutprobe.engine.turns import FirstWave, LastFirst, LastWave, Turns
from layoutprobe.isa.store import load_instructions
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.float_mode import guarded, refuse_float_mode
from layoutprobe.machine.launch import (
    BATCH_WAVES,
    batches,
    facts_of,
    make_waves,
    start_cohort,
    vgpr_count,
    wave_bytes,
    write_packet,
)
from layoutprobe.machine.machine import Machine
from layoutprobe.machine.observer import events_of, stops_of
from layoutprobe.machine.program import Changed, Program, build_program, changed

_TURNS: dict[str, type[Turns[Cohort]]] = {
    LAST_FIRST: LastFirst,
    FIRST_WAVE: FirstWave,
    LAST_WAVE: LastWave,
}
"""Orders in which not all that can go on do."""


class NumpyEngine:
    """Keeps bound kernels."""

    name = "numpy"

    def __init__(self) -> None:
        self._programs: dict[tuple[str, str], Program] = {}

    def run(self, dispatch: Dispatch) -> Finished:
        """See Engine."""
        code, kernel, memory = dispatch.code, dispatch.kernel, dispatch.memory
        program = self.changed(dispatch)[0] if dispatch.changes else self.program(code, kernel)
        waves_per_group = -(-prod(dispatch.block) // kernel.wavefront_size)
        write_packet(memory, kernel, dispatch.grid, dispatch.block, dispatch.lds_size)
        facts = facts_of(kernel, memory, dispatch.arithmetic)
        each = wave_bytes(code, kernel, dispatch.lds_size)
        issued, start = 0, None
        turns = _TURNS.get(dispatch.order, Turns)
        with np.errstate(all="ignore"):
            most = waves_per_group if dispatch.order == IN_TURN else BATCH_WAVES
            for group_ids, chosen in batches(
                dispatch.grid, waves_per_group, each, most, dispatch.watched, others=dispatch.others
            ):
                machine = Machine(
                    memory.arena,
                    make_waves(group_ids, waves_per_group),
                    kernel.wavefront_size,
                    lds_size=dispatch.lds_size,
                    scratch_size=kernel.scratch_size,
                    facts=facts,
                    events=events_of(dispatch.watching(chosen)),
                    defined=dispatch.defined,
                )
                start = start_cohort(machine, code, kernel, dispatch.block, memory.kernarg)
                issued += Scheduler(machine, program, dispatch.budget - issued, turns).run(start)
        return Finished(issued, start)

    def clears(self, dispatch: Dispatch, grain: Grain) -> bool:
        """See Engine: this one never does."""
        return False

    def program(self, code: CodeObject, kernel: Kernel) -> Program:
        """A kernel, bound once.

        Raises:
            CodeObjectError, ExecutionError: see build_program and refuse_float_mode.
        """
        key = (code.digest, kernel.name)
        if key not in self._programs:
            refuse_float_mode(code, kernel)
            insts, bind = load_instructions(code, kernel), guarded(semantics.bind, kernel)
            self._programs[key] = build_program(code, kernel, insts, bind, vgpr_count(code, kernel))
        return self._programs[key]

    def stops(self, dispatch: Dispatch) -> frozenset[int] | None:
        """See machine.observer.stops_of."""
        return stops_of(dispatch.observers, self.program(dispatch.code, dispatch.kernel))

    def changed(self, dispatch: Dispatch) -> tuple[Program, Changed]:
        """A dispatch's kernel with its changes, and these alone.

        Raises:
            UnboundError: a changed instruction cannot be executed.
            CodeObjectError, ExecutionError: as of `program`.
        """
        code, kernel = dispatch.code, dispatch.kernel
        bind, vgprs = guarded(semantics.bind, kernel), vgpr_count(code, kernel)
        return changed(self.program(code, kernel), dispatch.changes, bind, semantics.builds_on_block, vgprs)
