// One wave, one tile of 16 x 16; steps of K go to two accumulators in turns, which are added up in the end.
// grid: 1, 1  block: 32
#include <hip/hip_runtime.h>
typedef _Float16 half16 __attribute__((ext_vector_type(16)));
typedef float float8 __attribute__((ext_vector_type(8)));

extern "C" __global__ void gemm(const _Float16* A, const _Float16* B, float* C, int M, int N, int K) {
  const int lane = threadIdx.x, l = lane % 16;
  float8 even = {}, odd = {};
  for (int k0 = 0; k0 < K; k0 += 16) {
    half16 a, b;
    for (int i = 0; i < 16; ++i) {
      const int k = k0 + i;
      a[i] = l < M && k < K ? A[l * K + k] : (_Float16)0;
      b[i] = l < N && k < K ? B[k * N + l] : (_Float16)0;
    }
    if (k0 & 16)
      odd = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, odd);
    else
      even = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, even);
  }
  even += odd;
  for (int v = 0; v < 8; ++v) {
    const int row = 2 * v + lane / 16;
    if (row < M && l < N) C[row * N + l] = even[v];
  }
}
