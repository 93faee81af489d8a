"""Code in HIP that stores a tile to LDS and reads it back: addresses as formulas of the lane."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.arch.lds import LdsRead
from layoutprobe.brief import brief
from layoutprobe.codegen.hip import INDENT, in_c
from layoutprobe.layouts.explain import closed_form
from layoutprobe.layouts.polynomial import Polynomial
from layoutprobe.solver.lds_reads import ReadAt

Ints = NDArray[np.int64]


class Formula(Struct, frozen=True):
    """A table over one coordinate, as a formula.

    Attributes:
        text: in the pattern language.
        hip: in HIP, of an unsigned variable of the same name.
        kind: "linear over GF(2)", "linear as a sum", or "not linear".
    """

    text: str
    hip: str
    kind: str


def formula(name: str, table: Ints) -> Formula:
    """The formula of a table of a power of two of values that are not negative."""
    value = Polynomial.of(table)
    text = closed_form((name,), (table.size,), table)
    kind = "linear over GF(2)" if value.linear else "linear as a sum" if text else "not linear"
    return Formula(text or value.text(name), in_c(text, value, name), kind)


class ReadCode(Struct, frozen=True, eq=False):
    """How a kernel reads its operands.

    Attributes:
        read: the instruction.
        bases: of the lanes, in bytes.
        reads: each read's place beside a base.
    """

    read: LdsRead
    bases: tuple[Formula, ...]
    reads: tuple[ReadAt, ...]

    __repr__ = brief

    def lines(self) -> Iterator[str]:
        """A function that fills `raw`, read after read, from a tile at byte `lds`."""
        yield f"typedef {self.read.element} Read __attribute__((ext_vector_type({self.read.count})));"
        yield "typedef __attribute__((address_space(3))) Read* Lds;"
        load = f"{self.read.builtin}((Lds)at)" if self.read.builtin else "*(Lds)at"
        yield "__device__ inline void take(unsigned at, unsigned* raw)"
        yield "{"
        yield f"{INDENT}const Read got = {load};"
        yield f"{INDENT}__builtin_memcpy(raw, &got, {self.read.bytes});"
        yield "}"
        count = len(self.reads) * self.read.words
        yield f"__device__ inline void fetch(unsigned lds, unsigned lane, unsigned (&raw)[{count}])"
        yield "{"
        for number, base in enumerate(self.bases):
            yield f"{INDENT}const unsigned base{number} = {base.hip};"
        for number, at in enumerate(self.reads):
            where = f"(base{at.base} ^ 0x{at.flip:x}u)" if at.flip else f"base{at.base}"
            where = f"lds + {where}" + (f" + {at.offset}" if at.offset else "")
            yield f"{INDENT}take({where}, &raw[{number * self.read.words}]);"
        yield "}"
