// A GEMM with the classic fragment bug: A fragments are filled down columns.
//
// A lane holds k of a ROW of A, on gfx11 all 16. This kernel gives lane l those of column l % 16 of
// each 16 x 16 tile instead, and so computes (A with every 16 x 16 tile transposed in place) * B. With
// A[i][k] = i % 16 and B[k][j] = k it prints 1240 everywhere, as a gfx1151 board once did for a kernel
// with this load; the right answer is 120 * (i % 16), which -DCOLUMN_LOAD=0 gives.
//
// 64 x 64 block tile, K step 16, four waves of 16 x 64. M and N are multiples of 64, K of 16.
#include "wmma.h"

#ifndef COLUMN_LOAD
#define COLUMN_LOAD 1
#endif

constexpr int kBlock = 64, kBlockK = 16;
constexpr int kThreads = 128;
constexpr int kStride = 24;  // halves from one LDS row to the next

extern "C" __global__ void __block__(kThreads)
gemm(const half* __restrict__ A,  // [M][K]
     const half* __restrict__ B,  // [K][N]
     float* __restrict__ C,       // [M][N]
     int M, int N, int K)
{
  __shared__ half a_lds[kBlock][kStride];  // [m][k]
  __shared__ half b_lds[kBlock][kStride];  // [n][k]
  const int thread = thread_id(), lane = thread % kLanes, wave = thread / kLanes;
  const int block_m = group_y() * kBlock, block_n = group_x() * kBlock;
  const int base = wave * 16, frag = lane % 16;

  float8 acc[kBlock / 16] = {};
  for (int k = 0; k < K; k += kBlockK) {
#pragma unroll
    for (int step = 0; step < kBlock * kBlockK / kThreads; ++step) {
      const int i = step * kThreads + thread;
      a_lds[i / kBlockK][i % kBlockK] = A[(block_m + i / kBlockK) * K + k + i % kBlockK];
      b_lds[i % kBlock][i / kBlock] = B[(k + i / kBlock) * N + block_n + i % kBlock];
    }
    __syncthreads();

    Fragment a;
#pragma unroll
    for (int e = 0; e < kFragment; ++e) {
      const int k = k_of(lane, e);
      a[e] = COLUMN_LOAD ? a_lds[base + k][frag] : a_lds[base + frag][k];
    }
#pragma unroll
    for (int j = 0; j < kBlock / 16; ++j) {
      Fragment b;
#pragma unroll
      for (int e = 0; e < kFragment; ++e) b[e] = b_lds[j * 16 + frag][k_of(lane, e)];
      acc[j] = WMMA(a, b, acc[j]);
    }
    __syncthreads();
  }

#pragma unroll
  for (int j = 0; j < kBlock / 16; ++j)
#pragma unroll
    for (int v = 0; v < 8; ++v)
      C[(block_m + base + kVgprRows * v + lane / 16 * kHalfRows) * N + block_n + j * 16 + frag] = acc[j][v];
}
