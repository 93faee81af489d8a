"""What the gate knows of a matrix instruction, from executing it alone: every product, for every dense form."""

from __future__ import annotations

import numpy as np
import pytest

from layoutprobe.arch import TARGETS, MatrixForm
from layoutprobe.arch.fragments import Fragment
from layoutprobe.errors import ProbeError, UsageError
from layoutprobe.instructions.meetings import element_types, interaction_of
from layoutprobe.isa.inst import Inst, Operand
from layoutprobe.solver.product import geometry_of

RDNA3, RDNA4 = (TARGETS[name].matrix for name in ("gfx1151", "gfx1201"))
FORMS = [*RDNA3.values(), *RDNA4.values()]
WAVES = (32, 64)
DENSE = [form for form in FORMS if not form.sparse]
IDS = [f"{'rdna3' if form in RDNA3.values() else 'rdna4'} {form.name}" for form in DENSE]
SPARSE = [form for form in FORMS if form.sparse]


def inst(form: MatrixForm, lanes: int) -> Inst:
    """As the decoder gives it, somewhere in the registers and with modifiers."""
    regs = form.vgprs(lanes)
    d, a, b, c = (Operand("v", 40 * i + 3, regs[name], neg=i == 1) for i, name in enumerate("DABD"))
    return Inst(0x100, 8, form.name, "VOP3P", (d,), (a, b, c), {"opsel": 4})


def elements(fragment: Fragment, lanes: int) -> tuple[np.ndarray, np.ndarray]:
    """Documented row and column of every slot; -1 for none."""
    count = lanes * fragment.vgprs * (32 // fragment.bits)
    row, col = np.full(count, -1), np.full(count, -1)
    rows, cols = np.indices(fragment.slot.shape[1:])
    for slot in fragment.slot:
        row[slot], col[slot] = rows, cols
    return row, col


@pytest.mark.parametrize("lanes", WAVES)
@pytest.mark.parametrize("form", DENSE, ids=IDS)
def test_every_product_is_one_of_the_documents(form: MatrixForm, lanes: int) -> None:
    found = interaction_of(inst(form, lanes), lanes)
    m, n, k = form.shape
    met, documented = found.meetings, form.fragments(lanes)
    (a_row, a_k), (b_k, b_col) = (elements(documented[name], lanes) for name in "AB")
    d_row, d_col = elements(documented["D"], lanes)
    halves = d_row.size // (m * n)  # D in one half of its registers: a register is a slot
    if halves > 1:
        d_row, d_col = d_row[::halves], d_col[::halves]
    assert met.a.size == m * n * k
    term = (d_row[met.d] * n + d_col[met.d]) * k + a_k[met.a]
    assert np.array_equal(np.sort(term), np.arange(m * n * k))
    assert np.array_equal(a_row[met.a], d_row[met.d])
    assert np.array_equal(b_col[met.b], d_col[met.d])
    assert np.array_equal(b_k[met.b], a_k[met.a])
    assert np.array_equal(met.c, met.c_to)
    assert found.needed["D"].row.shape == (
        1,
        lanes,
        form.vgprs(lanes)["D"],
        m * n // (lanes * form.vgprs(lanes)["D"]),
    )
    assert found.needed["A"].field_bits == form.bits


@pytest.mark.parametrize("lanes", WAVES)
@pytest.mark.parametrize("form", DENSE, ids=IDS)
def test_blocks_are_the_groups_that_read_copies_of_their_own(form: MatrixForm, lanes: int) -> None:
    blocks = geometry_of(interaction_of(inst(form, lanes), lanes))
    groups = lanes // 16 if form in RDNA3.values() else 1
    assert blocks.a.shape == (groups, 16 // groups, form.shape[2])
    assert blocks.b.shape == (groups, 16, form.shape[2])
    if groups > 1:  # row i in group i % groups, which reads its own lanes
        per_lane = form.vgprs(lanes)["A"] * (32 // form.bits)
        assert np.array_equal(blocks.rows % groups, np.arange(groups)[:, None] + 0 * blocks.rows)
        assert np.array_equal(blocks.b // per_lane // 16, np.arange(groups)[:, None, None] + 0 * blocks.b)


@pytest.mark.parametrize("form", SPARSE, ids=[form.name for form in SPARSE])
def test_sparse_ones_are_refused_in_words(form: MatrixForm) -> None:
    with pytest.raises(ProbeError, match="its index operand decides"):
        interaction_of(inst(form, 32), 32)


def test_other_instructions_are_refused() -> None:
    with pytest.raises(UsageError, match="v_add_f32 is no matrix instruction"):
        interaction_of(Inst(0, 4, "v_add_f32", "VOP2"), 32)


def test_element_types() -> None:
    assert element_types(inst(RDNA4["v_wmma_f32_16x16x16_bf8_fp8"], 64)) == ("bf8", "fp8")
    assert element_types(inst(RDNA3["v_wmma_i32_16x16x16_iu8"], 32)) == ("iu8", "iu8")
