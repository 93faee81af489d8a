// kunroll: two matrix steps per barrier (BLOCK_K 32).
//
// 128 x 64 block tile, LDS stride 32 + 8 = 40 halves: 30720 bytes for both buffers. Half the barriers
// of standard, for more LDS and more registers. Every thread stages two chunks of A and one of B.
// In the development notes: "BLOCK_K=32 / K-Unroll (SLOWER)".
//
// grid: (N+63)/64, (M+127)/128  block: 256
#include "../wmma_helpers.h"

constexpr int BLOCK_M = 128, BLOCK_N = 64, BLOCK_K = 32;
constexpr int STRIDE = BLOCK_K + LDS_PAD;

extern "C" __global__ void __launch_bounds__(256)
wmma_gemm_kunroll(const __half* __restrict__ A, const __half* __restrict__ B, float* __restrict__ C,
                  int M, int N, int K, float alpha, float beta)
{
  __shared__ alignas(16) _Float16 A_lds[2][BLOCK_M * STRIDE];  // [m][k]
  __shared__ alignas(16) _Float16 B_lds[2][BLOCK_N * STRIDE];  // [n][k]

  const int block_m = blockIdx.y * BLOCK_M, block_n = blockIdx.x * BLOCK_N;
  const int warp_m = wave_id() / 2 * 32, warp_n = wave_id() % 2 * 32;
  const int a_row = threadIdx.x / 4, a_col = threadIdx.x % 4 * 8;  // and 64 rows further down
  const int b_row = threadIdx.x / 8, b_col = threadIdx.x % 8 * 8;

  Chunk a_next[2], b_next;
  auto load = [&](int k) {
    const Tile a = tile_at(A, M, K, block_m, k);
    a_next[0] = load_row8(a, a_row, a_col);
    a_next[1] = load_row8(a, a_row + 64, a_col);
    b_next = load_row8(tile_at(B, K, N, k, block_n), b_row, b_col);
  };
  auto store = [&](int buffer) {
    store_row8(A_lds[buffer], STRIDE, a_row, a_col, a_next[0]);
    store_row8(A_lds[buffer], STRIDE, a_row + 64, a_col, a_next[1]);
    store_column8(B_lds[buffer], STRIDE, b_col, b_row, b_next);
  };

  load(0);
  store(0);
  __syncthreads();

  float8 acc[2][2] = {};
  int buffer = 0;
  for (int k = 0; k < K; k += BLOCK_K) {
    const bool more = k + BLOCK_K < K;
    if (more) load(k + BLOCK_K);
#pragma unroll
    for (int kk = 0; kk < BLOCK_K; kk += WMMA) {
      half16 a[2], b[2];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        a[i] = load_fragment(A_lds[buffer], STRIDE, warp_m + i * WMMA, kk);
        b[i] = load_fragment(B_lds[buffer], STRIDE, warp_n + i * WMMA, kk);
      }
#pragma unroll
      for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 2; ++j) acc[i][j] = mma(a[i], b[j], acc[i][j]);
    }
    buffer ^= 1;
    if (more) store(buffer);
    __syncthreads();
  }
  epilogue<BLOCK_M, BLOCK_N>({C, M, N, alpha, beta}, acc, block_m, block_n, warp_m, warp_n);
}
