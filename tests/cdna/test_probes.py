"""The layout probes of gfx942 and gfx950: every cell against the documents, and wrong probes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from examples import one_of_each
from wrong_probes import edited

from cdna.inverse import Instruction
from layoutprobe import dump, epilogue, roundtrip
from layoutprobe.arch import TARGETS, MatrixForm
from layoutprobe.errors import UsageError
from layoutprobe.experiments.runs import accumulators_of, operands_of
from layoutprobe.experiments.setup import bench_of, codings_of
from layoutprobe.isa.kind import Kind
from layoutprobe.isa.store import load_instructions
from layoutprobe.layouts.layout import Layout
from layoutprobe.layouts.swizzle import SCHEMES
from layoutprobe.probing.run import build
from layoutprobe.probing.spec import load_spec
from layoutprobe.report.layout import LayoutReport

WAVES = 2


def id_of(case: object) -> str:
    return case.spelling if isinstance(case, MatrixForm) else str(case)


def class_of(case: object) -> object:
    """Forms whose probes load, store and pack alike: of the same width, blocks and registers."""
    assert isinstance(case, tuple)
    form = case[1]
    return form.bits, form.blocks > 1, form.shape[0] == 4, form.vgprs(64)["A"], form.result_bits


ALL = [
    (target, form)
    for target in ("gfx942", "gfx950")
    for form in TARGETS[target].matrix.values()
    if target == "gfx942" or form.spelling not in TARGETS["gfx942"].matrix
]
FORMS = [case for case in ALL if not case[1].sparse and case[1].bits == case[1].b_bits >= 8]
OTHERS = [case for case in ALL if case not in FORMS]
"""Sparse ones, those of less than a byte, and those of operands of two widths."""


def expected(form: MatrixForm, matrix: str) -> tuple[np.ndarray, np.ndarray]:
    """Row and column of every slot, [wave, lane, place]: wave w has the tile w."""
    slots = Instruction(form.spelling).operand(matrix)
    m, n, _ = form.shape
    down, right = {"A": (m, 0), "B": (0, n), "D": (m, 0)}[matrix]
    wave = np.arange(WAVES)[:, None, None] * form.blocks
    return slots.row + down * wave, slots.col + right * wave


def assert_documented(form: MatrixForm, matrix: str, layout: Layout) -> None:
    row, col = expected(form, matrix)
    assert np.array_equal(layout.row.reshape(row.shape), row), matrix
    assert np.array_equal(layout.col.reshape(col.shape), col), matrix


@pytest.mark.all_in_ci
@pytest.mark.few(2)
@pytest.mark.parametrize(("target", "form"), one_of_each(FORMS, class_of), ids=id_of)
def test_every_cell_is_the_documents(target: str, form: MatrixForm) -> None:
    """What the probes' own formulas load and store, in one wave after the other."""
    bench = bench_of("xor", None, target, None, None, None, form.spelling)
    operands = operands_of(bench, codings_of(bench, "operand", None, None))
    for matrix, moved in operands.moved.items():
        assert_documented(form, matrix, moved.layout)
    accumulators = accumulators_of(bench)
    assert_documented(form, "D", accumulators.stored.layout)
    assert (accumulators.stored.stores == 1).all()
    assert not accumulators.stored.unwritten.any()


def kind_of(case: object) -> object:
    """Forms that the probes write with one statement, and operands as long."""
    assert isinstance(case, tuple)
    form = case[1]
    return form.sparse, form.scaled, form.vgprs(64)["A"], form.vgprs(64)["B"], form.shape[0], form.result


@pytest.mark.parametrize("target", ["gfx942", "gfx950"])
def test_no_matrix_instruction_is_refused(target: str) -> None:
    known = TARGETS[target]
    assert {known.probed_instruction(name) for name in known.matrix} == set(known.matrix.values())
    assert {form.dtype for form in known.matrix.values()} == set(known.probed_types)
    assert not any(form.sparse or form.scaled for form in known.probed_types.values())


