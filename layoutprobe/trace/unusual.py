"""Outputs that are not what the contract says of inputs that are not usual: see `manifest.unusual`.

It is no finding, and the headline says it, unless the manifest names these inputs among those that the kernel bears,
or every kernel meets them (`Unusual.met`).
Only what is far off counts: rounding of large numbers is nobody's fault.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from layoutprobe.errors import ExecutionError
from layoutprobe.manifest.binding import Binding, BoundBuffer
from layoutprobe.manifest.inputs import IDLE, is_coded
from layoutprobe.manifest.model import Gemm
from layoutprobe.manifest.unusual import Unusual, kinds_for, unusual_of
from layoutprobe.numbers import element_type
from layoutprobe.numbers.magnitude import usual_size
from layoutprobe.observe.coverage import Coverage
from layoutprobe.trace.comparison import Comparison
from layoutprobe.trace.products import product_beside
from layoutprobe.trace.references import reference_bound, reference_of
from layoutprobe.trace.subject import Recorded, RunSpec, Subject, UndecidedError
from layoutprobe.trace.ties import settled

WHERE = " where "
"""Stands between what is said of an output, and of which inputs."""
_LITTLE = 1 << 17
"""Bytes of a launch's buffers that cost little: a fault may need more of them than the smallest size has."""
_MUCH = 1 << 20
"""And such as cost more: some faults need very many elements."""
_CODE = 16
"""Bits of whole numbers that sums of products are rounded or cut to."""
_FAR = 0.1
"""Of an element, and of the usual element of its output."""
_SHRUNK = 2.0**-8
"""An output that becomes as small as its inputs is no better told from a wrong one than on usual ones."""


def far_off(subject: Subject, compared: Iterable[Comparison]) -> tuple[str, ...]:
    """Outputs that are far from what the reference gives of unusual inputs, each in a few words; none where the
    manifest says which of them come. Of those that every kernel meets `borne` tells.

    Args:
        subject: the kernel at one size.
        compared: its outputs in runs on usual inputs.
    """
    asked = [kind for kind in subject.once(_kinds_asked) if _of(kind).met != "by all"]
    usual = _usual(compared) if asked else []
    found: list[str] = []
    for kind in asked:
        recorded = subject.run(RunSpec(kind), partial=True)
        if recorded.fault is not None or recorded.astray:
            found += [f"{what}{WHERE}{told(kind)}" for what in _undefined(subject, recorded)]
            continue
        beside = _beside(subject, recorded, usual)
        if subject.reference is not None and _asks_for_same(kind):
            beside = settled(subject, reference_of(recorded), beside)
        for c in beside:
            if c.wrong.any() and _is_told(subject, recorded, c):
                says = "another one" if _exactly(subject, kind, c.dtype) else "far off"
                found.append(f"{c.name} is {says}{WHERE}{told(kind)}")
    return tuple(found)


def _undefined(subject: Subject, recorded: Recorded) -> Iterator[str]:
    """What stops a run on inputs for which the contract has an answer: it asks for what nobody has set. An access
    outside of a buffer says nothing, as any number may be no index."""
    fault = recorded.fault
    if fault is not None and fault.kind.startswith(_NEVER_SET) and not recorded.astray:
        try:
            _expected(subject, recorded)
        except UndecidedError:
            return
        yield fault.what


_NEVER_SET = "undefined-"
"""How the kinds of such faults begin."""


def _kinds_asked(subject: Subject) -> list[str]:
    """Kinds of inputs that are tried: all that fit at two sizes, and some at the largest one."""
    every = _is_asked(subject)
    if not every and not (_may_be_asked(subject) and subject.binding.nbytes == max(subject.taken) <= _MUCH):
        return []
    kinds = kinds_for(inputs_of(subject.binding), _numbers(subject))
    linear = isinstance(subject.contract, Gemm)
    return [kind for kind in kinds if (every or _of(kind).often) and not (linear and _of(kind).linear)]


def _may_be_asked(subject: Subject) -> bool:
    is_known = isinstance(subject.contract, Gemm) or subject.reference is not None
    return is_known and subject.case.bears is None and not subject.sample


