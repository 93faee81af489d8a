"""Law: the outputs are what the contract says, up to rounding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutprobe.arch.matrix import MatrixForm
from layoutprobe.brief import brief
from layoutprobe.checks.base import Check
from layoutprobe.instructions.meetings import element_types
from layoutprobe.isa.kind import Kind
from layoutprobe.isa.matrix import matrix_form
from layoutprobe.manifest.model import Gemm, Reference
from layoutprobe.numbers import element_type
from layoutprobe.observe.executed import Executed, ExecutionRecorder
from layoutprobe.place import Element, Place
from layoutprobe.report.finding import Finding, Rule
from layoutprobe.report.gate import CheckResult
from layoutprobe.trace.gemm_faults import TILE, Product, error_metrics, where_wrong, words_for
from layoutprobe.trace.rounding import accumulators, is_exact, tolerated
from layoutprobe.trace.subject import Recorded, RunSpec, Subject

NAME = "numerics"
LAW = "the outputs are what the contract computes in float64, up to the rounding of their types"
EXPLAIN = """\
The kernel runs on small non-negative integers, on which no permutation of elements goes unseen: where
all partial sums are multiples of a power of two that the types hold, the result must be equal to the bit.
Where they are not (sums in 16 bits), it runs on few small integers of both signs, for which they are. It
runs again on standard normal numbers (bytes: on all values), and each element may differ from the float64
result by
  (K + 8) * 2^-23 * (|alpha| * |A| @ |B| + |beta * C|)  +  e * |C|  +  the smallest subnormal of C
where e is half a unit in the last place of C. Where instructions that ran add up in 16 bits, these come on
top, with u = 2^-11 for f16 and 2^-8 for bf16:
  4 * u * (sqrt(K + 8) * |alpha| * sqrt(A*A @ B*B) + |beta * C| + |result|)
(roundings of random numbers are a random walk; of numbers that the manifest gives they may all point the
same way, and (K + 8) * u * |alpha| * |A| @ |B| + 8 * u * |beta * C| comes on top.) A kernel that takes
alpha and beta runs also with (0, 1), (-1.5, 0) and (3e-6, -0.7), at sizes whose buffers are at most four
times as large as those of the smallest. A [tolerance] of the manifest replaces these bounds.
Undefined output elements are wrong. A Python reference is compared with
absolute + relative * |expected|, by default 1e-5 for f32, 1e-3 for f16, 1e-2 for bf16.
A manifest has no 8-bit floats: a product of them is undecided, a Python reference decides it. Buffers
of role "out" of which the contract says nothing leave it undecided. It cannot see faults that other
sizes or values would show. Evidence: emulated; sums are rounded once per instruction here, where a card
rounds in steps of two products."""

WRONG_VALUES = Rule(
    "numerics/wrong-values",
    "an output differs from what the contract computes by more than rounding explains",
    "Somewhere between the inputs and the store an element was exchanged, lost, added twice, or rounded too "
    "often. The finding says which elements, and where it can what they hold instead.",
    "operand-provenance and epilogue say which instruction, lane and register are at fault",
)
NEVER_DEFINED = Rule(
    "numerics/never-defined",
    "elements of an output were never given a defined value",
    "They keep what the memory held before, or were computed from something that nobody had stored.",
    "see epilogue for stores that are missing, and lds-safety for loads of what was never stored",
)

Doubles = NDArray[np.float64]

FACTORS = ((0.0, 1.0), (-1.5, 0.0), (3e-6, -0.7))
"""alpha and beta of runs beside those of the contract, as far as the kernel takes them as arguments."""

_REFERENCE = {"f16": 1e-3, "bf16": 1e-2, "f32": 1e-5, "f64": 1e-10}
_SHORT = 7


@dataclass(frozen=True, eq=False)
class Comparison:
    """One output of one run beside what it should be.

    Attributes:
        name: of the output.
        spec: the run.
        dtype: of the output.
        observed, expected: float64.
        undefined: bool, elements with bits that nobody has set.
        bound: largest error allowed, per element or for all.
        product: what was computed, where it is a product.
    """

    name: str
    spec: RunSpec
    dtype: str
    observed: Doubles
    expected: Doubles
    undefined: NDArray[np.bool_]
    bound: Doubles | float
    product: Product | None = None

    __repr__ = brief

    @property
    def wrong(self) -> NDArray[np.bool_]:
        """Elements that are off by more than the bound, or undefined."""
        with np.errstate(invalid="ignore"):
            near = np.isfinite(self.expected) & (np.abs(self.observed - self.expected) <= self.bound)
        # What rounds to infinity is infinitely far off, and right.
        same = (self.observed == rounded(self.expected, self.dtype)) | (
            np.isnan(self.observed) & np.isnan(self.expected)
        )
        return np.asarray(~(near | same) | self.undefined)


def run(subject: Subject) -> CheckResult:
    """Apply the law to the runs on integers and on normal numbers."""
    contract = subject.contract
    if isinstance(contract, Gemm):
        if types := _small_floats(subject):
            return CHECK.undecided(f"the kernel multiplies {types}, for which a manifest has no type")
        compared = list(_products(subject, contract))
    elif isinstance(contract, Reference):
        if subject.reference is None:
            return CHECK.undecided("the Python reference was not loaded: allow it to run")
        compared = list(_references(subject))
    else:
        return CHECK.skipped("the contract says nothing about values")
    metrics = _metrics(compared)
    findings = _findings(subject, compared)
    kinds = " and ".join(dict.fromkeys(c.spec.inputs for c in compared))
    if more := list(dict.fromkeys(filter(None, map(_with, (c.spec for c in compared))))):
        kinds += ", also with " + ", ".join(more)
    judged = {contract.d} if isinstance(contract, Gemm) else {c.name for c in compared}
    if not findings and (left := [name for name in _outputs(subject) if name not in judged]):
        return CHECK.undecided(
            f"every element of {', '.join(sorted(judged)) or 'nothing'}, on {kinds or 'no inputs'}; not judged: "
            f"{', '.join(left)}, of which the contract says nothing (a workspace has the role inout)",
            metrics=metrics,
        )
    return CHECK.found(findings, f"every element, on {kinds}", metrics=metrics)


def _metrics(compared: Sequence[Comparison]) -> dict[str, object]:
    """Errors of the runs with the contract's own alpha and beta."""
    metrics: dict[str, object] = {}
    for c in compared:
        if _with(c.spec):
            continue
        absolute, relative = error_metrics(c.observed, c.expected)
        about = f"{c.name}, {c.spec.inputs}"
        metrics[f"{about}: wrong"] = f"{100 * c.wrong.mean():.3g} %"
        metrics[f"{about}: max abs error"] = f"{absolute:.3g}"
        metrics[f"{about}: max error / max |{c.name}|"] = f"{relative:.3g}"
    return metrics