@pytest.mark.few(4)
@pytest.mark.parametrize("lds", ["xor", "padded"])
@pytest.mark.parametrize(("target", "form"), one_of_each(OTHERS, kind_of, ci=False), ids=id_of)
def test_operands_are_the_documents_too(target: str, form: MatrixForm, lds: str) -> None:
    """Of sparse instructions, of less than a byte, and of operands of two widths; A where it is sparse compressed."""
    bench = bench_of(lds, None, target, None, None, None, form.spelling)
    operands = operands_of(bench, codings_of(bench, "operand", None, None))
    for matrix, moved in operands.moved.items():
        assert not moved.ambiguous.any()
        assert moved.layout.field_bits == Instruction(form.spelling).operand(matrix).bits
        assert_documented(form, matrix, moved.layout)


@pytest.mark.all_in_ci
@pytest.mark.few(3)
@pytest.mark.parametrize("acc", [False, True], ids=["vgpr", "acc"])
@pytest.mark.parametrize(("target", "form"), one_of_each(OTHERS, kind_of, ci=False), ids=id_of)
def test_the_epilogue_of_every_instruction_is_the_documents(target: str, form: MatrixForm, acc: bool) -> None:
    """Sparse ones, those with scales, and those of less than a byte, too."""
    bench = bench_of("none", None, target, None, None, None, form.spelling, acc)
    accumulators = accumulators_of(bench)
    assert_documented(form, "D", accumulators.stored.layout)
    assert (accumulators.stored.stores == 1).all()
    assert not accumulators.stored.unwritten.any()
    report = epilogue(arch=target, instruction=form.spelling, acc=acc)
    assert report.exit_code == 0
    assert report.closed_form == report.needed_form != ""


@pytest.mark.parametrize("acc", [False, True], ids=["vgpr", "acc"])
@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("gfx942", "v_mfma_f32_32x32x8_f16"),
        ("gfx942", "v_mfma_f64_4x4x4_4b_f64"),
        ("gfx950", "v_mfma_f32_16x16x128_f8f6f4 cbsz:0 blgp:0"),
        ("gfx950", "v_mfma_f32_32x32x64_f8f6f4 cbsz:4 blgp:2"),
        ("gfx950", "v_mfma_scale_f32_16x16x128_f8f6f4 cbsz:0 blgp:3"),
        ("gfx942", "v_smfmac_f32_32x32x16_f16"),
        ("gfx950", "v_smfmac_i32_16x16x128_i8"),
    ],
)
def test_the_commands_hold(target: str, name: str, acc: bool) -> None:
    for report in (
        dump("B", "xor-vector", arch=target, instruction=name, acc=acc),
        epilogue(arch=target, instruction=name, acc=acc),
    ):
        assert report.exit_code == 0
        assert report.instruction == name
        assert report.acc == acc
        assert report.closed_form == report.needed_form != ""


@pytest.mark.parametrize(
    "form",
    [form for _, form in (*one_of_each(FORMS, class_of, ci=False), *one_of_each(OTHERS, kind_of, ci=False))],
    ids=id_of,
)
@pytest.mark.parametrize("probe", ["operand", "epilogue"])
def test_the_registers_are_of_the_file_asked_for(probe: str, form: MatrixForm) -> None:
    """One matrix instruction, the one named; A, B, C and D are AccVGPRs in the variant, and only there."""
    target = "gfx942" if form.spelling in TARGETS["gfx942"].matrix else "gfx950"
    spec = load_spec(f"cdna/{probe}").sized(form)
    for acc in (0, 1):
        code, _ = build(spec, arch=target, instruction=form, defines={"ACC": acc} if acc else None)
        insts = load_instructions(code, code.kernel(probe)).values()
        (inst,) = [inst for inst in insts if Kind.MATRIX in inst.kind]
        assert inst.name == form.name
        files = [operand.kind for operand in (*inst.dst, *inst.src)]
        held = 3 if form.sparse else 4  # D is C of a sparse one, and the index follows; then scales
        assert files[:held] == ["a" if acc else "v"] * held
        assert set(files[held:]) <= {"v"}, "an index and scales are no accumulators"


