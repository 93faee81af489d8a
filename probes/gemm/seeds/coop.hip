// coop: the waves share the loading: waves 0 to 3 load A, waves 4 to 7 load B at the same time.
//
// The tile and the pipeline of standard. 128 threads stage two chunks of A each, the other 128 stage
// one chunk of B each; all LDS is one array, cut by hand.
// In the development notes: "Cooperative Loading with Thread Division" and "Unified Shared Memory
// Buffer".
//
// grid: (N+63)/64, (M+127)/128  block: 256
#include "../wmma_helpers.h"

constexpr int BLOCK_M = 128, BLOCK_N = 64, BLOCK_K = 16;
constexpr int STRIDE = BLOCK_K + LDS_PAD;
constexpr int A_HALVES = BLOCK_M * STRIDE, B_HALVES = BLOCK_N * STRIDE;
constexpr int LDS_HALVES = A_HALVES + B_HALVES;  // of one buffer: A [m][k], then B [n][k]

extern "C" __global__ void __launch_bounds__(256)
wmma_gemm_coop(const __half* __restrict__ A, const __half* __restrict__ B, float* __restrict__ C,
               int M, int N, int K, float alpha, float beta)
{
  __shared__ alignas(16) _Float16 lds[2 * LDS_HALVES];

  const int block_m = blockIdx.y * BLOCK_M, block_n = blockIdx.x * BLOCK_N;
  const int warp_m = wave_id() / 2 * 32, warp_n = wave_id() % 2 * 32;
  const bool loads_a = wave_id() < 4;
  const int worker = threadIdx.x % 128;
  const int a_row = worker / 2, a_col = worker % 2 * 8;  // and 64 rows further down
  const int b_row = worker / 8, b_col = worker % 8 * 8;

  Chunk next[2];
  auto load = [&](int k) {
    if (loads_a) {
      const Tile a = tile_at(A, M, K, block_m, k);
      next[0] = load_row8(a, a_row, a_col);
      next[1] = load_row8(a, a_row + 64, a_col);
    } else {
      next[0] = load_row8(tile_at(B, K, N, k, block_n), b_row, b_col);
    }
  };
  auto store = [&](int buffer) {
    _Float16* tile = lds + buffer * LDS_HALVES;
    if (loads_a) {
      store_row8(tile, STRIDE, a_row, a_col, next[0]);
      store_row8(tile, STRIDE, a_row + 64, a_col, next[1]);
    } else {
      store_column8(tile + A_HALVES, STRIDE, b_col, b_row, next[0]);
    }
  };

  load(0);
  store(0);
  __syncthreads();

  float8 acc[2][2] = {};
  int buffer = 0;
  for (int k = 0; k < K; k += BLOCK_K) {
    const bool more = k + BLOCK_K < K;
    if (more) load(k + BLOCK_K);

    const _Float16* tile = lds + buffer * LDS_HALVES;
    half16 a[2], b[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      a[i] = load_fragment(tile, STRIDE, warp_m + i * WMMA);
      b[i] = load_fragment(tile + A_HALVES, STRIDE, warp_n + i * WMMA);
    }
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
