// D = A @ B without LDS: each wave loads its fragments directly to registers, the next ones while it
// multiplies the present ones. 32 x 32 a wave. f16, or bf16 with -DBF16. A row-major, or column-major
// with -DA_COLUMNS; B column-major, or row-major with -DB_ROWS. M, N multiples of 32, K of 16.
// grid: N/32, M/32  block: 32
// -DWRONG_HALVES: lanes 16-31 hold other rows of A than lanes 0-15, and no copy.
// -DWRONG_PREFETCH: nothing holds back the last prefetch; it reads beyond A and B.
#include <hip/hip_runtime.h>

#ifdef BF16
typedef short element;
typedef short fragment __attribute__((ext_vector_type(16)));
#define WMMA __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32
#else
typedef _Float16 element;
typedef _Float16 fragment __attribute__((ext_vector_type(16)));
#define WMMA __builtin_amdgcn_wmma_f32_16x16x16_f16_w32
#endif
typedef float float8 __attribute__((ext_vector_type(8)));

__device__ static inline fragment load(const element* start, int step)
{
  if (step == 1) return *(const fragment*)__builtin_assume_aligned(start, 32);
  fragment f;
#pragma unroll
  for (int k = 0; k < 16; ++k) f[k] = start[k * step];
  return f;
}

extern "C" __global__ void __launch_bounds__(32)
gemm(const element* __restrict__ A, const element* __restrict__ B, float* __restrict__ D, int M, int N, int K)
{
  const int lane = threadIdx.x, m0 = blockIdx.y * 32, n0 = blockIdx.x * 32;
#ifdef WRONG_HALVES
  const int row = (lane + lane / 16) % 16;
#else
  const int row = lane % 16;
#endif
  const int col = lane % 16;
#ifdef A_COLUMNS
  const int a_line = 1, a_step = M;
#else
  const int a_line = K, a_step = 1;
#endif
#ifdef B_ROWS
  const int b_line = 1, b_step = N;
#else
  const int b_line = K, b_step = 1;
#endif

  float8 acc[2][2] = {};
  fragment a[2], b[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    a[i] = load(A + (m0 + 16 * i + row) * a_line, a_step);
    b[i] = load(B + (n0 + 16 * i + col) * b_line, b_step);
  }
  for (int k0 = 0; k0 < K; k0 += 16) {
#ifdef WRONG_PREFETCH
    const int next = k0 + 16;
#else
    const int next = k0 + 16 < K ? k0 + 16 : k0;
#endif
    fragment a_next[2], b_next[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      a_next[i] = load(A + (m0 + 16 * i + row) * a_line + next * a_step, a_step);
      b_next[i] = load(B + (n0 + 16 * i + col) * b_line + next * b_step, b_step);
    }
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
      for (int j = 0; j < 2; ++j) acc[i][j] = WMMA(a[i], b[j], acc[i][j]);
#pragma unroll
    for (int i = 0; i < 2; ++i) a[i] = a_next[i], b[i] = b_next[i];
  }
#pragma unroll
  for (int i = 0; i < 2; ++i)
#pragma unroll
    for (int j = 0; j < 2; ++j)
#pragma unroll
      for (int v = 0; v < 8; ++v)
        D[(m0 + 16 * i + 2 * v + lane / 16) * N + n0 + 16 * j + col] = acc[i][j][v];
}
