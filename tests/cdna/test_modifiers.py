"""Broadcasts, negation and index sets of CDNA's matrix instructions, against the documents' words."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from cdna.alone import Alone, Numbers
from cdna.inverse import LANES
from layoutprobe.arch import TARGETS, MatrixForm
from layoutprobe.errors import ProbeError
from layoutprobe.gate.gate import check
from layoutprobe.instructions.meetings import interaction_of
from layoutprobe.isa.inst import Inst, Operand
from layoutprobe.semantics import UnsupportedFormError

GFX942 = TARGETS["gfx942"].matrix
BLOCKS = [form for form in GFX942.values() if form.blocks > 1 and form.a != "f64"]
ALSO_B = [GFX942[f"v_mfma_f32_{shape}_f32"] for shape in ("32x32x2", "16x16x4")]
FIXED = [form for form in GFX942.values() if form not in (*BLOCKS, *ALSO_B) and not form.sparse]


def small(form: MatrixForm, seed: int) -> tuple[Numbers, Numbers, Numbers]:
    rng = np.random.default_rng(seed)
    (m, n, k), blocks = form.shape, form.blocks
    shapes = ((m * blocks, k), (k, n * blocks), (m * blocks, n * blocks))
    a, b, c = (rng.integers(-9, 10, shape).astype(float) for shape in shapes)
    return a, b, c


def each_block(form: MatrixForm, a: Numbers, b: Numbers, c: Numbers) -> Numbers:
    m, n, _ = form.shape
    out = np.zeros_like(c)
    for block in range(form.blocks):
        rows, cols = slice(block * m, block * m + m), slice(block * n, block * n + n)
        out[rows, cols] = a[rows] @ b[:, cols] + c[rows, cols]
    return out


@pytest.mark.parametrize("form", BLOCKS, ids=lambda form: form.name)
def test_a_block_of_a_goes_to_its_neighbours(form: MatrixForm) -> None:
    """AMD's lab notes: of every 2**cbsz blocks, number abid. Their example: 16 blocks, cbsz 2, abid 1."""
    a, b, c = small(form, 1)
    by_block = a.reshape(form.blocks, form.shape[0], -1)
    for cbsz in range(5):
        for abid in range(1 << cbsz):
            alone = Alone(form.name, mods={"cbsz": cbsz, "abid": abid}).give(a, b, c)
            if 1 << cbsz > form.blocks:
                with pytest.raises(UnsupportedFormError, match="cbsz"):
                    alone.product()
                continue
            sources = [block - block % (1 << cbsz) + abid for block in range(form.blocks)]
            wanted = each_block(form, by_block[sources].reshape(a.shape), b, c)
            np.testing.assert_array_equal(alone.product(), wanted)
    if form.blocks == 16:
        assert [block - block % 4 + 1 for block in range(16)] == [1] * 4 + [5] * 4 + [9] * 4 + [13] * 4


def test_partial_broadcasts_are_told_apart() -> None:
    form = GFX942["v_mfma_f32_4x4x1_16b_f32"]
    assert [bool(form.unproven({"cbsz": cbsz})) for cbsz in range(5)] == [False, True, True, True, False]
    assert not GFX942["v_mfma_f32_32x32x1_2b_f32"].unproven({"cbsz": 1})
    assert "one source" in TARGETS["gfx950"].matrix["v_smfmac_f32_16x16x64_f16"].unproven({})
    assert not TARGETS["gfx950"].matrix["v_smfmac_f32_16x16x32_f16"].unproven({})


BROADCAST = """
typedef float f4 __attribute__((ext_vector_type(4)));
extern "C" __attribute__((global)) void k(const float* a, const float* b, float* c) {
  const int lane = __builtin_amdgcn_workitem_id_x();
  f4 d = __builtin_amdgcn_mfma_f32_4x4x1f32(a[lane], b[lane], f4{}, CBSZ, 1, 0);
  for (int i = 0; i < 4; ++i) c[4 * lane + i] = d[i];
}
"""
MANIFEST = """
[[kernel]]
name = "k"
source = "k.hip"
arch = ["gfx942"]
grid = [1]
block = [64]
sizes = [{}]
contract = { kind = "none" }
argument = [
    { name = "A", role = "in", dtype = "f32", shape = [64] },
    { name = "B", role = "in", dtype = "f32", shape = [64] },
    { name = "C", role = "out", dtype = "f32", shape = [256] },
]
"""


@pytest.mark.parametrize(("cbsz", "flagged"), [(2, True), (4, False)])
def test_a_report_says_what_nobody_has_proven(tmp_path: Path, cbsz: int, flagged: bool) -> None:
    """A verdict that rests on a partial broadcast says so in its headline; one on a whole broadcast does not."""
    (tmp_path / "k.hip").write_text(BROADCAST.replace("CBSZ", str(cbsz)))
    (tmp_path / "layoutprobe.toml").write_text(MANIFEST)
    (verdict,) = check(tmp_path / "layoutprobe.toml", checks=["memory"]).verdicts
    said = [text for text in verdict.reservations if "unproven" in text]
    assert bool(said) == flagged
    if flagged:
        assert said[0].startswith(
            "v_mfma_f32_4x4x1_16b_f32 unproven: cbsz gives A to some blocks and not to all"
        )


