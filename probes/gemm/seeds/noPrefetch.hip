// noPrefetch: one LDS buffer, nothing loaded ahead, two barriers a step.
//
// The tile of standard without its pipeline: load, store, barrier, multiply, barrier. Half the LDS.
// In the development notes: "wmma_gemm_kernel_noPrefetch - No-prefetch variant".
//
// grid: (N+63)/64, (M+127)/128  block: 256
#include "../wmma_helpers.h"

constexpr int BLOCK_M = 128, BLOCK_N = 64, BLOCK_K = 16;
constexpr int STRIDE = BLOCK_K + LDS_PAD;

extern "C" __global__ void __launch_bounds__(256)
wmma_gemm_noPrefetch(const __half* __restrict__ A, const __half* __restrict__ B, float* __restrict__ C,
                     int M, int N, int K, float alpha, float beta)
{
  __shared__ alignas(16) _Float16 A_lds[BLOCK_M * STRIDE];  // [m][k]
  __shared__ alignas(16) _Float16 B_lds[BLOCK_N * STRIDE];  // [n][k]

  const int block_m = blockIdx.y * BLOCK_M, block_n = blockIdx.x * BLOCK_N;
  const int warp_m = wave_id() / 2 * 32, warp_n = wave_id() % 2 * 32;
  const int a_row = threadIdx.x / 2, a_col = threadIdx.x % 2 * 8;
  const int b_row = threadIdx.x / 8, b_col = threadIdx.x % 8 * 8;

  float8 acc[2][2] = {};
  for (int k = 0; k < K; k += BLOCK_K) {
    store_row8(A_lds, STRIDE, a_row, a_col, load_row8(tile_at(A, M, K, block_m, k), a_row, a_col));
    if (wave_id() < 4)
      store_column8(B_lds, STRIDE, b_col, b_row, load_row8(tile_at(B, K, N, k, block_n), b_row, b_col));
    __syncthreads();

    half16 a[2], b[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      a[i] = load_fragment(A_lds, STRIDE, warp_m + i * WMMA);
      b[i] = load_fragment(B_lds, STRIDE, warp_n + i * WMMA);
    }
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
      for (int j = 0; j < 2; ++j) acc[i][j] = mma(a[i], b[j], acc[i][j]);
    __syncthreads();  // nobody overwrites the tile while another wave still reads it
  }
  epilogue<BLOCK_M, BLOCK_N>({C, M, N, alpha, beta}, acc, block_m, block_n, warp_m, warp_n);
}
