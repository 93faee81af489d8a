// Products of f32 by three of bf16, of what the upper halves hold and what they leave; one wave, a tile of 16 x 16.
// grid: (N + 15) / 16, (M + 15) / 16  block: 32
#include <hip/hip_runtime.h>
typedef short short16 __attribute__((ext_vector_type(16)));
typedef float float8 __attribute__((ext_vector_type(8)));

__device__ void split(float x, short& high, short& low) {
  const unsigned upper = __float_as_uint(x) & 0xffff0000u;
  high = (short)(upper >> 16);
  low = (short)(__float_as_uint(x - __uint_as_float(upper)) >> 16);
}

extern "C" __global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int lane = threadIdx.x, l = lane % 16, row = blockIdx.y * 16 + l, col = blockIdx.x * 16 + l;
  float8 acc = {};
  for (int k0 = 0; k0 < K; k0 += 16) {
    short16 a, b, a_low, b_low;
    for (int i = 0; i < 16; ++i) {
      const int k = k0 + i;
      short high, low;
      split(row < M && k < K ? A[row * K + k] : 0.0f, high, low);
      a[i] = high, a_low[i] = low;
      split(col < N && k < K ? B[k * N + col] : 0.0f, high, low);
      b[i] = high, b_low[i] = low;
    }
    acc = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(a_low, b, acc);
    acc = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(a, b_low, acc);
    acc = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(a, b, acc);
  }
  for (int v = 0; v < 8; ++v) {
    const int r = blockIdx.y * 16 + 2 * v + lane / 16;
    if (r < M && col < N) C[r * N + col] = acc[v];
  }
}
