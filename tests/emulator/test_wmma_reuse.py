"""Matrix instructions that follow one another: expanded fragments may be reused only while they are good."""

from __future__ import annotations

import numpy as np
import pytest
from emulator.fragments import (
    FORMS,
    bf16_value,
    f16_value,
    loads,
    pack,
    replicated,
    signed,
    small_floats,
    stores,
    to_rows,
)
from emulator.lab import LANES, Array, assembled, fresh, outputs

WMMA = "v_wmma_f32_16x16x16_f16"


def fragments(seed: int) -> tuple[Array, Array]:
    """A matrix [row, k] as values, and its registers."""
    codes = small_floats("f32_f16", seed)
    return f16_value(codes), replicated(pack(codes, 16))


def second_product(between: str, *inputs: Array, a: int = 10, b: int = 20) -> tuple[Array, Array]:
    """Two products into v[40:47] and v[50:57] of A in v[10:17] and B in v[20:27], with `between` after
    the first; both D as [row, col].

    The pointers of `inputs` are s[6:7], s[8:9] and so on: A, B, and what `between` needs.
    """
    body = f"""
      {loads(10, 8, 6)}
      {loads(20, 8, 8)}
      {WMMA} v[40:47], v[10:17], v[20:27], 0
      {between}
      {WMMA} v[50:57], v[{a}:{a + 7}], v[{b}:{b + 7}], 0
      s_mov_b32 exec_lo, -1
      {stores(40)}
      {stores(50, part=8)}
    """
    code = assembled(body, pointers=1 + len(inputs), lds=4096, scratch=256)
    out = outputs(code, [fresh((16, LANES)), *inputs])[0].view(np.float32).astype(np.float64)
    return to_rows(out[:8]), to_rows(out[8:])


def copies(target: int, source: int, count: int = 8) -> str:
    return "\n".join(f"v_mov_b32 v{target + i}, v{source + i}" for i in range(count))


NEW = loads(60, 8, 10)  # the new fragment, in registers of its own
STORE_LDS = "\n".join(f"ds_store_b32 v1, v{60 + i} offset:{128 * i}" for i in range(8))
LOAD_LDS = "\n".join(f"ds_load_b32 v{{}}, v1 offset:{128 * i}" for i in range(8))
REWRITES = {
    "moves": NEW + "\n" + copies(10, 60),
    "loads": loads(10, 8, 10),
    "vopd": NEW
    + "\n"
    + "\n".join(
        f"v_dual_mov_b32 v{10 + i}, v{60 + i} :: v_dual_mov_b32 v{11 + i}, v{61 + i}" for i in range(0, 8, 2)
    ),
    "swaps": NEW + "\n" + "\n".join(f"v_swap_b32 v{10 + i}, v{60 + i}" for i in range(8)),
    "swaps, other way": NEW + "\n" + "\n".join(f"v_swap_b32 v{60 + i}, v{10 + i}" for i in range(8)),
    "lds": "\n".join(
        [NEW, STORE_LDS, "s_waitcnt lgkmcnt(0)"]
        + [f"ds_load_b32 v{10 + i}, v1 offset:{128 * i}" for i in range(8)]
        + ["s_waitcnt lgkmcnt(0)"]
    ),
    "lds 2addr": "\n".join(
        [NEW, STORE_LDS, "s_waitcnt lgkmcnt(0)"]
        + [
            f"ds_load_2addr_b32 v[{10 + i}:{11 + i}], v1 offset0:{32 * i} offset1:{32 * (i + 1)}"
            for i in range(0, 8, 2)
        ]
        + ["s_waitcnt lgkmcnt(0)"]
    ),
    "scratch": "\n".join(
        [NEW]
        + [f"scratch_store_b32 off, v{60 + i}, off offset:{4 * i}" for i in range(8)]
        + ["scratch_load_b128 v[10:13], off, off", "scratch_load_b128 v[14:17], off, off offset:16"]
        + ["s_waitcnt vmcnt(0)"]
    ),
    "halves": NEW
    + "\n"
    + "\n".join(f"v_mov_b16_e32 v{10 + i}.{h}, v{60 + i}.{h}" for i in range(8) for h in "lh"),
    "d16 loads": "\n".join(
        f"global_load_d16{h}_b16 v{10 + i}, v1, s[10:11] offset:{128 * i + at}"
        for i in range(8)
        for h, at in (("", 0), ("_hi", 2))
    )
    + "\ns_waitcnt vmcnt(0)",
    "permutes": NEW + "\n" + "\n".join(f"v_perm_b32 v{10 + i}, 0, v{60 + i}, 0x03020100" for i in range(8)),
}


