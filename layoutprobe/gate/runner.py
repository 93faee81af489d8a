"""Runs one kernel at one size as checks ask for it, every distinct run once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe.backends.base import Buffer, Launch, RunResult, WatchedBackend
from layoutprobe.brief import brief
from layoutprobe.codeobj.inlining import place_of
from layoutprobe.engine import base
from layoutprobe.errors import CodeObjectError, ExecutionError
from layoutprobe.gate.build import Built
from layoutprobe.gate.sequence import Held, argument_of, contents, run_before, undefined_bits
from layoutprobe.gate.watching import Astray, Clock, Deadline, Zeros
from layoutprobe.machine.observer import Observer
from layoutprobe.machine.program import UnboundError
from layoutprobe.manifest.binding import Binding, BoundBuffer
from layoutprobe.manifest.coding import Coding
from layoutprobe.manifest.inputs import is_direct, make_inputs
from layoutprobe.manifest.model import Gemm
from layoutprobe.numbers import element_type
from layoutprobe.observe.coverage import Coverage, CoverageRecorder
from layoutprobe.observe.undefined import UndefinedObserver, UndefinedRecord
from layoutprobe.trace.orders import FIRST_WAVE, LAST_FIRST, LAST_WAVE, ONE_BY_ONE
from layoutprobe.trace.subject import Recorded, RunSpec

_ORDERS = {
    "": "",
    ONE_BY_ONE: base.IN_TURN,
    LAST_FIRST: base.LAST_FIRST,
    FIRST_WAVE: base.FIRST_WAVE,
    LAST_WAVE: base.LAST_WAVE,
}
UNDEFINED = ("undefined-control", "undefined-address")
"""Kinds of faults that what LDS holds, or what a compiler leaves undefined, may bring about."""
_ORDERED = 2.0
"""Seconds that a run may take in which workgroups come in an order, or that is a second one: some wait for ever."""


class Prepared(Struct, frozen=True, eq=False):
    """A launch that can be made any number of times.

    Attributes:
        spec: which run it is.
        launch: what is launched.
        start, held: buffers before the first launch, and before this one.
        factors: alpha and beta of the run.
        chained: others are launched before it.
        failed: what ended one of these.
    """

    spec: RunSpec
    launch: Launch
    start: Held
    held: Held
    factors: tuple[float, float]
    chained: bool
    failed: ExecutionError | None

    __repr__ = brief


class KernelRunner:
    """Runs of one kernel at one size, remembered.

    Attributes:
        faults: distinct faults of all runs so far, in the order in which they occurred.
        coverage: what of the code ran in any of them; None before the first.
        endless: what ended a launch that took too long: others would take as long again, and decide nothing either.
        sample: workgroups that observers are told of, see `manifest.sampling`; empty for all.
    """

    def __init__(
        self,
        built: Built,
        binding: Binding,
        coding: Coding,
        backend: WatchedBackend,
        endless: ExecutionError | None = None,
        sample: frozenset[int] = frozenset(),
        launched: Callable[[int, int], Observer] | None = None,
    ) -> None:
        """A runner; `launched`: makes an observer for each launch, see `Plan.launched`."""
        self.built = built
        self.binding = binding
        self.coding = coding
        self.backend = backend
        self.faults: list[ExecutionError] = []
        self.coverage: Coverage | None = None
        self._known: dict[RunSpec, Recorded] = {}
        self._last: tuple[RunSpec, Held] | None = None
        self._begin: tuple[tuple[str, bool], Held] | None = None
        self.endless = endless
        self.sample = sample
        self._launched = launched

    def __call__(self, spec: RunSpec) -> Recorded:
        """The run of that spec. A fault of the kernel is recorded, and not raised.

        Raises:
            UsageError: the launch is not possible.
        """
        if spec not in self._known:
            self._known[spec] = self._run(spec)
        return self._known[spec]

    def _run(self, spec: RunSpec) -> Recorded:
        """A run. One that an undefined value from LDS ends is made again with LDS that is zero, so that checks
        can say what else they see: a flag that is read too early is a race."""
        found = self._once(spec)
        stopped = found.fault
        uses_lds = self.built.kernel.descriptor.group_segment_size or self.binding.dynamic_lds
        if stopped is not None and stopped.kind in UNDEFINED and uses_lds and not spec.asks_only:
            again = self._once(spec, Zeros())
            still = again.fault is not None and (
                again.fault.kind == "time" or again.fault.place.pc == stopped.place.pc
            )
            if not still:
                seen = UndefinedObserver()
                self._once(spec, seen)
                stopped = self._from_lds(stopped, seen.record())
                found = replace(again, astray=(*again.astray, stopped))
        if not spec.asks_only:
            for each in (*found.astray, *([found.fault] if found.fault else [])):
                self._note(each)
        return found

    def _from_lds(self, fault: ExecutionError, record: UndefinedRecord) -> ExecutionError:
        """An undefined value that comes from LDS, at the load that brought it, where that was seen."""
        if not record.loads:
            return fault
        # The last one before it; code of a branch may lie anywhere.
        at = fault.place.pc or 0
        load = max(record.loads, key=lambda load: (load.inst.pc <= at, load.inst.pc))
        inst, who = load.inst, load.who
        place = place_of(self.built.code, self.built.kernel, inst.pc, inst.name)
        return ExecutionError(
            f"{inst.name} reads LDS that was never stored, and {fault.what.replace('an undefined value', 'it')}",
            place=replace(place, workgroup=who.workgroup, wave=who.wave, lane=who.lane, lds_byte=load.byte),
            expected="a store to every byte before it is read",
            observed=f"byte {load.byte} was never stored when {fault.place.site} depended on it",
            hint="look for the store that should have filled this byte: its bounds test, its stride, the threads "
            "that take part, and the barrier behind it",
            kind=fault.kind,
        )

    def _once(self, spec: RunSpec, besides: Observer | None = None) -> Recorded:
        """One launch; `besides`: an observer for one that has ended early before."""
        deadline = self._deadline(spec, besides)
        ready = self.prepared(spec, deadline)
        coverage = CoverageRecorder()
        recorders = [coverage, *(factory() for factory in spec.observers)]
        fault, result, astray = None, None, Astray()
        try:
            if (stopped := self.endless or ready.failed) is not None:
                raise stopped
            late: list[Observer] = [deadline, *([Clock(deadline)] if self.sample else [])]
            late += (
                [self._launched(prod(self.binding.grid), len(self.sample))]
                if self._launched is not None
                else []
            )
            result = self.backend.run(
                ready.launch, [*late, *([besides] if besides is not None else []), astray, *recorders]
            )
        except ExecutionError as error:
            fault = error
            if error.kind in ("budget", "time") and not spec.asks_only and besides is None:
                self.endless = error
        if not spec.asks_only or (bool(spec.order) and fault is None):
            self._cover(coverage.record())
        records = tuple(recorder.record() for recorder in recorders)
        return self._recorded(ready, result, fault, astray, records)

    def tried(
        self, ready: Prepared, launch: Launch, backend: WatchedBackend, watching: Sequence[Observer] = ()
    ) -> Recorded:
        """A run of the kernel as it might be. Nothing of it is remembered, and its faults are an answer: an access
        outside of every buffer ends it.

        Args:
            ready: the launch of the kernel as it is.
            launch: the same with other code.
            backend: where it runs.
            watching: who is told of it.
        """
        fault, result = ready.failed, None
        try:
            if fault is None:
                result = backend.run(launch, watching)
        except ExecutionError as error:
            fault = error
        except (UnboundError, CodeObjectError) as error:
            fault = ExecutionError(str(error), kind="unknown")
        return self._recorded(ready, result, fault, Astray(), ())

    def following(
        self,
        ready: Prepared,
        builts: Sequence[Built],
        fields: Sequence[Mapping[str, Any]],
        backend: WatchedBackend,
        watching: Sequence[Observer] = (),
    ) -> Prepared:
        """A launch of the kernel on what is left by those before it, as these might be.

        Args:
            ready: the launch as it is.
            builts, fields: their code, and what is otherwise in their launches.
            backend: where they run.
            watching: who is told of each of them.
        """
        try:
            held = run_before(builts, self.binding, ready.start, ready.factors, backend, watching, fields)
        except ExecutionError as error:
            return replace(ready, failed=error)
        launch = replace(ready.launch, args=self._arguments(held, ready.factors))
        return replace(ready, held=held, launch=launch, failed=None)

    def as_ended(self, spec: RunSpec) -> Recorded:
        """The run of that spec; where a fault ended it, as if it had come to its end and stored nothing: what should
        have been stored is known all the same."""
        found = self(spec)
        if found.fault is None:
            return found
        held = {
            name: replace(buffer, undefined=True, bits=None)
            for name, buffer in self.prepared(spec).held.items()
        }
        outputs, undefined = self._outputs(held)
        return replace(
            found, outputs=outputs, undefined=undefined, astray=(*found.astray, found.fault), fault=None
        )

    def prepared(self, spec: RunSpec, deadline: Deadline | None = None) -> Prepared:
        """A launch with its inputs; `deadline`: of those before it."""
        deadline = deadline or self._deadline(spec, None)
        factors = self._factors(spec)
        chained = bool(self.built.before) and not is_direct(spec.inputs)
        filled = replace(self.binding, buffers=self.binding.first) if chained else self.binding
        start = self._start(filled, spec, factors[1])
        held, failed = self._before(start, factors, spec, deadline) if chained else (start, None)
        launch = Launch(
            self.built.code,
            self.built.kernel.name,
            self.binding.grid,
            self.binding.block,
            self._arguments(held, factors),
            self.binding.dynamic_lds,
            spec.alone or self.sample,
            _ORDERS[spec.order],
            not spec.alone,
        )
        return Prepared(spec, launch, start, held, factors, chained, failed)

    def _arguments(self, held: Held, factors: tuple[float, float]) -> list[Buffer | np.generic]:
        return [argument_of(self.binding, one, held, factors) for one in self.binding.case.arguments]

    def _start(self, filled: Binding, spec: RunSpec, beta: float) -> Held:
        """Buffers before the first launch: the last ones again where runs differ in alpha and beta alone."""
        key = spec.inputs, beta == 0.0
        if self._begin is not None and self._begin[0] == key and not spec.again:
            return self._begin[1]
        given = make_inputs(filled, spec.inputs, beta=beta, coding=self.coding)
        if spec.again:
            first = self(replace(spec, launch=2) if spec.launch > 2 else replace(spec, again=()))
            given = {**given, **{name: first.outputs[name] for name in spec.again}}
        start: dict[str, Buffer] = {}
        for b, values in zip(filled.buffers.values(), given.values(), strict=True):
            start[b.name] = _unset(b) if values is None else Buffer(b.store(values), name=b.name)
        self._begin = None if spec.again else (key, start)
        return start

    def _recorded(
        self,
        ready: Prepared,
        result: RunResult | None,
        fault: ExecutionError | None,
        astray: Astray,
        records: tuple[object, ...],
    ) -> Recorded:
        outputs, undefined, stray = self._after(result, ready.held)
        return Recorded(
            spec=ready.spec,
            inputs=self._inputs(ready.start, ready.held),
            outputs=outputs,
            undefined=undefined,
            stray=stray,
            alpha=ready.factors[0],
            beta=ready.factors[1],
            records=records,
            fault=fault,
            astray=tuple(astray.errors.values()),
            unmade=self._unmade(ready.held) if ready.chained and ready.failed is None else {},
            handed=self._handed(ready.start, ready.held) if ready.chained and ready.failed is None else {},
        )

    def _deadline(self, spec: RunSpec, besides: Observer | None) -> Deadline:
        seconds = self.binding.case.limits.seconds
        short = bool(spec.order) or bool(spec.again) or besides is not None
        return Deadline(min(seconds, _ORDERED) if short else seconds)

    def _before(
        self, start: Held, factors: tuple[float, float], spec: RunSpec, deadline: Deadline
    ) -> tuple[Held, ExecutionError | None]:
        """What the launches before leave, and the fault that ended one; the last is remembered, as checks ask for one
        run with different observers."""
        key = replace(spec, observers=(), order="", alone=frozenset())
        if self._last is None or self._last[0] != key:
            try:
                left = run_before(self.built.before, self.binding, start, factors, self.backend, (deadline,))
            except ExecutionError as error:
                return start, error
            self._last = key, left
        return self._last[1], None

    def _inputs(self, start: Held, held: Held) -> dict[str, NDArray[Any]]:
        """What the buffers held before the first launch, or, where that was undefined, before the last."""
        found = {}
        for name, buffer in self.binding.buffers.items():
            known = next((one[name] for one in (start, held) if _is_set(one[name], start[name])), None)
            if known is not None:
                found[name] = _frozen(buffer.load(contents(known, buffer.element.storage)))
        return found

    def _handed(self, start: Held, held: Held) -> dict[str, NDArray[Any]]:
        """What launches before have left in what they store, where it held something before: else it is an input."""
        return {
            name: _frozen(buffer.load(contents(held[name], buffer.element.storage)))
            for name, buffer in self.binding.buffers.items()
            if buffer.argument.made and all(_is_set(one[name], start[name]) for one in (start, held))
        }

    def _unmade(self, held: Held) -> dict[str, NDArray[np.bool_]]:
        """Elements of what launches before were to store that they have not."""
        found = {}
        for name, buffer in self.binding.buffers.items():
            if buffer.argument.made:
                unset = np.asarray(undefined_bits(held[name]).reshape(-1, buffer.itemsize).any(axis=1))
                if (mask := buffer.view(unset)).any():
                    found[name] = _frozen(mask.copy())
        return found

    def _cover(self, seen: Coverage | None) -> None:
        if seen is not None:
            self.coverage = seen if self.coverage is None else self.coverage | seen

    def _note(self, fault: ExecutionError) -> None:
        key = (fault.what, fault.place.pc)
        if all((known.what, known.place.pc) != key for known in self.faults):
            self.faults.append(fault)

    def _factors(self, spec: RunSpec) -> tuple[float, float]:
        """The run's alpha and beta: those of the spec, as far as the kernel takes them as arguments, and as
        the types of these hold them."""
        contract = self.binding.case.contract
        alpha, beta = (contract.alpha, contract.beta) if isinstance(contract, Gemm) else (1.0, 0.0)
        return self._taken("alpha", alpha, spec.alpha), self._taken("beta", beta, spec.beta)

    def _taken(self, factor: str, given: float, wanted: float | None) -> float:
        taken = (a for case in (self.binding.case, *self.binding.case.before) for a in case.arguments)
        for argument in taken:
            if argument.role == "scalar" and argument.value == factor:
                kind = element_type(argument.dtype)
                return float(kind.decode(kind.encode(given if wanted is None else wanted)).item())
        return given

    def _after(
        self, result: RunResult | None, held: Held
    ) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]], dict[str, int]]:
        """Outputs, their undefined bits, and bytes that were changed where nothing may be."""
        stray: dict[str, int] = {}
        if result is None:
            return {}, {}, stray
        after = dict(held)
        for argument, raw, bits in zip(
            self.binding.case.arguments, result.buffers, result.undefined, strict=True
        ):
            if raw is None:
                continue
            after[argument.name] = left = Buffer(raw, name=argument.name, bits=bits)
            if changed := _stray(self.binding.buffers[argument.name], held[argument.name], left):
                stray[argument.name] = changed
        return *self._outputs(after), stray

    def _outputs(self, after: Held) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]]]:
        """What buffers hold, as outputs and their undefined bits."""
        outputs: dict[str, NDArray[Any]] = {}
        undefined: dict[str, NDArray[Any]] = {}
        for name, buffer in self.binding.buffers.items():
            if buffer.argument.role == "in":
                continue
            outputs[name] = _frozen(buffer.load(contents(after[name], buffer.element.storage)))
            unset = undefined_bits(after[name]).view(np.dtype(f"u{buffer.itemsize}"))
            if (mask := buffer.view(unset)).any():
                undefined[name] = _frozen(mask.copy())
        return outputs, undefined


def _unset(buffer: BoundBuffer) -> Buffer:
    """What nobody has set; but not its padding, which is another's: there an undefined value is a change."""
    poison = np.full(buffer.nbytes, 0xA5, np.uint8).view(buffer.element.storage)
    if not buffer.padded:
        return Buffer(poison, True, buffer.name)
    bits = np.zeros(buffer.size, f"u{buffer.itemsize}")
    buffer.view(bits)[...] = np.iinfo(bits.dtype).max
    return Buffer(poison, name=buffer.name, bits=bits)


def _is_set(buffer: Buffer, start: Buffer) -> bool:
    """Whether somebody has set a buffer: the caller, or a launch before; `_unset` is what nobody has."""
    return not buffer.undefined and (buffer is not start or buffer.bits is None)


def _stray(buffer: BoundBuffer, before: Buffer, after: Buffer) -> int:
    """Bytes that the kernel changed in an input, or in the padding of any buffer.

    A store of the value that was there already leaves no trace.
    """
    if buffer.argument.role != "in" and not buffer.padded:
        return 0
    changed = contents(before, np.dtype(np.uint8)) != contents(after, np.dtype(np.uint8))
    changed |= undefined_bits(before) != undefined_bits(after)
    if buffer.argument.role != "in":
        items = changed.reshape(-1, buffer.itemsize)
        inside = np.zeros(buffer.size, np.bool_)
        buffer.view(inside)[...] = True
        items[inside] = False
    return int(changed.sum())


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Shared by all checks, so that none may change it."""
    array.flags.writeable = False
    return array
