"""The contract's matrix product, with leading axes folded into rows and columns."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np
from msgspec import Struct
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
        unmarked = isinstance(contract, Reference)
        raise NoProductError(
            "no product is marked (`matrix` on A, B, D)"
            if unmarked
            else "the contract names no matrix product"
        )
    a, b, d = (subject.binding.buffers[x].shape for x in (product.a, product.b, product.d))
    fits = min(map(len, (a, b, d))) >= 2 and a[-1] == b[-2] and (a[-2], b[-1]) == d[-2:]
    if not fits or not a[:-2] == b[:-2] == d[:-2]:
        raise NoProductError(f"{product.a} @ {product.b} has not the shape of {product.d}")
    return product


class Problem(Struct, frozen=True, eq=False):
    """The product.

    Attributes:
        contract: names of the buffers.
        m, n, k: extents of one product.
        lead: leading axes: so many products.
        coding: numbers of all elements.
        leads: "A", "B" and "D" -> name of the buffer, and its elements from one row to the next and one column.
    """

    contract: Gemm
    m: int
    n: int
    k: int
    lead: tuple[int, ...]
    coding: Coding
    leads: Mapping[str, tuple[str, tuple[int, int]]]

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
        buffers = {"A": contract.a, "B": contract.b, "D": contract.d}
        leads = {
            matrix: (name, (strides[-2], strides[-1]))
            for matrix, name in buffers.items()
            for strides in [subject.binding.buffers[name].strides]
        }
        return cls(contract, a[-2], b[-1], a[-1], tuple(lead), subject.coding, leads)

    def strides(self, matrix: str) -> tuple[int, int]:
        """Elements in memory from one row of A, B or D to the next, and from one column."""
        return self.leads[matrix][1]

    @property
    def named_extents(self) -> tuple[tuple[str, int], ...]:
        """What may be taken for a leading dimension: extents, and the leading dimensions of padded matrices."""
        padded = ((f"ld of {name}", max(strides)) for name, strides in self.leads.values())
        sizes = (("M", self.m), ("N", self.n), ("K", self.k))
        return (*sizes, *((name, lead) for name, lead in padded if lead not in (self.m, self.n, self.k)))

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
