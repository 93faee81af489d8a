"""The outputs of a kernel beside what the user's Python reference says of them, run by run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe.errors import did_you_mean
from layoutprobe.manifest.model import Gemm
from layoutprobe.numbers import element_type
from layoutprobe.numbers.cut_off import cut_off
from layoutprobe.numbers.magnitude import usual_size
from layoutprobe.observe.coverage import Coverage
from layoutprobe.trace.comparison import Comparison, Doubles, undefined_in
from layoutprobe.trace.epilogues import Steps, rebound, steps_of
from layoutprobe.trace.executed import read_types, tile_of
from layoutprobe.trace.gemm_faults import Product
from layoutprobe.trace.narrow import only_kept, passed_through
from layoutprobe.trace.orders import in_other_orders
from layoutprobe.trace.packed import BITS, takes_all_bits
from layoutprobe.trace.problem import NoProductError, require_product
from layoutprobe.trace.products import product_of, typed
from layoutprobe.trace.rounding import widened
from layoutprobe.trace.subject import Recorded, RunSpec, Subject, UndecidedError
from layoutprobe.trace.ties import between_steps, settled

_REFERENCE = {"f16": 1e-3, "bf16": 1e-2, "f32": 1e-5, "f64": 1e-10}


def references(subject: Subject) -> tuple[Comparison, ...]:
    """The outputs of which the user's Python reference says what they should be."""
    return subject.once(_references)


def _references(subject: Subject) -> tuple[Comparison, ...]:
    return tuple(_compared(subject))


def _compared(subject: Subject) -> Iterator[Comparison]:
    assert subject.reference is not None
    usual: dict[str, Doubles] = {}
    for kind in ("integers", "normal"):
        recorded = recorded_for(subject, RunSpec(kind))
        for found in compared_with(subject, recorded):
            usual[found.name] = found.expected
            yield found
    if takes_all_bits(subject, reference_of(recorded), usual):
        yield from compared_with(subject, subject.run(BITS))
    for recorded in in_other_orders(subject):
        yield from compared_with(subject, recorded)


def compared_with(subject: Subject, recorded: Recorded) -> Iterator[Comparison]:
    """The outputs of one run; elements that rounding explains are right."""
    assert subject.reference is not None
    inputs = reference_of(recorded)
    expected = subject.reference(inputs, dict(subject.sizes))
    found = settled(subject, inputs, _beside(subject, recorded, expected))
    read = (
        kind for kind in subject.once(read_types) if kind in _REFERENCE
    )  # perhaps of what the kernel has made
    return between_steps(subject, inputs, (*subject.once(_on_the_way), *read), found)


def recorded_for(subject: Subject, spec: RunSpec) -> Recorded:
    """The run that a Python reference is compared with."""
    return subject.plain() if spec == RunSpec("integers") else subject.run(spec)


def reference_of(recorded: Recorded) -> dict[str, NDArray[Any]]:
    """What a Python reference gets of a run."""
    return {name: as_given(values) for name, values in recorded.inputs.items()}


def reference_bound(subject: Subject, name: str, wanted: Doubles, *, alone: bool = False) -> Doubles:
    """The largest error of an output that a Python reference lets pass: the manifest's, or that of the narrowest of
    the output's type and, if not that `alone`, those that the kernel converts to on the way. A sum is as wrong as its
    terms are, which may be larger than it is: the usual element counts, too."""
    given, dtype = subject.case.tolerance_of(name), subject.binding.buffers[name].dtype
    if given.given:
        usual = _REFERENCE.get(dtype, 0.0)
        absolute = usual if given.absolute is None else given.absolute
        relative = usual if given.relative is None else given.relative
        return np.asarray(absolute + relative * np.abs(wanted))
    if not element_type(dtype).is_float:
        return np.zeros(wanted.shape)
    return _bound((dtype, *(() if alone else subject.once(_on_the_way))), wanted)


def bound_if_kept(subject: Subject, name: str, wanted: Doubles) -> tuple[str, Doubles] | None:
    """A type of 16 bits in which values are kept on the way though nothing says that they are meant to be, and the
    error that this would explain; None where there is none, or where the manifest gives a bound."""
    kept, given = subject.once(_kept), subject.case.tolerance_of(name).given
    if not kept or given:
        return None
    return " and ".join(kept), _bound((subject.binding.buffers[name].dtype, *kept), wanted)


def _bound(kinds: Iterable[str], wanted: Doubles) -> Doubles:
    usual = max(_REFERENCE.get(kind, 0.0) for kind in kinds)
    return np.asarray(usual * (1 + np.abs(wanted) + usual_size(wanted)))