@pytest.mark.parametrize("modifiers", [{"cbsz": 1}, {"cbsz": 4, "abid": 3}, {"blgp": 2}])
def test_the_elements_of_shared_blocks_are_not_followed(modifiers: dict[str, int]) -> None:
    """And not judged by a layout that the instruction has not."""
    operands = (Operand("v", 0), Operand("v", 1), Operand("v", 4, 4, 128))
    inst = Inst(0, 8, "v_mfma_f32_4x4x1_16b_f32", "MAI", (Operand("v", 4, 4, 128),), operands, modifiers)
    with pytest.raises(ProbeError, match="cbsz, abid or blgp"):
        interaction_of(inst, 64)


def lane_of_b(blgp: int, lane: int) -> int:
    if blgp > 3:
        return lane & 15 | (blgp - 4) << 4
    return {1: lane & 31, 2: lane | 32, 3: (lane + 16) & 63}[blgp]


@pytest.mark.parametrize("form", [*BLOCKS, *ALSO_B], ids=lambda form: form.name)
def test_lanes_of_b_are_rearranged(form: MatrixForm) -> None:
    """As if B's registers had been moved between lanes before."""
    a, b, c = small(form, 2)
    for blgp in range(1, 8):
        one = Alone(form.name, mods={"blgp": blgp}).give(a, b, c)
        moved = Alone(form.name).give(a, b, c)
        moved.words["B"] = moved.words["B"][:, np.array([lane_of_b(blgp, lane) for lane in range(LANES)])]
        found = one.product()
        np.testing.assert_array_equal(found, moved.product())
        assert not np.array_equal(found, each_block(form, a, b, c))


@pytest.mark.parametrize("form", FIXED, ids=lambda form: form.name)
@pytest.mark.parametrize("mods", [{"cbsz": 1}, {"abid": 1}, {"blgp": 3}], ids=str)
def test_what_no_document_describes_is_refused(form: MatrixForm, mods: dict[str, int]) -> None:
    alone = Alone(form.name, "fp8" in form.a or "bf8" in form.a, mods).give(*small(form, 1))
    if form.a == "f64":
        alone.product()  # cbsz and abid are ignored there, blgp negates
        return
    with pytest.raises(UnsupportedFormError, match=next(iter(mods))):
        alone.product()


@pytest.mark.parametrize("name", ["v_mfma_f64_16x16x4_f64", "v_mfma_f64_4x4x4_4b_f64"])
def test_blgp_negates_doubles(name: str) -> None:
    form = GFX942[name]
    a, b, c = small(form, 3)
    for signs in itertools.product((1, -1), repeat=3):
        blgp = sum((sign < 0) << bit for bit, sign in enumerate(signs))
        found = Alone(name, mods={"blgp": blgp, "cbsz": 1, "abid": 1}).give(a, b, c).product()
        wanted = each_block(form, signs[0] * a, signs[1] * b, signs[2] * c)
        np.testing.assert_array_equal(found, wanted)


SPARSE = [
    (target, form)
    for target in ("gfx942", "gfx950")
    for form in TARGETS[target].matrix.values()
    if form.sparse
]


@pytest.mark.parametrize(("target", "form"), SPARSE, ids=lambda x: x.name if isinstance(x, MatrixForm) else x)
def test_index_sets(target: str, form: MatrixForm) -> None:
    """abid chooses the set, unless cbsz is set; other sets hold garbage."""
    rng = np.random.default_rng(4)
    m, n, k = form.shape
    kept = rng.integers(-5, 6, (m, k // 2)).astype(float)
    b, c = (rng.integers(-5, 6, shape).astype(float) for shape in ((k, n), (m, n)))
    pairs = np.sort(
        np.stack([rng.permuted(np.tile(np.arange(4), (m, k // 4, 1)), axis=2)[..., :2]])[0], axis=2
    )
    places = pairs.reshape(m, k // 2)
    dense = np.zeros((m, k))
    np.put_along_axis(dense, 4 * (np.arange(k // 2) // 2) + places, kept, axis=1)
    for abid in form.opsels(64):
        for cbsz in (0, 1):
            chosen = 0 if cbsz else abid
            alone = Alone(
                form.name, target == "gfx942" and form.a.endswith("_fnuz"), {"abid": abid, "cbsz": cbsz}
            )
            alone.give(kept, b, c)
            slots = alone.instruction.index(chosen)
            index = rng.integers(0, 1 << 32, LANES, np.uint32)
            for lane in range(LANES):
                for place in range(16):
                    if slots.row[lane, place] >= 0:
                        value = places[slots.row[lane, place], slots.col[lane, place]]
                        index[lane] = index[lane] & np.uint32(~(3 << 2 * place) & 0xFFFFFFFF) | np.uint32(
                            value << 2 * place
                        )
            alone.words["index"] = index[None]
            np.testing.assert_array_equal(alone.product(), dense @ b + c)


def test_longest_sparse_forms_ignore_abid_and_cbsz() -> None:
    form = TARGETS["gfx950"].matrix["v_smfmac_i32_16x16x128_i8"]
    assert form.opsels(64) == (0,)
    assert [form.choice.number({"abid": n, "cbsz": 1}) for n in (0, 1, 3)] == [0, 0, 0]
