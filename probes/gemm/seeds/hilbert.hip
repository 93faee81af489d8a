// hilbert: workgroups follow a Hilbert curve over the tiles of C, for the sake of the L2 cache.
//
// The tile and the pipeline of standard on a grid of one dimension. The largest square of 2^p x 2^p
// tiles is visited along the curve; what remains of a rectangular grid follows row by row.
// In the development notes: "Hilbert Curve Tile Mapping" ("a power-of-2 core + remainder approach").
//
// grid: ((N+63)/64) * ((M+127)/128)  block: 256
#include "../wmma_helpers.h"

constexpr int BLOCK_M = 128, BLOCK_N = 64, BLOCK_K = 16;
constexpr int STRIDE = BLOCK_K + LDS_PAD;

struct TileId {
  int row, col;
};

// Tile number `id` on the way over a square of `side` x `side` tiles, a power of two: two bits of the
// id choose a quadrant per level, and the curve within is turned to join its neighbours.
__device__ inline TileId hilbert_tile(unsigned id, unsigned side) {
  unsigned x = 0, y = 0;
  for (unsigned s = 1; s < side; s *= 2) {
    const unsigned right = id / 2 & 1, up = (id ^ right) & 1;
    if (!up) {
      if (right) {
        x = s - 1 - x;
        y = s - 1 - y;
      }
      const unsigned other = x;
      x = y;
      y = other;
    }
    x += s * right;
    y += s * up;
    id /= 4;
  }
  return {int(y), int(x)};
}

// Any grid: the square core first, then the tiles to its right, then those below.
__device__ inline TileId tile_of(int id, int tiles_m, int tiles_n) {
  int side = 1;
  while (side * 2 <= min(tiles_m, tiles_n)) side *= 2;
  const int core = side * side, right = side * (tiles_n - side);
  if (id < core) return hilbert_tile(id, side);
  if (id < core + right)
    return {(id - core) / (tiles_n - side), side + (id - core) % (tiles_n - side)};
  return {side + (id - core - right) / tiles_n, (id - core - right) % tiles_n};
}

extern "C" __global__ void __launch_bounds__(256)
wmma_gemm_hilbert(const __half* __restrict__ A, const __half* __restrict__ B, float* __restrict__ C,
                  int M, int N, int K, float alpha, float beta)
{
  __shared__ alignas(16) _Float16 A_lds[2][BLOCK_M * STRIDE];  // [m][k]
  __shared__ alignas(16) _Float16 B_lds[2][BLOCK_N * STRIDE];  // [n][k]

  const TileId tile = tile_of(blockIdx.x, (M + BLOCK_M - 1) / BLOCK_M, (N + BLOCK_N - 1) / BLOCK_N);
  const int block_m = tile.row * BLOCK_M, block_n = tile.col * BLOCK_N;
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
