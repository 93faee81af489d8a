// C = A * B, one wave per 16 x 16 tile, operands straight from global memory, for every type of a dense
// matrix instruction; RDNA4 in both wave sizes, gfx11 in wave64. M, N and K are multiples of 16.
// grid: N/16, M/16  block: one wave
typedef unsigned int u32;
typedef _Float16 half;

#ifndef FORM
#define FORM 0  // 0: f16 -> f32, 1: bf16 -> f32, 2: f16 -> f16, 3: bf16 -> bf16, 4: u8 -> i32, 5: fp8 -> f32
#endif

#if __GFX12__
#ifdef WAVE64
#define BUILTIN(name) __builtin_amdgcn_wmma_##name##_w64_gfx12
constexpr u32 kLanes = 64, kA = 4, kD = 4;
#else
#define BUILTIN(name) __builtin_amdgcn_wmma_##name##_w32_gfx12
constexpr u32 kLanes = 32, kA = 8, kD = 8;
#endif
constexpr u32 kPacked = 1;  // 16-bit results fill their registers
#define CALL_16(name) BUILTIN(name)(a.fragment, b.fragment, acc)
#else
#define BUILTIN(name) __builtin_amdgcn_wmma_##name##_w64
constexpr u32 kLanes = 64, kA = 16, kD = 4, kPacked = 2;
#define CALL_16(name) BUILTIN(name)(a.fragment, b.fragment, acc, OPSEL)
#endif
#ifndef OPSEL
#define OPSEL 0
#endif

template <typename T, u32 N> struct Of { typedef T type __attribute__((ext_vector_type(N))); };
template <typename T> struct Of<T, 1> { typedef T type; };

#if FORM == 0
typedef half Element; typedef float Result;
#define MULTIPLY BUILTIN(f32_16x16x16_f16)(a.fragment, b.fragment, acc)
#elif FORM == 1
typedef short Element; typedef float Result;
#define MULTIPLY BUILTIN(f32_16x16x16_bf16)(a.fragment, b.fragment, acc)
#elif FORM == 2
typedef half Element; typedef half Result;
#define MULTIPLY CALL_16(f16_16x16x16_f16)
#elif FORM == 3
typedef short Element; typedef short Result;
#define MULTIPLY CALL_16(bf16_16x16x16_bf16)
#elif FORM == 4
typedef unsigned char Element; typedef int Result;
#define MULTIPLY BUILTIN(i32_16x16x16_iu8)(false, a.fragment, false, b.fragment, acc, false)
#else
typedef unsigned char Element; typedef float Result;
#define MULTIPLY BUILTIN(f32_16x16x16_fp8_fp8)(a.fragment, b.fragment, acc)
#endif
#if FORM == 2 || FORM == 3
constexpr u32 kStep = kPacked, kFirst = OPSEL;
#else
constexpr u32 kStep = 1, kFirst = 0;
#endif
#if FORM >= 4
typedef Of<int, kA / 4>::type Fragment;
#else
typedef Of<Element, kA>::type Fragment;
#endif
typedef Of<Result, kD * kStep>::type Accumulator;
union Operand { Element element[kA]; Fragment fragment; };

// AMD matrix instruction calculator: k of element e of a lane's row of A (and column of B).
__attribute__((device)) u32 k_of(u32 lane, u32 e) {
#if !__GFX12__
  return e;
#elif defined(WAVE64)
  return sizeof(Element) == 2 ? 8 * (lane / 32) + 4 * (lane / 16 % 2) + e : 8 * (lane / 16 % 2) + 4 * (lane / 32) + e;
#else
  return sizeof(Element) == 2 ? 8 * (e / 4) + 4 * (lane / 16) + e % 4 : 8 * (lane / 16) + e;
#endif
}
// Row of element v of a lane's D.
__attribute__((device)) u32 row_of(u32 lane, u32 v) {
#if !__GFX12__
  return 4 * v + lane / 16;
#elif defined(WAVE64)
  return 8 * (lane / 16 % 2) + 4 * (lane / 32) + v;
#else
  return 8 * (lane / 16) + v;
#endif
}

extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(kLanes, kLanes)))
gemm(const Element* A, const Element* B, Result* C, u32 M, u32 N, u32 K) {
  const u32 lane = __builtin_amdgcn_workitem_id_x(), line = lane % 16;
  const u32 row = 16 * __builtin_amdgcn_workgroup_id_y(), col = 16 * __builtin_amdgcn_workgroup_id_x();
  Accumulator acc = {};
  for (u32 k = 0; k < K; k += 16) {
    Operand a, b;
#pragma unroll
    for (u32 e = 0; e < kA; ++e) {
      a.element[e] = A[(row + line) * K + k + k_of(lane, e)];
      b.element[e] = B[(k + k_of(lane, e)) * N + col + line];
    }
    acc = MULTIPLY;
  }
#pragma unroll
  for (u32 v = 0; v < kD; ++v) C[(row + row_of(lane, v)) * N + col + line] = acc[kStep * v + kFirst];
}
