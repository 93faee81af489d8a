"""The output of a matrix product beside what it should be, run by run."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from msgspec.structs import replace

from layoutprobe.isa.kind import Kind
from layoutprobe.isa.matrix import matrix_form
from layoutprobe.manifest.model import Gemm
from layoutprobe.manifest.unusual import unusual_of
from layoutprobe.numbers import element_type
from layoutprobe.trace.comparison import Comparison, Doubles, undefined_in
from layoutprobe.trace.epilogues import ACTIVATE, ADD, MULTIPLY, Step, Steps
from layoutprobe.trace.executed import computed_in, executed, read_types, tile_of
from layoutprobe.trace.gemm_faults import TILE, Factored, Product
from layoutprobe.trace.narrow import Arithmetic
from layoutprobe.trace.orders import in_other_orders
from layoutprobe.trace.rounding import added_up, is_exact, is_narrower, judgeable, tolerated, widened
from layoutprobe.trace.subject import Recorded, RunSpec, Subject

FACTORS = ((0.0, 1.0), (-1.5, 0.0), (3e-6, -0.7))
"""alpha and beta of runs beside those of the contract, as far as the kernel takes them as arguments."""


def products(subject: Subject, contract: Gemm) -> Iterator[Comparison]:
    """The output of a matrix product in all runs that are worth their time, beside what it should be."""
    plain = plain_product(subject, contract)
    yield plain
    assert plain.product is not None
    if not is_exact(plain.product, plain.dtype, computed_in(subject)):
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
    if not subject.small or subject.case.tolerance_of(contract.d).given:
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
    product = typed(subject, contract, product_of(recorded, contract, tile_of(subject)))
    product = replace(product, shared=_shared(subject, product))
    observed = np.asarray(recorded.outputs[contract.d], np.float64)
    undefined = undefined_in(recorded, contract.d)
    if contract.split_k:
        observed, undefined = observed.sum(axis=0), np.asarray(undefined.any(axis=0))
    dtype = subject.binding.buffers[contract.d].dtype
    expected = saturated(product.value(), dtype) if product.steps else product.value()
    stated = any(subject.case.argument(name).values is not None for name in (contract.a, contract.b))
    random = recorded.spec.inputs in ("normal", "scaled") and not stated
    computed = computed_in(subject)
    given = subject.case.tolerance_of(contract.d)
    bound_in = partial(tolerated, product, expected, dtype, given=given, random=random)
    bound = bound_in(computed)
    kinds = dict.fromkeys((*computed.sums, *computed.once, *(("f32",) if computed.single else ())))
    says = "" if given.given else widened(kinds, contract.d, dtype)
    own = bound_in(_without_narrower(computed, dtype)) if says else None
    if not given.given and not says and (says := added_up(computed.sums, contract.d, dtype)):
        own = bound_in(replace(computed, sums=tuple(kind for kind in computed.sums if kind != dtype)))
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
        own=own,
        widened=says,
    )


def _without_narrower(computed: Arithmetic, dtype: str) -> Arithmetic:
    """Only what rounds no more than the output's own type does."""
    sums, once = (
        tuple(k for k in kinds if not is_narrower(k, dtype)) for kinds in (computed.sums, computed.once)
    )
    return Arithmetic(sums, once, computed.single and not is_narrower("f32", dtype))


def _shared(subject: Subject, product: Product) -> Factored:
    """A and B with their products: those of the run before if they are the same, as runs differ in alpha and beta."""
    last: Factored | None = subject.memo.get(_shared)
    if last is None or not (np.array_equal(last.a, product.a) and np.array_equal(last.b, product.b)):
        last = subject.memo[_shared] = product.factored
    return last


def looser(subject: Subject, c: Comparison, kind: str) -> Doubles | float | None:
    """The largest error that would be allowed if the kernel added up in `kind`, too; None where there is no product,
    or the manifest states a tolerance."""
    given = subject.case.tolerance_of(c.output)
    if c.product is None or given.given:
        return None
    computed = computed_in(subject)
    narrower = replace(computed, sums=(*computed.sums, kind), single=computed.single or kind == "f32")
    return tolerated(c.product, c.expected, c.dtype, narrower, given, random=c.spec.inputs == "normal")


def typed(subject: Subject, contract: Gemm, product: Product) -> Product:
    """The product with the types of A and B, and what the kernel's matrix instructions take them for."""
    first, second = (subject.binding.buffers[name].dtype for name in (contract.a, contract.b))
    read = subject.once(read_types)
    return replace(product, types=(first, second), taken_for=(read, read), extents=subject.sizes)


def saturated(values: Doubles, dtype: str) -> Doubles:
    """What an output can hold: integers saturate."""
    kind = element_type(dtype)
    if kind.is_float:
        return values
    info = np.iinfo(kind.storage)
    return np.clip(values, float(info.min), float(info.max))


def product_of(recorded: Recorded, contract: Gemm, tile: int = TILE) -> Product:
    """The contract's product on the inputs of a run."""
    a, b = (np.asarray(recorded.inputs[name], np.float64) for name in (contract.a, contract.b))
    added = recorded.inputs.get(contract.c) if contract.c else None
    c = None if added is None else np.asarray(added, np.float64)
    if not contract.beside and not contract.activation:
        before = None if contract.c == contract.d else recorded.inputs.get(contract.d)
        held = None if before is None else np.asarray(before, np.float64)
        return Product(a, b, c, recorded.alpha, recorded.beta, tile, held=held)
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