def _with(spec: RunSpec) -> str:
    """The factors of a run that are not the contract's: "alpha 0 and beta 1"; "" for none."""
    given = {"alpha": spec.alpha, "beta": spec.beta}
    return " and ".join(f"{name} {value:g}" for name, value in given.items() if value is not None)


def _small_floats(subject: Subject) -> str:
    """8-bit floats that the kernel's matrix instructions read; in a manifest they are bytes."""
    found = {t for inst in subject.insts.values() if Kind.MATRIX in inst.kind for t in element_types(inst)}
    return " and ".join(sorted(found & {"fp8", "bf8"}))


def _outputs(subject: Subject) -> list[str]:
    """Buffers that are results, and nothing but results."""
    return [name for name, buffer in subject.binding.buffers.items() if buffer.argument.role == "out"]


# What it should be


def _products(subject: Subject, contract: Gemm) -> Iterator[Comparison]:
    plain = _product(subject, contract, subject.plain())
    yield plain
    assert plain.product is not None
    if not is_exact(plain.product, plain.dtype, _kinds(subject)):
        yield _product(subject, contract, subject.run(RunSpec("sparse")))
    yield _product(subject, contract, subject.run(RunSpec("normal")))
    for alpha, beta in _factors(subject, contract):
        yield _product(subject, contract, subject.run(RunSpec("normal", (), alpha, beta)))


def _factors(subject: Subject, contract: Gemm) -> Iterator[tuple[float | None, float | None]]:
    """alpha and beta of further runs: what the kernel takes of each row of FACTORS, each once."""
    taken = subject.binding.scalars.values()
    if not subject.small:
        return
    rows = dict.fromkeys(
        (alpha if "alpha" in taken else None, beta if "beta" in taken and contract.c else None)
        for alpha, beta in FACTORS
    )
    yield from (row for row in rows if row not in ((None, None), (contract.alpha, contract.beta)))


def _product(subject: Subject, contract: Gemm, recorded: Recorded) -> Comparison:
    product = product_of(recorded, contract, tile_of(subject))
    observed = np.asarray(recorded.outputs[contract.d], np.float64)
    undefined = _undefined(recorded, contract.d)
    if contract.split_k:
        observed, undefined = observed.sum(axis=0), np.asarray(undefined.any(axis=0))
    dtype = subject.binding.buffers[contract.d].dtype
    expected = product.value()
    given = any(subject.case.argument(name).values is not None for name in (contract.a, contract.b))
    random = recorded.spec.inputs == "normal" and not given
    bound = tolerated(
        product, expected, dtype, _kinds(subject), subject.case.tolerance, random=random
    )  # fmt: skip
    return Comparison(
        "C", recorded.spec, dtype, observed, expected, np.asarray(undefined), bound, product
    )  # fmt: skip


def _kinds(subject: Subject) -> tuple[str, ...]:
    """Types in which what ran adds up."""
    return subject.once(_accumulators)


