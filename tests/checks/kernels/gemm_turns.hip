// Workgroups share a 16 x 16 tile of C and split its K; they take turns to add their sums to it.
// -DEARLY: the turn goes on before the sum is stored. -DUNTOLD: nobody waits for a turn.
// grid: N/16, M/16, 2  block: 32
#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>

typedef _Float16 half16 __attribute__((ext_vector_type(16)));
typedef float float8 __attribute__((ext_vector_type(8)));

extern "C" __global__ void __launch_bounds__(32)
gemm(const _Float16* A, const _Float16* B, float* C, int M, int N, int K, int* turns)
{
  const int lane = threadIdx.x, split = blockIdx.z;
  const int m = blockIdx.y * 16 + lane % 16, n = blockIdx.x * 16 + lane % 16;
  float8 acc = {};
  for (int k0 = split * 16; k0 < K; k0 += 32) {
    half16 a, b;
#pragma unroll
    for (int k = 0; k < 16; ++k) {
      a[k] = A[m * K + k0 + k];
      b[k] = B[(k0 + k) * N + n];
    }
    acc = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, acc);
  }

  int* turn = &turns[blockIdx.y * gridDim.x + blockIdx.x];
#ifndef UNTOLD
  if (lane == 0)
    while (__hip_atomic_load(turn, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) != split) __builtin_amdgcn_s_sleep(1);
#endif
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
#ifdef EARLY
  if (lane == 0) __hip_atomic_store(turn, split + 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
#endif
#pragma unroll
  for (int v = 0; v < 8; ++v) {
    float* at = &C[(blockIdx.y * 16 + 2 * v + lane / 16) * N + n];
    *at = (split ? *at : 0) + acc[v];  // takes its turn
  }
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
#ifndef EARLY
  if (lane == 0) __hip_atomic_store(turn, split + 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
#endif
}