@pytest.mark.parametrize("how", REWRITES)
def test_a_rewritten_a_is_seen(how: str) -> None:
    (a, a_regs), (b, b_regs), (new, new_regs) = fragments(1), fragments(2), fragments(3)
    first, second = second_product(REWRITES[how], a_regs, b_regs, new_regs)
    assert np.array_equal(first, a @ b.T)
    assert np.array_equal(second, new @ b.T)


@pytest.mark.parametrize("how", REWRITES)
def test_a_rewritten_b_is_seen(how: str) -> None:
    (a, a_regs), (b, b_regs), (new, new_regs) = fragments(4), fragments(5), fragments(6)
    swapped = {f"v{10 + i}": f"v{20 + i}" for i in range(9)}
    text = REWRITES[how].replace("v[10:13]", "v[20:23]").replace("v[14:17]", "v[24:27]")
    for i in range(0, 8, 2):
        text = text.replace(f"v[{10 + i}:{11 + i}]", f"v[{20 + i}:{21 + i}]")
    for old in sorted(swapped, key=len, reverse=True):
        text = text.replace(old + ",", swapped[old] + ",").replace(old + ".", swapped[old] + ".")
        text = text.replace(old + "\n", swapped[old] + "\n")
    if text.endswith("v17"):
        text = text[:-3] + "v27"
    first, second = second_product(text, a_regs, b_regs, new_regs)
    assert np.array_equal(first, a @ b.T)
    assert np.array_equal(second, a @ new.T)


@pytest.mark.parametrize("register", [10, 13, 17, 20, 24, 27])
def test_one_changed_register_is_enough(register: int) -> None:
    (a, a_regs), (b, b_regs) = fragments(7), fragments(8)
    _, second = second_product(f"v_xor_b32 v{register}, 0x80008000, v{register}", a_regs, b_regs)
    k = slice(2 * (register % 10), 2 * (register % 10) + 2)
    (a if register < 20 else b)[:, k] *= -1
    assert np.array_equal(second, a @ b.T)


def test_one_changed_lane_is_enough() -> None:
    (a, a_regs), (b, b_regs) = fragments(9), fragments(10)
    _, second = second_product("s_mov_b32 s3, 0\n v_writelane_b32 v12, s3, 6", a_regs, b_regs)
    a[6, 4:6] = 0
    assert np.array_equal(second, a @ b.T)


def test_a_write_under_exec_counts() -> None:
    (a, a_regs), (b, b_regs) = fragments(11), fragments(12)
    _, second = second_product("s_mov_b32 exec_lo, 0x00010001\n v_mov_b32 v20, 0", a_regs, b_regs)
    b[0, 0:2] = 0
    assert np.array_equal(second, a @ b.T)


def test_unchanged_operands_in_other_roles() -> None:
    """The same registers first as A and then as B."""
    (a, a_regs), (b, b_regs) = fragments(13), fragments(14)
    _, second = second_product("", a_regs, b_regs, a=20, b=10)
    assert np.array_equal(second, b @ a.T)


def test_shifted_registers_are_another_operand() -> None:
    (a, a_regs), (b, b_regs) = fragments(15), fragments(16)
    body = loads(18, 1, 6)
    _, second = second_product(body, a_regs, b_regs, a=11)
    wanted = np.concatenate([a[:, 2:], a[:, :2]], axis=1)
    assert np.array_equal(second, wanted @ b.T)


