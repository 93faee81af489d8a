// D = A @ B in signed bytes, sums in 32 bits. A row-major through LDS, B column-major directly.
// M multiple of 32, N of 16, K of 32.  grid: N/16, M/32  block: 64
// -DWRONG_SIGN: B is taken as unsigned.
#include <hip/hip_runtime.h>

typedef int int4_ __attribute__((ext_vector_type(4)));
typedef int int8_ __attribute__((ext_vector_type(8)));

extern "C" __global__ void __launch_bounds__(64)
gemm(const signed char* __restrict__ A, const signed char* __restrict__ B, int* __restrict__ D, int M, int N, int K)
{
  __shared__ __attribute__((aligned(16))) signed char tile[32][48];
  const int lane = threadIdx.x % 32, wave = threadIdx.x / 32;
  const int m0 = blockIdx.y * 32, n0 = blockIdx.x * 16;
  int8_ acc = {};
  for (int k0 = 0; k0 < K; k0 += 32) {
    __syncthreads();
    *(int4_*)&tile[threadIdx.x / 2][threadIdx.x % 2 * 16] =
        *(const int4_*)(A + (m0 + threadIdx.x / 2) * K + k0 + threadIdx.x % 2 * 16);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 32; k += 16) {
      const int4_ a = *(const int4_*)&tile[wave * 16 + lane % 16][k];
      const int4_ b = *(const int4_*)(B + (n0 + lane % 16) * K + k0 + k);
#ifdef WRONG_SIGN
      acc = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, a, false, b, acc, false);
#else
      acc = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, a, true, b, acc, false);
#endif
    }
  }
#pragma unroll
  for (int v = 0; v < 8; ++v)
    D[(m0 + wave * 16 + 2 * v + lane / 16) * N + n0 + lane % 16] = acc[v];
}
