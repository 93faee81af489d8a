"""VGPRs that M0 picks by GFX9's mode: arrays in registers as compilers index them, and the mode's every bit."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checks.gemm_lab import only
from checks.watched import launch as watched
from checks.watched import verdict
from msgspec.structs import replace
from numpy.typing import NDArray
from scaffold import scaffolded

from layoutprobe.backends.base import Buffer, Launch
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.checks import wait_states, waits
from layoutprobe.codeobj.elf import load
from layoutprobe.codeobj.model import CodeObject
from layoutprobe.engine.registry import make_engine
from layoutprobe.errors import ExecutionError
from layoutprobe.isa.inst import Operand
from layoutprobe.isa.store import load_instructions
from layoutprobe.report.gate import CheckResult
from layoutprobe.toolchain.compile import compile_hip

Array = NDArray[Any]
KERNELS = Path(__file__).parent / "kernels" / "indexed.hip"
ENGINES = ("numpy", "native")
GROUPS, LANES = 3, 64
THREADS = GROUPS * LANES


@cache
def compiled(target: str, level: str) -> CodeObject:
    return load(compile_hip(KERNELS, target=target, flags=(level,)).data)


def run(code: CodeObject, kernel: str, engine: str, *args: Any, groups: int = GROUPS) -> list[Array]:
    given = [Buffer(a) if isinstance(a, np.ndarray) else a for a in args]
    backend = EmulatorBackend(engine=make_engine(engine))
    result = backend.run(Launch(code, kernel, (groups, 1, 1), (LANES, 1, 1), given))
    assert all(bits is None for bits in result.undefined)
    return [buffer for buffer in result.buffers if buffer is not None]


def _numbers(kind: Any, each: int) -> Array:
    return np.random.default_rng(each).integers(-50, 50, (THREADS, each)).astype(kind)


def _group() -> Array:
    return np.arange(THREADS) // LANES


def reads(x: Array, i: int) -> Array:
    return np.asarray(x[np.arange(THREADS), (i + _group()) % 16])


def writes(x: Array, i: int) -> Array:
    x = x.copy()
    x[np.arange(THREADS), (i + _group()) % 16] = 0.5 * (np.arange(THREADS) % LANES)
    return x


def loop(x: Array, i: int, j: int, n: int) -> Array:
    x, every = x.copy(), np.arange(THREADS)
    for s in range(n):
        x[every, (i + s) % 16] += x[every, (j + s + _group()) % 16] * 3
    return x


def doubles(x: Array, i: int, j: int) -> Array:
    x = x.copy()
    x[:, i % 8] = x[:, j % 8] * 2.5
    return x


def halves(x: Array, i: int, j: int) -> Array:
    x, kept = x.reshape(THREADS, 16, 2).copy(), x.reshape(THREADS, 16, 2)
    x[:, i % 16] = kept[:, j % 16] + kept[:, (j + 3) % 16]
    return x.reshape(THREADS, 32)


def some_lanes(x: Array, i: int, n: int) -> Array:
    x, lane = x.copy(), np.arange(THREADS) % LANES
    for s in range(n):
        on = (lane >> s % 4) % 2 == 1
        x[on, (i + s) % 16] = x[on, (i + 3 * s) % 16] + 1
    return x


CASES: dict[str, tuple[Callable[..., Array], Any, int, tuple[int, ...]]] = {
    "reads": (reads, np.float32, 16, (13,)),
    "writes": (writes, np.float32, 16, (14,)),
    "loop": (loop, np.int32, 16, (3, 7, 20)),
    "some_lanes": (some_lanes, np.float32, 16, (5, 12)),
    "doubles": (doubles, np.float64, 8, (6, 3)),
    "halves": (halves, np.float16, 32, (1, 14)),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("build", [("gfx942", "-O3"), ("gfx950", "-O1"), ("gfx942", "-O0")], ids="".join)
@pytest.mark.parametrize("name", CASES)
def test_arrays_in_registers(name: str, build: tuple[str, str], engine: str) -> None:
    reference, kind, each, numbers = CASES[name]
    x = _numbers(kind, each)
    right = reference(x, *numbers)
    out = run(compiled(*build), name, engine, x, np.zeros_like(right), *(np.int32(n) for n in numbers))[1]
    np.testing.assert_array_equal(out, right)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("i", [0, 9])
def test_registers_of_a_matrix_instruction(i: int, engine: str) -> None:
    a, b = (np.random.default_rng(n).integers(-5, 5, LANES).astype(np.float32) for n in (1, 2))
    code, y = compiled("gfx942", "-O3"), np.zeros(17 * LANES, np.float32)
    out = run(code, "accumulators", engine, a, b, y, np.int32(i), groups=1)[2]
    product = np.outer(a[:32], b[:32]) + np.outer(a[32:], b[32:])
    lane, register = np.meshgrid(np.arange(LANES), np.arange(16), indexing="ij")
    d = product[8 * (register // 4) + 4 * (lane // 32) + register % 4, lane % 32]
    np.testing.assert_array_equal(out[:LANES], d[:, i])
    d[:, i] = 3
    np.testing.assert_array_equal(out[LANES:].reshape(LANES, 16), d)


def test_the_compiler_uses_the_mode() -> None:
    """Else the kernels above would show nothing of it."""
    code = compiled("gfx942", "-O3")
    for name in (*CASES, "accumulators"):
        names = {inst.name for inst in load_instructions(code, code.kernel(name)).values()}
        assert {"s_set_gpr_idx_on", "s_set_gpr_idx_off"} <= names, name


# Every bit of the mode, by hand.

SET = tuple(f"v_add_u32_e32 v{n}, {n}, v1" for n in range(10, 30))
"""v10 and on: their number and four times the lane."""


def assembled(*body: str, vgprs: int = 64, first: int = 40) -> CodeObject:
    lines = ("v_lshlrev_b32_e32 v1, 2, v0", *SET, *body, "s_endpgm")
    text = "\n".join(f"  {line}" for line in lines)
    return scaffolded(text, target="gfx942", wave_size=64, vgprs=vgprs, first_accvgpr=first)


def stored(register: int) -> tuple[str, ...]:
    return (f"global_store_dword v1, v{register}, s[6:7]",)


def result_of(engine: str, *body: str, given: Array | None = None, groups: int = 1) -> Array:
    data = np.arange(LANES, dtype=np.uint32) if given is None else given
    return run(assembled(*body), "k", engine, data, np.zeros(LANES, np.uint32), groups=groups)[1]


def on(what: str, index: str = "3") -> str:
    return f"s_set_gpr_idx_on {index}, gpr_idx({what})"


OFF = "s_set_gpr_idx_off"
L = 4 * np.arange(LANES, dtype=np.int64)
BITS = {
    "SRC0": ((on("SRC0"), "v_mov_b32_e32 v5, v12", OFF, *stored(5)), 15 + L),
    "DST": ((on("DST"), "v_mov_b32_e32 v12, 7", OFF, *stored(15)), 7 + 0 * L),
    "DST leaves what it names": ((on("DST"), "v_mov_b32_e32 v12, 7", OFF, *stored(12)), 12 + L),
    "SRC0 and DST": ((on("SRC0,DST"), "v_mov_b32_e32 v12, v20", OFF, *stored(15)), 23 + L),
    "nothing": ((on(""), "v_mov_b32_e32 v5, v12", OFF, *stored(5)), 12 + L),
    "SRC1": ((on("SRC1"), "v_sub_u32_e32 v5, v12, v20", OFF, *stored(5)), 12 - 23 + 0 * L),
    "SRC0 of two": ((on("SRC0"), "v_sub_u32_e32 v5, v20, v12", OFF, *stored(5)), 23 - 12 + 0 * L),
    "SRC2": ((on("SRC2"), "v_lshl_or_b32 v5, v10, 16, v12", OFF, *stored(5)), (10 + L << 16) | (15 + L)),
    "all four": (
        (on("SRC0,SRC1,SRC2,DST"), "v_add3_u32 v6, v10, v11, v12", OFF, *stored(9)), 13 + 14 + 15 + 3 * L,
    ),
    "no scalar and no constant": (
        ("s_mov_b32 s8, 5", "s_mov_b32 s11, 50", on("SRC0,SRC1"), "v_add_u32_e32 v5, s8, v12", OFF, *stored(5)),
        5 + 15 + L,
    ),
    "what accumulates reads where it writes": (
        ("v_mov_b32_e32 v2, 1", on("DST"), "v_dot4c_i32_i8_e32 v12, v0, v2", OFF, *stored(15)), None,
    ),
    "no loads and stores": (
        (on("SRC0,SRC1,SRC2,DST", "2"), "global_store_dword v1, v12, s[6:7]", OFF), 12 + L,
    ),
    "another index": (
        (on("SRC0"), "s_mov_b32 s8, 5", "s_set_gpr_idx_idx s8", "v_mov_b32_e32 v5, v12", OFF, *stored(5)), 17 + L,
    ),
    "only its lowest byte": (
        ("s_movk_i32 s8, 0x205", on("SRC0", "s8"), "v_mov_b32_e32 v5, v12", OFF, *stored(5)), 17 + L,
    ),
    "another mode": (
        (on("SRC0"), "s_set_gpr_idx_mode gpr_idx(SRC1)", "v_sub_u32_e32 v5, v12, v20", OFF, *stored(5)),
        12 - 23 + 0 * L,
    ),
    "M0 itself": (
        (on("SRC0"), "s_mov_b32 m0, 0x2004", "v_sub_u32_e32 v5, v12, v20", OFF, *stored(5)), 12 - 24 + 0 * L,
    ),
    "M0 without the mode": (
        (on("SRC0"), OFF, "s_mov_b32 m0, 0xf004", "v_mov_b32_e32 v5, v12", *stored(5)), 12 + L,
    ),
    "it stays on in a loop": (
        ("s_mov_b32 s8, 2", "v_mov_b32_e32 v5, 0", on("SRC1", "0"), "again:", "s_set_gpr_idx_idx s8",
         "v_add_u32_e32 v5, v5, v12", "s_sub_u32 s8, s8, 1", "s_cbranch_scc0 again", OFF, *stored(5)),
        12 + 13 + 14 + 3 * L,
    ),
    "a pair": (
        (on("SRC0", "4"), "v_lshlrev_b64 v[6:7], 0, v[10:11]", OFF, *stored(7)), 11 + L,
    ),
    "a pair further up": (
        (on("SRC1", "4"), "v_lshlrev_b64 v[6:7], 0, v[10:11]", OFF, *stored(7)), 15 + L,
    ),
    "a part of a register": (
        (on("SRC0"), "v_mov_b32_sdwa v5, v12 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_0", OFF, *stored(5)),
        (15 + L) & 0xFF,
    ),
    "other lanes": (
        (on("SRC0"), "v_mov_b32_dpp v5, v12 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf", OFF, *stored(5)),
        15 + (L ^ 4),
    ),
    "the first lane": (
        (on("SRC0"), "v_readfirstlane_b32 s8, v12", OFF, "v_mov_b32_e32 v5, s8", *stored(5)), 15 + 0 * L,
    ),
    "one lane": ((on("DST"), "v_writelane_b32 v12, 5, 2", OFF, *stored(15)), np.where(L == 8, 5, 15 + L)),
    "the third source of V_FMAMK is the second": (
        (on("SRC2"), "v_fmamk_f32 v5, 0, 0x40000000, v12", OFF, *stored(5)), None,
    ),
    "an AccVGPR that is read": (
        ("v_accvgpr_write_b32 a2, v20", "v_accvgpr_write_b32 a5, v21", on("SRC0"), "v_accvgpr_read_b32 v5, a2", OFF,
         *stored(5)), 21 + L,
    ),
    "only some lanes": (
        ("s_mov_b64 exec, 0xff", on("DST"), "v_mov_b32_e32 v12, 7", OFF, "s_mov_b64 exec, -1", *stored(15)),
        np.where(L < 32, 7, 15 + L),
    ),
}  # fmt: skip
VALUES = {
    "what accumulates reads where it writes": 15 + L + (np.arange(LANES) & 0x7F),
    "the third source of V_FMAMK is the second": 15 + L,
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", BITS)
def test_what_the_mode_moves(name: str, engine: str) -> None:
    body, values = BITS[name]
    expected = VALUES[name] if values is None else values
    np.testing.assert_array_equal(result_of(engine, *body), expected.astype(np.uint32))


# What is wrong.


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("body", "what", "expected"),
    [
        ((on("SRC0", "30"), "v_add_u32_e32 v5, v12, v20"), "M0 picks VGPR 42", "VGPRs below v40"),
        ((on("DST", "28"), "v_mov_b32_e32 v12, v5"), "M0 picks VGPR 40", "VGPRs below v40"),
        ((on("SRC1", "27"), "v_lshlrev_b64 v[6:7], 0, v[12:13]"), "M0 picks VGPR 40", "VGPRs below v40"),
        ((on("SRC0,DST", "28"), "v_mov_b32_e32 v12, v13"), "M0 picks VGPR 41", "VGPRs below v40"),
        ((on("SRC1"), "v_lshlrev_b64 v[6:7], 0, v[10:11]"), "v[13:14], which begins at an odd", "even number"),
    ],
)  # fmt: skip
def test_a_register_that_is_not_there(body: tuple[str, ...], what: str, expected: str, engine: str) -> None:
    with pytest.raises(ExecutionError) as caught:
        result_of(engine, *body, OFF)
    assert what in str(caught.value)
    assert expected in str(caught.value)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("read", ["v_mov_b32_e32 v5, v12", "v_accvgpr_read_b32 v5, a2"])
def test_what_is_moved_from_no_register_is_undefined(read: str, engine: str) -> None:
    """And no fault, in the lanes that are on: compilers read elements of arrays that nothing uses."""
    some = ("s_mov_b64 exec, 0xff00", on("SRC0", "30"), read, OFF, "s_mov_b64 exec, -1")
    args = [Buffer(np.zeros(LANES, np.uint32)) for _ in range(2)]
    code = assembled("v_mov_b32_e32 v5, 7", *some, *stored(5))
    launch = Launch(code, "k", (1, 1, 1), (LANES, 1, 1), args)
    result = EmulatorBackend(engine=make_engine(engine)).run(launch)
    out, bits = result.buffers[1], result.undefined[1]
    assert out is not None
    assert bits is not None
    on_lanes = np.arange(LANES) // 8 == 1
    np.testing.assert_array_equal(bits.view(np.uint32), np.where(on_lanes, 0xFFFFFFFF, 0))
    assert set(out[~on_lanes]) == {7}


@pytest.mark.parametrize("engine", ENGINES)
def test_an_index_that_nobody_has_set(engine: str) -> None:
    """Only the bits that are used count: of M0 the others are undefined in all tests here."""
    body = ("s_cmp_eq_u32 s0, s0", on("SRC0", "s40"), "v_mov_b32_e32 v5, v12", OFF)
    with pytest.raises(ExecutionError, match="an undefined value is used as a register index"):
        result_of(engine, *body)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            ("s_cmp_eq_u32 s2, 0", "s_cbranch_scc1 1f", on("SRC0"), "1:", "v_mov_b32_e32 v5, v12"),
            "on or off here, depending on the path",
        ),
        ((on("SRC0"), "s_swappc_b64 s[8:9], s[8:9]"), "goes to another function while VGPR indexing is on"),
        ((on("DST"), "v_accvgpr_write_b32 a2, v12"), "v_accvgpr_write_b32"),
        ((on("SRC0"), "v_swap_b32 v5, v12"), "v_swap_b32"),
        ((on("SRC0"), "v_mfma_f32_4x4x1_16b_f32 v[12:15], v10, v11, v[12:15]"), "v_mfma_f32_4x4x1_16b_f32"),
    ],
)
def test_what_is_refused(body: tuple[str, ...], words: str) -> None:
    """In words, and nothing is computed in another way."""
    with pytest.raises(ExecutionError) as caught:
        result_of("numpy", *body, OFF)
    assert words in str(caught.value)


@pytest.mark.parametrize("engine", ENGINES)
def test_waves_with_an_index_each(engine: str) -> None:
    """Of scalar registers, too, each wave writes its own."""
    body = (
        *(
            "s_and_b32 s8, s2, 7",
            on("SRC0", "s8"),
            "v_mov_b32_e32 v5, v12",
            "v_readfirstlane_b32 s9, v13",
            OFF,
        ),
        *("v_add_u32_e32 v5, s9, v5", "s_lshl_b32 s10, s2, 8", "v_add_u32_e32 v6, s10, v1"),
        "global_store_dword v6, v5, s[6:7]",
    )
    groups = 5
    zeros = np.zeros(groups * LANES, np.uint32)
    out = run(assembled(*body), "k", engine, np.zeros(LANES, np.uint32), zeros, groups=groups)[1]
    group = np.arange(groups)[:, None]
    np.testing.assert_array_equal(out.reshape(groups, LANES), 12 + 13 + 2 * group + L)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "before", ["v_mov_b32_e32 v5, v13", "v_mov_b32_e32 v5, s2", "v_mov_b32_e32 v5, 0x1234"]
)
def test_what_stands_in_place_of_another_runs_in_its_mode(before: str, engine: str) -> None:
    """Whichever of its operands were VGPRs."""
    code = assembled(on("SRC0"), before, OFF, *stored(5))
    insts = load_instructions(code, code.kernel("k")).values()
    inst = [one for one in insts if one.name == "v_mov_b32"][-1]
    data = [Buffer(np.zeros(LANES, np.uint32)) for _ in range(2)]
    for source, right in ((Operand("v", 12), 15 + L), (Operand("literal", value=0x777), 0x777 + 0 * L)):
        changes = {inst.pc: (replace(inst, src=(source,)),)}
        launch = Launch(code, "k", (1, 1, 1), (LANES, 1, 1), data, changes=changes)
        out = EmulatorBackend(engine=make_engine(engine)).run(launch).buffers[1]
        np.testing.assert_array_equal(out, right)


@pytest.mark.parametrize("engine", ENGINES)
def test_undefined_bits_move_along(engine: str) -> None:
    body = (on("SRC0,DST"), "v_mov_b32_e32 v12, v30", OFF, *stored(15))
    data = [Buffer(np.zeros(LANES, np.uint32)) for _ in range(2)]
    launch = Launch(assembled(*body), "k", (1, 1, 1), (LANES, 1, 1), data)
    bits = EmulatorBackend(engine=make_engine(engine)).run(launch).undefined[1]
    assert bits is not None
    assert bits.all()


# What observers are told.

LOAD = "global_load_dword v15, v1, s[4:5]"
WAIT = "s_waitcnt vmcnt(0)"
WAITS = {
    "reads": ((LOAD, on("SRC0"), "v_mov_b32_e32 v5, v12", OFF), "v_mov_b32 reads v15"),
    "reads after a wait": ((LOAD, WAIT, on("SRC0"), "v_mov_b32_e32 v5, v12", OFF), None),
    "reads another": ((LOAD, on("SRC0", "2"), "v_mov_b32_e32 v5, v12", OFF), None),
    "does not read what it names": ((LOAD, on("SRC0"), "v_mov_b32_e32 v5, v15", OFF), None),
    "names what is not moved": ((LOAD, on("SRC0"), "v_sub_u32_e32 v5, v12, v15", OFF), "v_sub_u32 reads v15"),
    "overwrites": ((LOAD, on("DST"), "v_mov_b32_e32 v12, 0", OFF), "v_mov_b32 overwrites v15"),
    "overwrites another": ((LOAD, on("DST"), "v_mov_b32_e32 v15, 0", OFF), None),
    "the second of a pair": ((LOAD, on("SRC1", "4"), "v_lshlrev_b64 v[6:7], 0, v[10:11]", OFF), "reads v15"),
    "in a loop, when the index comes to it": (
        (LOAD, "s_mov_b32 s8, 0", on("SRC0", "0"), "again:", "s_set_gpr_idx_idx s8", "v_mov_b32_e32 v5, v12",
         "s_add_u32 s8, s8, 1", "s_cmp_lt_u32 s8, 4", "s_cbranch_scc1 again", OFF), "v_mov_b32 reads v15",
    ),
}  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", WAITS)
def test_registers_that_are_picked_are_waited_for(
    name: str, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    body, words = WAITS[name]
    monkeypatch.setenv("LAYOUTPROBE_ENGINE", engine)
    judged(verdict(waits.CHECK, _watched(*body, WAIT)), words)


def _watched(*body: str) -> Launch:
    return watched(assembled(*body, vgprs=128, first=64), [np.zeros(LANES, np.uint32)] * 2, block=LANES)


def judged(result: CheckResult, words: str | None) -> None:
    if words is None:
        assert result.status == "holds", result
        return
    finding = only(result)
    assert words in finding.what, finding
    assert finding.count == 1


MATRIX = "v_mfma_f32_4x4x1_16b_f32 v[12:15], v10, v11, v[12:15]"
DOT = "v_dot4_i32_i8 v12, v10, v11, v13"
AFTER = ("s_nop 15",)
STATES = {
    # A result of a vector instruction is read by a matrix instruction two wait states later.
    "too early": ((on("DST", "6"), "v_mov_b32_e32 v4, 0", OFF, MATRIX), "v_mfma"),
    "early enough": ((on("DST", "6"), "v_mov_b32_e32 v4, 0", OFF, "s_nop 0", MATRIX), None),
    "of another register": ((on("DST", "5"), "v_mov_b32_e32 v4, 0", OFF, MATRIX), None),
    "named, and not written": ((on("DST", "5"), "v_mov_b32_e32 v11, 0", OFF, MATRIX), None),
    # A dot product is read three wait states later: on from the block that it stands in.
    "in the next block": ((on("DST"), DOT, "s_branch 1f", "1:", OFF, "v_mov_b32_e32 v5, v15"), "v_mov_b32"),
    "in time in the next block": (
        (on("DST"), DOT, "s_branch 1f", "1:", OFF, "s_nop 0", "v_mov_b32_e32 v5, v15"), None,
    ),
    "beside it in the next block": ((on("DST"), DOT, "s_branch 1f", "1:", OFF, "v_mov_b32_e32 v5, v12"), None),
    # A matrix instruction of two passes takes four wait states until its D is read.
    "reads D": ((MATRIX, on("SRC0", "4"), "v_mov_b32_e32 v5, v10", OFF, *AFTER), "v_mov_b32"),
    "reads beside D": ((MATRIX, on("SRC0", "6"), "v_mov_b32_e32 v5, v10", OFF, *AFTER), None),
    "reads D in time": ((MATRIX, "s_nop 7", on("SRC0", "4"), "v_mov_b32_e32 v5, v10", OFF), None),
}  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", STATES)
def test_wait_states_of_registers_that_are_picked(
    name: str, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    body, words = STATES[name]
    monkeypatch.setenv("LAYOUTPROBE_ENGINE", engine)
    judged(verdict(wait_states.CHECK, _watched(*AFTER, *AFTER, *body, *AFTER)), words)
