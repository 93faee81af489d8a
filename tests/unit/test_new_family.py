"""To add a family, add a file to `arch`: here one is made up and registered from outside, with no edit.

Its matrix instructions have shapes that no other has: 32x32 over 64 lanes, several blocks of f64, and
elements of six bits that straddle VGPRs. Each has a layout of its own; what the emulator makes of them is
compared with numpy's product of matrices that are put into the registers bit by bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe import arch
from layoutprobe.arch import Arch, MatrixForm, registry
from layoutprobe.arch.fragments import Fragment, indices
from layoutprobe.arch.hazards import Hazard, Hazards, Use
from layoutprobe.arch.isa import IdRegister, LaunchAbi
from layoutprobe.arch.lds import LdsModel, runs
from layoutprobe.arch.registers import Resources, VgprFile
from layoutprobe.codeobj.model import CodeObject
from layoutprobe.errors import CodeObjectError, UsageError
from layoutprobe.isa.decode import decode_one
from layoutprobe.isa.dialect import Dialect, isa_of, known
from layoutprobe.isa.inst import Inst, Operand
from layoutprobe.isa.kind import Kind
from layoutprobe.machine.program import Block, Program
from layoutprobe.numbers import element_type
from layoutprobe.observe.cycles import cycles
from layoutprobe.observe.wait_states import WaitStateObserver
from layoutprobe.semantics.alone import execute
from layoutprobe.semantics.wmma import form_of

Words = NDArray[np.uint32]
Place = Callable[[int, int, int], tuple[int, int]]
"""(block, line, k), or (block, row, col) -> lane and bit of the element."""

WAVE = 64


def wide_input(block: int, line: int, k: int) -> tuple[int, int]:
    """32 lines, f16: odd k in the upper half of the wave, lines backwards."""
    return 32 * (k % 2) + 31 - line, 16 * (k // 2)


def wide_result(block: int, row: int, col: int) -> tuple[int, int]:
    return 32 * (row // 16) + (col + row) % 32, 32 * (row % 16)


def double_input(block: int, line: int, k: int) -> tuple[int, int]:
    """Four blocks of four lines, one f64 a lane: all lanes are used once."""
    return 16 * k + 4 * line + block, 0


def double_result(block: int, row: int, col: int) -> tuple[int, int]:
    return 16 * block + 4 * col + row, 0


def six_input(block: int, line: int, k: int) -> tuple[int, int]:
    """32 elements of six bits end to end in six VGPRs: every sixteenth begins where a VGPR does."""
    return 16 * (k // 32) + line, 6 * (k % 32)


def six_result(block: int, row: int, col: int) -> tuple[int, int]:
    return 16 * (row % 4) + col, 32 * (row // 4)


def fragment(place: Place, blocks: int, rows: int, cols: int, vgprs: int, bits: int) -> Fragment:
    """A fragment of stacked blocks [1, blocks * rows, cols]."""
    row, col = indices(blocks * rows, cols)
    at = np.vectorize(lambda r, c: place(r // rows, r % rows, c))(row, col)
    return Fragment(at[0][None], at[1][None], vgprs, bits)


def made_form(
    name: str, types: tuple[str, str], shape: tuple[int, int, int], blocks: int,
    places: tuple[Place, Place], vgprs: tuple[int, int],
) -> MatrixForm:  # fmt: skip
    def layout(form: MatrixForm, wave: int, opsel: int) -> Mapping[str, Fragment]:
        m, n, k = form.shape
        a = fragment(places[0], form.blocks, m, k, vgprs[0], form.bits)
        b = fragment(places[0], form.blocks, n, k, vgprs[0], form.bits)
        d = fragment(places[1], form.blocks, m, n, vgprs[1], form.result_bits)
        turned = Fragment(b.lane.transpose(0, 2, 1), b.bit.transpose(0, 2, 1), b.vgprs, b.bits)
        return {"A": a, "B": turned, "C": d, "D": d}

    return MatrixForm(name, types[0], types[0], types[1], shape, layout, "nothing", (WAVE,), blocks=blocks)


WIDE = made_form("v_made_f32_32x32x8_f16", ("f16", "f32"), (32, 32, 8), 1, (wide_input, wide_result), (2, 16))
DOUBLE = made_form(
    "v_made_f64_4x4x4_4b_f64", ("f64", "f64"), (4, 4, 4), 4, (double_input, double_result), (2, 2)
)
SIX = made_form("v_made_f32_16x16x128_fp6", ("fp6", "f32"), (16, 16, 128), 1, (six_input, six_result), (6, 4))
BORROWED = replace(WIDE, name="v_wmma_f32_16x16x16_f16")
"""With the mnemonic of another family, and registers of its own."""
PLACES = {
    WIDE: (wide_input, wide_result),
    DOUBLE: (double_input, double_result),
    SIX: (six_input, six_result),
}
FORMS = tuple(PLACES)

ISA = replace(
    known("gfx1151"),
    title="MADE",
    prefixes=("made10",),
    generic=(),
    matrix={form.name: form for form in (*FORMS, BORROWED)},
    launch=LaunchAbi((), (IdRegister({"x": 0}, register=20),), {"x": 0}),
    hazards=Hazards((Hazard(Use.D, Use.C, 5, "nobody"),)),
)
MADE = Arch(
    name="made100",
    product="made up",
    wave_size=WAVE,
    lds_bytes=96 << 10,
    sources={},
    matrix={form.name: form for form in FORMS},
    isa=ISA,
    resources=Resources({64: VgprFile(768, 24, 12)}, 12, 256, "CU", 2, 96 << 10, 8),
    lds=LdsModel(64, 64, {}, {4: runs(64, 64)}, {4: runs(64, 64)}, "made up"),
)


@pytest.fixture(autouse=True)
def made() -> Iterator[None]:
    """The family is known while a test runs."""
    tables: list[dict[str, Any]] = [registry.TARGETS.data, registry.ARCHES.data, registry._FORMS]
    assert len(registry.TARGETS) > 0, "all families are loaded, and so are there again afterwards"
    before = [dict(table) for table in tables]
    isas = list(registry._ISAS)
    arch.register(MADE)
    yield
    for table, old in zip(tables, before, strict=True):
        table.clear()
        table.update(old)
    registry._ISAS[:] = isas


def test_the_target_is_found_and_no_other_may_have_its_name() -> None:
    assert arch.find("made100") is MADE
    assert "made100" in arch.ARCHES
    with pytest.raises(UsageError, match="two targets named 'made100'"):
        arch.register(replace(MADE))


def test_occupancy_follows_its_registers() -> None:
    """768 VGPRs in granules of 24: 100 take 120, so six waves."""
    found = arch.occupancy("made100", 100, lds=40 << 10, workgroup=128)
    assert (found.wave, found.registers, found.limits["VGPRs"]) == (64, 120, 6)
    assert (found.workgroups, found.waves) == (2, 2)
    assert arch.register_budget("made100", 4).registers == 192


def test_lds_has_its_own_banks() -> None:
    model = arch.lds_model("made100", 64)
    stride = 4 * np.arange(64, dtype=np.int32)[None]
    assert [int(cycles(step * stride, 4, model, store=False)[0][0]) for step in (1, 2, 64)] == [1, 2, 64]
    with pytest.raises(UsageError, match="no LDS phase rules for waves of 32 lanes"):
        arch.lds_model("made100", 32)


def test_its_code_is_decoded_with_its_own_operands() -> None:
    """v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7] of RDNA3, whose A has eight registers."""
    data = bytes.fromhex("004040cc0821021c")
    theirs, own = decode_one(data, 0), decode_one(data, 0, Dialect(known("made100"), WAVE))
    assert theirs.name == own.name == BORROWED.name
    assert [theirs.dst[0].regs, *(o.regs for o in theirs.src)] == [8, 8, 8, 8]
    assert [own.dst[0].regs, *(o.regs for o in own.src)] == [16, 2, 2, 16]
    assert known("made101") is ISA, "a processor of the family that is no target"
    code = CodeObject(digest="", target="made200", kernels={}, segments=())
    with pytest.raises(CodeObjectError, match="cannot be decoded") as error:
        isa_of(code, cast(Any, SimpleNamespace(name="k")))
    assert error.value.expected == "a target of RDNA3 and RDNA3.5, RDNA4, CDNA3, CDNA4 or MADE"


def inst_of(form: MatrixForm) -> Inst:
    vgprs = form.vgprs(WAVE)
    operands, at = [], 0
    for name in "ABCD":
        operands.append(Operand("v", at, vgprs[name], 32 * vgprs[name]))
        at += vgprs[name]
    return Inst(0, 8, form.name, "VOP3P", (operands[3],), tuple(operands[:3]))


def put(words: Words, at: int, place: tuple[int, int], bits: int, raw: int) -> None:
    """One element into the registers of one wave, bit by bit: words [vgpr, lane]."""
    lane, low = place
    for bit in range(bits):
        if raw >> bit & 1:
            words[at + (low + bit) // 32, lane] |= np.uint32(1 << (low + bit) % 32)


def taken(words: Words, at: int, place: tuple[int, int], bits: int) -> int:
    lane, low = place
    return sum(
        int(words[at + (low + b) // 32, lane] >> np.uint32((low + b) % 32) & 1) << b for b in range(bits)
    )


@pytest.mark.parametrize("form", FORMS, ids=[form.name for form in FORMS])
def test_its_matrix_instructions_are_executed(form: MatrixForm) -> None:
    rng = np.random.default_rng(8)
    (m, n, k), blocks, inst = form.shape, form.blocks, inst_of(form)
    (place, out), width = PLACES[form], form.result_bits
    a, b = (rng.integers(-7, 8, (blocks, lines, k)).astype(float) for lines in (m, n))
    c = rng.integers(-50, 50, (blocks, m, n)).astype(float)
    words = rng.integers(0, 1 << 32, (inst.dst[0].index + inst.dst[0].regs, WAVE), np.uint32)
    words[: inst.dst[0].index] = 0
    for operand, numbers, kind, where in (
        (inst.src[0], a, form.a, place), (inst.src[1], b, form.b, place), (inst.src[2], c, form.result, out),
    ):  # fmt: skip
        for at, raw in np.ndenumerate(element_type(kind).encode(numbers)):
            put(words, operand.index, where(*at), element_type(kind).bits, int(raw))
    after = execute(inst, words[:, None])[:, 0]
    wanted = np.einsum("bik,bjk->bij", a, b) + c
    d = np.zeros(wanted.shape, np.uint64)
    for at in np.ndindex(wanted.shape):
        d[at] = taken(after, inst.dst[0].index, out(*at), width)
    np.testing.assert_array_equal(element_type(form.result).decode(d), wanted)
    np.testing.assert_array_equal(after[: inst.dst[0].index], words[: inst.dst[0].index])


def test_its_matrix_instructions_are_known_as_such() -> None:
    assert all(Kind.MATRIX in inst_of(form).kind and form_of(inst_of(form)) is form for form in FORMS)


@pytest.mark.parametrize(("nops", "late"), [(0, [1]), (3, [4]), (4, [])])
def test_its_hazards_are_looked_for(nops: int, late: list[int]) -> None:
    """Five wait states between D and C of the next: an s_nop n makes n + 1, a scalar move one."""
    first = replace(inst_of(WIDE), pc=0)
    second = replace(first, pc=32, src=(*first.src[:2], first.dst[0]))
    between = [Inst(8, 4, "s_mov_b32", "SOP1")]
    if nops:
        between.append(Inst(12, 4, "s_nop", "SOPP", mods={"simm16": nops - 1}))
    waves = SimpleNamespace(
        workgroup=np.zeros(1, int), index=np.zeros(1, int), group_id=np.zeros((1, 3), int)
    )
    machine = cast(Any, SimpleNamespace(waves=waves))
    code = CodeObject(digest="", target="made100", kernels={}, segments=())
    observer = WaitStateObserver()
    block = Block((), (), None, 64, 3, (first, *between, second))
    observer.batch(machine, Program(code, cast(Any, None), {0: block}))
    observer.block(cast(Any, SimpleNamespace(waves=np.zeros(1, int), machine=machine)), block)
    assert [violation.states for violation in observer.record().violations] == late
