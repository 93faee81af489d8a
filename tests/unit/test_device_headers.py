"""The project's own <hip/...> headers: what kernels get, what they are refused, and from where."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from unit.device_kernels import INCLUDES, Array, Device, make_device

from layoutprobe.arch import DEFAULT
from layoutprobe.codeobj.elf import load
from layoutprobe.errors import ExecutionError, ToolchainError
from layoutprobe.numbers import element_type
from layoutprobe.toolchain import headers
from layoutprobe.toolchain.compile import compile_hip
from layoutprobe.toolchain.find import Compiler, find_compiler

LANE = np.arange(32)


@pytest.fixture
def device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Device:
    return make_device(tmp_path, monkeypatch)


def test_built_in_variables(device: Device) -> None:
    text = """
    static_assert(__is_same(decltype(threadIdx.x), unsigned), "plain unsigned");
    extern "C" __global__ void __launch_bounds__(64, 2) k(unsigned* out) {
      const dim3 block = blockDim, grid(gridDim.x, gridDim.y, gridDim.z);
      const unsigned thread = (threadIdx.z * block.y + threadIdx.y) * blockDim.x + threadIdx.x;
      const unsigned group = (blockIdx.z * grid.y + blockIdx.y) * gridDim.x + blockIdx.x;
      unsigned* at = out + (group * block.x * blockDim.y * blockDim.z + thread) * 13;
      const unsigned values[13] = {threadIdx.x, threadIdx.y, threadIdx.z, blockIdx.x, blockIdx.y, blockIdx.z,
                                   blockDim.x, blockDim.y, blockDim.z, gridDim.x, gridDim.y, gridDim.z,
                                   unsigned(warpSize)};
      for (int i = 0; i < 13; ++i) at[i] = values[i];
    }"""
    grid, block = (3, 2, 4), (5, 3, 2)
    (out,) = device.run(text, np.zeros((24, 30, 13), np.uint32), grid=grid, block=block)
    for g in range(24):
        for t in range(30):
            thread = (t % 5, t // 5 % 3, t // 15)
            group = (g % 3, g // 3 % 2, g // 6)
            assert out[g, t].tolist() == [*thread, *group, *block, *grid, 32]


def test_shared_memory_static_and_dynamic(device: Device) -> None:
    text = """
    extern __shared__ __align__(16) int dynamic[];
    __device__ __forceinline__ int other(int i) { return (i * 5 + 3) % 64; }
    extern "C" __global__ void __launch_bounds__(64) k(const int* __restrict__ in, int* __restrict__ out) {
      __shared__ int fixed[64];
      const int i = threadIdx.x;
      fixed[i] = in[i];
      dynamic[i] = in[i] * 3;
      __syncthreads();
      out[i] = fixed[other(i)] + dynamic[63 - i];
      __threadfence();
      __threadfence_block();
      __syncwarp();
    }"""
    values = np.random.default_rng(0).integers(0, 1000, 64).astype(np.int32)
    _, out = device.run(text, values, np.zeros(64, np.int32), block=(64, 1, 1), dynamic_lds=256)
    assert np.array_equal(out, values[(np.arange(64) * 5 + 3) % 64] + 3 * values[::-1])


def test_copies_of_memory(device: Device) -> None:
    text = """extern "C" __global__ void k(const char* in, char* out) {
      memcpy(out, in, 13);
      memset(out + 13, 0xa5, 7);
      int word;
      memcpy(&word, in + 20, 4);
      memcpy(out + 20, &word, sizeof word);
    }"""
    values = np.random.default_rng(1).integers(0, 256, 24).astype(np.uint8)
    _, out = device.run(text, values, np.zeros(24, np.uint8), block=(1, 1, 1))
    assert np.array_equal(out, np.concatenate([values[:13], np.full(7, 0xA5), values[20:]]))


def test_vector_types(device: Device) -> None:
    text = """
    static_assert(sizeof(float2) == 8 && alignof(float2) == 8 && sizeof(float3) == 12 && alignof(float3) == 4);
    static_assert(sizeof(float4) == 16 && alignof(float4) == 16 && sizeof(short4) == 8 && alignof(short4) == 8);
    static_assert(sizeof(ushort2) == 4 && sizeof(uchar4) == 4 && sizeof(double2) == 16 && sizeof(uint1) == 4);
    extern "C" __global__ void k(const float4* x, const int4* y, float4* out, int2* ints) {
      const int i = threadIdx.x;
      const float4 a = x[i];
      float4 b = make_float4(a.w, a.z, a.y, a.x);
      b += a * 2.0f;
      b = 1.0f - b / float4(4.0f) + float4{1, 2, 3, 4};
      out[i] = b;
      const int3 c = make_int3(y[i].x, y[i].y, y[i].z) * 3;
      ints[i] = int2(c.x + c.y, c.z - y[i].w);
    }"""
    rng = np.random.default_rng(10)
    x, y = rng.integers(-99, 99, (32, 4)).astype(np.float32), rng.integers(-99, 99, (32, 4)).astype(np.int32)
    *_, out, ints = device.run(text, x, y, np.zeros((32, 4), np.float32), np.zeros((32, 2), np.int32))
    assert np.array_equal(out, 1 - (x[:, ::-1] + 2 * x) / 4 + np.array([1, 2, 3, 4]))
    assert np.array_equal(ints, np.stack([3 * (y[:, 0] + y[:, 1]), 3 * y[:, 2] - y[:, 3]], 1))


def test_what_libraries_use_of_the_implementation(device: Device) -> None:
    """rocWMMA names these in its mode for runtime compilation."""
    text = """
    static_assert(__is_base_of(HIP_vector_base<float, 4>, float4) && sizeof(HIP_vector_base<int, 3>) == 12);
    static_assert(__hip_internal::is_standard_layout<uint4>::value && sizeof(__hip_internal::uint64_t) == 8);
    template <typename T> __device__ float named(T x) { return sizeof(T) > 8 ? sinf(x) + cosf(x) : x; }
    extern "C" __global__ void k(const uint4* x, uint4* out) {
      uint4 a = x[threadIdx.x];
      ++a;
      const uint4 before = a++;
      HIP_vector_base<unsigned, 4>::Native_vec_ all = a.data;
      all = all + 1;
      a--;
      out[threadIdx.x] = uint4(all[0] + before.x, all[1] - a.y, all[2], unsigned(named(1.0f)));
    }"""
    x = np.random.default_rng(11).integers(0, 99, (32, 4)).astype(np.uint32)
    *_, out = device.run(
        text, x, np.zeros((32, 4), np.uint32), includes=INCLUDES + "#include <hip/hip_ext.h>\n"
    )
    assert np.array_equal(out, np.stack([2 * x[:, 0] + 4, 0 * x[:, 1] + 2, x[:, 2] + 3, 0 * x[:, 3] + 1], 1))


@pytest.mark.parametrize(
    ("name", "kind"),
    [("e4m3", "fp8"), ("e5m2", "bf8"), ("e4m3_fnuz", "fp8_fnuz"), ("e5m2_fnuz", "bf8_fnuz")],
)
def test_floats_of_8_bits(device: Device, name: str, kind: str) -> None:
    """Every code to f32, and f32 to the nearest code: as `ml_dtypes` has them, saturating."""
    text = f"""
    extern "C" __global__ void k(const unsigned char* codes, const float* numbers, float* out, unsigned char* back) {{
      const int i = threadIdx.x;
      __hip_fp8_{name} x;
      x.__x = codes[i];
      out[i] = x;
      back[i] = __hip_fp8_{name}(numbers[i]).__x;
    }}"""
    codes, element = np.arange(256, dtype=np.uint8), element_type(kind)
    rng = np.random.default_rng(12)
    numbers = (rng.normal(size=256) * 2.0 ** rng.integers(-20, 12, 256)).astype(np.float32)
    numbers[:128] = element.decode(codes[:128])  # themselves, and midways between neighbours
    with np.errstate(invalid="ignore"):
        numbers[128:250] = (element.decode(codes[1:123]) + element.decode(codes[2:124])) / 2
    includes = INCLUDES + "#include <hip/hip_fp8.h>\n"
    *_, out, back = device.run(text, codes, numbers, np.zeros(256, np.float32), np.zeros(256, np.uint8),
                               block=(256, 1, 1), includes=includes)  # fmt: skip
    np.testing.assert_array_equal(out, element.decode(codes).astype(np.float32))
    finite = np.isfinite(numbers)
    largest = element.largest
    wanted = element.encode(np.clip(numbers[finite], -largest, largest).astype(np.float64))
    np.testing.assert_array_equal(element.decode(back[finite]), element.decode(wanted))


def test_vector_loads_are_single_instructions(device: Device) -> None:
    text = 'extern "C" __global__ void k(const uint4* x, float4* y) { y[threadIdx.x].x = x[threadIdx.x].y; '
    text += "((uint4*)y)[threadIdx.x + 32] = x[threadIdx.x + 32]; }"
    device.compile(text)
    assembly = compile_hip(device.source, target=DEFAULT).assembly
    assert "global_load_b128" in assembly
    assert "global_store_b128" in assembly


def shuffle_model(name: str, operand: int, width: int) -> NDArray[np.int64]:
    """The lane that each lane reads, by the definition in HIP's reference."""
    sources = []
    for lane in range(32):
        group = lane // width * width
        inside = lane - group
        source = {
            "__shfl": operand % width,
            "__shfl_up": inside - operand if inside >= operand else inside,
            "__shfl_down": inside + operand if inside + operand < width else inside,
            # An earlier group may be read, a later one may not.
            "__shfl_xor": (lane ^ operand) - group if (lane ^ operand) < group + width else inside,
        }[name]
        sources.append(group + source)
    return np.array(sources)


