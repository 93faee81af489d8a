// Two waves share a 16 x 16 tile and take every other K step; their sums meet in LDS, or (-DATOMIC) in
// memory. Each wave has two accumulators that it adds up itself. M, N multiples of 16, K of 64.
// grid: N/16, M/16  block: 64
#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>

typedef _Float16 half16 __attribute__((ext_vector_type(16)));
typedef float float8 __attribute__((ext_vector_type(8)));

extern "C" __global__ void __launch_bounds__(64)
gemm(const _Float16* A, const _Float16* B, float* C, int M, int N, int K)
{
  const int lane = threadIdx.x % 32, wave = threadIdx.x / 32;
  const int m = blockIdx.y * 16 + lane % 16, n = blockIdx.x * 16 + lane % 16;

  float8 acc[2] = {};
  for (int k0 = wave * 32; k0 < K; k0 += 64)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      half16 a, b;
#pragma unroll
      for (int k = 0; k < 16; ++k) {
        a[k] = A[m * K + k0 + half * 16 + k];
        b[k] = B[(k0 + half * 16 + k) * N + n];
      }
      acc[half] = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, acc[half]);
    }
  const float8 sum = acc[0] + acc[1];

#ifdef ATOMIC
#pragma unroll
  for (int v = 0; v < 8; ++v)
    __builtin_amdgcn_global_atomic_fadd_f32(
        (__attribute__((address_space(1))) float*)&C[(blockIdx.y * 16 + 2 * v + lane / 16) * N + n], sum[v]);
#else
  __shared__ float parts[8][32];
  if (wave == 1)
#pragma unroll
    for (int v = 0; v < 8; ++v) parts[v][lane] = sum[v];
  __syncthreads();
  if (wave == 0)
#pragma unroll
    for (int v = 0; v < 8; ++v)
      C[(blockIdx.y * 16 + 2 * v + lane / 16) * N + n] = sum[v] + parts[v][lane];
#endif
}