@pytest.mark.parametrize("lds", SCHEMES)
@pytest.mark.parametrize("dtype", ["fp4", "bf6", "fp8", "f16", "f32", "f64"])
@pytest.mark.parametrize("matrix", ["A", "B"])
def test_roundtrips_hold_under_every_scheme(matrix: str, dtype: str, lds: str) -> None:
    report = roundtrip(lds, dtype=dtype, arch="gfx950", matrix=matrix)
    assert report.exit_code == 0
    wave, lane, _, _ = np.indices(report.loaded.row.shape)
    line = report.loaded.row if matrix == "A" else report.loaded.col
    assert np.array_equal(line, 32 * wave + lane % 32)
    cells = report.lds_map
    assert cells is not None
    chunk = {4: 32, 6: 16, 8: 16, 16: 8, 32: 4, 64: 2}[
        cells.cell_bits
    ]  # elements that every scheme keeps together
    along, across = (cells.col, cells.row) if matrix == "A" else (cells.row, cells.col)
    held = along >= 0
    assert np.unique(across[held] * 128 + along[held]).size == held.sum() == report.loaded.row.size
    assert (along.reshape(-1, chunk) % chunk == np.arange(chunk))[held.reshape(-1, chunk)].all()
    first = {"none": 0, "padded": 0, "xor": 1, "xor-vector": 0, "row-permute": 0}[lds]
    assert along[across == 1][0] == first * chunk
    assert along[across == 2][0] == {"xor-vector": 1}.get(lds, 0) * chunk


# Wrong probes

ROW = "const int row = wave * kRows + block * kM + row_of(lane, slot), col = block * kN + col_of(lane);"
LOAD_A = "load_operand<OperandA, HeldA, TileA>(a_lds, wave * kRows + lane % kRows, lane / kRows)"
K_OF = "return (at / kRun * (kLanes / Lines) + group) * kRun + at % kRun;"
F16, F8F6F4 = "v_mfma_f32_32x32x8_f16", "v_mfma_f32_16x16x128_f8f6f4 cbsz:0 blgp:0"
SMALL = "v_mfma_f32_16x16x16_bf16"


def after_a(edit: str) -> str:
    return f"{LOAD_A};\n  {edit}"


