"""Parameters of kernels from debug information, beside what the source says; damaged bytes give none."""

from __future__ import annotations

import random
from pathlib import Path

from msgspec.structs import replace

from layoutprobe.codeobj.elf import load
from layoutprobe.codeobj.model import CodeObject
from layoutprobe.codeobj.parameters import Parameter, signature_of
from layoutprobe.toolchain.compile import compile_hip

SOURCE = """
#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>
#include <hip/hip_bf16.h>
struct Pair { int first; float* second; };
struct Complex { float re, im; };
namespace c10 { struct BFloat16 { unsigned short x; }; }
typedef float wide __attribute__((ext_vector_type(4)));
struct Group { Pair pairs[2]; const int counts[3]; wide* last; };
enum Mode : unsigned char { kPlain, kOther };
using Row = const double*;
__device__ __attribute__((noinline)) int helper(int depth) { return depth + 1; }
template <typename T> __global__ void generic(const T* __restrict__ in, T scale, T* out) { *out = *in * scale; }
template __global__ void generic<signed char>(const signed char*, signed char, signed char*);
__global__ void several(const __half* halves, const _Float16* plain, __hip_bfloat16* brains, const float4* wide,
                        volatile unsigned short* bits, unsigned char* bytes, long long* longs, Row rows, int count,
                        unsigned size, float alpha, double beta, bool flag, Mode mode, Pair pair, void* anything,
                        const Pair* pairs, Group group, const Complex* numbers,
                        const c10::BFloat16* theirs) {
  brains[0] = __float2bfloat16(float(halves[0]) + float(plain[0]) + wide[0].x + bits[0] + bytes[0] + longs[0] +
      rows[0] + helper(count) + size + alpha + beta + flag + mode + pair.first +
      (anything == nullptr) + pairs[0].first + group.counts[0] + numbers[0].im + theirs[0].x);
}
"""
EXPECTED = {
    "generic": [("in", True, "i8"), ("scale", False, "i8"), ("out", True, "i8")],
    "several": [
        ("halves", True, "f16"), ("plain", True, "f16"), ("brains", True, "bf16"), ("wide", True, "f32"),
        ("bits", True, "u16"), ("bytes", True, "u8"), ("longs", True, "i64"), ("rows", True, "f64"),
        ("count", False, "i32"), ("size", False, "u32"), ("alpha", False, "f32"), ("beta", False, "f64"),
        ("flag", False, "u8"), ("mode", False, "u8"), ("pair", False, ""), ("anything", True, ""),
        ("pairs", True, ""), ("group", False, ""), ("numbers", True, "f32"), ("theirs", True, "bf16"),
    ],
}  # fmt: skip


def _code(folder: Path) -> CodeObject:
    (folder / "kernels.hip").write_text(SOURCE)
    return load(compile_hip(folder / "kernels.hip", target="gfx1151").data)


def test_names_and_types_are_those_of_the_source(tmp_path: Path) -> None:
    code = _code(tmp_path)
    found = {}
    for kernel in code.kernels.values():
        signature = signature_of(code, kernel)
        assert signature is not None
        found[signature.name] = list(signature.parameters)
    assert found["several"][14].members == (
        (0, Parameter("first", False, "i32", keys=("first", "0"))),
        (8, Parameter("second", True, "f32", keys=("second", "1"))),
    )
    group = [(at, one.name, one.pointer, one.dtype, one.keys) for at, one in found["several"][17].members]
    assert group == [
        (0, "pairs0_first", False, "i32", ("pairs[0].first", "pairs[0].0", "0.0.0")),
        (8, "pairs0_second", True, "f32", ("pairs[0].second", "pairs[0].1", "0.0.1")),
        (16, "pairs1_first", False, "i32", ("pairs[1].first", "pairs[1].0", "0.1.0")),
        (24, "pairs1_second", True, "f32", ("pairs[1].second", "pairs[1].1", "0.1.1")),
        *((32 + 4 * i, f"counts{i}", False, "i32", (f"counts[{i}]", f"1.{i}")) for i in range(3)),
        (48, "last", True, "f32", ("last", "2")),
    ]
    for at in (14, 17):
        found["several"][at] = replace(found["several"][at], members=())
    assert {name.partition("<")[0]: given for name, given in found.items()} == {
        name: [Parameter(*one) for one in given] for name, given in EXPECTED.items()
    }


def test_without_debug_information_nothing_is_said(tmp_path: Path) -> None:
    code = _code(tmp_path)
    kernel = next(iter(code.kernels.values()))
    assert signature_of(replace(code, image=b""), kernel) is None


def test_damaged_bytes_end_soon_and_raise_nothing(tmp_path: Path) -> None:
    code = _code(tmp_path)
    kernel = next(one for one in code.kernels.values() if "several" in one.name)
    chance = random.Random(5)
    for _ in range(40):
        image = bytearray(code.image)
        for at in chance.sample(range(64, len(image)), 30):
            image[at] = chance.randrange(256)
        signature_of(replace(code, image=bytes(image)), kernel)
