// C = relu(A @ B * scale + bias) + res, in f16: one tile of 16 x 16 a wave, without LDS.
#include <hip/hip_runtime.h>
typedef _Float16 half16 __attribute__((ext_vector_type(16)));
typedef float float8 __attribute__((ext_vector_type(8)));
extern "C" __global__ __launch_bounds__(64) void gemm(const _Float16* A, const _Float16* B, const float* bias,
                                                      const float* scale, const _Float16* res, _Float16* C, int M,
                                                      int N, int K) {
  const int wave = threadIdx.x / 32, lane = threadIdx.x % 32, l = lane % 16, half = lane / 16;
  const int i0 = blockIdx.y * 32 + wave * 16, j0 = blockIdx.x * 16;
  float8 acc = {};
  for (int k = 0; k < K; k += 16) {
    half16 a, b;
    for (int e = 0; e < 16; ++e) a[e] = i0 + l < M && k + e < K ? A[(i0 + l) * K + k + e] : (_Float16)0;
    for (int e = 0; e < 16; ++e) b[e] = j0 + l < N && k + e < K ? B[(k + e) * N + j0 + l] : (_Float16)0;
    acc = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, acc);
  }
  for (int v = 0; v < 8; ++v) {
    const int row = i0 + 2 * v + half, col = j0 + l;
    if (row >= M || col >= N) continue;
    float x = acc[v];
    x *= scale[row];
    x += bias[col];
    x = x > 0 ? x : 0;
    x += (float)res[row * N + col];
    C[row * N + col] = (_Float16)x;
  }
}
