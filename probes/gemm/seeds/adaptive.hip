// adaptive: the tile follows from the size of C.
//
// The pipeline of standard as a template over the block tile: 128 x 128 for large matrices, 128 x 64
// for those in between, 64 x 64 for small ones, always eight waves, 4 x 2. The choice is a function of M
// and N alone; whoever launches the kernel makes the same one for the grid.
// In the development notes: "wmma_tile_selection.hpp" (TileConfig, select_optimal_tile).
//
// grid: (N+n-1)/n, (M+m-1)/m  block: 256
//   m = 64 + 64*(M > 128)*(N > 64)
//   n = 64 + 64*(M >= 512)*(N >= 512)
#include "../wmma_helpers.h"

constexpr int BLOCK_K = 16;
constexpr int STRIDE = BLOCK_K + LDS_PAD;
constexpr int THREADS = 256;

enum class TileConfig { Small64x64, Medium128x64, Large128x128 };

__device__ inline TileConfig select_optimal_tile(int M, int N) {
  if (M >= 512 && N >= 512) return TileConfig::Large128x128;
  if (M > 128 && N > 64) return TileConfig::Medium128x64;
  return TileConfig::Small64x64;
}

// lds holds two buffers of A [m][k], then two of B [n][k].
template <int BLOCK_M, int BLOCK_N>
__device__ inline void gemm_tile(_Float16* lds, const __half* __restrict__ A, const __half* __restrict__ B,
                                 int K, const Output& out)
{
  constexpr int TILES_M = BLOCK_M / 4 / WMMA, TILES_N = BLOCK_N / 2 / WMMA;
  constexpr int A_HALVES = BLOCK_M * STRIDE, B_HALVES = BLOCK_N * STRIDE;
  constexpr int A_WAVES = BLOCK_M * BLOCK_K / 8 / WAVE, B_WAVES = BLOCK_N * BLOCK_K / 8 / WAVE;
  constexpr int B_CHUNKS = BLOCK_N / 8;  // in a row of B
  _Float16* const a_lds = lds;
  _Float16* const b_lds = lds + 2 * A_HALVES;

  const int block_m = blockIdx.y * BLOCK_M, block_n = blockIdx.x * BLOCK_N;
  const int warp_m = wave_id() / 2 * TILES_M * WMMA, warp_n = wave_id() % 2 * TILES_N * WMMA;
  const int a_row = threadIdx.x / 2, a_col = threadIdx.x % 2 * 8;
  const int b_row = threadIdx.x / B_CHUNKS, b_col = threadIdx.x % B_CHUNKS * 8;
  const bool loads_a = wave_id() < A_WAVES, loads_b = wave_id() < B_WAVES;

  Chunk a_next, b_next;
  auto load = [&](int k) {
    if (loads_a) a_next = load_row8(tile_at(A, out.M, K, block_m, k), a_row, a_col);
    if (loads_b) b_next = load_row8(tile_at(B, K, out.N, k, block_n), b_row, b_col);
  };
  auto store = [&](int buffer) {
    if (loads_a) store_row8(a_lds + buffer * A_HALVES, STRIDE, a_row, a_col, a_next);
    if (loads_b) store_column8(b_lds + buffer * B_HALVES, STRIDE, b_col, b_row, b_next);
  };

  load(0);
  store(0);
  __syncthreads();

  float8 acc[TILES_M][TILES_N] = {};
  int buffer = 0;
  for (int k = 0; k < K; k += BLOCK_K) {
    const bool more = k + BLOCK_K < K;
    if (more) load(k + BLOCK_K);

    half16 a[TILES_M], b[TILES_N];
#pragma unroll
    for (int i = 0; i < TILES_M; ++i)
      a[i] = load_fragment(a_lds + buffer * A_HALVES, STRIDE, warp_m + i * WMMA);
#pragma unroll
    for (int j = 0; j < TILES_N; ++j)
      b[j] = load_fragment(b_lds + buffer * B_HALVES, STRIDE, warp_n + j * WMMA);
#pragma unroll
    for (int i = 0; i < TILES_M; ++i)
#pragma unroll
      for (int j = 0; j < TILES_N; ++j) acc[i][j] = mma(a[i], b[j], acc[i][j]);

    buffer ^= 1;
    if (more) store(buffer);
    __syncthreads();
  }
  epilogue<BLOCK_M, BLOCK_N>(out, acc, block_m, block_n, warp_m, warp_n);
}

extern "C" __global__ void __launch_bounds__(THREADS)
wmma_gemm_adaptive(const __half* __restrict__ A, const __half* __restrict__ B, float* __restrict__ C,
                   int M, int N, int K, float alpha, float beta)
{
  __shared__ alignas(16) _Float16 lds[2 * (128 + 128) * STRIDE];  // of the largest tile
  const Output out{C, M, N, alpha, beta};
  switch (select_optimal_tile(M, N)) {
    case TileConfig::Large128x128: return gemm_tile<128, 128>(lds, A, B, K, out);
    case TileConfig::Medium128x64: return gemm_tile<128, 64>(lds, A, B, K, out);
    case TileConfig::Small64x64: return gemm_tile<64, 64>(lds, A, B, K, out);
  }
}