WRONG: dict[str, tuple[str, str, str, str, str, str]] = {
    # Name: instruction, file, edit (2), rule, words.
    "32x32: D in runs of 8": (
        F16, "epilogue.hip", ROW, ROW.replace("row_of(lane, slot)", "slot / 8 * 16 + lane / kN * 8 + slot % 8"),
        "epilogue/row-runs", "in runs of 8 along the VGPRs, but the accumulators hold runs of 4",
    ),
    "16x16: D as of f64": (
        SMALL, "epilogue.hip", ROW, ROW.replace("row_of(lane, slot)", "4 * slot + lane / kN"),
        "epilogue/row-runs", "in runs of 1 along the VGPRs, but the accumulators hold runs of 4",
    ),
    "f64: D in runs of 4": (
        "v_mfma_f64_16x16x4_f64", "epilogue.hip", ROW, ROW.replace("row_of(lane, slot)", "lane / kN * 4 + slot"),
        "epilogue/row-runs", "in runs of 4 along the VGPRs, but the accumulators hold runs of 1",
    ),
    "D transposed": (
        F16, "epilogue.hip", ROW, "const int row = wave * kRows + col_of(lane), col = row_of(lane, slot), block = 0;"
        .replace(", block = 0", ""), "epilogue/transposed", "stored transposed",
    ),
    "lanes of D ignored": (
        F16, "epilogue.hip", ROW, ROW.replace("row_of(lane, slot)", "row_of(lane % kN, slot)"),
        "epilogue/half-wave-ignored", "the row does not depend on lane / 32",
    ),
    "lane halves of D exchanged": (
        SMALL, "epilogue.hip", ROW, ROW.replace("row_of(lane, slot)", "row_of(lane ^ 32, slot)"),
        "epilogue/half-waves-exchanged", "lanes 0-31 store what lanes 32-63 should",
    ),
    "blocks of D exchanged": (
        "v_mfma_f32_4x4x4_16b_f16", "epilogue.hip", "block_of(lane, slot);", "block_of(lane, slot) ^ 1;",
        "epilogue/unexplained", "other elements than the store takes them for",
    ),
    "A by lane, not by row": (
        SMALL, "operand.hip", LOAD_A, LOAD_A.replace("lane % kRows", "lane / 4").replace("lane / kRows", "lane % 4"),
        "operand-layout/unexplained", "slots of A hold other elements",
    ),
    "lane halves of A exchanged": (
        F16, "operand.hip", LOAD_A, LOAD_A.replace("lane / kRows", "(lane / kRows ^ 1)"),
        "operand-layout/k-exchanged", "neighbouring groups of 4 k",
    ),
    "halves of A swapped": (
        F16, "operand.hip", LOAD_A + ";",
        after_a("for (int v = 0; v < A_VGPRS; ++v) a[v] = a[v] << 16 | a[v] >> 16;"),
        "operand-layout/halves-swapped", "reverse order",
    ),
    "k of A contiguous where it is split": (
        F8F6F4, "operand.hip", LOAD_A + ";",
        after_a("for (int v = 0; v < A_VGPRS; ++v)\n"
                "    a[v] = *(const u32*)(a_lds + TileA::byte_of(wave * kRows + lane % kRows,\n"
                "                                                 lane / kRows * 32 + 4 * v));"),
        "operand-layout/k-order", "another order than its partner: 32 33 34 35 36 37 38 39 ... where that has 16 17",
    ),
    "swizzle on the load only": (
        "v_mfma_f32_32x32x2_f32", "tile.h",
        "*(u32x4*)(lds + byte_of(line, at))", "*(u32x4*)(lds + line * 2 * kHalves + at)",
        "operand-layout/lds-one-sided", "LDS is written with the scheme `none` and read with `xor`",
    ),
}  # fmt: skip


def wrong_report(name: str, folder: Path, *, acc: bool = False) -> LayoutReport:
    instruction, file, old, new, rule, _ = WRONG[name]
    target = "gfx950" if instruction == F8F6F4 else "gfx942"
    probes = edited(folder, f"cdna/{file}", old, new)
    if rule.startswith("epilogue"):
        return epilogue(arch=target, instruction=instruction, probes=probes, acc=acc)
    return dump("A", "xor", arch=target, instruction=instruction, probes=probes, acc=acc)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("name", "instruction"),
    [
        ("16x16: D as of f64", "v_smfmac_f32_16x16x64_bf8_fp8"),
        ("lane halves of D exchanged", "v_mfma_scale_f32_16x16x128_f8f6f4 cbsz:4 blgp:4"),
        ("32x32: D in runs of 8", "v_mfma_f32_32x32x64_f8f6f4 cbsz:2 blgp:0"),
        ("D transposed", "v_smfmac_i32_32x32x64_i8"),
        ("lanes of D ignored", "v_mfma_scale_f32_32x32x64_f8f6f4 cbsz:3 blgp:4"),
    ],
)
def test_a_wrong_epilogue_is_red_whatever_the_operands_are(
    name: str, instruction: str, workshop: Path
) -> None:
    _, file, old, new, rule, words = WRONG[name]
    report = epilogue(
        arch="gfx950", instruction=instruction, probes=edited(workshop, f"cdna/{file}", old, new)
    )
    assert report.exit_code == 1
    assert report.findings[0].rule.id == rule
    assert words in report.findings[0].what


@pytest.mark.few(2)
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_probe_is_red(name: str, workshop: Path) -> None:
    report = wrong_report(name, workshop)
    assert report.exit_code == 1
    first = report.findings[0]
    assert first.rule.id == WRONG[name][-2]
    assert WRONG[name][-1] in first.what
    assert first.expected != first.observed
    assert first.count == report.mismatch.sum() > 0


