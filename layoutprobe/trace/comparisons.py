"""The outputs of a kernel beside what the contract says of them, run by run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutprobe.arch.matrix import MatrixForm
from layoutprobe.brief import brief
from layoutprobe.errors import did_you_mean
from layoutprobe.instructions.meetings import element_types
from layoutprobe.isa.inst import Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.isa.matrix import matrix_form
from layoutprobe.manifest.coding import is_small_float
from layoutprobe.manifest.model import Gemm, Reference
from layoutprobe.manifest.unusual import unusual_of
from layoutprobe.numbers import element_type, rounded
from layoutprobe.observe.coverage import Coverage
from layoutprobe.trace.epilogues import ACTIVATE, ADD, MULTIPLY, Step, Steps, rebound, steps_of
from layoutprobe.trace.gemm_faults import TILE, Factored, Product
from layoutprobe.trace.narrow import Arithmetic, arithmetic, passed_through
from layoutprobe.trace.orders import in_other_orders
from layoutprobe.trace.packed import BITS, takes_all_bits
from layoutprobe.trace.problem import NoProductError, require_product
from layoutprobe.trace.rounding import is_exact, judgeable, tolerated
from layoutprobe.trace.subject import Recorded, RunSpec, Subject, UndecidedError

Doubles = NDArray[np.float64]

FACTORS = ((0.0, 1.0), (-1.5, 0.0), (3e-6, -0.7))
"""alpha and beta of runs beside those of the contract, as far as the kernel takes them as arguments."""
_MOSTLY = 0.9
"""Share of numbers that must be there for being recognised: stores of other rows may lie between."""
_SIXTEEN = ("f16", "bf16")
_ROUNDED = 2.0**-7
"""How far off numbers of the wider type are in the other one."""
_REFERENCE = {"f16": 1e-3, "bf16": 1e-2, "f32": 1e-5, "f64": 1e-10}


@dataclass(frozen=True, eq=False)
class Comparison:
    """One output of one run beside what it should be.

    Attributes:
        name: of the output, as the contract has it.
        output: the output's buffer.
        spec: the run.
        dtype: of the output.
        observed, expected: float64.
        undefined: bool, elements with bits that nobody has set.
        bound: largest error allowed, per element or for all.
        product: what was computed, where it is a product.
    """

    name: str
    output: str
    spec: RunSpec
    dtype: str
    observed: Doubles
    expected: Doubles
    undefined: NDArray[np.bool_]
    bound: Doubles | float
    product: Product | None = None

    __repr__ = brief

    @cached_property
    def wrong(self) -> NDArray[np.bool_]:
        """Elements that are off by more than the bound, or undefined."""
        with np.errstate(invalid="ignore"):
            near = np.isfinite(self.expected) & (np.abs(self.observed - self.expected) <= self.bound)
        # What rounds to infinity is infinitely far off, and right.
        same = (self.observed == rounded(self.expected, self.dtype)) | (
            np.isnan(self.observed) & np.isnan(self.expected)
        )
        return np.asarray(~(near | same) | self.undefined)


def products(subject: Subject, contract: Gemm) -> Iterator[Comparison]:
    """The output of a matrix product in all runs that are worth their time, beside what it should be."""
    plain = plain_product(subject, contract)
    yield plain
    assert plain.product is not None
    if not is_exact(plain.product, plain.dtype, _computed(subject)):
        yield product_beside(subject, contract, subject.run(RunSpec("sparse")))
    yield product_beside(subject, contract, subject.run(RunSpec("normal")))
    for alpha, beta in _factors(subject, contract):
        yield product_beside(subject, contract, subject.run(RunSpec("normal", (), alpha, beta)))
    if _takes_any_float(subject, contract):
        for kind in ("scaled", "nonfinite"):
            yield product_beside(subject, contract, subject.run(RunSpec(kind)))
    for recorded in in_other_orders(subject):
        yield product_beside(subject, contract, recorded)


def plain_product(subject: Subject, contract: Gemm) -> Comparison:
    """The output of a matrix product in the run on small integers."""
    recorded = subject.plain()  # first: where it stopped, there is nothing to remember
    key = (plain_product, contract)
    if key not in subject.memo:
        subject.memo[key] = product_beside(subject, contract, recorded)
    found: Comparison = subject.memo[key]
    return found


def holds_f32(c: Comparison) -> bool:
    """Two elements of 16 bits hold one number of 32: its bits are those of what should be there."""
    kind = element_type(c.dtype)
    if kind.storage.itemsize != 2 or not kind.is_float or c.undefined.all():
        return False
    pairs = c.observed.size // 2
    bits = np.ascontiguousarray(kind.encode(c.observed.ravel()[: 2 * pairs])).view(np.uint32)
    known = ~c.undefined.ravel()[: 2 * pairs].reshape(-1, 2).any(axis=1)
    wanted = c.expected.ravel()[:pairs].astype(np.float32)
    found = bits.view(np.float32) == wanted
    return bool(known.any() and np.unique(wanted[known]).size > 1 and found[known].mean() > _MOSTLY)


def taken_for(c: Comparison) -> str:
    """The other type of 16 bits as which nearly all bits of a wrong output are what should be there; "" for none."""
    if c.dtype not in _SIXTEEN or c.undefined.all():
        return ""
    (other,) = (kind for kind in _SIXTEEN if kind != c.dtype)
    bits = np.asarray(element_type(c.dtype).encode(c.observed[~c.undefined]))
    held = np.asarray(element_type(other).decode(bits), np.float64)
    wanted = c.expected[~c.undefined]
    with np.errstate(invalid="ignore"):
        near = np.abs(held - wanted) <= _ROUNDED * np.abs(wanted)
    return other if np.unique(wanted).size > 1 and near.mean() > _MOSTLY else ""


def compared_in(subject: Subject) -> list[Comparison]:
    """All outputs of all runs of which the contract says what they should be; none where it says nothing.

    Raises:
        RunStoppedError, UndecidedError: a run stopped, or a reference does not fit.
    """
    if isinstance(subject.contract, Gemm):
        return list(products(subject, subject.contract))
    if isinstance(subject.contract, Reference) and subject.reference is not None:
        return list(references(subject))
    return []


def with_outputs(subject: Subject, c: Comparison, recorded: Recorded) -> Comparison:
    """A comparison with the outputs of another launch on the same inputs."""
    contract = subject.contract
    if isinstance(contract, Gemm) and (contract.split_k or c.spec.inputs == "scaled"):
        return product_beside(subject, contract, recorded)
    observed = np.asarray(recorded.outputs[c.output], np.float64)
    return replace(c, observed=observed, undefined=_undefined(recorded, c.output))


def wrong_on_integers(subject: Subject) -> bool:
    """Whether an output is wrong in the run on small integers, as far as the contract says what it should be."""
    if isinstance(subject.contract, Gemm):
        return bool(plain_product(subject, subject.contract).wrong.any())
    return any(c.wrong.any() for c in compared_in(subject) if c.spec.inputs == "integers")


def right_to_the_unit(subject: Subject) -> bool:
    """The output of a product of small integers is off by less than any wrong product would make it, whatever the
    manifest tolerates."""
    if not isinstance(subject.contract, Gemm):
        return False
    c = plain_product(subject, subject.contract)
    if c.product is None or c.product.steps or c.undefined.any() or not c.product.alpha:
        return False
    with np.errstate(invalid="ignore"):
        return bool((np.abs(c.observed - c.expected) < abs(c.product.alpha) / 4).all())


def _takes_any_float(subject: Subject, contract: Gemm) -> bool:
    """A and B are floats that the gate chooses and that the kernel multiplies as they are, at a small size.

    Whoever converts them first, or states a tolerance, may have good reason to give up some range.
    """
    buffers = [subject.binding.buffers[name] for name in (contract.a, contract.b)]
    given = subject.case.tolerance
    if not subject.small or given.absolute is not None or given.relative is not None:
        return False
    if contract.activation:  # many drop NaN
        return False
    if any(not b.element.is_float or b.argument.values is not None for b in buffers):
        return False
    forms = [matrix_form(inst) for inst in executed(subject) if Kind.MATRIX in inst.kind]
    kinds = {kind for form in forms if form is not None for kind in (form.a, form.b)}
    return kinds <= {b.dtype for b in buffers}


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


@np.errstate(all="ignore")
def product_beside(subject: Subject, contract: Gemm, recorded: Recorded) -> Comparison:
    """The output of a matrix product in one run, beside what it should be."""
    product = _typed(subject, contract, product_of(recorded, contract, tile_of(subject)))
    product = replace(product, shared=_shared(subject, product))
    observed = np.asarray(recorded.outputs[contract.d], np.float64)
    undefined = _undefined(recorded, contract.d)
    if contract.split_k:
        observed, undefined = observed.sum(axis=0), np.asarray(undefined.any(axis=0))
    dtype = subject.binding.buffers[contract.d].dtype
    expected = _held(product.value(), dtype) if product.steps else product.value()
    given = any(subject.case.argument(name).values is not None for name in (contract.a, contract.b))
    random = recorded.spec.inputs in ("normal", "scaled") and not given
    computed = _computed(subject)
    bound = tolerated(product, expected, dtype, computed, subject.case.tolerance, random=random)
    if recorded.spec.inputs == "scaled" or unusual_of(
        recorded.spec.inputs
    ):  # where a sum may overflow on the way, anything may come out
        expected = np.where(judgeable(product, (dtype, *computed.sums, *computed.once)), expected, observed)
    return Comparison(
        contract.d,
        contract.d,
        recorded.spec,
        dtype,
        observed,
        expected,
        np.asarray(undefined),
        bound,
        product,
    )


def _shared(subject: Subject, product: Product) -> Factored:
    """A and B with their products: those of the run before if they are the same, as runs differ in alpha and beta."""
    last: Factored | None = subject.memo.get(_shared)
    if last is None or not (np.array_equal(last.a, product.a) and np.array_equal(last.b, product.b)):
        last = subject.memo[_shared] = product.factored
    return last


def looser(subject: Subject, c: Comparison, kind: str) -> Doubles | float | None:
    """The largest error that would be allowed if the kernel added up in `kind`, too; None where there is no product,
    or the manifest states a tolerance."""
    given = subject.case.tolerance
    if c.product is None or given.absolute is not None or given.relative is not None:
        return None
    computed = _computed(subject)
    narrower = replace(computed, sums=(*computed.sums, kind))
    return tolerated(c.product, c.expected, c.dtype, narrower, given, random=c.spec.inputs == "normal")


def _typed(subject: Subject, contract: Gemm, product: Product) -> Product:
    """The product with the types of A and B, and what the kernel's matrix instructions take them for."""
    first, second = (subject.binding.buffers[name].dtype for name in (contract.a, contract.b))
    read = subject.once(_read_types)
    return replace(product, types=(first, second), taken_for=(read, read), extents=subject.sizes)


