"""Kernels of gfx950 that are no plain products: attention in fp8 as one kernel, and a GEMM of packed fp4."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from layoutprobe.assets import asset_dir
from layoutprobe.backends.base import Buffer, Launch
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.checks.registry import CHECKS, check_names
from layoutprobe.codeobj.elf import load
from layoutprobe.codeobj.model import CodeObject
from layoutprobe.errors import UsageError
from layoutprobe.gate.session import check_kernel
from layoutprobe.inspector.inspect import look_into
from layoutprobe.isa.kind import Kind
from layoutprobe.isa.store import load_instructions
from layoutprobe.layouts.views import RAW
from layoutprobe.manifest.model import KernelCase
from layoutprobe.manifest.read import read_manifest
from layoutprobe.numbers import element_type
from layoutprobe.report.gate import KernelVerdict
from layoutprobe.toolchain.compile import compile_hip

CDNA = asset_dir("probes") / "gemm" / "cdna"
HEAD = 128


def case_of(name: str, folder: Path = CDNA) -> KernelCase:
    cases = read_manifest(folder / "attention.toml", checks=check_names()).kernels
    return next(case for case in cases if case.name == name)


def verdict_of(case: KernelCase) -> KernelVerdict:
    return check_kernel(case, "gfx950", CHECKS, allow_reference=True)


@cache
def compiled() -> CodeObject:
    return load(compile_hip(CDNA / "attention.hip", target="gfx950").data)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["attention", "tr4"])
def test_they_are_green(name: str) -> None:
    """At the first two of their sizes."""
    case = case_of(name)
    verdict = verdict_of(replace(case, sizes=case.sizes[:2]))
    assert not verdict.error
    assert verdict.findings == ()
    assert {result.status for result in verdict.results} == {"holds", "skipped"}


def test_attention_is_the_softmax_of_the_textbook() -> None:
    """Against f64 without tiles and without rounding: weights are rounded to 4 bits, and no more is lost."""
    heads, rows, keys = 2, 50, 192
    random, fp8 = np.random.default_rng(950), element_type("fp8")
    raw = {name: fp8.encode(random.standard_normal((heads, count, HEAD)) * scale)
           for name, count, scale in (("Q", rows, 2.0), ("K", keys, 1.0), ("V", keys, 1.0))}  # fmt: skip
    q, k, v = (fp8.decode(raw[name]).astype(np.float64) for name in "QKV")
    scores = np.exp(q @ k.swapaxes(1, 2) / np.sqrt(HEAD))
    expected = scores @ v / scores.sum(axis=2, keepdims=True)
    out = Buffer(np.zeros((heads, rows, HEAD), np.float32), undefined=True)
    args: list[Buffer | np.generic] = [
        *(Buffer(raw[name].astype(np.uint8)) for name in "QKV"),
        out,
        np.int32(rows),
        np.int32(keys),
    ]
    run = EmulatorBackend().run(Launch(compiled(), "attention", (1, heads, 1), (256, 1, 1), args))
    found = run.buffers[3]
    assert found is not None
    error = np.abs(found - expected)
    assert error.max() < 2.0**-4 * np.abs(expected).max()
    assert np.sqrt((error**2).mean()) < 0.02 * np.sqrt((expected**2).mean())
    assert np.abs(expected).std() > 0.1, "no mean of everything"


def test_attention_executes_what_it_says() -> None:
    (kernel,) = compiled().kernels.values()
    insts = list(load_instructions(compiled(), kernel).values())
    assert {inst.name for inst in insts if Kind.MATRIX in inst.kind} == {"v_mfma_f32_32x32x64_f8f6f4"}
    assert sum(Kind.TRANSPOSE in inst.kind for inst in insts) == 16
    assert any(inst.name == "v_permlane32_swap_b32" for inst in insts)


def planted(old: str, new: str, file: str, folder: Path) -> KernelVerdict:
    """The attention kernel with an edit, at its second size."""
    for source in (
        "attention.hip",
        "attention.toml",
        "references.py",
        "pv.h",
        "transposing.h",
        "mfma_helpers.h",
    ):
        shutil.copy(CDNA / source, folder)
    text = (folder / file).read_text()
    assert text.count(old) == 1
    (folder / file).write_text(text.replace(old, new))
    case = case_of("attention", folder)
    verdict = verdict_of(replace(case, sizes=case.sizes[1:2]))
    assert not verdict.error
    return verdict


def test_views_of_a_kernel_without_a_product_say_what_cannot_be_known() -> None:
    kernel = look_into(case_of("attention"))
    with pytest.raises(UsageError, match="no product is marked") as refused:
        kernel.operand("B", view=RAW)
    assert "what belongs into an operand follows from it" in (refused.value.expected or "")
    assert "--why" in (refused.value.hint or "")


BYTE = "block * I::DIM + byte_named<8>()"


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("edit", "held", "needed"),
    [
        # From rows and columns that the reads name: read_tile of pv.h at lane 0, as the stores see them.
        (f"({BYTE}) ^ (block == 2 && part == 1) << 4", "V[8][80]", "V[8][64]"),
        (f"({BYTE}) ^ (block == 1 && part == 3) << 4", "V[40][48]", "V[40][32]"),
        (f"block == 3 && part == 0 ? {BYTE} + 8 : {BYTE}", "V[0][104]", "V[0][96]"),
    ],
)
def test_one_read_of_v_that_reads_elsewhere_is_named(
    edit: str, held: str, needed: str, tmp_path: Path
) -> None:
    (found,) = planted(BYTE, edit, "pv.h", tmp_path).findings
    assert found.rule.id == "numerics/odd-read"
    assert found.place.instruction == "ds_read_b64_tr_b8"
    assert f"finds {held} in LDS where it would find {needed} by the pattern of the 15 others" in found.what


OWN = "attention.hip"
PERMUTED = "lds[swizzled(permuted(row), at % HEAD)]"
KEY = "lds[swizzled((half * SWEEP + at) / HEAD, at % HEAD)]"
BARRIER = "    buffer ^= 1;\n    __syncthreads();\n"
WRONG = {
    "sums are not rescaled": ("sums[block] * shrink", "sums[block]", OWN, "numerics"),
    "words of the weights not swapped": ("* i] = swapped[0];", "* i] = word[i];", OWN, "numerics"),
    "words of four keys in another order": (
        "word[i], word[i + 2]",
        "word[2 * i], word[2 * i + 1]",
        OWN,
        "numerics",
    ),
    "the maximum of half a row": ("above = fmaxf(highs[0], highs[1]);", "above = highs[0];", OWN, "numerics"),
    "rows of V permuted by the reads only": (
        PERMUTED,
        PERMUTED.replace("permuted(row)", "row"),
        "pv.h",
        "numerics",
    ),
    "rows of K permuted as those of V": (
        KEY,
        KEY.replace("((", "(permuted((").replace("HEAD,", "HEAD),"),
        OWN,
        "numerics",
    ),
    "no barrier between the tiles": (BARRIER, BARRIER.splitlines()[0] + "\n", OWN, "races"),
    "rows beyond the end": ("if (row >= rows) return;", "", OWN, "epilogue"),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("name", WRONG)
def test_wrong_variants_are_red(name: str, tmp_path: Path) -> None:
    old, new, file, check = WRONG[name]
    found = planted(old, new, file, tmp_path).findings
    assert check in {finding.check for finding in found}
    assert not any(finding.name == "odd-read" for finding in found), "no single read is to blame"
