// One wave makes a 16 x 16 tile of one slice of K, for gfx942; slices add to C by atomics, which is zero before.
// grid: (M + 15) / 16, (N + 15) / 16, (K + 31) / 32  block: 64
#include <hip/hip_runtime.h>
typedef _Float16 half4 __attribute__((ext_vector_type(4)));
typedef float float4_ __attribute__((ext_vector_type(4)));

extern "C" __global__ void gemm(const _Float16* A, const _Float16* B, float* C, int M, int N, int K) {
  const int l = threadIdx.x % 16, quad = threadIdx.x / 16;
  const int m0 = blockIdx.x * 16, n0 = blockIdx.y * 16, first = blockIdx.z * 32, end = min(K, first + 32);
  float4_ acc = {};
  for (int k0 = first; k0 < end; k0 += 16) {
    half4 a, b;
    for (int i = 0; i < 4; ++i) {
      const int k = k0 + quad * 4 + i;
      a[i] = m0 + l < M && k < end ? A[(m0 + l) * K + k] : (_Float16)0;
      b[i] = n0 + l < N && k < end ? B[k * N + n0 + l] : (_Float16)0;
    }
    acc = __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, acc, 0, 0, 0);
  }
  for (int i = 0; i < 4; ++i) {
    const int row = m0 + quad * 4 + i, col = n0 + l;
    if (row < M && col < N) atomicAdd(&C[row * N + col], acc[i]);
  }
}
