// xor_optimized: XOR swizzle on 16-byte chunks.
//
// As swizzled, but the unit is the half8 chunk, as the notes recommend: kvec ^ (row & 1). A is stored
// and both fragments are loaded as whole chunks, whose order follows from the row's parity.
// In the development notes: "Vector-Granularity Swizzling for RDNA/LPDDR" and "Fragment Loading
// Overhead".
//
// grid: (N+63)/64, (M+127)/128  block: 256
#include "../wmma_helpers.h"

constexpr int BLOCK_M = 128, BLOCK_N = 64, BLOCK_K = 16;
constexpr int KVECS = BLOCK_K / 8;  // chunks of 8 halves in a row of LDS

// Where chunk kvec of a row lies, in chunks.
__device__ inline int chunk_at(int row, int kvec) { return row * KVECS + (kvec ^ row & 1); }

__device__ inline half16 load_swizzled(const half8* lds, int row) {
  return __builtin_shufflevector(lds[chunk_at(row, 0)], lds[chunk_at(row, 1)], 0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
                                 10, 11, 12, 13, 14, 15);
}

extern "C" __global__ void __launch_bounds__(256)
wmma_gemm_xor_optimized(const __half* __restrict__ A, const __half* __restrict__ B, float* __restrict__ C,
                        int M, int N, int K, float alpha, float beta)
{
  __shared__ half8 A_lds[2][BLOCK_M * KVECS];
  __shared__ half8 B_lds[2][BLOCK_N * KVECS];  // transposed

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
    A_lds[buffer][chunk_at(a_row, a_col / 8)] = a_next.values();
    const half8 b = b_next.values();
    if (loads_b)
#pragma unroll
      for (int i = 0; i < 8; ++i)
        ((_Float16*)&B_lds[buffer][chunk_at(b_col + i, b_row / 8)])[b_row % 8] = b[i];
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
      a[t] = load_swizzled(A_lds[buffer], warp_m + t * WMMA + frag);
      b[t] = load_swizzled(B_lds[buffer], warp_n + t * WMMA + frag);
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
