#include "hip/hip_runtime.h"
#include "hip/hip_fp16.h"
#include <cmath>
typedef _Float16 v16h __attribute__((ext_vector_type(16)));
typedef float v8f __attribute__((ext_vector_type(8)));
static __device__ __forceinline__ float gelu_tanh(float x) { return 0.5f * x * (1.f + tanhf(0.7978845608f * (x + 0.044715f * x * x * x))); }
// out is stored transposed: out[n * M + m] = gelu(acc + bias[n]) + residual[n * M + m]
__global__ void gemm_gelu_residual_t(const _Float16* A, const _Float16* B, const float* bias, const float* residual, float* out, int M, int N, int K) {
  const int lane = threadIdx.x, r = blockIdx.y * 16 + lane % 16, c = blockIdx.x * 16 + lane % 16;
  v8f acc = {};
  for (int k = 0; k < K; k += 16) {
    v16h a, b;
    for (int i = 0; i < 16; ++i) {
      a[i] = r < M && k + i < K ? A[r * K + k + i] : (_Float16)0;
      b[i] = c < N && k + i < K ? B[(k + i) * N + c] : (_Float16)0;
    }
    acc = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, acc);
  }
  for (int i = 0; i < 8; ++i) {
    int row = blockIdx.y * 16 + 2 * i + lane / 16;
    if (row < M && c < N) out[c * M + row] = gelu_tanh(acc[i] + bias[c]) + residual[c * M + row];
  }
}
void go(const _Float16* A, const _Float16* B, const float* bias, const float* residual, float* out, int M, int N, int K) {
  dim3 blk(32, 1, 1), grd((N + 16 - 1) / 16, (M + 16 - 1) / 16);
  gemm_gelu_residual_t<<<grd, blk, 0, 0>>>(A, B, bias, residual, out, M, N, K);
}
