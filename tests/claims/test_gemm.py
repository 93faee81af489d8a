"""The test GEMM of a claim against the same thing written as loops over lanes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from claims.fakes import rdna3
from layoutprobe.claims import read_claims
from layoutprobe.claims.gemm import _run, _scattered, effect
from layoutprobe.layouts.instruction import InstructionLayout

Matrix = NDArray[np.int64]


def by_hand(a: Matrix, b: Matrix, column_load: bool) -> Matrix:
    """RDNA3's v_wmma_f32_16x16x16_f16 lane by lane, with A loaded by rows or by columns."""
    lanes = np.arange(32)
    frag_a = np.stack([a[:, lane % 16] if column_load else a[lane % 16, :] for lane in lanes])
    frag_b = np.stack([b[:, lane % 16] for lane in lanes])
    d = np.zeros((16, 16), np.int64)
    for lane in lanes:
        for vgpr in range(8):
            row, half = 2 * vgpr + lane // 16, lane // 16 * 16
            d[row, lane % 16] = sum(
                int(frag_a[half + row, k] * frag_b[half + lane % 16, k]) for k in range(16)
            )
    return d


@pytest.mark.parametrize("column_load", [False, True])
def test_against_loops(column_load: bool) -> None:
    solved = rdna3(dead=True)
    a, b = _scattered("shuffle(row*cols + col, rows*cols, 5)", 16, 16), _scattered("row*3 + col", 16, 16)
    packing = {name: (x.row.astype(np.int64), x.col.astype(np.int64)) for name, x in solved.operands.items()}
    if column_load:
        packing["A"] = packing["A"][::-1]
    out, written = _run({"A": a, "B": b, "C": 0 * a}, packing, solved)
    assert written.all()
    assert np.array_equal(out, by_hand(a, b, column_load))
    assert np.array_equal(out, (a.T if column_load else a) @ b)


def wrong(solved: InstructionLayout, *says: str) -> int:
    (claims,) = read_claims(says)
    found = effect([(s.matrix, s.bind(solved.operands[s.matrix])) for s in claims.statements], solved)
    assert found is not None
    return found.wrong


def test_each_half_wave_reads_its_own_copy() -> None:
    """Copies left out in lanes 16-31: odd rows are wrong; in copies that nothing reads: nothing is."""
    assert wrong(rdna3(), "A: f[i] = A[lane%16][i] where lane < 16") == 128
    assert wrong(rdna3(own_copy=False), "A: f[i] = A[lane%16][i] where lane < 16") == 0


def test_stores_beside_the_tile_and_onto_each_other_are_wrong() -> None:
    assert wrong(rdna3(), "D: c[i] = D[2*i + lane/16][lane % 16]") == 0
    # Even rows are never stored; an odd row is stored by both half-waves, and the right value comes last.
    assert wrong(rdna3(), "D: c[i] = D[2*i + 1][lane % 16]") > 240
    assert wrong(rdna3(), "D: c[i] = D[i][lane]") >= 128


def test_the_accumulator_is_loaded_as_claimed() -> None:
    assert wrong(rdna3(), "C: c[i] = C[2*i + lane/16][lane % 16]") == 0
    assert wrong(rdna3(), "C: c[i] = C[i + 8*(lane/16)][lane % 16]") > 100
