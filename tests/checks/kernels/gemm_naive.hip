// C = alpha * A @ B + beta * C without a matrix instruction: a lane has an element, 16 x 16 of them a workgroup.
#include <hip/hip_runtime.h>
extern "C" __global__ void gemm(const _Float16* A, const _Float16* B, float* C, int M, int N, int K, float alpha,
                                float beta) {
#ifdef TILED
  __shared__ float tile_a[16][17], tile_b[16][17];
#endif
  const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
#ifdef TILED
  for (int k0 = 0; k0 < K; k0 += 16) {
    const int ka = k0 + threadIdx.x, kb = k0 + threadIdx.y;
    tile_a[threadIdx.y][threadIdx.x] = row < M && ka < K ? (float)A[row * K + ka] : 0.0f;
    tile_b[threadIdx.y][threadIdx.x] = kb < K && col < N ? (float)B[kb * N + col] : 0.0f;
    __syncthreads();
    for (int k = 0; k < 16; ++k) sum += tile_a[threadIdx.y][k] * tile_b[k][threadIdx.x];
    __syncthreads();
  }
#else
  if (row >= M || col >= N) return;
  for (int k = 0; k < K; ++k) {
    const float a = A[row * K + k];
    const float b = B[k * N + col];
    sum += a * b;
  }
#endif
  if (row < M && col < N) C[row * N + col] = alpha * sum + beta * C[row * N + col];
}
