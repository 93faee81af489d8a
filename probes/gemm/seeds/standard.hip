// standard: padded LDS in two buffers, register prefetch, fragments by helpers.
//
// 128 x 64 block tile, K step 16, eight waves of 32 x 32 (2 x 2 matrix tiles each). LDS rows are padded
// from 16 to 24 halves: 18432 bytes for both buffers. While one buffer is multiplied, the next tile
// travels from global memory to registers, and then to the other buffer; one barrier a step suffices.
// In the development notes: "Standard Kernel (CORRECT)" and "Why the Standard Kernel is Hard to Beat".
//
// grid: (N+63)/64, (M+127)/128  block: 256
#include "../wmma_helpers.h"

constexpr int BLOCK_M = 128, BLOCK_N = 64, BLOCK_K = 16;
constexpr int STRIDE = BLOCK_K + LDS_PAD;

extern "C" __global__ void __launch_bounds__(256)
wmma_gemm_standard(const __half* __restrict__ A, const __half* __restrict__ B, float* __restrict__ C,
                   int M, int N, int K, float alpha, float beta)
{
  __shared__ alignas(16) _Float16 A_lds[2][BLOCK_M * STRIDE];  // [m][k]
  __shared__ alignas(16) _Float16 B_lds[2][BLOCK_N * STRIDE];  // [n][k]

  const int block_m = blockIdx.y * BLOCK_M, block_n = blockIdx.x * BLOCK_N;
  const int warp_m = wave_id() / 2 * 32, warp_n = wave_id() % 2 * 32;
  // 256 chunks of 8 halves make the tile of A, 128 make that of B.
  const int a_row = threadIdx.x / 2, a_col = threadIdx.x % 2 * 8;
  const int b_row = threadIdx.x / 8, b_col = threadIdx.x % 8 * 8;
  const bool loads_b = wave_id() < 4;

  Chunk a_next, b_next;
  auto load = [&](int k) {
    a_next = load_row8(tile_at(A, M, K, block_m, k), a_row, a_col);
    if (loads_b) b_next = load_row8(tile_at(B, K, N, k, block_n), b_row, b_col);
  };
  auto store = [&](int buffer) {
    store_row8(A_lds[buffer], STRIDE, a_row, a_col, a_next);
    if (loads_b) store_column8(B_lds[buffer], STRIDE, b_col, b_row, b_next);
  };

  load(0);
  store(0);
  __syncthreads();

  float8 acc[2][2] = {};
  int buffer = 0;
  for (int k = 0; k < K; k += BLOCK_K) {
    const bool more = k + BLOCK_K < K;
    if (more) load(k + BLOCK_K);

    half16 a[2], b[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) a[i] = load_fragment(A_lds[buffer], STRIDE, warp_m + i * WMMA);
#pragma unroll
    for (int j = 0; j < 2; ++j) b[j] = load_fragment(B_lds[buffer], STRIDE, warp_n + j * WMMA);
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
      for (int j = 0; j < 2; ++j) acc[i][j] = mma(a[i], b[j], acc[i][j]);

    buffer ^= 1;
    if (more) store(buffer);
    __syncthreads();
  }
  epilogue<BLOCK_M, BLOCK_N>({C, M, N, alpha, beta}, acc, block_m, block_n, warp_m, warp_n);
}
