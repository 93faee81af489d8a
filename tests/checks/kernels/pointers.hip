#include <hip/hip_runtime.h>

typedef _Float16 half16 __attribute__((ext_vector_type(16)));
typedef float float8 __attribute__((ext_vector_type(8)));

// C[g] = A[g] * B[g] + bias[g] of as many products as there are pointers, each wherever it lies. A wave makes a tile.
extern "C" __global__ void batched(const _Float16* const* A, const _Float16* const* B, const float* const* bias,
                                   float* const* C, int M, int N, int K) {
  __shared__ _Float16 As[16][24], Bs[16][24];
  const int g = blockIdx.z, row0 = blockIdx.y * 16, col0 = blockIdx.x * 16, lane = threadIdx.x;
  const _Float16* a_of = A[g];
  const _Float16* b_of = B[g];
  float8 acc = {};
  for (int k0 = 0; k0 < K; k0 += 16) {
    for (int e = lane; e < 256; e += 32) {
      const int r = e / 16, c = e % 16;
      As[r][c] = row0 + r < M && k0 + c < K ? a_of[(row0 + r) * K + k0 + c] : (_Float16)0.f;
      Bs[r][c] = k0 + r < K && col0 + c < N ? b_of[(k0 + r) * N + col0 + c] : (_Float16)0.f;
    }
    __syncthreads();
    half16 a, b;
    for (int i = 0; i < 16; ++i) {
      a[i] = As[lane % 16][i];
      b[i] = Bs[i][lane % 16];
    }
    acc = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, acc);
    __syncthreads();
  }
  const int col = col0 + lane % 16;
  float* c_of = C[g];
  const float added = col < N ? bias[g][col] : 0.f;
  for (int i = 0; i < 8; ++i) {
    const int row = row0 + 2 * i + lane / 16;
    if (row < M && col < N) c_of[row * N + col] = acc[i] + added;
  }
}
