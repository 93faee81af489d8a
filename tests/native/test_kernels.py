"""Whole kernels through both engines: the same bits in every buffer, defined or not, and the same faults.

Matrices hold values whose sums are rounded, so that the order of sums is the same too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from emulator.lab import BUILDS, LANES, assembled, building_for, compiled, fresh, words
from emulator_gemm.kernels import KERNELS, make_launch
from msgspec.structs import replace

from layoutprobe.backends.base import Buffer, Launch
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.codeobj.model import CodeObject
from layoutprobe.engine.native import engine, hosts, library
from layoutprobe.engine.native.engine import NativeEngine
from layoutprobe.engine.native.interpreter import Interpreter
from layoutprobe.engine.numpy_engine import NumpyEngine
from layoutprobe.errors import ExecutionError
from layoutprobe.isa.edit import Known, Literals
from layoutprobe.isa.edits import edits
from layoutprobe.isa.inst import Operand
from layoutprobe.isa.store import load_instructions
from layoutprobe.toolchain import find

ENGINES = (NativeEngine(), NumpyEngine())


def compare(launch: Launch) -> str:
    """Runs on both engines; what both have to say: "" or the fault."""
    ours, numpys = (_outcome(launch, runs) for runs in ENGINES)
    if isinstance(ours, str) or isinstance(numpys, str):
        assert ours == numpys
        return str(ours)
    for one, two in zip((*ours.buffers, *ours.undefined), (*numpys.buffers, *numpys.undefined), strict=True):
        assert (one is None) == (two is None)
        assert one is None or np.array_equal(one.view(np.uint8), two.view(np.uint8))
    return ""


def _outcome(launch: Launch, runs: Any) -> Any:
    try:
        return EmulatorBackend(200_000, engine=runs).run(launch)
    except ExecutionError as fault:
        return f"{fault.kind}: {fault}"


def native(code: CodeObject, kernel: str) -> bool:
    """The native engine executes the kernel, and does not leave it to numpy's."""
    return ENGINES[0]._bind(code, code.kernel(kernel)) is not None


@pytest.mark.few(1)
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("size", [(64, 64, 32), (72, 40, 24)], ids=str)
def test_gemm(name: str, size: tuple[int, int, int]) -> None:
    kernel, (m, n, k) = KERNELS[name], size
    rng = np.random.default_rng(size)
    a, b = (rng.normal(size=s).astype(np.float16) for s in ((m, k), (k, n)))
    code = kernel.build()
    launch = make_launch(kernel, code, a, b, rng.normal(size=(m, n)).astype(np.float32), 0.5, 1.5)
    compare(launch)
    assert native(code, launch.kernel)


CORPUS = [
    ("softmax", "softmax", (fresh((5, 77), np.float32), np.int32(77)), (5,), (LANES,)),
    ("transpose", "transpose_f32", (fresh((32, 32)), np.int32(32)), (1,), (32,)),
]


@pytest.mark.few(1)
@pytest.mark.parametrize("target", BUILDS)
@pytest.mark.parametrize(("source", "kernel", "rest", "grid", "block"), CORPUS, ids=lambda v: str(v)[:12])
def test_corpus(
    target: str, source: str, kernel: str, rest: tuple[Any, ...], grid: tuple[int], block: tuple[int]
) -> None:
    with building_for(BUILDS[target]):
        code = compiled(f"corpus/{source}")
    data = Buffer(np.random.default_rng(3).normal(size=rest[0].data.shape).astype(np.float32))
    launch = Launch(code, kernel, (*grid, 1, 1), (*block, 1, 1), [data, *rest])
    assert compare(launch) == ""
    assert native(code, kernel)


FAULTS = {
    "global-load": "v_mov_b32_e32 v2, 0x100000\n global_load_b32 v3, v2, s[4:5]",
    "lds-bounds": "v_cmpx_lt_u32_e32 20, v0\n ds_load_b32 v3, v1 offset:60",
    "read-only": "s_getpc_b64 s[8:9]\n v_mov_b32_e32 v2, 0\n global_store_b32 v2, v1, s[8:9]",
    "undefined-address": "v_add_nc_u32_e32 v2, v40, v1\n global_load_b32 v3, v2, s[4:5]",
    "undefined-control": "s_cmp_eq_u32 s30, 0\n s_cbranch_scc0 1f\n v_mov_b32_e32 v2, 0\n 1:",
    "budget": "1:\n s_branch 1b",
}


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", FAULTS)
def test_faults(kind: str) -> None:
    """Wave 1 of workgroup 2 is not the first that could fault, and only some of its lanes do."""
    code = assembled(FAULTS[kind] + "\n s_endpgm", pointers=2, lds=128)
    launch = Launch(code, "k", (3, 1, 1), (2 * LANES, 1, 1), [Buffer(words(1, 64)), fresh(64)])
    said = compare(launch)
    assert said.startswith(f"{kind}: ")
    assert native(code, "k")


