// One wave multiplies 32 x 32; the fragments of 32 columns of A lie in an array in registers, and a loop that is not
// unrolled goes through it.
#include <hip/hip_runtime.h>

typedef float tile_t __attribute__((ext_vector_type(16)));

extern "C" __global__ void indexed_fragments(const float* A, const float* B, float* D, int M, int N, int K) {
  const int lane = threadIdx.x, row = blockIdx.y * 32 + lane % 32, col = blockIdx.x * 32 + lane % 32;
  tile_t d = {};
  for (int k = 0; k < K; k += 32) {
    float a[16], b[16];
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      a[i] = A[row * K + k + 2 * i + lane / 32];
      b[i] = B[col * K + k + 2 * i + lane / 32];
    }
#pragma unroll 1
    for (int i = 0; i < 16; ++i) {
#ifdef WRONG_NEXT
      d = __builtin_amdgcn_mfma_f32_32x32x2f32(a[i], b[(i + 1) & 15], d, 0, 0, 0);
#else
      d = __builtin_amdgcn_mfma_f32_32x32x2f32(a[i], b[i], d, 0, 0, 0);
#endif
    }
  }
#pragma unroll
  for (int i = 0; i < 16; ++i) D[(blockIdx.y * 32 + 8 * (i / 4) + 4 * (lane / 32) + i % 4) * N + col] = d[i];
}
