#include <hip/hip_runtime.h>
#ifndef FAULT
#define FAULT 0
#endif
// C = A * B, one workgroup of 16x16 work-items a tile of 16x16, K in steps of 16 through two buffers of LDS.
extern "C" __global__ void gemm(const float *A, const float *B, float *C, int M, int N, int K) {
  __shared__ float a[2][16][16], b[2][16][16];
  const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, col = blockIdx.x * 16 + x;
  float sum = 0;
  int at = 0;
  for (int k = 0; k < K; k += 16, at ^= 1) {
    a[at][y][x] = row < M && k + x < K ? A[row * K + k + x] : 0.f;
    b[at][y][x] = k + y < K && col < N ? B[(k + y) * N + col] : 0.f;
    __syncthreads();
    const int buffer = FAULT == 1 && k >= 112 ? 0 : at;
    const int depth = FAULT == 2 && K - k == 2 ? 0 : 16;
    for (int i = 0; i < depth; ++i) sum += a[buffer][y][i] * b[buffer][i][x];
    __syncthreads();
  }
  if (FAULT == 3 && blockIdx.x > 3) sum += 1;
  if (FAULT == 4 && N % 7 == 0 && col == N - 1) sum = 0;
  if (FAULT == 5 && M == 1) sum = -sum;
  if (FAULT == 6 && blockIdx.y >= 7) sum *= 2;
  if (FAULT == 7 && K == 1) sum = 0;
  if (FAULT == 8 && M > 2 * N) sum = 0;
  if (FAULT == 9 && N < 4) sum = 0;
  if (FAULT == 11 && K % 8) sum = 0;
  if (FAULT == 12 && K > 16 && K <= 32) sum = 0;
  if (FAULT == 13 && K > 700) sum += 1;
  if (FAULT == 14 && col == 0) sum += N > 500 ? 2 : 0;
  const int ld = FAULT == 10 && M * N > 8000 ? N + 1 : N;
  if (row < M && col < N) C[row * ld + col] = sum;
}
