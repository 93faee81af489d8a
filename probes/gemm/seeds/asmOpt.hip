// asmOpt: fragments built element by element, matrix instructions in one prioritised cluster, and a
// barrier that waits for LDS alone.
//
// The tile and the padded LDS of standard. s_setprio raises the wave while it multiplies; the barrier
// waits for lgkmcnt but not for vmcnt, so that the loads of the next tile stay in flight across it.
// With -DCOLUMN_LOAD=1 this is the historical bug: A fragments are filled down a column of LDS where a
// lane holds a row, and the kernel computes (A with every 16 x 16 tile transposed in place) * B.
// In the development notes: "asmOpt Kernel (BUGGY)", "Fragment Loading Test Results - Hardware
// Validation" and "Correctness Fixes Applied".
//
// grid: (N+63)/64, (M+127)/128  block: 256
#include "../wmma_helpers.h"

#ifndef COLUMN_LOAD
#define COLUMN_LOAD 0
#endif

constexpr int BLOCK_M = 128, BLOCK_N = 64, BLOCK_K = 16;
constexpr int STRIDE = BLOCK_K + LDS_PAD;

// What this wave stored to LDS is there, and the compiler moves no access across.
__device__ inline void lds_barrier() {
  asm volatile("s_waitcnt lgkmcnt(0)" ::: "memory");
  __builtin_amdgcn_s_barrier();
  asm volatile("" ::: "memory");
}

extern "C" __global__ void __launch_bounds__(256)
wmma_gemm_asmOpt(const __half* __restrict__ A, const __half* __restrict__ B, float* __restrict__ C,
                 int M, int N, int K, float alpha, float beta)
{
  __shared__ alignas(16) _Float16 A_lds[2][BLOCK_M][STRIDE];  // [m][k]
  __shared__ alignas(16) _Float16 B_lds[2][BLOCK_N][STRIDE];  // [n][k]

  const int frag = lane_id() % WMMA;
  const int block_m = blockIdx.y * BLOCK_M, block_n = blockIdx.x * BLOCK_N;
  const int warp_m = wave_id() / 2 * 32, warp_n = wave_id() % 2 * 32;
  const int a_row = threadIdx.x / 2, a_col = threadIdx.x % 2 * 8;
  const int b_row = threadIdx.x / 8, b_col = threadIdx.x % 8 * 8;
  const bool loads_b = wave_id() < 4;

  Chunk a_next = load_row8(tile_at(A, M, K, block_m, 0), a_row, a_col), b_next;
  if (loads_b) b_next = load_row8(tile_at(B, K, N, 0, block_n), b_row, b_col);

  float8 acc[2][2] = {};
  int buffer = 0;
  for (int k = 0; k < K; k += BLOCK_K) {
    *(half8*)&A_lds[buffer][a_row][a_col] = a_next.values();
    if (loads_b) store_column8(B_lds[buffer][0], STRIDE, b_col, b_row, b_next);
    // One barrier a step: whoever still reads the other buffer has not come this far.
    lds_barrier();

    if (k + BLOCK_K < K) {
      a_next = load_row8(tile_at(A, M, K, block_m, k + BLOCK_K), a_row, a_col);
      if (loads_b) b_next = load_row8(tile_at(B, K, N, k + BLOCK_K, block_n), b_row, b_col);
    }

    half16 a0, a1, b0, b1;
#pragma unroll
    for (int i = 0; i < 16; ++i) {
#if COLUMN_LOAD
      a0[i] = A_lds[buffer][warp_m + i][frag];
      a1[i] = A_lds[buffer][warp_m + 16 + i][frag];
#else
      a0[i] = A_lds[buffer][warp_m + frag][i];
      a1[i] = A_lds[buffer][warp_m + 16 + frag][i];
#endif
    }
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      b0[i] = B_lds[buffer][warp_n + frag][i];
      b1[i] = B_lds[buffer][warp_n + 16 + frag][i];
    }

    __builtin_amdgcn_s_setprio(1);
    acc[0][0] = mma(a0, b0, acc[0][0]);
    acc[0][1] = mma(a0, b1, acc[0][1]);
    acc[1][0] = mma(a1, b0, acc[1][0]);
    acc[1][1] = mma(a1, b1, acc[1][1]);
    __builtin_amdgcn_s_setprio(0);
    buffer ^= 1;
  }
  epilogue<BLOCK_M, BLOCK_N>({C, M, N, alpha, beta}, acc, block_m, block_n, warp_m, warp_n);
}
