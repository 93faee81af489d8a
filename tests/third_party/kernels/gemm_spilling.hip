// D = A @ B with more accumulators than the registers it is allowed: 64 x 64 a wave in 64 VGPRs, so that
// the compiler spills to scratch. M, N multiples of 64, K of 16. A row-major, B column-major.
// grid: N/64, M/64  block: 32
#include <hip/hip_runtime.h>

typedef _Float16 half16 __attribute__((ext_vector_type(16)));
typedef float float8 __attribute__((ext_vector_type(8)));

extern "C" __global__ void __launch_bounds__(32) __attribute__((amdgpu_num_vgpr(64)))
gemm(const _Float16* __restrict__ A, const _Float16* __restrict__ B, float* __restrict__ D, int M, int N, int K)
{
  const int lane = threadIdx.x % 32, m0 = blockIdx.y * 64, n0 = blockIdx.x * 64;
  float8 acc[4][4] = {};
  for (int k0 = 0; k0 < K; k0 += 16)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const half16 a = *(const half16*)(A + (m0 + 16 * i + lane % 16) * K + k0);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const half16 b = *(const half16*)(B + (n0 + 16 * j + lane % 16) * K + k0);
        acc[i][j] = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, acc[i][j]);
      }
    }
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
      for (int v = 0; v < 8; ++v)
        D[(m0 + 16 * i + 2 * v + lane / 16) * N + n0 + 16 * j + lane % 16] = acc[i][j][v];
}
