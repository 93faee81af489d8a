#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>
#include <cstdio>
typedef _Float16 v16h __attribute__((ext_vector_type(16)));
typedef float v8f __attribute__((ext_vector_type(8)));
__global__ __launch_bounds__(32) void splitk_partial(const half* A, const half* B, float* workspace, int M, int N, int K, int k_per_split) {
  const int lane = threadIdx.x, split = blockIdx.z;
  const int r = blockIdx.y * 16 + lane % 16, c = blockIdx.x * 16 + lane % 16;
  const int k_begin = split * k_per_split, k_end = min(K, k_begin + k_per_split);
  v8f acc = {};
  for (int k = k_begin; k < k_end; k += 16) {
    v16h a, b;
    for (int i = 0; i < 16; ++i) {
      a[i] = r < M && k + i < k_end ? (_Float16)A[r * K + k + i] : (_Float16)0;
      b[i] = c < N && k + i < k_end ? (_Float16)B[(k + i) * N + c] : (_Float16)0;
    }
    acc = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, acc);
  }
  float* out = workspace + (size_t)split * M * N;
  for (int i = 0; i < 8; ++i) {
    int row = blockIdx.y * 16 + 2 * i + lane / 16;
    if (row < M && c < N) out[row * N + c] = acc[i];
  }
}
__global__ void splitk_reduce(const float* workspace, const float* bias, half* C, int M, int N, int splits) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= M * N) return;
  float sum = 0;
  for (int s = 0; s < splits; ++s) sum += workspace[(size_t)s * M * N + i];
  C[i] = __float2half(sum + bias[i % N]);
}
void splitk(const half* A, const half* B, const float* bias, half* C, float* workspace, int M, int N, int K, int splits) {
  int k_per_split = ((K + splits - 1) / splits + 15) / 16 * 16;
  dim3 grid((N + 15) / 16, (M + 15) / 16, splits);
  splitk_partial<<<grid, 32>>>(A, B, workspace, M, N, K, k_per_split);
  splitk_reduce<<<(M * N + 255) / 256, 256>>>(workspace, bias, C, M, N, splits);
}