@pytest.mark.parametrize("name", ["32x32: D in runs of 8", "lane halves of A exchanged"])
def test_a_wrong_probe_is_as_red_with_accvgprs(name: str, workshop: Path) -> None:
    report = wrong_report(name, workshop, acc=True)
    assert report.exit_code == 1
    assert report.findings[0].rule.id == WRONG[name][-2]


FP4, FP6 = "v_mfma_f32_32x32x64_f8f6f4 cbsz:4 blgp:4", "v_mfma_f32_16x16x128_f8f6f4 cbsz:2 blgp:2"
MIXED, SCALED = "v_mfma_f32_16x16x128_f8f6f4 cbsz:0 blgp:4", "v_mfma_scale_f32_32x32x64_f8f6f4 cbsz:4 blgp:1"
SPARSE, LONG = "v_smfmac_f32_16x16x32_f16", "v_smfmac_i32_32x32x64_i8"
LOAD = "T::byte_of(line, Held::k_byte(group, Held::kPiece * p))"
WORD = "for (int v = 0; v < A_VGPRS; ++v) a[v] ="

NARROW: dict[str, tuple[str, str, str, str, str]] = {
    # Name: instruction, file, edit (2), the matrix that is wrong.
    "nibbles of A exchanged": (
        FP4, "operand.hip", LOAD_A + ";",
        after_a(f"{WORD} (a[v] & 0x0f0f0f0f) << 4 | (a[v] >> 4 & 0x0f0f0f0f);"), "A",
    ),
    "nibbles of A in reverse": (
        SCALED, "operand.hip", LOAD_A + ";", after_a(f"{WORD} __builtin_bitreverse32(a[v]);"), "A",
    ),
    "A of 6 bits moved by a register": (
        FP6, "operand.hip", LOAD_A + ";", after_a("a = a.s123450;"), "A",
    ),
    "6 bits read as if no chunk had a gap": (
        FP6, "operand.hip", f"lds + {LOAD}", "lds + T::byte_of(line, 0) + Held::k_byte(group, Held::kPiece * p)", "A",
    ),
    "6 bits, five to a register": (
        FP6, "tile.h", "const int word = e * Bits / 32, shift = e * Bits % 32;",
        "const int word = e / 5, shift = e % 5 * 6;", "A",
    ),
    "8 bits contiguous beside 4": (MIXED, "mfma.h", "kDense > 16 && Bits >= 8", "kDense > 16 && Bits > 8", "A"),
    "lane halves of A of 4 bits exchanged": (
        FP4, "operand.hip", LOAD_A, LOAD_A.replace("lane / kRows", "(lane / kRows ^ 1)"), "A",
    ),
    "kept elements of sparse A exchanged": (
        SPARSE, "operand.hip", LOAD_A + ";", after_a(f"{WORD} a[v] << 16 | a[v] >> 16;"), "A",
    ),
    "groups of sparse A exchanged": (SPARSE, "operand.hip", LOAD_A + ";", after_a("a = a.s10;"), "A"),
    "sparse A as if it was dense": (LONG, "mfma.h", "kLong && Compressed && Bits == 8", "false && Compressed", "A"),
    "B beside sparse A in runs of 16": (LONG, "mfma.h", "SPARSE ? Bits : 16", "16", "B"),
    "halves of fours of B exchanged": (
        SPARSE, "operand.hip", f"lds + {LOAD}",
        "lds + T::byte_of(line, Held::k_byte(group, Held::kPiece * p) ^ (sizeof(Operand) == 16 ? 4 : 0))", "B",
    ),
}  # fmt: skip
"""Wrong loads of less than a byte, of two widths, and of sparse instructions."""