@pytest.mark.parametrize("name", ["__shfl", "__shfl_up", "__shfl_down", "__shfl_xor"])
def test_shuffles(device: Device, name: str) -> None:
    cases = [(operand, width) for width in (32, 16, 8, 2) for operand in (0, 1, 5, 9)]
    calls = "".join(f"out[{i} * 32 + t] = {name}(x[t], {o}, {w});\n" for i, (o, w) in enumerate(cases))
    calls += f"out[{len(cases)} * 32 + t] = {name}_sync(0xffffffffull, x[t], 3);\n"
    text = f"""extern "C" __global__ void k(const float* x, float* out) {{
      const int t = threadIdx.x;
      {calls} }}"""
    x = np.random.default_rng(11).standard_normal(32).astype(np.float32)
    _, out = device.run(text, x, np.zeros((len(cases) + 1, 32), np.float32))
    for row, (operand, width) in zip(out, [*cases, (3, 32)], strict=True):
        assert np.array_equal(row, x[shuffle_model(name, operand, width)]), (operand, width)


def test_shuffles_of_other_types(device: Device) -> None:
    text = """extern "C" __global__ void k(const half* h, const double* d, const long long* l, const uint3* v,
                                         half* ho, double* dout, long long* lo, uint3* vo) {
      const int t = threadIdx.x;
      ho[t] = __shfl(h[t], t * 7);
      dout[t] = __shfl(d[t], t * 7);
      lo[t] = __shfl_xor(l[t], 21);
      vo[t] = __shfl_down(v[t], 4);
    }"""
    rng = np.random.default_rng(12)
    inputs: list[Array] = [rng.standard_normal(32).astype(np.float16), rng.standard_normal(32)]
    inputs += [rng.integers(-(1 << 62), 1 << 62, 32), rng.integers(0, 1 << 32, (32, 3)).astype(np.uint32)]
    *_, h, d, x, v = device.run(text, *inputs, *(np.zeros_like(a) for a in inputs))
    assert np.array_equal(h, inputs[0][LANE * 7 % 32])
    assert np.array_equal(d, inputs[1][LANE * 7 % 32])
    assert np.array_equal(x, inputs[2][LANE ^ 21])
    assert np.array_equal(v, inputs[3][np.where(LANE < 28, LANE + 4, LANE)])