def _is_asked(subject: Subject) -> bool:
    """Whether the size is the smallest one, or the largest one that costs little: what these say, others do, too."""
    if not _may_be_asked(subject):
        return False
    least = min(subject.taken)
    most = max(size for size in subject.taken if size <= max(_LITTLE, least))
    return subject.binding.nbytes in (least, most)


def _is_told(subject: Subject, recorded: Recorded, beside: Comparison) -> bool:
    """Whether enough of what is wrong is to be judged: of some inputs what does not depend on them alone."""
    what, wrong = _of(recorded.spec.inputs), beside.wrong
    if what.foreign and not _is_chosen(subject, recorded, beside):
        wrong = wrong & _independent(subject, recorded, beside)
    return bool(wrong.any() and wrong.mean() >= what.share)


def _is_chosen(subject: Subject, recorded: Recorded, beside: Comparison) -> bool:
    """Whether an output is of integers that the reference chooses, as the place of a NaN; and not of what numbers
    that are not finite become when they are converted, which numpy does not define."""
    if element_type(beside.dtype).is_float:
        return False
    with np.errstate(all="ignore", invalid="raise"):
        try:
            _given(subject, reference_of(recorded))
        except UndecidedError:
            return False
    return True


@np.errstate(all="ignore")
def _independent(subject: Subject, recorded: Recorded, beside: Comparison) -> NDArray[np.bool_]:
    """Elements that do not depend on numbers of the inputs which are not finite; none where the reference fails."""
    judged = np.full(beside.expected.shape, True)
    for number in _FINITE:
        inputs = {
            name: np.where(np.isfinite(values), values, number) if values.dtype.kind == "f" else values
            for name, values in reference_of(recorded).items()
        }
        try:
            found = _given(subject, inputs)[beside.output]
        except UndecidedError:
            return np.full(judged.shape, False)
        judged &= np.asarray(found, np.float64) == beside.expected
    return judged


_FINITE = (0.25, -3.0)
"""Numbers in place of those that are not finite: what is the same with either does not depend on them."""


def beside_infinity(subject: Subject) -> tuple[str, ...]:
    """That an activated product is another one where A or B are infinite elsewhere: an element of another row, or
    from beyond K, is multiplied by 0. In a sentence; empty where it is not so, or cannot be told.

    It is no finding: some compute an activation so that it is NaN of infinity.
    """
    contract = subject.contract
    if not isinstance(contract, Gemm) or not contract.activation or not _is_asked(subject):
        return ()
    recorded = _run(subject, "nonfinite")
    if recorded is None:
        return ()
    beside = product_beside(subject, contract, recorded)
    known, infinite = ~np.isnan(beside.expected), np.isinf(beside.expected)
    wrong = known & (np.isnan(beside.observed) | (infinite & (beside.observed != beside.expected)))
    return (
        f"{contract.d} is another one where {contract.a} and {contract.b} are infinite here and there",
    ) * bool(wrong.any())


def idle_c(subject: Subject) -> tuple[str, ...]:
    """That a NaN in C spoils the output where beta is 0, in a sentence; empty where it does not, or none can tell.

    A kernel that multiplies by 0 may be meant so; BLAS does not read C then, and callers hand it memory that nobody
    has written. Asked at the smallest of the sizes: an element does there what it does at others.
    """
    contract = subject.contract
    if dict(subject.sizes) != dict(min(subject.case.sizes, key=lambda size: prod(dict(size).values()))):
        return ()
    if not isinstance(contract, Gemm) or not contract.c or not contract.beta or not subject.small:
        return ()
    c = subject.binding.buffers[contract.c]
    if "beta" not in subject.binding.scalars.values() or not is_coded(c) or not c.element.is_float:
        return ()
    recorded = _run(subject, IDLE, beta=0.0)
    if recorded is None or not np.isnan(np.asarray(recorded.outputs[contract.d], np.float64)).any():
        return ()
    return (
        f"{contract.d} is NaN where beta is 0 and {contract.c} was NaN: it is multiplied by 0, and BLAS leaves it",
    )


