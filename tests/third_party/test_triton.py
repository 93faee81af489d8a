"""Code objects out of Triton: no finding on correct ones, and a broken one is red.

`make_triton.py` made them; Triton is not needed here.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from third_party.accepted import assert_accepted, judged

from layoutprobe.checks.registry import check_names
from layoutprobe.codeobj.elf import load
from layoutprobe.gate.gate import check
from layoutprobe.isa.inst import Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.isa.store import load_instructions
from layoutprobe.manifest.model import Gemm, KernelCase, Manifest
from layoutprobe.manifest.read import read_manifest
from layoutprobe.report.gate import KernelVerdict

HERE = Path(__file__).parent
FOLDERS = {"gfx1151": "triton", "gfx942": "triton_gfx942"}
CASES: dict[str, KernelCase] = {
    f"{target}/{case.name}": case
    for target, folder in FOLDERS.items()
    for case in read_manifest(HERE / folder / "layoutprobe.toml", checks=check_names()).kernels
}
LARGEST = 40 * 1024
EVERY_KERNEL = {"numerics", "lds-safety", "races", "waits", "memory", "bank-conflicts", "resources"}
GEMM_ONLY = {"operand-provenance", "epilogue", "swizzle"}
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


@pytest.mark.few(3)
@pytest.mark.parametrize("name", CASES)
def test_correct_kernels_are_accepted(name: str) -> None:
    case = CASES[name]
    verdict = verdict_of(case)
    assert_accepted(verdict)
    wanted = EVERY_KERNEL | (GEMM_ONLY if isinstance(case.contract, Gemm) else set())
    if name.startswith("gfx942/"):
        wanted = wanted | {"wait-states"}
    if name == "gfx1151/gemm-f16-one-warp":  # one wave: it needs no barrier, and has none
        wanted = wanted - {"races"}
    assert wanted <= judged(verdict), sorted(wanted - judged(verdict))


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


@pytest.mark.few(2)
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
    segment = next(s for s in code.segments if s.executable)
    at = data.index(segment.data) + moved.pc - segment.address
    by = 16 if single else 2  # of a load from two addresses, the first, in units of 8 bytes
    return data[:at] + bytes([data[at] ^ by]) + data[at + 1 :], moved  # bits 7:0 of the offset stand first
