"""Code objects out of Triton: no finding on correct ones, and a broken one is red.

`make_triton.py` made them; Triton is not needed here.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from third_party.accepted import assert_accepted, judged

from layoutprobe.checks.registry import check_names
from layoutprobe.codeobj.elf import load
from layoutprobe.errors import UsageError
from layoutprobe.gate.gate import check
from layoutprobe.inspector.inspect import inspect
from layoutprobe.isa.inst import M0, Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.isa.store import load_instructions
from layoutprobe.manifest.model import Gemm, KernelCase, Manifest
from layoutprobe.manifest.read import read_manifest
from layoutprobe.report.gate import KernelVerdict

HERE = Path(__file__).parent
FOLDERS = {"gfx1151": "triton", "gfx942": "triton_gfx942", "gfx950": "triton_gfx950"}
CASES: dict[str, KernelCase] = {
    f"{target}/{case.name}": case
    for target, folder in FOLDERS.items()
    for case in read_manifest(HERE / folder / "layoutprobe.toml", checks=check_names()).kernels
}
LARGEST = 40 * 1024
EVERY_KERNEL = {"numerics", "lds-safety", "races", "waits", "memory", "bank-conflicts", "resources"}
GEMM_ONLY = {"operand-provenance", "epilogue", "swizzle"}
ONE_WAVE = ("gfx1151/gemm-f16-one-warp", "gfx950/gemm-f16-32x32x64")
GFX950_GEMMS = [name for name, case in CASES.items() if "gfx950/gemm" in name]
NAMES_OF_OFFSETS = (
    "swizzle/lds-offset", "swizzle/lds-one-sided",  # of tiles whose two functions have a formula
    "operand-provenance/shifted", "lds-safety/out-of-bounds",  # whole lines, and no byte of LDS
)  # fmt: skip
JUDGES = ("operand-provenance", "numerics", "lds-safety")


def verdict_of(case: KernelCase, *checks: str) -> KernelVerdict:
    report = check(
        Manifest(case.file.parent / "layoutprobe.toml", (case,)), checks=checks, allow_reference=True
    )
    return report.verdicts[0]


def insts_of(case: KernelCase) -> list[Inst]:
    assert case.code_object is not None
    code = load(case.code_object.read_bytes())
    return list(load_instructions(code, code.kernel(None)).values())


@pytest.mark.parametrize("folder", FOLDERS.values())
def test_the_code_objects_are_small_and_all_are_run(folder: str) -> None:
    files = {path: path.stat().st_size for path in (HERE / folder).glob("*.hsaco")}
    assert {case.file for case in CASES.values() if case.file.parent == HERE / folder} == set(files)
    assert max(files.values()) <= LARGEST


@pytest.mark.all_in_ci
@pytest.mark.few(1)
@pytest.mark.parametrize("name", CASES)
def test_correct_kernels_are_accepted(name: str) -> None:
    case = CASES[name]
    verdict = verdict_of(case)
    assert_accepted(verdict)
    wanted = EVERY_KERNEL | (GEMM_ONLY if isinstance(case.contract, Gemm) else set())
    if name.startswith(("gfx942/", "gfx950/")):
        wanted = wanted | {"wait-states"}
    if name in ONE_WAVE:  # it needs no barrier, and has none
        wanted = wanted - {"races"}
    assert wanted <= judged(verdict), sorted(wanted - judged(verdict))


@pytest.mark.long
def test_what_the_objects_of_gfx942_are_there_for() -> None:
    """Arguments in registers from the start, AccVGPRs, and products that Triton computes transposed."""
    counts = {}
    for name in CASES:
        if name.startswith("gfx942/"):
            insts = insts_of(CASES[name])
            counts[name] = Counter(inst.name for inst in insts)
            data = CASES[name].file.read_bytes()
            assert load(data).kernel(None).descriptor.kernarg_preload > 0, name
    assert counts["gfx942/gemm-f16-accvgprs"]["v_accvgpr_read_b32"] > 0
    types = {"f16", "bf16", "fp8_fp8", "i8"}
    assert types <= {
        name.partition("x")[2].split("_", 1)[1] for c in counts.values() for name in c if "mfma" in name
    }
    case = CASES["gfx942/gemm-f16"]
    verdict = verdict_of(replace(case, sizes=case.sizes[:1]), "operand-provenance")
    assert "the kernel computes C transposed" in verdict.results[0].reason


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "name",
    [
        *(f"gfx1151/{name}" for name in ("gemm-f16-col-b", "gemm-bf16-col-col", "gemm-i8", "splitk-f16")),
        *(name for name in CASES if name.startswith("gfx942/")),
    ],
)
def test_a_load_from_the_wrong_place_is_found(name: str, tmp_path: Path) -> None:
    """The last LDS load before the first matrix instruction reads 16 bytes away from its place; its author is
    told that load wherever the elements of a product tell it."""
    case = CASES[name]
    assert case.code_object is not None
    broken = tmp_path / "broken.hsaco"
    data, moved = moved_load(case.code_object.read_bytes())
    broken.write_bytes(data)
    verdict = verdict_of(replace(case, code_object=broken, sizes=case.sizes[:1]), *JUDGES)
    assert verdict.exit_code == 1
    found = {result.check: result.findings for result in verdict.results if result.status == "finding"}
    assert found.keys() & set(JUDGES), found
    if name.startswith("gfx942/") and isinstance(case.contract, Gemm):
        (finding,) = found["operand-provenance"]
        assert finding.place.pc == moved.pc, "the load itself is the place"


@pytest.mark.long
def test_what_the_objects_of_gfx950_are_there_for() -> None:
    """Transposing reads of both widths, tiles that are padded, swizzled, and loaded past the registers."""
    names = {name: [inst.name for inst in insts_of(CASES[name])] for name in CASES if "gfx950/" in name}
    loads = {name: {one for one in found if "_tr_" in one} for name, found in names.items()}
    for name, found in loads.items():
        wide = {"ds_read_b64_tr_b8"} if "fp8" in name else {"ds_read_b64_tr_b16"}
        assert found == (set() if "col-b" in name else wide), name
    stored = {name: any(one.startswith("ds_write") for one in found) for name, found in names.items()}
    for name in GFX950_GEMMS:
        past = [inst for inst in insts_of(CASES[name]) if inst.name.startswith("buffer_load")]
        assert stored[name] != bool(past), "either through registers, or straight into LDS"
        assert all(not inst.dst for inst in past), name
    shapes = {one for found in names.values() for one in found if "mfma" in one}
    assert {one[len("v_mfma_f32_") :] for one in shapes} == {
        "32x32x16_f16", "32x32x16_bf16", "32x32x64_f8f6f4", "16x16x128_f8f6f4",
    }  # fmt: skip


def test_the_kernel_of_one_tile_as_triton_makes_it() -> None:
    """docs/tr8.md: A by four plain reads, B by pairs of transposing ones, four products, bases that are XORs."""
    insts = insts_of(CASES["gfx950/gemm-f16-32x32x64"])
    count = Counter(inst.name for inst in insts)
    assert count["ds_read_b128"] == 4
    assert count["ds_read_b64_tr_b16"] == 8
    assert count["v_mfma_f32_32x32x16_f16"] == 4
    xors = [inst for inst in insts if inst.name == "v_xor_b32"]
    assert not {0x88, 0x288} & {source.value for inst in xors for source in inst.src}
    case = CASES["gfx950/gemm-f16-32x32x64"]
    kernel = inspect(case.file.parent / "layoutprobe.toml", case.name)
    plain = {inst.dst[0].index for inst in insts if inst.name == "ds_read_b128"}
    products = [inst for inst in insts if Kind.MATRIX in inst.kind]
    assert {inst.src[1].index for inst in products} == plain
    lane = np.arange(64)
    # Its IR says swizzled_shared with vec 8, perPhase 4, maxPhase 4: chunks of 16 bytes are XORed with row / 4 % 4.
    for step in range(4):
        seen = kernel.views("B", step)
        assert [read.offset for read in seen.reads] == [1024 * step, 1024 * step + 256]
        row = 8 * (lane // 32) + lane // 4 % 4
        for half, at in enumerate(seen.address[0].T):
            chunk = (2 * (lane // 16 % 2) + lane % 4 // 2) ^ (row + 4 * half) // 4 % 4
            assert at.tolist() == (64 * (16 * step + row + 4 * half) + 16 * chunk + 8 * (lane % 2)).tolist()
        with pytest.raises(UsageError, match="does not come through transposing loads"):
            kernel.views("A", step)


def accesses_of(name: str) -> list[str]:
    """What of a kernel can be moved: its kinds of loads from LDS."""
    found = [inst.name for inst in insts_of(CASES[name])]
    return [one for one in dict.fromkeys(found) if one.startswith("ds_read")]


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("name", "access"), [(name, access) for name in GFX950_GEMMS for access in accesses_of(name)]
)
@pytest.mark.parametrize("which", ["first", "last"])
def test_a_load_of_gfx950_that_reads_elsewhere_is_named(
    name: str, access: str, which: str, tmp_path: Path
) -> None:
    """One load reads 16 bytes away from its place: all that is found follows from one finding, at that load."""
    case = CASES[name]
    assert case.code_object is not None
    loads = [inst for inst in insts_of(case) if inst.name == access]
    moved = loads[0 if which == "first" else -1]
    broken = tmp_path / "broken.hsaco"
    broken.write_bytes(moved_by_16(case.code_object.read_bytes(), moved))
    verdict = verdict_of(replace(case, code_object=broken))
    (finding,) = verdict.findings
    assert finding.place.pc == moved.pc
    assert finding.rule.id in NAMES_OF_OFFSETS, finding.what
    if finding.name == "lds-offset":
        assert "loads look 16 bytes beyond their place in LDS" in finding.what


ATTENTIONS = [name for name in CASES if "gfx950/attention" in name]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("name", "access"),
    [(name, access) for name in ATTENTIONS for access in accesses_of(name) if access != "ds_read_b32"],
)
@pytest.mark.parametrize("which", ["first", "last"])
def test_a_load_of_an_attention_that_reads_elsewhere_is_named(
    name: str, access: str, which: str, tmp_path: Path
) -> None:
    """No contract says what belongs where: the load is told by the others of its kind, which it does not follow."""
    case = CASES[name]
    assert case.code_object is not None
    loads = [inst for inst in insts_of(case) if inst.name == access]
    moved = loads[0 if which == "first" else -1]
    broken = tmp_path / "broken.hsaco"
    broken.write_bytes(moved_by_16(case.code_object.read_bytes(), moved))
    (finding,) = verdict_of(replace(case, code_object=broken)).findings
    assert finding.place.pc == moved.pc
    named = ("numerics/odd-read", "lds-safety/out-of-bounds", "lds-safety/undefined-read")
    assert finding.rule.id in named, finding.what


@pytest.mark.few(1)
@pytest.mark.parametrize("name", [name for name in GFX950_GEMMS if "padded" in name or "16x16" in name])
def test_a_tile_of_gfx950_that_lies_elsewhere_is_named(name: str, tmp_path: Path) -> None:
    """A load straight into LDS, in front of the loop, puts its rows 16 bytes too far: M0 is told so."""
    case = CASES[name]
    assert case.code_object is not None
    insts = insts_of(case)
    at = next(n for n, inst in enumerate(insts) if inst.name == "s_add_i32" and inst.dst[0].index == M0)
    into = next(inst for inst in insts[at:] if inst.name.startswith("buffer_load"))
    broken = tmp_path / "broken.hsaco"
    broken.write_bytes(
        changed(case.code_object.read_bytes(), insts[at].pc + 4, 16)
    )  # bits 7:0 of the literal
    (finding,) = verdict_of(replace(case, code_object=broken)).findings
    assert finding.rule.id == "swizzle/lds-offset"
    assert "stores put rows 16 bytes beyond their place in LDS" in finding.what
    assert finding.place.pc == into.pc


def changed(data: bytes, pc: int, flip: int) -> bytes:
    """The object with some bits of one byte of its code flipped."""
    segment = next(s for s in load(data).segments if s.executable)
    at = data.index(segment.data) + pc - segment.address
    return data[:at] + bytes([data[at] ^ flip]) + data[at + 1 :]


def moved_by_16(data: bytes, access: Inst) -> bytes:
    """The object with another offset in one access of LDS; bits 7:0 of the offset stand first."""
    return changed(data, access.pc, 16)


def moved_load(data: bytes) -> tuple[bytes, Inst]:
    """The object with another offset in its last LDS load before the first matrix instruction, and that load."""
    code = load(data)
    loads: list[Inst] = []
    for inst in load_instructions(code, code.kernel(None)).values():
        if Kind.MATRIX in inst.kind:
            break
        if Kind.LDS in inst.kind and Kind.LOAD in inst.kind:
            loads.append(inst)
    single = [inst for inst in loads if "2addr" not in inst.name and "read2" not in inst.name]
    moved = (single or loads)[-1]
    by = 16 if single else 2  # of a load from two addresses, the first, in units of 8 bytes
    return changed(data, moved.pc, by), moved
