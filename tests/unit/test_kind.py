"""Kinds of instructions: the table against names written out here, and against what executes."""

from __future__ import annotations

import pytest

from layoutprobe.isa.dialect import known
from layoutprobe.isa.inst import ACC0, VGPR0, Inst, Operand
from layoutprobe.isa.kind import Kind, kind_of
from layoutprobe.isa.mnemonics import mnemonics
from layoutprobe.machine.program import CONDITIONS
from layoutprobe.semantics import names

MEMORY = Kind.LDS | Kind.GLOBAL | Kind.BUFFER | Kind.SCRATCH | Kind.FLAT | Kind.SMEM
ACTION = Kind.LOAD | Kind.STORE | Kind.ATOMIC
EVERY = sorted(mnemonics(known("gfx1151")) | mnemonics(known("gfx1201")))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("v_wmma_f32_16x16x16_f16", Kind.MATRIX | Kind.VALU),
        ("v_swmmac_f32_16x16x32_f16", Kind.MATRIX | Kind.VALU),
        ("v_mfma_f32_32x32x8_f16", Kind.MATRIX | Kind.VALU),
        ("v_smfmac_f32_16x16x32_f16", Kind.MATRIX | Kind.VALU),
        ("v_dot2_f32_f16", Kind.VALU),
        ("ds_load_b128", Kind.LDS | Kind.LOAD),
        ("ds_read_b128", Kind.LDS | Kind.LOAD),
        ("ds_write_b64", Kind.LDS | Kind.STORE),
        ("ds_read2_b32", Kind.LDS | Kind.LOAD),
        ("ds_read2st64_b64", Kind.LDS | Kind.LOAD),
        ("ds_write2_b64", Kind.LDS | Kind.STORE),
        ("ds_wrxchg2_rtn_b32", Kind.LDS | Kind.ATOMIC),
        ("ds_read_b64_tr_b16", Kind.LDS | Kind.LOAD | Kind.TRANSPOSE),
        ("ds_storexchg_rtn_b32", Kind.LDS | Kind.ATOMIC),
        ("ds_cmpstore_b32", Kind.LDS | Kind.ATOMIC),
        ("ds_add_u32", Kind.LDS | Kind.ATOMIC),
        ("ds_bpermute_b32", Kind.LDS),
        ("global_load_b128", Kind.GLOBAL | Kind.LOAD),
        ("global_load_dwordx4", Kind.GLOBAL | Kind.LOAD),
        ("global_atomic_add_f32", Kind.GLOBAL | Kind.ATOMIC),
        ("global_inv", Kind.GLOBAL | Kind.CACHE),
        ("buffer_store_b32", Kind.BUFFER | Kind.STORE),
        ("buffer_gl0_inv", Kind.BUFFER | Kind.CACHE),
        ("flat_load_b32", Kind.FLAT | Kind.LOAD),
        ("scratch_store_b32", Kind.SCRATCH | Kind.STORE),
        ("s_load_b64", Kind.SMEM | Kind.LOAD),
        ("s_buffer_load_b32", Kind.SMEM | Kind.LOAD),
        ("s_buffer_prefetch_data", Kind.HINT),
        ("s_barrier", Kind.ARRIVE | Kind.AWAIT),
        ("s_barrier_signal", Kind.ARRIVE),
        ("s_barrier_wait", Kind.AWAIT),
        ("s_waitcnt", Kind.WAIT),
        ("s_wait_loadcnt_dscnt", Kind.WAIT),
        ("s_cbranch_vccnz", Kind.BRANCH),
        ("s_branch", Kind.BRANCH | Kind.FINAL),
        ("s_setpc_b64", Kind.SALU | Kind.JUMP | Kind.FINAL),
        ("s_swappc_b64", Kind.SALU | Kind.JUMP),
        ("s_trap", Kind.FINAL),
        ("s_endpgm", Kind.END | Kind.FINAL),
        ("s_nop", Kind.HINT),
        ("s_add_u32", Kind.SALU),
        ("image_sample", Kind(0)),
    ],
)
def test_kind(name: str, kind: Kind) -> None:
    assert kind_of(name) == kind
    assert Inst(0, 4, name, "SOP1").kind == kind


def test_every_instruction_that_executes_has_a_kind() -> None:
    executed = {name for target in ("gfx1151", "gfx1201") for name in names(known(target))} - {"v_dual"}
    assert len(executed) > 700
    assert sorted(name for name in executed if not kind_of(name)) == []


def test_names_say_what_the_kind_says() -> None:
    """AMD's names of memory instructions are regular, those of LDS atomics apart."""
    said = {"_load_": Kind.LOAD, "_store_": Kind.STORE, "_atomic_": Kind.ATOMIC}
    wrong = [
        name for name in EVERY for word, kind in said.items() if word in name and kind not in kind_of(name)
    ]
    assert wrong == []


def test_an_access_is_one_of_load_store_and_atomic() -> None:
    assert [
        name for name in EVERY if len(kind_of(name) & ACTION) > 1 or len(kind_of(name) & MEMORY) > 1
    ] == []


def test_the_scheduler_knows_each_branch_of_the_table() -> None:
    assert [name for name in CONDITIONS if Kind.BRANCH not in kind_of(name)] == []
    other = {name for name in EVERY if Kind.BRANCH in kind_of(name)} - set(CONDITIONS)
    assert all(name.startswith("s_cbranch_cdbg") for name in other), "only the debugger's are refused"


def test_acc_vgprs_have_numbers_of_their_own() -> None:
    """v7 and a7 are two registers, also where one file holds both."""
    vector, acc = Operand("v", 255, 1), Operand("a", 0, 4)
    assert vector.registers() == range(VGPR0 + 255, ACC0)
    assert acc.registers() == range(ACC0, ACC0 + 4)
    assert set(vector.registers()).isdisjoint(acc.registers())
