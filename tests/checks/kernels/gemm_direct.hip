// One wave per 16 x 16 tile, operands straight from global memory, any strides. With -DTRANSPOSED
// the kernel multiplies B^T by A^T, so that a lane's accumulators lie along a row of C. A tile beyond
// the edge loads the last row or column again, and does not store it. With -DFORM the element types.
// grid: (N+15)/16, (M+15)/16  block: 32
#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>

#ifndef FORM
#define FORM 0  // 0: f16 -> f32, 1: bf16 -> f32, 2: f16 -> f16, 3: bf16 -> bf16, 4: u8 -> i32, 5: f16 -> f16 in f32
#endif

typedef float float8 __attribute__((ext_vector_type(8)));
typedef _Float16 half16 __attribute__((ext_vector_type(16)));
typedef short short16 __attribute__((ext_vector_type(16)));
typedef int int4x __attribute__((ext_vector_type(4)));
typedef int int8x __attribute__((ext_vector_type(8)));

#if FORM == 0 || FORM == 5
typedef _Float16 Element;
typedef half16 Fragment;
typedef float8 Accumulator;
#define MULTIPLY(a, b, c) __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, c)
#define RESULT(acc, v) acc[v]
#elif FORM == 1
typedef short Element;
typedef short16 Fragment;
typedef float8 Accumulator;
#define MULTIPLY(a, b, c) __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(a, b, c)
#define RESULT(acc, v) acc[v]
#elif FORM == 2
typedef _Float16 Element;
typedef half16 Fragment;
typedef half16 Accumulator;
#define MULTIPLY(a, b, c) __builtin_amdgcn_wmma_f16_16x16x16_f16_w32(a, b, c, true)
#define RESULT(acc, v) acc[2 * v + 1]
#elif FORM == 3
typedef short Element;
typedef short16 Fragment;
typedef short16 Accumulator;
#define MULTIPLY(a, b, c) __builtin_amdgcn_wmma_bf16_16x16x16_bf16_w32(a, b, c, false)
#define RESULT(acc, v) acc[2 * v]
#elif FORM == 4
typedef unsigned char Element;
typedef int4x Fragment;
typedef int8x Accumulator;
#define MULTIPLY(a, b, c) __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(false, a, false, b, c, false)
#define RESULT(acc, v) acc[v]
#endif
#if FORM == 1 || FORM == 0
typedef float Output;
#elif FORM == 4
typedef int Output;
#elif FORM == 5
typedef _Float16 Output;
#else
typedef Element Output;
#endif

union Operand {
  Element element[16];
  Fragment fragment;
};

extern "C" __global__ void __launch_bounds__(32)
gemm(const Element* A, const Element* B, Output* C, int M, int N, int K,
     int a_row, int a_col, int b_row, int b_col, int c_row)
{
  const int lane = threadIdx.x, line = lane % 16;
  const int m = blockIdx.y * 16 + line, n = blockIdx.x * 16 + line;
  const int from_m = m < M ? m : M - 1, from_n = n < N ? n : N - 1;

  Accumulator acc = {};
  for (int k0 = 0; k0 < K; k0 += 16) {
    Operand a, b;
#pragma unroll
    for (int k = 0; k < 16; ++k) {
      const bool in = k0 + k < K;
      a.element[k] = in ? A[from_m * a_row + (k0 + k) * a_col] : Element(0);
      b.element[k] = in ? B[(k0 + k) * b_row + from_n * b_col] : Element(0);
    }
#ifdef TRANSPOSED
    acc = MULTIPLY(b.fragment, a.fragment, acc);
#else
    acc = MULTIPLY(a.fragment, b.fragment, acc);
#endif
  }

#pragma unroll
  for (int v = 0; v < 8; ++v) {
    const int apart = 2 * v + lane / 16;
#ifdef TRANSPOSED
    const int row = blockIdx.y * 16 + line, col = blockIdx.x * 16 + apart;
#else
    const int row = blockIdx.y * 16 + apart, col = blockIdx.x * 16 + line;
#endif
    if (row < M && col < N) C[row * c_row + col] = Output(RESULT(acc, v));
  }
}
