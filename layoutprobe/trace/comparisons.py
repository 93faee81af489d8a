"""The outputs of a kernel beside what the contract says of them, run by run."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from layoutprobe.manifest.model import Gemm, Reference
from layoutprobe.trace.comparison import Comparison, undefined_in
from layoutprobe.trace.problem import NoProductError, require_product
from layoutprobe.trace.products import plain_product, product_beside, products
from layoutprobe.trace.references import reference_of, references
from layoutprobe.trace.subject import Recorded, Subject
from layoutprobe.trace.ties import settled


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
    with np.errstate(invalid="ignore"):  # what nobody has set may be a signalling NaN
        observed = np.asarray(recorded.outputs[c.output], np.float64)
    found = replace(c, observed=observed, undefined=undefined_in(recorded, c.output))
    if subject.reference is None:
        return found
    (found,) = settled(subject, reference_of(recorded), [found])
    return found


def wrong_on_integers(subject: Subject) -> bool:
    """Whether an output is wrong in the run on small integers, as far as the contract says what it should be."""
    if isinstance(subject.contract, Gemm):
        return bool(plain_product(subject, subject.contract).wrong.any())
    return any(c.wrong.any() for c in compared_in(subject) if c.spec.inputs == "integers")


def require_doubt(subject: Subject) -> None:
    """Ask whether there is anything to look for, of a contract that says nothing of its operands.

    Raises:
        NoProductError: a Python reference agrees with all outputs, or was not loaded, or no product is marked.
    """
    if not isinstance(subject.contract, Reference):
        return
    require_product(subject)
    if subject.reference is None:
        raise NoProductError("the Python reference was not loaded: --allow-reference lets it run")
    if not any(c.wrong.any() for c in references(subject)):
        raise NoProductError("outputs are right: operands are followed where one is wrong")