def chain(lines: str, *inputs: Array, results: int = 2) -> list[Array]:
    """D of each product as [row, col]: v[40:47], v[50:57], v[60:67]."""
    body = "\n".join(
        [loads(10, 8, 6), loads(20, 8, 8), lines, *(stores(40 + 10 * i, part=8 * i) for i in range(results))]
    )
    code = assembled(body, pointers=1 + len(inputs))
    out = outputs(code, [fresh((8 * results, LANES)), *inputs])[0]
    return [to_rows(out[8 * i : 8 * i + 8]) for i in range(results)]


def test_d_of_one_is_a_of_the_next() -> None:
    """16-bit results, op_sel by turns, become the operand of a second product without any move."""
    (a, a_regs), (b, b_regs) = fragments(17), fragments(18)
    zeros = "\n".join(f"v_mov_b32 v{40 + i}, 0" for i in range(8))
    lines = f"""
      {zeros}
      {WMMA} v[60:67], v[40:47], v[20:27], 0
      {FORMS["f16_f16"].name} v[40:47], v[10:17], v[20:27], v[40:47]
      v_nop
      {WMMA} v[50:57], v[40:47], v[20:27], 0
    """
    out = chain(lines, a_regs, b_regs, results=3)
    product = (a @ b.T).astype(np.float16)
    d = out[0].astype(np.uint32)  # raw: result in the low half, 0 in the high half
    assert np.array_equal(d, product.view(np.uint16))
    # Lane l holds D[2v + l // 16][l % 16]; as A it is row l % 16, k = 2v. Even rows come from lanes 0-15.
    as_a = np.zeros((16, 16))
    for row in range(16):
        as_a[row, 0::2] = product[0::2, row] if row % 2 == 0 else product[1::2, row]
    assert np.array_equal(out[1].view(np.float32), (as_a @ b.T).astype(np.float32))
    assert not out[2].any()