def _accumulators(subject: Subject) -> tuple[str, ...]:
    return accumulators(subject.plain().record(Executed).insts)


def product_of(recorded: Recorded, contract: Gemm, tile: int = TILE) -> Product:
    """The contract's product on the inputs of a run."""
    a, b = (np.asarray(recorded.inputs[name], np.float64) for name in (contract.a, contract.b))
    added = recorded.inputs.get(contract.c) if contract.c else None
    c = None if added is None else np.asarray(added, np.float64)
    return Product(a, b, c, recorded.alpha, recorded.beta, tile)


def tile_of(subject: Subject) -> int:
    """Rows of D of the kernel's largest matrix instruction."""
    return max((form.shape[0] for form in _forms(subject)), default=TILE)


def _forms(subject: Subject) -> list[MatrixForm]:
    forms = (matrix_form(inst) for inst in subject.insts.values() if Kind.MATRIX in inst.kind)
    return [form for form in forms if form is not None]


def rounded(values: Doubles, dtype: str) -> Doubles:
    """Values as an output of that type holds them at best."""
    kind = element_type(dtype)
    return kind.decode(kind.encode(values)) if kind.is_float else values


def _references(subject: Subject) -> Iterator[Comparison]:
    assert subject.reference is not None
    for kind in ("integers", "normal"):
        recorded = subject.plain() if kind == "integers" else subject.run(RunSpec(kind))
        inputs = {name: _for_reference(values) for name, values in recorded.inputs.items()}
        expected = subject.reference(inputs, dict(subject.sizes))
        yield from _beside(subject, recorded, kind, expected)


def _for_reference(values: NDArray[Any]) -> NDArray[Any]:
    floating = np.issubdtype(values.dtype, np.floating)
    return values.astype(np.float64) if floating else values.copy()


def _beside(
    subject: Subject, recorded: Recorded, kind: str, expected: Mapping[str, Any]
) -> Iterator[Comparison]:
    for name, values in expected.items():
        if name not in recorded.outputs:
            continue
        dtype = subject.binding.buffers[name].dtype
        observed = np.asarray(recorded.outputs[name], np.float64)
        wanted = np.broadcast_to(np.asarray(values, np.float64), observed.shape)
        given, usual = subject.case.tolerance, _REFERENCE.get(dtype, 0.0)
        absolute = usual if given.absolute is None else given.absolute
        relative = usual if given.relative is None else given.relative
        bound = absolute + relative * np.abs(wanted)
        yield Comparison(name, RunSpec(kind), dtype, observed, wanted, _undefined(recorded, name), bound)


def _undefined(recorded: Recorded, name: str) -> NDArray[np.bool_]:
    bits = recorded.undefined.get(name)
    shape = recorded.outputs[name].shape
    return np.zeros(shape, np.bool_) if bits is None else np.asarray(bits != 0)


# What is wrong


def _findings(subject: Subject, compared: list[Comparison]) -> list[Finding]:
    """One finding per output, from the first run that shows it."""
    found: dict[str, Finding] = {}
    for c in compared:
        if c.name not in found and c.wrong.any():
            found[c.name] = _finding(subject, c)
    return list(found.values())


def _finding(subject: Subject, c: Comparison) -> Finding:
    wrong = c.wrong
    index = tuple(int(i) for i in np.argwhere(wrong)[0])
    absolute, relative = error_metrics(c.observed, c.expected)
    if c.undefined.all():
        pattern = "no element is ever given a defined value"
    elif c.undefined[wrong].all():
        pattern = f"the wrong elements were never given a defined value: {where_wrong(wrong)}"
    elif c.product is not None:
        pattern = words_for(c.product, c.observed, wrong, c.bound)
    else:
        pattern = where_wrong(wrong)
    seen = "undefined" if c.undefined[index] else f"{c.observed[index]:.{_SHORT}g}"
    return Finding(
        NEVER_DEFINED if c.undefined[wrong].all() else WRONG_VALUES,
        f"{c.name} is wrong on {_title(c.spec)}: {pattern}",
        Place(kernel=subject.kernel.name, element=Element(c.name, index)),
        expected=f"{c.expected[index]:.{_SHORT}g}",
        observed=f"{seen}; {100 * wrong.mean():.3g} % of {c.name} is wrong, max abs error {absolute:.3g}, "
        f"{100 * relative:.3g} % of the largest element",
        hint="operand-provenance and epilogue say which instruction, lane and register are at fault",
        count=int(wrong.sum()),
    )


_KINDS = {"integers": "small integers", "sparse": "few small integers", "normal": "normal numbers"}


def _title(spec: RunSpec) -> str:
    factors = _with(spec)
    return _KINDS[spec.inputs] + (f" with {factors}" if factors else "")


CHECK = Check(NAME, LAW, EXPLAIN, run, observers=(ExecutionRecorder,), rules=(WRONG_VALUES, NEVER_DEFINED))
