// C = alpha * A * B + beta * C in f16 -> f32, for any M, N, K: the kernel that tests plant faults in.
//
// 32 x 32 block tile, K step 16, four waves of 16 x 16, two LDS buffers, plain element loads.
// grid: (N+31)/32, (M+31)/32  block: 128
#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>

typedef _Float16 half16 __attribute__((ext_vector_type(16)));
typedef float float8 __attribute__((ext_vector_type(8)));

constexpr int BLOCK = 32, DEPTH = 16, STRIDE = 24;

extern "C" __global__ void __launch_bounds__(128)
gemm(const _Float16* A, const _Float16* B, float* C, int M, int N, int K, float alpha, float beta)
{
  __shared__ _Float16 a_lds[2][BLOCK * STRIDE];  // [m][k]
  __shared__ _Float16 b_lds[2][BLOCK * STRIDE];  // [n][k]
  const int lane = threadIdx.x % 32, wave = threadIdx.x / 32;
  const int block_m = blockIdx.y * BLOCK, block_n = blockIdx.x * BLOCK;
  const int wave_m = wave / 2 * 16, wave_n = wave % 2 * 16;

  auto stage = [&](int buffer, int k0) {
    for (int i = threadIdx.x; i < BLOCK * DEPTH; i += 128) {
      const int a_row = i / DEPTH, a_col = i % DEPTH, b_row = i / BLOCK, b_col = i % BLOCK;
      const bool a_in = block_m + a_row < M && k0 + a_col < K;
      const bool b_in = k0 + b_row < K && block_n + b_col < N;
      a_lds[buffer][a_row * STRIDE + a_col] = a_in ? A[(block_m + a_row) * K + k0 + a_col] : _Float16(0);
      b_lds[buffer][b_col * STRIDE + b_row] = b_in ? B[(k0 + b_row) * N + block_n + b_col] : _Float16(0);
    }
  };

  stage(0, 0);
  __syncthreads();
  float8 acc = {};
  int buffer = 0;
  for (int k0 = 0; k0 < K; k0 += DEPTH) {
    if (k0 + DEPTH < K) stage(buffer ^ 1, k0 + DEPTH);
    half16 a, b;
#pragma unroll
    for (int k = 0; k < 16; ++k) a[k] = a_lds[buffer][(wave_m + lane % 16) * STRIDE + k];
#pragma unroll
    for (int k = 0; k < 16; ++k) b[k] = b_lds[buffer][(wave_n + lane % 16) * STRIDE + k];
    acc = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, acc);
    buffer ^= 1;
    __syncthreads();
  }

#pragma unroll
  for (int v = 0; v < 8; ++v) {
    const int row = block_m + wave_m + 2 * v + lane / 16, col = block_n + wave_n + lane % 16;
    if (row < M && col < N) {
      const size_t at = (size_t)row * N + col;
      C[at] = alpha * acc[v] + (beta != 0 ? beta * C[at] : 0.0f);
    }
  }
}
