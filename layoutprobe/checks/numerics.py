"""Law: the outputs are what the contract says, up to rounding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
from layoutprobe.manifest.model import Gemm, Reference, Tolerance
from layoutprobe.numbers import element_type
from layoutprobe.place import Element, Place
from layoutprobe.report.finding import Finding, Rule
from layoutprobe.report.gate import CheckResult
from layoutprobe.trace.gemm_faults import TILE, Product, error_metrics, where_wrong, words_for
from layoutprobe.trace.subject import Recorded, RunSpec, Subject

NAME = "numerics"
LAW = "the outputs are what the contract computes in float64, up to the rounding of their types"
EXPLAIN = """\
The kernel runs on small non-negative integers, on which no permutation of elements goes unseen: where
all partial sums are integers that the types hold, the result must be equal to the bit. It runs again
on standard normal numbers (bytes: on all values), and each element may differ from the float64 result by
  (K + 8) * u * (|alpha| * |A| @ |B| + |beta * C|)  +  e * |C|  +  the smallest subnormal of C
where u is 2^-23 for f32 accumulators (twice the unit roundoff, as matrix units may truncate), 2^-11
for f16 and 2^-8 for bf16 accumulators, and e is half a unit in the last place of C. A [tolerance] of
the manifest replaces this. Undefined output elements are wrong. A Python reference is compared with
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

_F32 = 2.0**-23
_REFERENCE = {"f16": 1e-3, "bf16": 1e-2, "f32": 1e-5, "f64": 1e-10}
_SHORT = 7


@dataclass(frozen=True, eq=False)
class Comparison:
    """One output of one run beside what it should be.

    Attributes:
        name: of the output.
        inputs: kind of the run's inputs.
        dtype: of the output.
        observed, expected: float64.
        undefined: bool, elements with bits that nobody has set.
        bound: largest error allowed, per element or for all.
        product: what was computed, where it is a product.
    """

    name: str
    inputs: str
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
            near = np.abs(self.observed - self.expected) <= self.bound
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
    metrics: dict[str, object] = {}
    for c in compared:
        absolute, relative = error_metrics(c.observed, c.expected)
        metrics[f"{c.name}, {c.inputs}: wrong"] = f"{100 * c.wrong.mean():.3g} %"
        metrics[f"{c.name}, {c.inputs}: max abs error"] = f"{absolute:.3g}"
        metrics[f"{c.name}, {c.inputs}: max error / max |{c.name}|"] = f"{relative:.3g}"
    findings = _findings(subject, compared)
    kinds = " and ".join(dict.fromkeys(c.inputs for c in compared))
    judged = {contract.d} if isinstance(contract, Gemm) else {c.name for c in compared}
    if not findings and (left := [name for name in _outputs(subject) if name not in judged]):
        return CHECK.undecided(
            f"every element of {', '.join(sorted(judged)) or 'nothing'}, on {kinds or 'no inputs'}; not judged: "
            f"{', '.join(left)}, of which the contract says nothing (a workspace has the role inout)",
            metrics=metrics,
        )
    return CHECK.found(findings, f"every element, on {kinds}", metrics=metrics)


def _small_floats(subject: Subject) -> str:
    """8-bit floats that the kernel's matrix instructions read; in a manifest they are bytes."""
    found = {t for inst in subject.insts.values() if Kind.MATRIX in inst.kind for t in element_types(inst)}
    return " and ".join(sorted(found & {"fp8", "bf8"}))


def _outputs(subject: Subject) -> list[str]:
    """Buffers that are results, and nothing but results."""
    return [name for name, buffer in subject.binding.buffers.items() if buffer.argument.role == "out"]


# What it should be