def test_votes(device: Device) -> None:
    text = """extern "C" __global__ void k(const int* x, unsigned long long* out) {
      const int v = x[threadIdx.x];
      out[threadIdx.x] = __ballot(v) | (unsigned long long)__any(v > 90) << 32
        | (unsigned long long)__all(v >= 0) << 33 | (unsigned long long)__any(v < 0) << 34
        | (unsigned long long)__all(v) << 35
        | (unsigned long long)(__lane_id() == threadIdx.x) << 36;
    }"""
    x = np.random.default_rng(13).integers(0, 3, 32).astype(np.int32)
    x[5] = 99
    _, out = device.run(text, x, np.zeros(32, np.uint64))
    ballot = sum(1 << lane for lane in range(32) if x[lane])
    assert set(out.tolist()) == {ballot | 1 << 32 | 1 << 33 | 1 << 36}


def test_atomics(device: Device) -> None:
    text = """extern "C" __global__ void k(const int* x, int* i, unsigned* u, float* f, int* old, int* cas) {
      const int v = x[threadIdx.x];
      old[atomicAdd(i + 0, 1)] = 1;
      atomicSub(i + 1, v); atomicMax(i + 2, v); atomicMin(i + 3, v);
      atomicAnd(i + 4, ~(1 << threadIdx.x)); atomicOr(i + 5, v); atomicXor(i + 6, v);
      atomicAdd(u + 0, unsigned(v)); atomicMax(u + 1, unsigned(v));
      atomicAdd(f, float(v));
      if (threadIdx.x == 3) { cas[1] = atomicCAS(cas, 7, 8); cas[2] = atomicCAS(cas, 7, 9); }
      if (threadIdx.x == 3) cas[3] = atomicExch(i + 7, 44);
    }"""
    x = np.random.default_rng(14).integers(-500, 500, 32).astype(np.int32)
    i = np.array([0, 0, -9999, 9999, -1, 0, 0, 33], np.int32)
    _, i, u, f, old, cas = device.run(
        text, x, i, np.zeros(2, np.uint32), np.zeros(1, np.float32), np.zeros(32, np.int32), np.array([7, 0, 0, 0])
        .astype(np.int32),
    )  # fmt: skip
    bits = [np.bitwise_or.reduce(x), np.bitwise_xor.reduce(x)]
    assert i.tolist() == [32, -x.sum(), x.max(), x.min(), 0, *bits, 44]
    assert u.tolist() == [x.sum() % (1 << 32), x.view(np.uint32).max()]
    assert f.tolist() == [x.sum()]
    assert old.tolist() == [1] * 32  # every lane saw another old value
    assert cas.tolist() == [8, 7, 8, 33]