def test_undefined_bits_reach_the_output_as_in_numpy() -> None:
    """A half that nobody wrote is packed, stored, loaded again and stored elsewhere."""
    body = """
      v_mov_b16_e32 v40.l, v0.l
      v_xor_b32_e32 v41, v40, v1
      ds_store_b32 v1, v41
      ds_load_b32 v42, v1
      global_store_b32 v1, v42, s[6:7]
      v_mov_b32_e32 v43, v44
      v_cmpx_gt_u32_e32 8, v0
      v_mov_b32_e32 v45, v1
      v_cmpx_lt_u32_e32 3, v0
      v_mov_b32_e32 v45, v43
      s_mov_b32 exec_lo, -1
      global_store_b32 v1, v45, s[6:7] offset:128
      s_endpgm"""
    code = assembled(body, pointers=2, lds=4 * LANES)
    assert compare(Launch(code, "k", (2, 1, 1), (LANES, 1, 1), [Buffer(words(1, 64)), fresh(64)])) == ""
    assert native(code, "k")


def test_undefined_bits_go_where_m0_says() -> None:
    """Of a register that nobody has written, in a block that has begun with defined ones; and of half of one."""
    body = """
      s_mov_b32 m0, 2
      v_dual_mov_b32 v5, v1 :: v_dual_mov_b32 v6, v0
      s_branch 1f
    1:
      v_movrels_b32_e32 v5, v40
      v_xor_b32_e32 v6, v5, v1
      global_store_b32 v1, v6, s[6:7]
      s_branch 2f
    2:
      v_cmpx_gt_u32_e32 16, v0
      v_movreld_b32_e32 v48, v1
      s_mov_b32 exec_lo, -1
      global_store_b32 v1, v50, s[6:7] offset:128
      s_endpgm"""
    launch = Launch(assembled(body), "k", (1, 1, 1), (LANES, 1, 1), [fresh(LANES), fresh(2 * LANES)])
    assert compare(launch) == ""
    undefined = _outcome(launch, ENGINES[0]).undefined[1]
    assert undefined.astype(bool).sum() == LANES + 16


def test_a_register_that_m0_picks_is_an_operand_of_a_matrix_instruction() -> None:
    """What C has kept of A for the next instruction counts no more, once M0 has picked one of its registers."""
    sets = "\n".join(f"v_cvt_f32_u32_e32 v{n}, v0\n v_mov_b32_e32 v{n + 32}, 0" for n in range(8, 24))
    body = f"""
      {sets}
      s_mov_b32 m0, 5
      s_branch 1f
    1:
      v_wmma_f32_16x16x16_f16 v[40:47], v[8:15], v[16:23], v[40:47]
      v_movreld_b32_e32 v6, v1
      v_wmma_f32_16x16x16_f16 v[48:55], v[8:15], v[16:23], v[48:55]
      global_store_b32 v1, v48, s[6:7]
      s_endpgm"""
    assert compare(Launch(assembled(body), "k", (1, 1, 1), (LANES, 1, 1), [fresh(LANES), fresh(LANES)])) == ""


def test_without_a_compiler_numpy_runs_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    code = assembled("v_add_nc_u32_e32 v2, 7, v1\n global_store_b32 v1, v2, s[6:7]\n s_endpgm", pointers=2)
    monkeypatch.setattr(find, "ziglang", lambda: None)
    found, why = library.examine()
    assert (found, "ziglang" in why) == (False, True)
    monkeypatch.setattr(engine, "steps_of", _unavailable)
    backend = EmulatorBackend(engine=NativeEngine())
    result = backend.run(Launch(code, "k", (1, 1, 1), (LANES, 1, 1), [fresh(LANES), fresh(LANES)]))
    stored = result.buffers[1]
    assert stored is not None
    assert stored.tolist() == [4 * lane + 7 for lane in range(LANES)]


def _unavailable(*_: object, **__: object) -> None:
    raise hosts.UnavailableError("none here")


