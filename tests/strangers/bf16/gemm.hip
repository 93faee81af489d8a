#include "tile.hpp"

template <typename T, int BM, int BN, int BK, int WAVES_M, int WAVES_N>
__global__ void __launch_bounds__(WAVES_M* WAVES_N * 32)
    gemm_tn(const T* A, int lda, const T* B, int ldb, float* C, int ldc, int M, int N, int K) {
  constexpr int THREADS = WAVES_M * WAVES_N * 32, PAD = 8;
  constexpr int TM = BM / WAVES_M / 16, TN = BN / WAVES_N / 16;
  __shared__ T a_mem[BM * (BK + PAD)], b_mem[BN * (BK + PAD)];
  tile::Tile<T, BK + PAD> As(a_mem), Bs(b_mem);
  const int bm = blockIdx.x * BM, bn = blockIdx.y * BN;
  const int wave = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int wm = wave % WAVES_M * (TM * 16), wn = wave / WAVES_M * (TN * 16);
  f32x8 acc[TM][TN] = {};
  for (int k = 0; k < K; k += BK) {
    As.template fill<BM, BK, THREADS>(A + (long)bm * lda + k, lda, M - bm, K - k);
    Bs.template fill<BN, BK, THREADS>(B + (long)bn * ldb + k, ldb, N - bn, K - k);
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < BK; kk += 16) {
      bf16x16 b[TN];
#pragma unroll
      for (int j = 0; j < TN; j++) b[j] = Bs.fragment(wn + j * 16 + lane % 16, kk);
#pragma unroll
      for (int i = 0; i < TM; i++) {
        bf16x16 a = As.fragment(wm + i * 16 + lane % 16, kk);
#pragma unroll
        for (int j = 0; j < TN; j++) acc[i][j] = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(a, b[j], acc[i][j]);
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < TM; i++)
#pragma unroll
    for (int j = 0; j < TN; j++)
#pragma unroll
      for (int v = 0; v < 8; v++) {
        const int row = bm + wm + i * 16 + 2 * v + lane / 16, col = bn + wn + j * 16 + lane % 16;
        if (row < M && col < N) C[(long)row * ldc + col] = acc[i][j][v];
      }
}

#define CEIL_DIV(x, y) (((x) + (y)-1) / (y))

hipError_t bf16_gemm_tn(const bf16* A, const bf16* B, float* C, int M, int N, int K, hipStream_t s) {
  constexpr int BM = 32, BN = 64, BK = 32;
  hipLaunchKernelGGL((gemm_tn<bf16, BM, BN, BK, 2, 2>), dim3(CEIL_DIV(M, BM), CEIL_DIV(N, BN)), dim3(128), 0, s, A, K, B,
                     K, C, N, M, N, K);
  return hipGetLastError();
}