def _held(values: Doubles, dtype: str) -> Doubles:
    """What an output can hold: integers saturate."""
    kind = element_type(dtype)
    if kind.is_float:
        return values
    info = np.iinfo(kind.storage)
    return np.clip(values, float(info.min), float(info.max))


def _read_types(subject: Subject) -> tuple[str, ...]:
    """Types of A and B of the matrix instructions that ran, with and without a sign."""
    found = {t for inst in executed(subject) if Kind.MATRIX in inst.kind for t in element_types(inst)}
    whole = {t.removeprefix("iu") for t in found if t.startswith("iu")}
    return tuple(sorted({t for t in found if not t.startswith("iu")} | {s + n for n in whole for s in "iu"}))


def small_floats(subject: Subject) -> str:
    """8-bit floats that the kernel's matrix instructions read, and that its buffers are not said to hold."""
    found = {t for inst in executed(subject) if Kind.MATRIX in inst.kind for t in element_types(inst)}
    given = {buffer.dtype for buffer in subject.binding.buffers.values()}
    return " and ".join(sorted({t for t in found - given if is_small_float(t)}))


def _computed(subject: Subject) -> Arithmetic:
    """Types in which what ran adds up and rounds."""
    return subject.once(_arithmetic)


def _arithmetic(subject: Subject) -> Arithmetic:
    return arithmetic(subject.plain().record(Coverage))