def borne(
    subject: Subject, compared: Iterable[Comparison]
) -> Iterator[Comparison | tuple[str, ExecutionError]]:
    """The outputs on the inputs that the kernel bears; (kind, fault) where the manifest names them, and it stops.

    Args:
        subject: the kernel at one size.
        compared: its outputs in runs on usual inputs.
    """
    kinds = subject.once(kinds_borne)
    usual = _usual(compared) if kinds else []
    for kind in kinds:
        recorded = subject.run(RunSpec(kind), partial=True)
        faults = [*recorded.astray, *([recorded.fault] if recorded.fault else [])]
        if not faults:
            beside = _beside(subject, recorded, usual)
            yield from (c for c in beside if c.wrong.mean() >= _of(kind).share)
        elif subject.case.bears is not None:
            yield kind, faults[0]


def kinds_borne(subject: Subject) -> Sequence[str]:
    """Kinds of inputs that the kernel bears: those that the manifest names, or else those that every kernel meets."""
    if subject.case.bears is not None:
        return subject.case.bears
    asked = [kind for kind in subject.once(_kinds_asked) if _of(kind).met == "by all"]
    return [kind for kind in asked if not _of(kind).level or _heeds_no_level(subject, kind.partition(" ")[2])]


def _heeds_no_level(subject: Subject, name: str) -> bool:
    """Whether the reference's outputs are the same of an input to all elements of which something is added, as those
    of a softmax are, or what is left of a mean."""
    usual, other = _at_level(subject, ""), _at_level(subject, name)
    alike = usual.keys() == other.keys() and all(_are_alike(usual[one], other[one]) for one in usual)
    return bool(usual) and alike


def _at_level(subject: Subject, name: str) -> Mapping[str, object]:
    """What the reference gives of normal numbers, of which one input is larger, if one is named; nothing where it
    fails."""
    key = (_at_level, name)
    if key not in subject.memo:
        recorded = _run(subject, "normal") if subject.reference is not None else None
        inputs = reference_of(recorded) if recorded is not None else {}
        with np.errstate(all="ignore"):
            try:
                more = {name: inputs[name] + _LEVEL} if name in inputs else {}
                subject.memo[key] = _given(subject, {**inputs, **more}) if inputs else {}
            except UndecidedError:
                subject.memo[key] = {}
    return cast(Mapping[str, object], subject.memo[key])


def _are_alike(one: object, other: object) -> bool:
    """Up to rounding in float64."""
    a, b = np.asarray(one, np.float64), np.asarray(other, np.float64)
    return a.shape == b.shape and np.allclose(a, b, rtol=_SAME, atol=_SAME, equal_nan=True)


_SAME, _LEVEL = 1e-7, 100.0
"""Of numbers that are alike, and what is added to numbers to ask whether that matters."""


def told(kind: str) -> str:
    """A kind of inputs in words: "x is about 256"."""
    unusual, about = unusual_of(kind) or (None, "")
    return unusual.says.format(name=about) if unusual else kind


def inputs_of(binding: Binding) -> list[BoundBuffer]:
    """Inputs that nobody makes before the launch: those that may hold anything, and those of which the manifest says
    what they hold."""
    return [
        b
        for b in binding.buffers.values()
        if b.argument.role != "out" and (is_coded(b) or b.argument.values is not None) and not b.argument.made
    ]


def _usual(compared: Iterable[Comparison]) -> list[Comparison]:
    """One comparison an output: what there is to compare."""
    spec = RunSpec("normal")
    return [one for one in compared if one.spec == spec]


def _exactly(subject: Subject, kind: str, dtype: str) -> bool:
    """Whether an output of a type has to be the same on inputs of a kind, and not only nearly so. What becomes of a
    tie only a reference says, but where nothing is rounded."""
    if element_type(dtype).is_float:
        return False
    if isinstance(subject.contract, Gemm):  # sums of whole numbers that 32 bits hold
        wide = element_type(dtype).bits > _CODE
        return wide and not any(element_type(b.dtype).is_float for b in subject.binding.buffers.values())
    return _asks_for_same(kind)


