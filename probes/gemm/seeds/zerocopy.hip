// zerocopy: no staging. Fragments come from global memory straight into registers, without LDS.
//
// The tile of standard: eight waves of 32 x 32. A lane's row of A is contiguous, two 16-byte loads; its
// column of B is 16 loads of one half, neighbouring lanes side by side. No barrier at all.
// In the development notes: "wmma_gemm_kernel_zerocopy - Zero-copy variant" and the table of results;
// they do not say what is not copied, and this takes it at its word.
//
// grid: (N+63)/64, (M+127)/128  block: 256
#include "../wmma_helpers.h"

constexpr int BLOCK_M = 128, BLOCK_N = 64, BLOCK_K = 16;

// Row `row` of a tile of A, 16 values of k.
__device__ inline half16 load_a(const Tile& a, int row) {
  return __builtin_shufflevector(load_row8(a, row, 0).values(), load_row8(a, row, 8).values(), 0, 1, 2, 3, 4,
                                 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

// Column `col` of a tile of B, 16 values of k.
__device__ inline half16 load_b(const Tile& b, int col) {
  const bool in_columns = col < b.cols;
  half16 values;
#pragma unroll
  for (int k = 0; k < 16; ++k) {
    const bool inside = in_columns && k < b.rows;
    const _Float16 value = b.element(inside ? k * b.stride + col : 0);
    values[k] = inside ? value : _Float16(0);
  }
  return values;
}

extern "C" __global__ void __launch_bounds__(256)
wmma_gemm_zerocopy(const __half* __restrict__ A, const __half* __restrict__ B, float* __restrict__ C,
                   int M, int N, int K, float alpha, float beta)
{
  const int block_m = blockIdx.y * BLOCK_M, block_n = blockIdx.x * BLOCK_N;
  const int warp_m = wave_id() / 2 * 32, warp_n = wave_id() % 2 * 32;
  const int frag = lane_id() % WMMA;

  float8 acc[2][2] = {};
  for (int k = 0; k < K; k += BLOCK_K) {
    const Tile a_tile = tile_at(A, M, K, block_m, k), b_tile = tile_at(B, K, N, k, block_n);
    half16 a[2], b[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      a[i] = load_a(a_tile, warp_m + i * WMMA + frag);
      b[i] = load_b(b_tile, warp_n + i * WMMA + frag);
    }
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
      for (int j = 0; j < 2; ++j) acc[i][j] = mma(a[i], b[j], acc[i][j]);
  }
  epilogue<BLOCK_M, BLOCK_N>({C, M, N, alpha, beta}, acc, block_m, block_n, warp_m, warp_n);
}