def executed(subject: Subject) -> tuple[Inst, ...]:
    """Instructions that ran in the run on small integers, once each."""
    return subject.plain().record(Coverage).insts


def product_of(recorded: Recorded, contract: Gemm, tile: int = TILE) -> Product:
    """The contract's product on the inputs of a run."""
    a, b = (np.asarray(recorded.inputs[name], np.float64) for name in (contract.a, contract.b))
    added = recorded.inputs.get(contract.c) if contract.c else None
    c = None if added is None else np.asarray(added, np.float64)
    if not contract.beside and not contract.activation:
        return Product(a, b, c, recorded.alpha, recorded.beta, tile)
    steps = _stated(recorded, contract, None if c is None or not recorded.beta else recorded.beta * c)
    return Product(a, b, None, recorded.alpha, 0.0, tile, steps=steps)


def _stated(recorded: Recorded, contract: Gemm, added: Doubles | None) -> Steps:
    """The steps of a contract's epilogue."""

    def step(kind: str, name: str) -> Step:
        return Step(kind, name, np.asarray(recorded.inputs[name], np.float64))

    steps = [step(MULTIPLY, name) for name in contract.scales]
    steps += [] if added is None else [Step(ADD, f"beta * {contract.c}", added)]
    steps += [step(ADD, contract.bias)] if contract.bias else []
    steps += [Step(ACTIVATE, contract.activation)] if contract.activation else []
    return (*steps, *([step(ADD, contract.residual)] if contract.residual else []))


def tile_of(subject: Subject) -> int:
    """Rows of D of the kernel's largest matrix instruction."""
    return subject.once(_tile)


def _tile(subject: Subject) -> int:
    return max((form.shape[0] for form in _forms(subject)), default=TILE)


def _forms(subject: Subject) -> list[MatrixForm]:
    forms = (matrix_form(inst) for inst in subject.insts.values() if Kind.MATRIX in inst.kind)
    return [form for form in forms if form is not None]