def test_host_code_in_the_source_is_parsed(device: Device) -> None:
    device.compile("""
    extern "C" __global__ void k(float* p) { p[threadIdx.x] = 1; }
    int main() {
      float* p = nullptr;
      hipStream_t stream;
      if (hipMalloc(&p, 128) != hipSuccess || hipStreamCreate(&stream) != hipSuccess) return 1;
      k<<<dim3(1, 2), 32, 0, stream>>>(p);
      hipLaunchKernelGGL(k, dim3(1), dim3(32), 0, 0, p);
      const __half one = __float2half(1.0f);
      hipMemcpy(p, &one, 2, hipMemcpyHostToDevice);
      return hipGetLastError() + int(__half2float(one)) + hipDeviceSynchronize() + hipFree(p);
    }""")


def test_a_failed_assert_ends_the_run_at_its_line(device: Device) -> None:
    """With the C library's own header, whose function is the host's."""
    text = """#include <assert.h>
    extern "C" __global__ void k(const int* in, int* out) {
      assert(in[threadIdx.x] < 40);
      out[threadIdx.x] = in[threadIdx.x];
    }"""
    x = np.arange(32, dtype=np.int32)
    _, out = device.run(text, x, np.zeros(32, np.int32), block=(32, 1, 1))
    assert np.array_equal(out, x)
    with pytest.raises(ExecutionError, match="the kernel traps") as caught:
        device.run(text, x + 9, np.zeros(32, np.int32), block=(32, 1, 1))
    assert str(caught.value.place.source).startswith("kernel.hip:")


