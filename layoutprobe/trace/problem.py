"""The contract's matrix product, with leading axes folded into rows and columns."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from layoutprobe.manifest.coding import Coding
from layoutprobe.manifest.model import Gemm, Reference
from layoutprobe.solver.product import FOREIGN, UNDEFINED, UNKNOWN, ZERO
from layoutprobe.trace.subject import Subject, UndecidedError

Numbers = NDArray[np.int32]


class NoProductError(Exception):
    """There is no matrix product to follow; the text says why."""


def require_product(subject: Subject) -> Gemm:
    """The contract, if it is a matrix product.

    Raises:
        NoProductError: it is not.
    """
    contract = subject.contract
    if isinstance(contract, Gemm):
        return contract
    product = contract.product if isinstance(contract, Reference) else None
    if product is None:
        raise NoProductError("the contract names no matrix product D = alpha * A @ B + beta * C")
    a, b, d = (subject.binding.buffers[x].shape for x in (product.a, product.b, product.d))
    fits = min(map(len, (a, b, d))) >= 2 and a[-1] == b[-2] and (a[-2], b[-1]) == d[-2:]
    if not fits or not a[:-2] == b[:-2] == d[:-2]:
        raise NoProductError(f"{product.a} @ {product.b} has not the shape of {product.d}")
    return product


@dataclass(frozen=True, eq=False)
class Problem:
    """The product.

    Attributes:
        contract: names of the buffers.
        m, n, k: extents of one product.
        lead: leading axes: so many products.
        coding: numbers of all elements.
    """

    contract: Gemm
    m: int
    n: int
    k: int
    lead: tuple[int, ...]
    coding: Coding

    @classmethod
    def of(cls, subject: Subject) -> Problem:
        """The problem of a subject.

        Raises:
            NoProductError: its contract is no product.
            UndecidedError: A, B and D have different leading axes.
        """
        contract = require_product(subject)
        a, b, d = (subject.binding.buffers[x].shape for x in (contract.a, contract.b, contract.d))
        lead = d[1:-2] if contract.split_k else d[:-2]
        if not a[:-2] == b[:-2] == lead:
            raise UndecidedError("A, B and D have different leading axes, which this check does not follow")
        return cls(contract, a[-2], b[-1], a[-1], tuple(lead), subject.coding)

    @property
    def batch(self) -> int:
        """Number of products."""
        return prod(self.lead)

    def lines(self, matrix: str) -> tuple[Numbers, Numbers]:
        """Line (row of A, column of B) and k of every number; the last entries are for no element.

        A negative index from the end, as decoding gives it, finds ZERO, UNKNOWN, UNDEFINED.
        """
        name = self.contract.a if matrix == "A" else self.contract.b
        total = sum(prod(shape) for shape in self.coding.shapes.values())
        line, depth = (np.full(total + 4, FOREIGN, np.int32) for _ in range(2))
        for special in (ZERO, UNKNOWN, UNDEFINED):
            line[special] = depth[special] = special
        if name not in self.coding.shapes:
            return line, depth
        rows, cols = self.coding.shapes[name][-2:]
        product, row, col = np.indices((self.batch, rows, cols), np.int32)
        at = self.coding.numbers(name).ravel()
        along = product * self.m + row if matrix == "A" else product * self.n + col
        line[at], depth[at] = along.ravel(), (col if matrix == "A" else row).ravel()
        return line, depth
