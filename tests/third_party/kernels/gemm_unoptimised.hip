// D = A @ B for -O0: everything goes through scratch, nothing is unrolled. A row-major, B column-major.
// M, N, K multiples of 16.  grid: N/16, M/16  block: 32
#include <hip/hip_runtime.h>

typedef _Float16 half16 __attribute__((ext_vector_type(16)));
typedef float float8 __attribute__((ext_vector_type(8)));

extern "C" __global__ void __launch_bounds__(32)
gemm(const _Float16* A, const _Float16* B, float* D, int M, int N, int K)
{
  const int lane = threadIdx.x, m0 = blockIdx.y * 16, n0 = blockIdx.x * 16;
  float8 acc = {};
  for (int k0 = 0; k0 < K; k0 += 16) {
    const half16 a = *(const half16*)(A + (m0 + lane % 16) * K + k0);
    const half16 b = *(const half16*)(B + (n0 + lane % 16) * K + k0);
    acc = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, acc);
  }
  float* d = D + (m0 + lane / 16) * N + n0 + lane % 16;
  d[0] = acc[0], d[2 * N] = acc[1], d[4 * N] = acc[2], d[6 * N] = acc[3];
  d[8 * N] = acc[4], d[10 * N] = acc[5], d[12 * N] = acc[6], d[14 * N] = acc[7];
}