def _asks_for_same(kind: str) -> bool:
    """Whether integers have to be the same on inputs of a kind."""
    what = _of(kind)
    return what.whole or what.exact


def _of(kind: str) -> Unusual:
    """What is unusual about inputs; see `unusual_of`."""
    found = unusual_of(kind)
    assert found is not None, kind
    return found[0]


def _numbers(subject: Subject) -> list[float]:
    """Numbers of few bits that the code has as floats, those first that it has first: what is compared with one may
    be so with `<` for `<=`, which numbers drawn at random never tell."""
    literals = (
        operand.value
        for inst in subject.plain().record(Coverage).insts
        for operand in inst.src
        if operand.kind == "literal" and operand.value >> 32 == 0
    )
    with np.errstate(all="ignore"):
        floats = np.array(list(dict.fromkeys(literals)), np.uint32).view(np.float32).astype(np.float64)
        few = floats[(np.abs(floats) > _LEAST) & (np.abs(floats) < _LARGEST) & (floats * _PARTS % 1 == 0)]
    return [float(number) for number in few[:_NUMBERS]]


_LEAST, _LARGEST, _PARTS, _NUMBERS = 2.0**-6, 2.0**12, 2.0**6, 6
"""Of numbers at which inputs have an edge: more than what, less than what, of which they are multiples; how many."""


def _run(subject: Subject, kind: str, beta: float | None = None) -> Recorded | None:
    """The run on inputs of a kind, if it comes to its end."""
    recorded = subject.run(RunSpec(kind, beta=beta), partial=True)
    return None if recorded.fault is not None or recorded.astray else recorded


def _beside(subject: Subject, recorded: Recorded, usual: Sequence[Comparison]) -> Iterator[Comparison]:
    """The outputs that tell something, with a bound that only what is far off is beyond."""
    kind = recorded.spec.inputs
    what = _of(kind)
    with np.errstate(all="ignore"):
        try:
            expected = _expected(subject, recorded)
        except UndecidedError:
            return
        for one in usual:
            if one.output not in recorded.outputs or (what.whole and element_type(one.dtype).is_float):
                continue
            observed = np.asarray(recorded.outputs[one.output], np.float64)
            wanted = np.asarray(expected[one.output], np.float64)
            if isinstance(subject.contract, Gemm) and subject.contract.split_k:
                observed = observed.sum(axis=0)
            wanted = np.broadcast_to(wanted, one.expected.shape)
            if what.scaled and usual_size(wanted) < _SHRUNK * usual_size(one.expected):
                continue
            held, far = _far(wanted, one.dtype)
            bound = np.zeros(wanted.shape) if _exactly(subject, kind, one.dtype) else far
            if subject.case.tolerance_of(one.name).given:
                bound = np.fmax(bound, reference_bound(subject, one.name, wanted))
            yield Comparison(
                one.name,
                one.output,
                recorded.spec,
                one.dtype,
                observed,
                wanted,
                np.zeros(observed.shape, np.bool_),
                bound,
                judged=held,
            )


def _expected(subject: Subject, recorded: Recorded) -> Mapping[str, object]:
    """Output -> what the contract says of it."""
    if isinstance(subject.contract, Gemm):
        return {subject.contract.d: product_beside(subject, subject.contract, recorded).expected}
    return _given(subject, reference_of(recorded))


def _given(subject: Subject, inputs: Mapping[str, NDArray[Any]]) -> Mapping[str, object]:
    """What the Python reference gives of some inputs."""
    if subject.reference is None:
        raise UndecidedError("the Python reference was not loaded")
    found: Mapping[str, object] = subject.reference(inputs, dict(subject.sizes))
    return found


def _far(wanted: NDArray[np.float64], dtype: str) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Elements that are judged, and how far off each may be."""
    kind = element_type(dtype)
    size = np.abs(wanted)
    held = np.isfinite(wanted)
    if kind.is_float:  # between these two rounding alone may make it infinite
        held &= (size < kind.largest / 2) | (size == kind.largest)
    return held, _FAR * (size + usual_size(wanted[held])) + kind.smallest