def _products(subject: Subject, contract: Gemm) -> Iterator[Comparison]:
    for kind in ("integers", "normal"):
        recorded = subject.plain() if kind == "integers" else subject.run(RunSpec(kind))
        product = product_of(recorded, contract, tile_of(subject))
        observed = np.asarray(recorded.outputs[contract.d], np.float64)
        undefined = _undefined(recorded, contract.d)
        if contract.split_k:
            observed, undefined = observed.sum(axis=0), np.asarray(undefined.any(axis=0))
        dtype = subject.binding.buffers[contract.d].dtype
        expected = product.value()
        bound = tolerated(product, expected, dtype, accumulators(subject), subject.case.tolerance)
        yield Comparison("C", kind, dtype, observed, expected, np.asarray(undefined), bound, product)


def product_of(recorded: Recorded, contract: Gemm, tile: int = TILE) -> Product:
    """The contract's product on the inputs of a run."""
    a, b = (np.asarray(recorded.inputs[name], np.float64) for name in (contract.a, contract.b))
    added = recorded.inputs.get(contract.c) if contract.c else None
    c = None if added is None else np.asarray(added, np.float64)
    return Product(a, b, c, recorded.alpha, recorded.beta, tile)


def tile_of(subject: Subject) -> int:
    """Rows of D of the kernel's largest matrix instruction."""
    return max((form.shape[0] for form in _forms(subject)), default=TILE)


def accumulators(subject: Subject) -> tuple[str, ...]:
    """Types in which the kernel's matrix instructions accumulate."""
    return tuple(sorted({form.result for form in _forms(subject)}))


def _forms(subject: Subject) -> list[MatrixForm]:
    forms = (matrix_form(inst) for inst in subject.insts.values() if Kind.MATRIX in inst.kind)
    return [form for form in forms if form is not None]


def tolerated(
    product: Product, expected: Doubles, dtype: str, kinds: tuple[str, ...], given: Tolerance
) -> Doubles | float:
    """Largest error of each element; see EXPLAIN.

    Args:
        product, expected: the product and its value.
        dtype: of the output.
        kinds: accumulator types.
        given: the manifest's, which goes before.
    """
    if given.absolute is not None or given.relative is not None:
        return np.asarray((given.absolute or 0.0) + (given.relative or 0.0) * np.abs(expected))
    terms, added = product.magnitude()
    if _is_exact(product, terms + added, dtype, kinds):
        return 0.0
    output = element_type(dtype)
    if not output.is_float:
        return 0.5
    unit = max([_F32, *(_half_ulp(kind) for kind in kinds)])
    depth = product.a.shape[-1]
    sums = (depth + 8) * unit * terms + (depth + 8) * _F32 * added
    return np.asarray(sums + _half_ulp(dtype) * np.abs(expected) + output.smallest)


def _half_ulp(kind: str) -> float:
    """Half a unit in the last place, relative to the number; 0 for integers."""
    found = element_type(kind)
    return 2.0**-found.precision if found.is_float else 0.0


def _is_exact(product: Product, magnitude: Doubles, dtype: str, kinds: tuple[str, ...]) -> bool:
    """All partial results are integers that every type on the way holds."""
    limit = min(element_type(kind).exact for kind in ("f64", dtype, *(kinds or ("f32",))))
    parts = [product.a, product.b, np.asarray([product.alpha, product.beta])]
    parts += [] if product.c is None else [product.c]
    whole = all(bool((part == np.rint(part)).all()) for part in parts)
    return whole and float(magnitude.max(initial=0.0)) <= limit


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
        yield Comparison(name, kind, dtype, observed, wanted, _undefined(recorded, name), bound)


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
        f"{c.name} is wrong on {_KINDS[c.inputs]}: {pattern}",
        Place(kernel=subject.kernel.name, element=Element(c.name, index)),
        expected=f"{c.expected[index]:.{_SHORT}g}",
        observed=f"{seen}; {100 * wrong.mean():.3g} % of {c.name} is wrong, max abs error {absolute:.3g}, "
        f"{100 * relative:.3g} % of the largest element",
        hint="operand-provenance and epilogue say which instruction, lane and register are at fault",
        count=int(wrong.sum()),
    )


_KINDS = {"integers": "small integers", "normal": "normal numbers"}

CHECK = Check(NAME, LAW, EXPLAIN, run, rules=(WRONG_VALUES, NEVER_DEFINED))
