"""HIP kernels in the manner of third parties: no finding on correct ones, wrong variants are red."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from third_party.accepted import assert_accepted, judged

from layoutprobe.backends.base import Buffer, Launch
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.checks.registry import check_names
from layoutprobe.gate.build import build
from layoutprobe.gate.gate import check
from layoutprobe.isa.store import load_instructions
from layoutprobe.manifest.model import KernelCase, Manifest
from layoutprobe.manifest.read import read_manifest
from layoutprobe.observe.load_path import LoadPathObserver, Target
from layoutprobe.report.gate import KernelVerdict

FOLDER = Path(__file__).parent / "kernels"
MANIFEST = read_manifest(FOLDER / "layoutprobe.toml", checks=check_names())
CASES = {case.name: case for case in MANIFEST.kernels}
ALWAYS = {"numerics", "waits", "memory", "resources"}
LDS = {"lds-safety", "races", "bank-conflicts"}
MATRIX = {"wait-states"}
GEMM = MATRIX | {"operand-provenance", "epilogue"}
HOLDS = {
    "registers-f16": ALWAYS | GEMM,
    "registers-bf16-columns": ALWAYS | GEMM,
    "spilling": ALWAYS | GEMM,
    "unoptimised": ALWAYS | GEMM,
    "indexed": ALWAYS | GEMM,
    "indexed-array": ALWAYS | MATRIX,
    "indexed-fragments": ALWAYS | GEMM,
    "specialised": ALWAYS | GEMM | LDS | {"swizzle"},
    "int8": ALWAYS | GEMM | LDS | {"swizzle"},
    "splitk-bf16": ALWAYS | GEMM,
    "int4": ALWAYS | MATRIX,
    "softmax": ALWAYS | LDS,
    "layernorm": ALWAYS,
    "attention": ALWAYS | LDS | MATRIX,
}
WRONG = {
    ("registers-f16", "WRONG_HALVES"): "operand-provenance",
    ("registers-f16", "WRONG_PREFETCH"): "memory",
    ("indexed-array", "WRONG_INDEX"): "numerics",
    ("indexed-fragments", "WRONG_NEXT"): "operand-provenance",
    ("specialised", "WRONG_BUFFER"): "races",
    ("int8", "WRONG_SIGN"): "numerics",
    ("splitk-bf16", "WRONG_STORE"): "numerics",
    ("int4", "WRONG_NIBBLES"): "numerics",
    ("softmax", "WRONG_BARRIER"): "races",
    ("layernorm", "WRONG_BOUND"): "memory",
    ("attention", "WRONG_RESCALE"): "numerics",
}
"""Kernel and macro -> the check that must find it, whatever others find."""


def verdict_of(case: KernelCase) -> KernelVerdict:
    report = check(Manifest(MANIFEST.path, (case,)), allow_reference=True)
    return report.verdicts[0]


@pytest.mark.all_in_ci
@pytest.mark.few(2)
@pytest.mark.parametrize("name", CASES)
def test_correct_kernels_are_accepted(name: str) -> None:
    verdict = verdict_of(CASES[name])
    assert_accepted(verdict)
    assert judged(verdict) == HOLDS[name]


@pytest.mark.parametrize("matrix", [0, 1])
def test_registers_that_are_picked_lead_back_to_their_loads(matrix: int) -> None:
    """Each turn of a loop takes another register of an array, and each register has a load of its own."""
    case = CASES["indexed-fragments"]
    code = build(case, "gfx942").code
    inst = next(i for i in load_instructions(code, code.kernel()).values() if "mfma" in i.name)
    targets = tuple(Target(0, turn, inst.src[matrix].index, 3) for turn in range(16))
    given = [Buffer(np.ones(64 * 64, np.float32)) for _ in range(3)]
    launch = Launch(
        code, code.kernel().name, (1, 1, 1), (64, 1, 1), [*given, *(np.int32(n) for n in (32, 32, 64))]
    )
    observer = LoadPathObserver(targets)
    EmulatorBackend().run(launch, [observer])
    paths = observer.record().paths
    loads = [paths[target][-1].inst for target in targets]
    assert {load.name for load in loads} == {"global_load_dword"}
    offsets = [load.mods.get("offset", 0) for load in loads]
    assert offsets == [offsets[0] + 8 * turn for turn in range(16)]


@pytest.mark.few(1)
@pytest.mark.parametrize(("name", "macro"), WRONG)
def test_wrong_variants_are_found(name: str, macro: str) -> None:
    case = CASES[name]
    wrong = replace(case, defines={**case.defines, macro: "1"})
    verdict = verdict_of(wrong)
    assert not verdict.error, verdict.error
    found = {result.check for result in verdict.results if result.findings}
    assert WRONG[name, macro] in found, [(r.check, r.status, r.reason) for r in verdict.results]


def test_the_compiler_did_what_the_names_say() -> None:
    spilling, plain = (build(CASES[name], "gfx1151").kernel for name in ("spilling", "registers-f16"))
    assert spilling.vgpr_spills > 50
    assert spilling.vgprs <= 64
    assert spilling.descriptor.private_segment_size > 0
    assert plain.descriptor.group_segment_size == 0
    assert build(CASES["unoptimised"], "gfx1151").kernel.descriptor.private_segment_size > 200