@pytest.mark.few(4)
@pytest.mark.parametrize("name", NARROW)
def test_wrong_loads_of_narrow_and_sparse_operands_are_red(name: str, workshop: Path) -> None:
    instruction, file, old, new, matrix = NARROW[name]
    probes = edited(workshop, f"cdna/{file}", old, new)
    report = dump(matrix, "xor", arch="gfx950", instruction=instruction, probes=probes)
    assert report.exit_code == 1
    first = report.findings[0]
    assert first.place.matrix == matrix
    assert first.rule.id.startswith("operand-layout/")
    assert first.expected != first.observed
    assert first.count == report.mismatch.sum() > 0


@pytest.mark.few(1)
@pytest.mark.parametrize("dtype", ["fp4", "fp6"])
@pytest.mark.parametrize("matrix", ["A", "B"])
def test_wrong_roundtrips_of_narrow_elements_are_red(matrix: str, dtype: str, workshop: Path) -> None:
    for old, new, rule in (
        ("*(u32x4*)(lds + byte_of(line, at))", "*(u32x4*)(lds + line * 2 * kHalves + at)", "store"),
        ("const int word = e * Bits / 32, shift = e * Bits % 32;",
         "const int word = (e ^ 1) * Bits / 32, shift = (e ^ 1) * Bits % 32;", "store"),
    ):  # fmt: skip
        probes = edited(workshop, "cdna/tile.h", old, new)
        report = roundtrip("xor", dtype=dtype, arch="gfx950", matrix=matrix, probes=probes)
        assert report.exit_code == 1
        assert rule in report.findings[0].rule.id, report.findings[0].rule.id
        assert report.findings[0].expected != report.findings[0].observed


def test_a_joint_order_of_fours_is_right_for_a_sparse_instruction(workshop: Path) -> None:
    probes = edited(
        workshop, "cdna/mfma.h", K_OF, K_OF.replace("+ group)", "+ (kLanes / Lines - 1 - group))")
    )
    report = dump("A", arch="gfx950", instruction=SPARSE, probes=probes)
    assert report.exit_code == 0
    assert "permutation of K" in report.ambiguity
    assert report.loaded.col[0, 0, 0, 0] == 12


def test_a_joint_order_of_k_is_right(workshop: Path) -> None:
    """Groups of lanes in reverse order, in A and B alike: no product tells."""
    probes = edited(
        workshop, "cdna/mfma.h", K_OF, K_OF.replace("+ group)", "+ (kLanes / Lines - 1 - group))")
    )
    report = dump("A", arch="gfx942", instruction=SMALL, probes=probes)
    assert report.exit_code == 0
    assert "permutes" in report.ambiguity or "holds modulo a joint permutation of K" in report.ambiguity
    assert not np.array_equal(report.loaded.col, expected(TARGETS["gfx942"].matrix[SMALL], "A")[1].reshape(
        report.loaded.col.shape))  # fmt: skip


def test_what_does_not_belong_together_is_refused_in_words() -> None:
    with pytest.raises(UsageError, match="gfx942 has no matrix instruction for dtype 'fp4'"):
        dump("A", arch="gfx942", dtype="fp4")
    with pytest.raises(UsageError, match="carrier raw8 does not hold fp4 elements"):
        dump("A", arch="gfx950", instruction="v_mfma_f32_16x16x128_f8f6f4 cbsz:0 blgp:4", carrier="raw8")
    with pytest.raises(UsageError, match="Pattern row-coded is not exact in raw4") as refusal:
        dump("A", arch="gfx950", dtype="fp4", pattern="row-coded")
    assert refusal.value.hint == "no 4-bit carrier holds it: use smaller codes, such as digits:base=15"
    with pytest.raises(UsageError, match="does not tell two elements of A apart"):
        dump("A", arch="gfx950", dtype="fp4", pattern=["digits", "digits:step=15", "digits:step=225"])
    with pytest.raises(UsageError, match="has no A of type bf16"):
        dump("A", arch="gfx942", dtype="bf16", instruction=F16)
    with pytest.raises(UsageError, match="gfx1151 has no AccVGPRs"):
        dump("A", acc=True)
