"""Division as compilers expand it: the chain of instructions rounds as IEEE 754 does.

AMD's text of V_DIV_SCALE, V_DIV_FMAS and V_DIV_FIXUP contradicts itself, so this is the judge: the chain
of clang 22 for gfx1151 (`fdiv float` and `fdiv double` with denormals), instruction by instruction.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from layoutprobe.isa.inst import EXEC_LO, VCC_LO
from oracle.edges import F32, F64
from oracle.encode import encodings
from oracle.harness import LANES, Image, execute

NUMERATOR, DENOMINATOR, D, N, R, T, Q = 0, 2, 4, 6, 8, 10, 12
"""Registers; each holds a value of one or two."""
ONE = 242
NEG = {0: 1, 1: 2, 2: 4}


class Chain:
    """Runs instructions one after the other on one image."""

    def __init__(self, kind: str, numerator: NDArray[Any], denominator: NDArray[Any]) -> None:
        self.kind, self.regs = kind, numerator.itemsize // 4
        waves = -(-numerator.size // LANES)
        self.image = Image.zeros(waves)
        self.image.s[EXEC_LO] = 0xFFFFFFFF
        self.size = numerator.size
        for register, values in ((NUMERATOR, numerator), (DENOMINATOR, denominator)):
            words = np.resize(values, waves * LANES).view(np.uint32).reshape(waves, LANES, self.regs)
            self.image.v[register : register + self.regs] = words.transpose(2, 0, 1)

    def _run(self, name: str, encoding: str, **fields: int) -> None:
        inst = encodings(f"{name}_{self.kind}")[encoding].inst(**fields)
        self.image = execute(inst, self.image).image

    def scale(self, target: int, source: int, mask: int) -> None:
        """V_DIV_SCALE of the numerator or the denominator."""
        self._run("v_div_scale", "VOP3SD", vdst=target, sdst=mask, src0=256 + source, src1=256 + DENOMINATOR,
                  src2=256 + NUMERATOR)  # fmt: skip

    def fma(self, target: int, a: int, b: int, c: int, neg: int = 0) -> None:
        """V_FMA; a source below 128 is a register."""
        sources = {f"src{i}": s if s > 127 else 256 + s for i, s in enumerate((a, b, c))}
        self._run("v_fma", "VOP3", vdst=target, neg=neg, **sources)

    def rcp(self, target: int, source: int) -> None:
        """V_RCP."""
        self._run("v_rcp", "VOP1", vdst=target, src0=256 + source)

    def mul(self, target: int, a: int, b: int) -> None:
        """V_MUL."""
        self._run("v_mul", "VOP3", vdst=target, src0=256 + a, src1=256 + b)

    def finish(self, rest: int, reciprocal: int, quotient: int) -> NDArray[Any]:
        """V_DIV_FMAS and V_DIV_FIXUP; the quotients."""
        self._run("v_div_fmas", "VOP3", vdst=Q, src0=256 + rest, src1=256 + reciprocal, src2=256 + quotient)
        self._run("v_div_fixup", "VOP3", vdst=Q, src0=256 + Q, src1=256 + DENOMINATOR, src2=256 + NUMERATOR)
        words = np.ascontiguousarray(self.image.v[Q : Q + self.regs].transpose(1, 2, 0))
        return words.view({1: np.float32, 2: np.float64}[self.regs]).ravel()[: self.size]


def divide_f32(numerator: NDArray[np.float32], denominator: NDArray[np.float32]) -> NDArray[Any]:
    """The chain of `fdiv float`."""
    c = Chain("f32", numerator, denominator)
    c.scale(D, DENOMINATOR, 30)
    c.scale(N, NUMERATOR, VCC_LO)
    c.rcp(R, D)
    c.fma(T, D, R, ONE, NEG[0])
    c.fma(R, T, R, R)
    c.mul(T, N, R)
    c.fma(Q, D, T, N, NEG[0])
    c.fma(T, Q, R, T)
    c.fma(D, D, T, N, NEG[0])
    return c.finish(D, R, T)


def divide_f64(numerator: NDArray[np.float64], denominator: NDArray[np.float64]) -> NDArray[Any]:
    """The chain of `fdiv double`."""
    c = Chain("f64", numerator, denominator)
    c.scale(D, DENOMINATOR, 30)
    c.rcp(R, D)
    for _ in range(2):
        c.fma(T, D, R, ONE, NEG[0])
        c.fma(R, R, T, R)
    c.scale(N, NUMERATOR, VCC_LO)
    c.mul(T, N, R)
    c.fma(D, D, T, N, NEG[0])
    return c.finish(D, R, T)


def _agree(got: NDArray[Any], numerator: NDArray[Any], denominator: NDArray[Any]) -> None:
    with np.errstate(all="ignore"):
        expected = numerator / denominator
    same = (got.view(f"u{got.itemsize}") == expected.view(f"u{got.itemsize}")) | (
        np.isnan(got) & np.isnan(expected)
    )
    wrong = np.flatnonzero(~same)
    assert not wrong.size, [(float(numerator[i]), float(denominator[i]), float(got[i])) for i in wrong[:3]]


def _pairs(patterns: tuple[int, ...], dtype: type[np.floating[Any]]) -> tuple[NDArray[Any], NDArray[Any]]:
    values = np.array(patterns, f"u{np.dtype(dtype).itemsize}").view(dtype)
    a, b = np.meshgrid(values, values)
    return a.ravel().copy(), b.ravel().copy()


def test_all_pairs_of_edge_values_f32() -> None:
    a, b = _pairs(F32, np.float32)
    _agree(divide_f32(a, b), a, b)


def test_all_pairs_of_edge_values_f64() -> None:
    a, b = _pairs(F64, np.float64)
    _agree(divide_f64(a, b), a, b)


@examples(20)
@given(st.integers(0, 2**32 - 1))
def test_random_bits_f32(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = (rng.integers(0, 1 << 32, 4096, np.uint32).view(np.float32) for _ in range(2))
    _agree(divide_f32(a, b), a, b)


@examples(10)
@given(st.integers(0, 2**32 - 1))
def test_random_bits_f64(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = (rng.integers(0, 1 << 64, 1024, np.uint64).view(np.float64) for _ in range(2))
    _agree(divide_f64(a, b), a, b)


@pytest.mark.parametrize(("numerator", "denominator"), [(2.0**100, 1.0), (1.0, 2.0**127), (2.0**-140, 2.0**-20),
                                                        (3e38, 3e-38), (1e-45, 3e38)])  # fmt: skip
def test_quotients_far_apart(numerator: float, denominator: float) -> None:
    """AMD's text taken literally gives 2**68 for 2**100 / 1."""
    a, b = np.array([numerator], np.float32), np.array([denominator], np.float32)
    _agree(divide_f32(a, b), a, b)
