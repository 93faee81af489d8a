"""The law of the product: every output by itself, each k once, whatever the order; for every shape.

What slots hold is filled in from the formulas of the fake instructions, and by plain multiplication.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from msgspec.structs import replace
from numpy.typing import NDArray
from unit.fake_instructions import FAKES, MFMA_4, MFMA_32, MFMA_F64, RDNA3, RDNA4, Fake
from unit.test_solver_interaction import solve

from layoutprobe.solver.product import (
    FOREIGN,
    NOWHERE,
    UNKNOWN,
    ZERO,
    Factors,
    Geometry,
    Targets,
    geometry_of,
    judge,
)

Ints = NDArray[np.int64]
STEPS = 3
SHAPES = (RDNA3, RDNA4, MFMA_4, MFMA_32, MFMA_F64)


def right(g: Geometry, order: Callable[[Ints], Ints] = lambda k: k) -> tuple[Factors, Targets, int]:
    """One accumulator after STEPS executions: product p of the instruction is the p-th of a batch."""
    step = g.shape[2]
    k = order(np.arange(STEPS * step)).reshape(STEPS, 1, 1, step)
    execution = np.zeros((STEPS, 1, 1, 1), np.int64)
    a_row, a_k = np.broadcast_arrays(g.rows[:, :, None] + execution, k)
    b_col, b_k = np.broadcast_arrays(g.cols[:, :, None] + execution, k)
    factors = Factors(np.zeros(STEPS, np.int64), *(x.astype(np.int32) for x in (a_row, a_k, b_col, b_k)))
    m, n = np.broadcast_arrays(g.rows[:, :, None], g.cols[:, None, :])
    return factors, Targets(*(x[None].astype(np.int32) for x in (m, n))), STEPS * step


def holds(factors: Factors, targets: Targets, g: Geometry, depth: int) -> bool:
    """By plain sums: every stored output is the sum over all k, each once. No numpy tricks."""
    for block in range(len(g.rows)):
        for i in range(g.rows.shape[1]):
            for j in range(g.cols.shape[1]):
                want = int(targets.m[0, block, i, j]), int(targets.n[0, block, i, j])
                if want[0] == NOWHERE:
                    continue
                added = []
                for e in range(len(factors.chain)):
                    for s in range(g.shape[2]):
                        a = int(factors.a_row[e, block, i, s]), int(factors.a_k[e, block, i, s])
                        b = int(factors.b_k[e, block, j, s]), int(factors.b_col[e, block, j, s])
                        if ZERO in (a[0], b[1]):
                            continue
                        if (a[0], b[1]) != want or a[1] != b[0]:
                            return False
                        added.append(a[1])
                if sorted(added) != list(range(depth)):
                    return False
    return True


def agrees(factors: Factors, targets: Targets, g: Geometry, depth: int) -> bool:
    """What the judgement says of it as a whole."""
    found = judge(factors, targets, g, depth)
    scattered = any(mask.any() for mask in targets.scattered())
    counts = found.counted[targets.stored.any(axis=(2, 3))]
    return not found.broken.any() and not scattered and bool((counts == 1).all())


@pytest.mark.parametrize("fake", FAKES, ids=lambda fake: fake.name)
def test_every_output_of_every_shape_is_covered_once(fake: Fake) -> None:
    g = geometry_of(solve(fake))
    m, n, k = fake.shape
    assert g.shape == (m, n, k)
    assert np.unique(g.d).size == g.d.size == m * n * fake.products
    a, b, d = fake.tables()
    met = {
        (int(a[p, i, j, s]), int(b[p, i, j, s]), int(d[p, i, j]))
        for p in range(fake.products) for i in range(m) for j in range(n) for s in range(k)
    }  # fmt: skip
    block, row, col, depth = np.indices((*g.d.shape, k))
    mine = zip(
        g.a[block, row, depth].flat, g.b[block, col, depth].flat, g.d[block, row, col].flat, strict=True
    )
    assert {tuple(map(int, slots)) for slots in mine} == met


@pytest.mark.parametrize("fake", SHAPES, ids=lambda fake: fake.name)
@pytest.mark.parametrize("order", [lambda k: k, lambda k: k[::-1], lambda k: k * 5 % k.size], ids="abc")
def test_any_order_of_k_holds(fake: Fake, order: Callable[[Ints], Ints]) -> None:
    g = geometry_of(solve(fake))
    factors, targets, depth = right(g, order)
    assert holds(factors, targets, g, depth)
    assert agrees(factors, targets, g, depth)


@pytest.mark.parametrize("fake", SHAPES, ids=lambda fake: fake.name)
def test_every_fault_is_red_where_it_is(fake: Fake) -> None:
    """One slot changed at a time; the judgement follows the plain sums."""
    g = geometry_of(solve(fake))
    factors, targets, depth = right(g)
    last = tuple(size - 1 for size in factors.a_row.shape)
    for name in ("a_row", "a_k", "b_col", "b_k"):
        for value in (0, FOREIGN, UNKNOWN):
            table = getattr(factors, name).copy()
            table[last] = value
            wrong = replace(factors, **{name: table})
            assert not holds(wrong, targets, g, depth)
            assert not agrees(wrong, targets, g, depth)
            bad = judge(wrong, targets, g, depth)
            where = {"a_row": bad.a_bad, "b_col": bad.b_bad}.get(name)
            assert bad.broken.tolist() == [False, False, True]
            assert where is None or np.argwhere(where).tolist() == [list(last)]
    for axis in ("m", "n"):
        table = getattr(targets, axis).copy()
        table[0, 0, -1, -1] -= 1
        wrong_targets = replace(targets, **{axis: table})
        assert not holds(factors, wrong_targets, g, depth)
        assert not agrees(factors, wrong_targets, g, depth)


def test_halves_may_walk_k_in_orders_of_their_own() -> None:
    """Each output adds every k once: that is all that a result needs. Whether copies differ is another law."""
    g = geometry_of(solve(RDNA3))
    factors, targets, depth = right(g)
    a_k, b_k = factors.a_k.copy(), factors.b_k.copy()
    a_k[:, 1], b_k[:, 1] = a_k[::-1, 1].copy(), b_k[::-1, 1].copy()
    assert holds(replace(factors, a_k=a_k, b_k=b_k), targets, g, depth)
    assert agrees(replace(factors, a_k=a_k, b_k=b_k), targets, g, depth)
    assert not agrees(replace(factors, a_k=a_k), targets, g, depth), "only one of the partners"


@pytest.mark.parametrize("fake", SHAPES, ids=lambda fake: fake.name)
def test_zeros_are_right_beyond_the_edge_of_k_alone(fake: Fake) -> None:
    g = geometry_of(solve(fake))
    factors, targets, depth = right(g)
    tail = np.arange(depth).reshape(STEPS, 1, 1, -1) >= depth - 2
    ragged = replace(
        factors,
        a_row=np.where(tail, ZERO, factors.a_row).astype(np.int32),
        a_k=np.where(tail, ZERO, factors.a_k).astype(np.int32),
    )
    assert holds(ragged, targets, g, depth - 2)
    assert agrees(ragged, targets, g, depth - 2)
    assert not agrees(ragged, targets, g, depth)
    a_row = ragged.a_row.copy()
    a_row[0, 0, 0, 0] = ZERO
    missed = judge(replace(ragged, a_row=a_row), targets, g, depth - 2)
    assert np.argwhere(missed.a_bad).tolist() == [[0, 0, 0, 0]]


def test_what_one_half_adds_is_missed_in_the_other_but_not_in_another_product() -> None:
    for fake, blamed in ((RDNA3, True), (MFMA_4, False)):
        g = geometry_of(solve(fake))
        factors, targets, depth = right(g)
        a_row = factors.a_row.copy()
        a_row[:, 1] = ZERO
        wrong = replace(factors, a_row=a_row)
        found = judge(wrong, targets, g, depth)
        assert found.a_bad[:, 1].all() == blamed
        assert found.broken.any() == blamed
        assert (found.counted[0, 1] == 0).all(), "either way its sums lack every k"
        assert not agrees(wrong, targets, g, depth)


def test_outputs_that_are_stored_nowhere_do_not_count() -> None:
    g = geometry_of(solve(RDNA4))
    factors, targets, depth = right(g)
    a_row, m, n = factors.a_row.copy(), targets.m.copy(), targets.n.copy()
    a_row[:, 0, -1] = UNKNOWN
    m[:, 0, -1], n[:, 0, -1] = NOWHERE, NOWHERE
    assert agrees(replace(factors, a_row=a_row), Targets(m, n), g, depth)
    assert not agrees(replace(factors, a_row=a_row), targets, g, depth)
    assert targets.cover(16, 16)
    assert not Targets(m, n).cover(16, 16)