def test_other_instructions_at_some_addresses() -> None:
    """Both engines execute the same in place of an instruction: another one, two, or none."""
    kernel = next(iter(KERNELS.values()))
    code = kernel.build()
    rng = np.random.default_rng(3)
    a, b = (rng.normal(size=s).astype(np.float16) for s in ((72, 24), (24, 40)))
    launch = make_launch(kernel, code, a, b, rng.normal(size=(72, 40)).astype(np.float32), 0.5, 1.5)
    right = _outcome(launch, ENGINES[1])
    insts = load_instructions(code, code.kernel(launch.kernel))
    asked = Known()
    seen = set[str]()
    for inst in insts.values():
        # Other addresses of 64 bits: waves store to one element, and the last one wins.
        if inst.pair or inst.name in seen or not inst.name.startswith("v_") or "64" in inst.name:
            continue
        seen.add(inst.name)
        for edit in list(edits(inst, asked))[:3]:
            changed = replace(launch, changes={inst.pc: edit.make({})})
            compare(changed)
    assert len(seen) > 10
    first = next(inst for inst in insts.values() if inst.name.startswith("v_wmma"))
    dropped = _outcome(replace(launch, changes={first.pc: ()}), ENGINES[0])
    assert not np.array_equal(dropped.buffers[2], right.buffers[2])
    assert np.array_equal(_outcome(launch, ENGINES[0]).buffers[2], right.buffers[2])  # nothing of it stays


def test_a_copy_that_is_left_out_copies_no_undefined_bits() -> None:
    body = "v_mov_b32_e32 v5, v1\n v_mov_b32_e32 v5, v40\n global_store_b32 v1, v5, s[6:7]\n s_endpgm"
    code = assembled(body)
    launch = Launch(code, "k", (1, 1, 1), (LANES, 1, 1), [fresh(LANES), fresh(LANES)])
    insts = load_instructions(code, code.kernel("k")).values()
    copy = next(inst for inst in insts if inst.name == "v_mov_b32" and inst.src[0].index == 40)
    left_out = replace(launch, changes={copy.pc: ()})
    for one, undefined in ((launch, True), (left_out, False)):
        assert compare(one) == ""
        assert (_outcome(one, ENGINES[0]).undefined[1] is not None) == undefined


def test_another_number_in_place_of_one_is_left_to_c(monkeypatch: pytest.MonkeyPatch) -> None:
    """As programs of many changes ask for it: numpy would stop every wave there."""
    body = """
      s_mov_b32 s8, 0x12345
      v_add_nc_u32_e32 v2, s8, v0
      s_mov_b32 s9, s8
      v_mul_u32_u24_e32 v2, 3, v2
      global_store_b32 v1, v2, s[6:7]
      s_endpgm"""
    code = assembled(body)
    launch = Launch(code, "k", (2, 1, 1), (LANES, 1, 1), [fresh(LANES), fresh(LANES)])
    insts = load_instructions(code, code.kernel("k")).values()
    scalar = next(inst for inst in insts if inst.name == "s_mov_b32" and inst.src[0].value == 0x12345)
    factor = next(inst for inst in insts if inst.name == "v_mul_u32_u24")
    others = {
        "another literal": (scalar, (Operand("literal", value=0x777),), True),
        "an inline number": (scalar, (Operand("const", 128 + 5),), True),
        "a register": (scalar, (Operand("s", 2),), False),
        "another factor": (factor, (Operand("const", 128 + 7), factor.src[1]), True),
        "another register": (factor, (factor.src[0], Operand("v", 0)), False),
    }
    stopped = set[int]()
    slow = Interpreter._slow

    def watched(self: Interpreter, which: Any) -> None:
        stopped.update(self.waves.pc[which].tolist())
        slow(self, which)

    monkeypatch.setattr(Interpreter, "_slow", watched)
    before = _outcome(launch, ENGINES[1]).buffers[1]
    for name, (inst, sources, native_still) in others.items():
        changed = replace(launch, changes={inst.pc: (replace(inst, src=sources),)})
        assert compare(changed) == ""
        assert not np.array_equal(_outcome(changed, ENGINES[0]).buffers[1], before), name
        assert (inst.pc not in stopped) == native_still, name
        stopped.clear()
    told = replace(launch, changes=Literals({scalar.pc: scalar}, 0x12345, 0x777))
    assert compare(told) == ""
    one_by_one = replace(
        launch, changes={scalar.pc: (replace(scalar, src=(Operand("literal", value=0x777),)),)}
    )
    assert np.array_equal(_outcome(told, ENGINES[0]).buffers[1], _outcome(one_by_one, ENGINES[1]).buffers[1])
    assert not np.array_equal(_outcome(told, ENGINES[0]).buffers[1], before)
    assert not stopped
    assert np.array_equal(_outcome(launch, ENGINES[0]).buffers[1], before)
