"""Code objects out of Triton: no finding on correct ones, and a broken one is red.

`make_triton.py` made them; Triton is not needed here.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from third_party.accepted import assert_accepted, judged

from layoutprobe.checks.registry import check_names
from layoutprobe.codeobj.elf import load
from layoutprobe.gate.gate import check
from layoutprobe.isa.store import load_instructions
from layoutprobe.manifest.model import Gemm, KernelCase, Manifest
from layoutprobe.manifest.read import read_manifest
from layoutprobe.report.gate import KernelVerdict

FOLDER = Path(__file__).parent / "triton"
MANIFEST = read_manifest(FOLDER / "layoutprobe.toml", checks=check_names())
CASES = {case.name: case for case in MANIFEST.kernels}
LARGEST = 40 * 1024
EVERY_KERNEL = {"numerics", "lds-safety", "races", "waits", "memory", "bank-conflicts", "resources"}
GEMM_ONLY = {"operand-provenance", "epilogue", "swizzle"}


def verdict_of(case: KernelCase, folder: Path = FOLDER) -> KernelVerdict:
    report = check(Manifest(folder / "layoutprobe.toml", (case,)), allow_reference=True)
    return report.verdicts[0]


def test_the_code_objects_are_small_and_all_are_run() -> None:
    files = {path.name: path.stat().st_size for path in FOLDER.glob("*.hsaco")}
    assert {case.file.name for case in MANIFEST.kernels} == set(files)
    assert max(files.values()) <= LARGEST


@pytest.mark.parametrize("name", CASES)
def test_correct_kernels_are_accepted(name: str) -> None:
    case = CASES[name]
    verdict = verdict_of(case)
    assert_accepted(verdict)
    wanted = EVERY_KERNEL | (GEMM_ONLY if isinstance(case.contract, Gemm) else set())
    if name == "gemm-f16-one-warp":  # one wave: it needs no barrier, and has none
        wanted = wanted - {"races"}
    assert wanted <= judged(verdict), sorted(wanted - judged(verdict))


@pytest.mark.parametrize("name", ["gemm-f16-col-b", "gemm-bf16-col-col", "gemm-i8", "splitk-f16"])
def test_a_fragment_from_the_wrong_place_is_found(name: str, tmp_path: Path) -> None:
    """The last LDS load before the first matrix instruction reads 16 bytes away from its place."""
    case = CASES[name]
    assert case.code_object is not None
    broken = tmp_path / "broken.hsaco"
    broken.write_bytes(moved_load(case.code_object.read_bytes()))
    verdict = verdict_of(replace(case, code_object=broken, sizes=case.sizes[:1]), tmp_path)
    assert verdict.exit_code == 1
    found = {result.check for result in verdict.results if result.status == "finding"}
    assert found & {"operand-provenance", "numerics", "lds-safety"}, found


def moved_load(data: bytes) -> bytes:
    """The object with another offset in its last LDS load before the first matrix instruction."""
    code = load(data)
    kernel = code.kernel(None)
    loads = []
    for inst in load_instructions(code, kernel).values():
        if inst.name.startswith("v_wmma"):
            break
        if inst.name.startswith("ds_load_") and "2" not in inst.name.partition("_b")[0]:
            loads.append(inst)
    segment = next(s for s in code.segments if s.executable)
    at = data.index(segment.data) + loads[-1].pc - segment.address
    return data[:at] + bytes([data[at] ^ 16]) + data[at + 1 :]  # bits 7:0 of the offset stand first
