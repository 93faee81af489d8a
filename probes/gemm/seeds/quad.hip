// quad: four LDS buffers, loads three tiles ahead.
//
// The tile of standard with a ring of four padded buffers, 36864 bytes of dynamic LDS that the launch
// must ask for. A tile is loaded three steps before it is multiplied.
// In the development notes: "wmma_gemm_kernel_quad - Quad-buffering variant".
//
// grid: (N+63)/64, (M+127)/128  block: 256  dynamic LDS: 36864
#include "../wmma_helpers.h"

constexpr int BLOCK_M = 128, BLOCK_N = 64, BLOCK_K = 16;
constexpr int STRIDE = BLOCK_K + LDS_PAD;
constexpr int BUFFERS = 4;
constexpr int A_HALVES = BLOCK_M * STRIDE, B_HALVES = BLOCK_N * STRIDE;

extern __shared__ __align__(16) _Float16 ring[];  // BUFFERS tiles of A [m][k], then as many of B [n][k]

extern "C" __global__ void __launch_bounds__(256)
wmma_gemm_quad(const __half* __restrict__ A, const __half* __restrict__ B, float* __restrict__ C,
               int M, int N, int K, float alpha, float beta)
{
  const int block_m = blockIdx.y * BLOCK_M, block_n = blockIdx.x * BLOCK_N;
  const int warp_m = wave_id() / 2 * 32, warp_n = wave_id() % 2 * 32;
  const int a_row = threadIdx.x / 2, a_col = threadIdx.x % 2 * 8;
  const int b_row = threadIdx.x / 8, b_col = threadIdx.x % 8 * 8;
  const bool loads_b = wave_id() < 4;

  Chunk a_next, b_next;
  auto load = [&](int k) {
    a_next = load_row8(tile_at(A, M, K, block_m, k), a_row, a_col);
    if (loads_b) b_next = load_row8(tile_at(B, K, N, k, block_n), b_row, b_col);
  };
  auto store = [&](int slot) {
    store_row8(ring + slot * A_HALVES, STRIDE, a_row, a_col, a_next);
    if (loads_b) store_column8(ring + BUFFERS * A_HALVES + slot * B_HALVES, STRIDE, b_col, b_row, b_next);
  };

  for (int slot = 0; slot < BUFFERS - 1 && slot * BLOCK_K < K; ++slot) {
    load(slot * BLOCK_K);
    store(slot);
  }
  __syncthreads();

  float8 acc[2][2] = {};
  for (int k = 0, slot = 0; k < K; k += BLOCK_K, slot = (slot + 1) % BUFFERS) {
    const int ahead = k + (BUFFERS - 1) * BLOCK_K;
    if (ahead < K) load(ahead);

    const _Float16* a_lds = ring + slot * A_HALVES;
    const _Float16* b_lds = ring + BUFFERS * A_HALVES + slot * B_HALVES;
    half16 a[2], b[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      a[i] = load_fragment(a_lds, STRIDE, warp_m + i * WMMA);
      b[i] = load_fragment(b_lds, STRIDE, warp_n + i * WMMA);
    }
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
      for (int j = 0; j < 2; ++j) acc[i][j] = mma(a[i], b[j], acc[i][j]);

    // This slot was read in the step before, and the barrier behind that step lies in between.
    if (ahead < K) store((slot + BUFFERS - 1) % BUFFERS);
    __syncthreads();
  }
  epilogue<BLOCK_M, BLOCK_N>({C, M, N, alpha, beta}, acc, block_m, block_n, warp_m, warp_n);
}
