// highOcc: a small tile, few registers, many waves.
//
// 64 x 64 block tile, eight waves of 16 x 32 (one row of two matrix tiles), launch bounds that ask for
// 16 waves per SIMD: at most 96 VGPRs. Less reuse per load than standard.
// In the development notes: "wmma_gemm_kernel_highOcc - High-occupancy variant".
//
// grid: (N+63)/64, (M+63)/64  block: 256
#include "../wmma_helpers.h"

constexpr int BLOCK_M = 64, BLOCK_N = 64, BLOCK_K = 16;
constexpr int STRIDE = BLOCK_K + LDS_PAD;

extern "C" __global__ void __launch_bounds__(256, 16)
wmma_gemm_highOcc(const __half* __restrict__ A, const __half* __restrict__ B, float* __restrict__ C,
                  int M, int N, int K, float alpha, float beta)
{
  __shared__ alignas(16) _Float16 A_lds[2][BLOCK_M * STRIDE];  // [m][k]
  __shared__ alignas(16) _Float16 B_lds[2][BLOCK_N * STRIDE];  // [n][k]

  const int block_m = blockIdx.y * BLOCK_M, block_n = blockIdx.x * BLOCK_N;
  const int warp_m = wave_id() / 2 * 16, warp_n = wave_id() % 2 * 32;
  // Waves 0 to 3 stage A, waves 4 to 7 stage B: one chunk of 8 halves a thread.
  const bool loads_a = wave_id() < 4;
  const int chunk = threadIdx.x % 128;
  const int row = loads_a ? chunk / 2 : chunk / 8, col = (loads_a ? chunk % 2 : chunk % 8) * 8;

  Chunk next;
  auto load = [&](int k) {
    next = load_row8(loads_a ? tile_at(A, M, K, block_m, k) : tile_at(B, K, N, k, block_n), row, col);
  };
  auto store = [&](int buffer) {
    if (loads_a)
      store_row8(A_lds[buffer], STRIDE, row, col, next);
    else
      store_column8(B_lds[buffer], STRIDE, col, row, next);
  };

  load(0);
  store(0);
  __syncthreads();

  float8 acc[1][2] = {};
  int buffer = 0;
  for (int k = 0; k < K; k += BLOCK_K) {
    const bool more = k + BLOCK_K < K;
    if (more) load(k + BLOCK_K);
    const half16 a = load_fragment(A_lds[buffer], STRIDE, warp_m);
#pragma unroll
    for (int j = 0; j < 2; ++j)
      acc[0][j] = mma(a, load_fragment(B_lds[buffer], STRIDE, warp_n + j * WMMA), acc[0][j]);
    buffer ^= 1;
    if (more) store(buffer);
    __syncthreads();
  }
  epilogue<BLOCK_M, BLOCK_N>({C, M, N, alpha, beta}, acc, block_m, block_n, warp_m, warp_n);
}
