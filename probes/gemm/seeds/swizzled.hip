// swizzled: XOR swizzle of LDS in place of padding, element by element.
//
// The tile of standard at LDS stride 16: 12288 bytes for both buffers, flat arrays. to_physical() puts
// element (row, k) in the other half of its row where the row is odd; every store and every load goes
// through it. With -DCOLUMN_LOAD=1 this is the historical bug: A fragments are filled down a column where
// a lane holds a row, and the kernel computes (A with every 16 x 16 tile transposed in place) * B.
// In the development notes: "XOR Swizzled Kernel", "XOR Swizzle vs Padding" and "Correctness Fixes
// Applied".
//
// grid: (N+63)/64, (M+127)/128  block: 256
#include "../wmma_helpers.h"

#ifndef COLUMN_LOAD
#define COLUMN_LOAD 0
#endif

constexpr int BLOCK_M = 128, BLOCK_N = 64, BLOCK_K = 16;
constexpr int STRIDE = BLOCK_K;

// Where element (row, k) lies: groups of 8 halves trade places in odd rows.
__device__ inline int to_physical(int row, int k, int stride) {
  const int group = k / 8 ^ row & 1;
  return row * stride + group * 8 + k % 8;
}

extern "C" __global__ void __launch_bounds__(256)
wmma_gemm_swizzled(const __half* __restrict__ A, const __half* __restrict__ B, float* __restrict__ C,
                   int M, int N, int K, float alpha, float beta)
{
  __shared__ alignas(16) _Float16 A_lds[2][BLOCK_M * STRIDE];
  __shared__ alignas(16) _Float16 B_lds[2][BLOCK_N * STRIDE];  // transposed

  const int frag = lane_id() % WMMA;
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
  auto store = [&](int buffer) {
    const half8 a = a_next.values(), b = b_next.values();
#pragma unroll
    for (int i = 0; i < 8; ++i) A_lds[buffer][to_physical(a_row, a_col + i, STRIDE)] = a[i];
    if (loads_b)
#pragma unroll
      for (int i = 0; i < 8; ++i) B_lds[buffer][to_physical(b_col + i, b_row, STRIDE)] = b[i];
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
    for (int t = 0; t < 2; ++t) {
      const int m = warp_m + t * WMMA, n = warp_n + t * WMMA;
#pragma unroll
      for (int i = 0; i < 16; ++i) {
#if COLUMN_LOAD
        a[t][i] = A_lds[buffer][to_physical(m + i, frag, STRIDE)];
#else
        a[t][i] = A_lds[buffer][to_physical(m + frag, i, STRIDE)];
#endif
        b[t][i] = B_lds[buffer][to_physical(n + frag, i, STRIDE)];
      }
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
