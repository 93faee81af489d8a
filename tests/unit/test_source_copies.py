"""Copies of a kernel's files, and headers that are compiled once for all changes of one."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutprobe.gate.build import build
from layoutprobe.gate.copies import LINES, SourceCopy
from layoutprobe.manifest.read import read_manifest

KERNEL = """\
// what a file begins with
#include <hip/hip_runtime.h>  /* the usual */
#include <hip/hip_fp16.h>
#include "own.h"
extern "C" __global__ void scaled(const float* x, float* y, int n) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  if (i < n) y[i] = twice(x[i]) + (float)__float2half(x[i]);
}
"""
OWN = "#pragma once\nconstexpr float twice(float v) { return 2 * v; }\n"
KEYS = """\
[[kernel]]
name = "scaled"
source = "kernel.hip"
include = ["."]
arch = ["gfx1151"]
grid = ["(N + 31) / 32"]
block = [32]
sizes = [{ N = 40 }]
contract = { kind = "none" }
argument = [
  { name = "x", role = "in", dtype = "f32", shape = ["N"] },
  { name = "y", role = "out", dtype = "f32", shape = ["N"] },
  { name = "n", role = "scalar", dtype = "i32", value = "N" },
]
"""


def copied(folder: Path, source: str = KERNEL, own: str = OWN) -> SourceCopy:
    (folder / "kernel.hip").write_text(source)
    (folder / "own.h").write_text(own)
    (folder / "layoutprobe.toml").write_text(KEYS)
    case = read_manifest(folder / "layoutprobe.toml").kernels[0]
    build(case, "gfx1151")  # its files are those that a compiler read last time
    return SourceCopy(case, "gfx1151", folder / "copy")


def test_headers_are_compiled_once_and_the_code_is_the_same(tmp_path: Path) -> None:
    copy = copied(tmp_path)
    plain = copy.quick()
    flags = copy.precompiled(plain.toolchain["code_object"])
    assert any(flag.endswith(".pch") for flag in flags)
    copy.headers = flags
    assert (tmp_path / "copy" / "layoutprobe-headers.hip").read_text() == (
        "#include <hip/hip_runtime.h>\n#include <hip/hip_fp16.h>\n"
    )
    file = copy.original.file.resolve()
    with copy.holding(file, KERNEL.replace("blockIdx.x * 32", "blockIdx.x * 16")):
        changed = copy.quick()
        copy.headers = ()
        assert copy.quick().code.segments == changed.code.segments != plain.code.segments
    copy.headers = flags
    lines = [line for line in copy.quick((LINES,)).code.lines.files if "kernel.hip" in str(line)]
    assert lines


@pytest.mark.parametrize(
    "begins",
    ["#define __forceinline__ inline\n", '#include "own.h"\n', "#include <own.h>\n", "#ifdef SOME\n#endif\n"],
    ids=["a macro", "a file of the user's", "one in angle brackets", "a condition"],
)
def test_headers_behind_what_they_may_depend_on_are_read_each_time(begins: str, tmp_path: Path) -> None:
    copy = copied(tmp_path, begins + KERNEL)
    assert copy.precompiled(copy.quick().toolchain["code_object"]) == ()


@pytest.mark.parametrize("guard", ["#pragma once\n", "#ifndef OWN_H\n#define OWN_H\n"])
def test_headers_that_one_of_the_users_begins_with_are_compiled_once(guard: str, tmp_path: Path) -> None:
    source = KERNEL.replace("#include <hip/hip_runtime.h>  /* the usual */\n#include <hip/hip_fp16.h>\n", "")
    end = "#endif\n" if "ifndef" in guard else ""
    begins = '// ours\n#include "hip/hip_runtime.h"\n#include <hip/hip_fp16.h>\n'
    copy = copied(tmp_path, source, f"{guard}{begins}{OWN}{end}")
    flags = copy.precompiled(copy.quick().toolchain["code_object"])
    assert any(flag.endswith(".pch") for flag in flags)
    assert (tmp_path / "copy" / "layoutprobe-headers.hip").read_text() == (
        "#include <hip/hip_runtime.h>\n#include <hip/hip_fp16.h>\n"
    )


def test_headers_of_the_users_that_include_each_other_end_somewhere(tmp_path: Path) -> None:
    (tmp_path / "other.h").write_text('#pragma once\n#include "own.h"\n')
    source = KERNEL.replace("#include <hip/hip_runtime.h>  /* the usual */\n", '#include "own.h"\n')
    copy = copied(tmp_path, source, '#pragma once\n#include "other.h"\n#include <hip/hip_runtime.h>\n' + OWN)
    assert {file.name for file in copy.files} == {"kernel.hip", "own.h", "other.h"}
    assert copy.precompiled(copy.quick().toolchain["code_object"]) == ()


def test_headers_that_compile_to_other_code_are_not_used(tmp_path: Path) -> None:
    assert copied(tmp_path).precompiled("another digest") == ()