def references(subject: Subject) -> tuple[Comparison, ...]:
    """The outputs of which the user's Python reference says what they should be."""
    return subject.once(_references)


def require_doubt(subject: Subject) -> None:
    """Ask whether there is anything to look for, of a contract that says nothing of its operands.

    Raises:
        NoProductError: a Python reference agrees with all outputs, or was not loaded.
    """
    if not isinstance(subject.contract, Reference):
        return
    require_product(subject)
    if subject.reference is None:
        raise NoProductError("the Python reference was not loaded: --allow-reference lets it run")
    if not any(c.wrong.any() for c in references(subject)):
        raise NoProductError("all outputs are what the Python reference computes: no operand is wrong")


def _references(subject: Subject) -> tuple[Comparison, ...]:
    return tuple(_compared(subject))


def _compared(subject: Subject) -> Iterator[Comparison]:
    assert subject.reference is not None
    usual: dict[str, Doubles] = {}
    for kind in ("integers", "normal"):
        recorded = recorded_for(subject, RunSpec(kind))
        expected = subject.reference(reference_of(recorded), dict(subject.sizes))
        for compared in _beside(subject, recorded, expected):
            usual[compared.name] = compared.expected
            yield compared
    if takes_all_bits(subject, reference_of(recorded), usual):
        recorded = subject.run(BITS)
        expected = subject.reference(reference_of(recorded), dict(subject.sizes))
        yield from _beside(subject, recorded, expected)
    for recorded in in_other_orders(subject):
        yield from _beside(subject, recorded, subject.reference(reference_of(recorded), dict(subject.sizes)))


def recorded_for(subject: Subject, spec: RunSpec) -> Recorded:
    """The run that a Python reference is compared with."""
    return subject.plain() if spec == RunSpec("integers") else subject.run(spec)


def reference_of(recorded: Recorded) -> dict[str, NDArray[Any]]:
    """What a Python reference gets of a run."""
    return {name: _for_reference(values) for name, values in recorded.inputs.items()}


def reference_bound(subject: Subject, name: str, wanted: Doubles) -> Doubles:
    """The largest error of an output that a Python reference lets pass: the manifest's, or that of the narrowest of
    the output's type and those that the kernel converts to on the way. A sum is as wrong as its terms are, which may
    be larger than it is: the usual element counts, too."""
    given, dtype = subject.case.tolerance, subject.binding.buffers[name].dtype
    if given.absolute is not None or given.relative is not None:
        usual = _REFERENCE.get(dtype, 0.0)
        absolute = usual if given.absolute is None else given.absolute
        relative = usual if given.relative is None else given.relative
        return np.asarray(absolute + relative * np.abs(wanted))
    if not element_type(dtype).is_float:
        return np.zeros(wanted.shape)
    kinds = passed_through(subject.plain().record(Coverage))
    usual = max(_REFERENCE.get(kind, 0.0) for kind in (dtype, *kinds))
    finite = wanted[np.isfinite(wanted)]
    largest = float(np.sqrt(np.mean(finite**2))) if finite.size else 0.0
    return np.asarray(usual * (1 + np.abs(wanted) + largest))


def _for_reference(values: NDArray[Any]) -> NDArray[Any]:
    floating = np.issubdtype(values.dtype, np.floating)
    return values.astype(np.float64) if floating else values.copy()


def _beside(subject: Subject, recorded: Recorded, expected: Mapping[str, Any]) -> Iterator[Comparison]:
    spec = replace(recorded.spec, observers=())
    for name, values in _named(recorded, expected).items():
        dtype = subject.binding.buffers[name].dtype
        observed = np.asarray(recorded.outputs[name], np.float64)
        wanted = _shaped(name, values, observed.shape)
        bound = reference_bound(subject, name, wanted)
        found = Comparison(name, name, spec, dtype, observed, wanted, _undefined(recorded, name), bound)
        yield replace(found, product=_product_in(subject, recorded, found)) if found.wrong.any() else found


def _product_in(subject: Subject, recorded: Recorded, c: Comparison) -> Product | None:
    """The product that a reference computes, with the steps that it makes of it; None where they are not found."""
    try:
        contract = require_product(subject)
    except NoProductError:
        return None
    if contract.d != c.output:
        return None
    product = _typed(subject, contract, product_of(recorded, contract, tile_of(subject)))
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
    inputs = {name: _for_reference(values) for name, values in recorded.inputs.items()}
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


def _undefined(recorded: Recorded, name: str) -> NDArray[np.bool_]:
    bits = recorded.undefined.get(name)
    shape = recorded.outputs[name].shape
    return np.zeros(shape, np.bool_) if bits is None else np.asarray(bits != 0)