def test_d_over_its_own_a_is_not_reused() -> None:
    """The first product overwrites its A; the second must expand the result, not the old A."""
    (_, a_regs), (b, b_regs) = fragments(19), fragments(20)
    lines = f"""
      {WMMA} v[10:17], v[10:17], v[20:27], 0
      v_nop
      {WMMA} v[50:57], v[10:17], v[20:27], 0
      {copies(40, 10)}
    """
    first, second = chain(lines, a_regs, b_regs)
    a = f16_value(small_floats("f32_f16", 19))
    d = a @ b.T
    assert np.array_equal(first.view(np.float32), d)
    registers = np.zeros((8, LANES), np.uint32)
    for v in range(8):
        for lane in range(LANES):
            registers[v, lane] = np.float32(d[2 * v + lane // 16, lane % 16]).view(np.uint32)
    halves = registers.view(np.uint16).reshape(8, LANES, 2).view(np.float16).astype(np.float64)
    as_a = np.stack([halves[:, row + 16 * (row % 2)].reshape(16) for row in range(16)])
    with np.errstate(all="ignore"):
        wanted = as_a @ b.T
    finite = np.isfinite(wanted)
    assert finite.any()
    assert np.allclose(second.view(np.float32)[finite], wanted[finite], rtol=1e-5)


def test_chained_accumulation() -> None:
    """D of one is C of the next, four times, with A unchanged and B changing."""
    (a, a_regs) = fragments(21)
    bs = [fragments(s) for s in (22, 23, 24)]
    lines = f"{WMMA} v[40:47], v[10:17], v[20:27], 0\n"
    for i in range(1, 3):
        lines += f"{loads(20, 8, 8 + 2 * i)}\n{WMMA} v[40:47], v[10:17], v[20:27], v[40:47]\n"
    out = chain(lines, a_regs, *(regs for _, regs in bs), results=1)[0]
    assert np.array_equal(out.view(np.float32), sum(a @ b.T for b, _ in bs))


def test_other_types_of_the_same_registers() -> None:
    """f16, bf16 and f16 again of one A and one B: each must read the bits in its own way."""
    codes = np.random.default_rng(25).integers(0x3800, 0x4400, (2, 16, 16)).astype(np.uint16)
    a_regs, b_regs = (replicated(pack(c, 16)) for c in codes)
    bf16 = FORMS["f32_bf16"].name
    lines = f"""
      {WMMA} v[40:47], v[10:17], v[20:27], 0
      {bf16} v[50:57], v[10:17], v[20:27], 0
      {WMMA} v[60:67], v[10:17], v[20:27], 0
    """
    out = [o.view(np.float32) for o in chain(lines, a_regs, b_regs, results=3)]
    f16, bf = (decode(codes[0]) @ decode(codes[1]).T for decode in (f16_value, bf16_value))
    assert np.allclose(out[0], f16, rtol=1e-5)
    assert np.allclose(out[1], bf, rtol=1e-5)
    assert np.array_equal(out[0], out[2])


def test_other_signs_and_widths_of_the_same_registers() -> None:
    """iu8 unsigned, iu4 (half as many registers), iu8 signed and iu8 unsigned again."""
    rng = np.random.default_rng(26)
    a_bytes, b_bytes = rng.integers(0, 256, (2, 16, 16))
    a_regs, b_regs = (
        np.concatenate([replicated(pack(m, 8)), np.zeros((4, LANES), np.uint32)]) for m in (a_bytes, b_bytes)
    )
    iu8, iu4 = FORMS["i32_iu8"].name, FORMS["i32_iu4"].name
    lines = f"""
      {iu8} v[60:67], v[10:13], v[20:23], 0
      {iu4} v[50:57], v[10:11], v[20:21], 0
      {iu8} v[40:47], v[10:13], v[20:23], 0 neg_lo:[1,1,0]
      {iu8} v[60:67], v[10:13], v[20:23], v[60:67]
    """
    out = chain(lines, a_regs, b_regs, results=3)
    plain = a_bytes @ b_bytes.T
    assert np.array_equal(out[0].view(np.int32), signed(a_bytes, 8) @ signed(b_bytes, 8).T)
    assert np.array_equal(out[2], 2 * plain)
    nibbles = [
        np.stack([m[:, i // 2] >> 4 * (i % 2) & 15 for i in range(16)], axis=1) for m in (a_bytes, b_bytes)
    ]
    assert np.array_equal(out[1], nibbles[0] @ nibbles[1].T)


def test_reuse_does_not_cross_the_waves_of_a_loop() -> None:
    """Waves leave a loop at different times; each must go on with its own operands."""
    a, a_regs = fragments(27)
    b, b_regs = fragments(28)
    body = f"""
      v_and_b32 v3, 31, v0
      v_lshlrev_b32 v3, 2, v3
      v_readfirstlane_b32 s16, v0
      s_lshr_b32 s16, s16, 5
      {loads(10, 8, 6).replace("v1,", "v3,")}
      {loads(20, 8, 8).replace("v1,", "v3,")}
      {"".join(f"v_mov_b32 v{40 + i}, 0{chr(10)}" for i in range(8))}
    .Lloop:
      {WMMA} v[40:47], v[10:17], v[20:27], v[40:47]
      v_nop
      {WMMA} v[40:47], v[10:17], v[20:27], v[40:47]
      {"".join(f"v_xor_b32 v{10 + i}, 0x80008000, v{10 + i}{chr(10)}" for i in range(8))}
      {WMMA} v[40:47], v[10:17], v[20:27], v[40:47]
      s_sub_u32 s16, s16, 1
      s_cmp_lg_u32 s16, -1
      s_cbranch_scc1 .Lloop
      v_lshlrev_b32 v4, 3, v0
      v_lshrrev_b32 v4, 8, v4
      v_lshl_add_u32 v3, v4, 10, v3
      {stores(40).replace("v1,", "v3,")}
    """
    out = outputs(assembled(body, pointers=3), [fresh((4, 8, LANES)), a_regs, b_regs], block=(128,))[0]
    for wave in range(4):
        # +1 +1 -1 in the first turn, -1 -1 +1 in the second, and so on.
        turns = sum(1 if turn % 2 == 0 else -1 for turn in range(wave + 1))
        assert np.array_equal(to_rows(out[wave]).view(np.float32), turns * (a @ b.T)), wave