def test_votes_of_a_workgroup_and_clocks(device: Device) -> None:
    text = """extern "C" __global__ void k(const int* in, int* out) {
      const long long before = clock64(), wall = wall_clock64();
      const int mine = in[blockIdx.x * 96 + threadIdx.x];
      int* at = out + (blockIdx.x * 96 + threadIdx.x) * 4;
      at[0] = __syncthreads_count(mine > 2);
      at[1] = __syncthreads_or(mine > 8);
      at[2] = __syncthreads_and(mine < 9);
      at[3] = clock64() > before && wall_clock64() >= wall;
    }"""
    x = np.random.default_rng(35).integers(0, 9, (2, 96)).astype(np.int32)
    x[1, 70] = 9
    _, out = device.run(text, x, np.zeros((2, 96, 4), np.int32), grid=(2, 1, 1), block=(96, 1, 1))
    for block in range(2):
        expected = [(x[block] > 2).sum(), (x[block] > 8).any(), (x[block] < 9).all(), 1]
        assert np.array_equal(out[block], np.tile(expected, (96, 1)))


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("*p = *(float*)malloc(4)", "layoutprobe's own HIP headers have no malloc in device code"),
        (
            "*p = tgammaf(*p)",
            "layoutprobe's own HIP headers have no tgammaf: it needs the device libraries of ROCm",
        ),
        ("*p = __hypothetical(1)", r"unknown here: __hypothetical. If HIP has it: layoutprobe's own headers"),
        ("hipFree(p)", "call to __host__ function from __global__ function"),
        ("__half h = 1; *p = h * 2.0f", "ambiguous"),
    ],
)
def test_a_missing_name_says_so(device: Device, statement: str, message: str) -> None:
    refusal = device.refusal(f'extern "C" __global__ void k(float* p) {{ {statement}; }}')
    assert message in refusal


def test_a_missing_header_says_so(device: Device) -> None:
    refusal = device.refusal("", "#include <hip/hip_texture_types.h>\n")
    assert "layoutprobe's own HIP headers have no <hip/hip_texture_types.h>" in refusal
    assert "the emulator has no textures" in refusal
    # All that follows from the missing header is left out.
    refusal = device.refusal("rocwmma::float16_t x;", "#include <rocwmma/rocwmma.hpp>\n")
    assert "have no <rocwmma/rocwmma.hpp>" in refusal
    assert "undeclared" not in refusal
    refusal = device.refusal("", "#include <hip/hip_unheard_of.h>\n")
    assert "own headers have no <hip/hip_unheard_of.h>; they have <hip/hip_bf16.h>" in refusal
    assert "<hip/hip_texture_types.h>" not in refusal  # a stub is none that they have
    refusal = device.refusal("", '#include "mine.h"\n')
    assert "'mine.h' is in none of the include directories" in refusal


@pytest.mark.long
def test_every_header_compiles_alone_and_twice(device: Device) -> None:
    folder = headers.OWN / "hip"
    for header in sorted(folder.glob("*.h")):
        if not header.read_text("utf-8").startswith("#error"):
            device.compile("", f"#include <hip/{header.name}>\n" * 2)


def test_lines_of_inlined_header_code_are_the_users(device: Device) -> None:
    """A finding must point at the user's call, not into a header."""
    code = load(
        device.compile('extern "C" __global__ void k(float* p) {\n  __syncthreads();\n  *p = expf(*p);\n}\n')
    )
    kernel = code.kernel("k")
    found = {
        str(code.lines.find(address) or "") for address in range(kernel.entry, kernel.entry + kernel.size, 4)
    }
    assert {"kernel.hip:6", "kernel.hip:7"} <= found
    assert all(place.startswith("kernel.hip:") for place in found - {""})