def _on_the_way(subject: Subject) -> tuple[str, ...]:
    """Types that values go through, as far as they are meant to."""
    kept = subject.once(_kept)
    return tuple(kind for kind in passed_through(subject.plain().record(Coverage)) if kind not in kept)


def _kept(subject: Subject) -> tuple[str, ...]:
    declared = {buffer.dtype for buffer in subject.binding.buffers.values()}
    declared |= {argument.dtype for argument in subject.case.arguments}
    return only_kept(subject.plain().record(Coverage), declared)


def as_given(values: NDArray[Any]) -> NDArray[Any]:
    """A tensor as a Python reference gets it: all floats in 64 bits, and a copy of everything else."""
    floating = np.issubdtype(values.dtype, np.floating)
    return values.astype(np.float64) if floating else values.copy()


def _beside(subject: Subject, recorded: Recorded, expected: Mapping[str, Any]) -> Iterator[Comparison]:
    spec = replace(recorded.spec, observers=())
    for name, values in _named(recorded, expected).items():
        dtype = subject.binding.buffers[name].dtype
        observed = np.asarray(recorded.outputs[name], np.float64)
        wanted = _shaped(name, values, observed.shape)
        bound = reference_bound(subject, name, wanted)
        says = _widened(subject, name, dtype)
        own = reference_bound(subject, name, wanted, alone=True) if says else None
        undefined = undefined_in(recorded, name)
        if element_type(dtype).is_float and not subject.case.tolerance_of(name).given:
            bound = np.where(cut_off(wanted, observed, dtype), 0.0, bound)
        found = Comparison(name, name, spec, dtype, observed, wanted, undefined, bound, own=own, widened=says)
        yield replace(found, product=_product_in(subject, recorded, found)) if found.wrong.any() else found


def _widened(subject: Subject, name: str, dtype: str) -> str:
    if subject.case.tolerance_of(name).given or not element_type(dtype).is_float:
        return ""
    return widened(subject.once(_on_the_way), name, dtype)


def _product_in(subject: Subject, recorded: Recorded, c: Comparison) -> Product | None:
    """The product that a reference computes, with the steps that it makes of it; None where they are not found."""
    try:
        contract = require_product(subject)
    except NoProductError:
        return None
    if contract.d != c.output:
        return None
    product = typed(subject, contract, product_of(recorded, contract, tile_of(subject)))
    beside = {
        name: np.asarray(values, np.float64)
        for name, values in recorded.inputs.items()
        if name not in (contract.a, contract.b)
    }
    steps = _steps_in(subject, contract)
    if steps is None:
        return None
    shape = c.observed.shape
    return replace(product, steps=tuple(rebound(step, beside, shape) for step in steps))


def _steps_in(subject: Subject, contract: Gemm) -> Steps | None:
    """The steps of a reference, found on numbers of both signs: on others an activation may change nothing."""
    assert subject.reference is not None
    recorded = subject.run(RunSpec("normal"))
    inputs = {name: as_given(values) for name, values in recorded.inputs.items()}
    expected = np.asarray(subject.reference(inputs, dict(subject.sizes))[contract.d], np.float64)
    a, b = (np.asarray(inputs.pop(name), np.float64) for name in (contract.a, contract.b))
    beside = {name: np.asarray(values, np.float64) for name, values in inputs.items()}
    return steps_of(a @ b, expected, beside)


def _named(recorded: Recorded, expected: object) -> Mapping[str, Any]:
    """What a reference returned, if it names outputs and nothing else.

    Raises:
        UndecidedError: it does not.
    """
    outputs = ", ".join(recorded.outputs)
    if not isinstance(expected, Mapping) or not expected:
        told = "nothing" if isinstance(expected, Mapping) else f"a {type(expected).__name__}"
        raise UndecidedError(
            f"your Python reference returned {told}; expected a mapping from outputs to arrays: {outputs}"
        )
    for name in expected:
        if name not in recorded.outputs:
            near = did_you_mean(name, recorded.outputs)
            raise UndecidedError(
                f"your Python reference returned {str(name)[:80]!r}, which is no output; outputs are {outputs}"
                + (f"; {near}" if near else "")
            )
    return expected


def _shaped(name: str, values: object, shape: tuple[int, ...]) -> Doubles:
    try:
        wanted = np.asarray(values, np.float64)
    except (TypeError, ValueError) as error:
        raise UndecidedError(f"your Python reference's {name} is no array of numbers: {error}") from error
    if wanted.shape not in ((), shape):
        raise UndecidedError(
            f"your Python reference's {name} has shape {list(wanted.shape)}; the output has {list(shape)}"
        )
    return np.broadcast_to(wanted, shape)
