// native: the matrix instruction's intrinsic on plain vectors, no helper between LDS and fragment.
//
// The tile and the pipeline of standard, but fragments are half16 values that the kernel builds itself:
// two 16-byte chunks of the LDS row that a lane holds. LDS is declared as the [buffer][row][k] arrays
// that the notes show. In the development notes: "wmma_gemm_kernel_native - Native intrinsics variant".
//
// grid: (N+63)/64, (M+127)/128  block: 256
#include "../wmma_helpers.h"

constexpr int BLOCK_M = 128, BLOCK_N = 64, BLOCK_K = 16;
constexpr int STRIDE = BLOCK_K + LDS_PAD;

extern "C" __global__ void __launch_bounds__(256)
wmma_gemm_native(const __half* __restrict__ A, const __half* __restrict__ B, float* __restrict__ C,
                 int M, int N, int K, float alpha, float beta)
{
  __shared__ alignas(16) _Float16 A_lds[2][BLOCK_M][STRIDE];  // [m][k]
  __shared__ alignas(16) _Float16 B_lds[2][BLOCK_N][STRIDE];  // [n][k]

  const int lane = threadIdx.x % WAVE, frag = lane % WMMA;
  const int block_m = blockIdx.y * BLOCK_M, block_n = blockIdx.x * BLOCK_N;
  const int warp_m = wave_id() / 2 * 32, warp_n = wave_id() % 2 * 32;
  const int a_row = threadIdx.x / 2, a_col = threadIdx.x % 2 * 8;
  const int b_row = threadIdx.x / 8, b_col = threadIdx.x % 8 * 8;
  const bool loads_b = wave_id() < 4;

  float8 c00 = {}, c01 = {}, c10 = {}, c11 = {};
  Chunk a_next, b_next;
  int buffer = 0;
  // One turn more than there are steps: turn t loads tile t, and multiplies tile t - 1.
  for (int k = 0; k < K + BLOCK_K; k += BLOCK_K) {
    const bool more = k < K;
    if (more) {
      a_next = load_row8(tile_at(A, M, K, block_m, k), a_row, a_col);
      if (loads_b) b_next = load_row8(tile_at(B, K, N, k, block_n), b_row, b_col);
    }
    if (k > 0) {
      const half8* a0 = (const half8*)A_lds[buffer][warp_m + frag];
      const half8* a1 = (const half8*)A_lds[buffer][warp_m + 16 + frag];
      const half8* b0 = (const half8*)B_lds[buffer][warp_n + frag];
      const half8* b1 = (const half8*)B_lds[buffer][warp_n + 16 + frag];
      half16 a_low, a_high, b_low, b_high;
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        a_low[i] = a0[0][i], a_low[i + 8] = a0[1][i];
        a_high[i] = a1[0][i], a_high[i + 8] = a1[1][i];
        b_low[i] = b0[0][i], b_low[i + 8] = b0[1][i];
        b_high[i] = b1[0][i], b_high[i + 8] = b1[1][i];
      }
      c00 = mma(a_low, b_low, c00);
      c01 = mma(a_low, b_high, c01);
      c10 = mma(a_high, b_low, c10);
      c11 = mma(a_high, b_high, c11);
    }
    buffer ^= 1;
    if (more) {
      *(half8*)&A_lds[buffer][a_row][a_col] = a_next.values();
      if (loads_b) {
        const half8 values = b_next.values();
#pragma unroll
        for (int i = 0; i < 8; ++i) B_lds[buffer][b_col + i][b_row] = values[i];
      }
    }
    __syncthreads();
  }
  float8 acc[2][2] = {{c00, c01}, {c10, c11}};
  epilogue<BLOCK_M, BLOCK_N>({C, M, N, alpha, beta}, acc, block_m, block_n, warp_m, warp_n);
}