def test_the_users_headers_go_first(device: Device, tmp_path: Path) -> None:
    mine = tmp_path / "mine" / "hip"
    mine.mkdir(parents=True)
    (mine / "hip_runtime.h").write_text("#define __global__ __attribute__((global))\n#define MINE 1\n")
    text = "#ifndef MINE\n#error theirs\n#endif\n__global__ void k() {}\n"
    device.compile(text, "#include <hip/hip_runtime.h>\n", (tmp_path / "mine",))


def test_an_edited_header_is_compiled_anew(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "include"
    shutil.copytree(headers.OWN, own)
    monkeypatch.setattr(headers, "OWN", own)
    text = 'extern "C" __global__ void k(int* p) { *p = warpSize; }'
    before = device.compile(text)
    assert device.compile(text) == before
    header = own / "hip" / "layoutprobe_builtins.h"
    header.write_text(header.read_text().replace("int warpSize = 32", "int warpSize = 33"))
    assert device.compile(text) != before


def fake_rocm(root: Path, compiler: Compiler) -> Compiler:
    """A compiler that lies beside HIP headers, and that passes -nogpuinc itself, which was left out."""
    (root / "include" / "hip").mkdir(parents=True)
    (root / "llvm" / "bin").mkdir(parents=True)
    header = "#define __global__ __attribute__((global))\n#define ROCM 1\n"
    (root / "include" / "hip" / "hip_runtime.h").write_text(header)
    clang = root / "llvm" / "bin" / "clang"
    command = " ".join(f"'{word}'" for word in compiler.command)
    clang.write_text(
        "#!/bin/sh\n"
        'case " $* " in\n'
        f'  *" -nogpuinc "*|*" -c "*) exec {command} "$@" ;;\n'
        f'  *) exec {command} -nogpuinc -nogpulib -I"{root}/include" "$@" ;;\n'
        "esac\n"
    )
    clang.chmod(0o755)
    return Compiler("rocm", (str(clang),), compiler.version, compiler.linker, compiler.processors)


def test_rocm_headers_serve_where_they_are_installed(tmp_path: Path) -> None:
    compiler = fake_rocm(tmp_path / "rocm", find_compiler(target=DEFAULT))
    assert headers.rocm_include(compiler) == tmp_path / "rocm" / "include"
    assert headers.include_dirs(compiler) == ()
    source = tmp_path / "k.hip"
    source.write_text(
        "#include <hip/hip_runtime.h>\n#ifndef ROCM\n#error own\n#endif\n__global__ void k() {}\n"
    )
    assert "_Z1kv" in load(compile_hip(source, target=DEFAULT, compiler=compiler).data).kernels
    source.write_text("#include <hip/hip_runtime.h>\n__global__ void k() { nothing(); }\n")
    with pytest.raises(ToolchainError, match="undeclared identifier 'nothing'") as caught:
        compile_hip(source, target=DEFAULT, compiler=compiler)
    assert "layoutprobe's own" not in str(caught.value)


def test_a_source_without_hip_headers_does_without_rocm(tmp_path: Path) -> None:
    """The probes need no device libraries; ROCm's wrapper would want a C++ library of the host."""
    compiler = fake_rocm(tmp_path / "rocm", find_compiler(target=DEFAULT))
    source = tmp_path / "k.hip"
    source.write_text("#ifdef ROCM\n#error wrapper\n#endif\n__attribute__((global)) void k() {}\n")
    assert compile_hip(source, target=DEFAULT, compiler=compiler).data


def test_the_compilers_own_headers_are_found(device: Device) -> None:
    device.compile(
        "static_assert(sizeof(uint32_t) == 4 && sizeof(size_t) == 8 && FLT_MAX > 1);",
        "#include <stdint.h>\n#include <stddef.h>\n#include <float.h>\n#include <limits.h>\n" + INCLUDES,
    )
