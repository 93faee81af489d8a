// Operand dump: global -> LDS (scheme) -> operand registers of a real WMMA -> dump.
//
// Four waves; the block tile is M = 64, N = 64, K = 16. Wave w multiplies rows [16w, 16w+16) of A
// with columns [16w, 16w+16) of B. The registers that are dumped are those that feed the
// instruction, and D is dumped too, so that nothing of it can be optimised away.
#include "wmma.h"
#include "lds/lds_schemes.h"

constexpr int kM = 64, kN = 64, kK = 16;
constexpr int kThreads = 128;

// A lane's part of an operand, from one LDS row.
__device__ inline Fragment load_fragment(const u16* lds, int row) {
#if __GFX12__
  // The half-waves share a row: of every 8 k, lanes 0-15 hold the first 4 and lanes 16-31 the others.
  const int k = thread_id() % kLanes / 16 * 4;
  const u16x4 low = *(const u16x4*)&lds[lds_index<kK>(row, k)];
  const u16x4 high = *(const u16x4*)&lds[lds_index<kK>(row, k + 8)];
  return bits<Fragment>(__builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7));
#else
  // All 16 k of the row; both half-waves hold them.
  const u16x8 low = *(const u16x8*)&lds[lds_index<kK>(row, 0)];
  const u16x8 high = *(const u16x8*)&lds[lds_index<kK>(row, 8)];
  return bits<Fragment>(__builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7,
                                                8, 9, 10, 11, 12, 13, 14, 15));
#endif
}

extern "C" __global__ void __block__(kThreads)
operand(const u16* A,  // [64][16] row-major, M x K
        const u16* B,  // [16][64] row-major, K x N
        u32* a_regs,   // [wave][vgpr][lane]
        u32* b_regs,   // [wave][vgpr][lane]
        u32* d_regs)   // [wave][vgpr][lane]
{
  __shared__ alignas(16) u16 a_lds[lds_size(kM, kK)];  // [m][k]
  __shared__ alignas(16) u16 b_lds[lds_size(kN, kK)];  // [n][k]: B transposed
  const int thread = thread_id();
  const int wave = thread / kLanes, lane = thread % kLanes;

  const int a_row = thread / 2, a_col = thread % 2 * kChunk;
  *(u16x8*)&a_lds[lds_index<kK>(a_row, a_col)] = *(const u16x8*)&A[a_row * kK + a_col];

  const int b_row = thread / 8, b_col = thread % 8 * kChunk;
  const u16x8 b_codes = *(const u16x8*)&B[b_row * kN + b_col];
#pragma unroll
  for (int i = 0; i < kChunk; ++i) b_lds[lds_index<kK>(b_col + i, b_row)] = b_codes[i];
  __syncthreads();

  // A lane holds k of one row of A and of one column of B.
  Fragment a = load_fragment(a_lds, wave * 16 + lane % 16);
  Fragment b = load_fragment(b_lds, wave * 16 + lane % 16);
  pin(a);
  pin(b);
  const float8 d = WMMA(a, b, float8{});

  dump(a_regs, wave, lane, a);
  dump(b_regs, wave, lane, b);
  dump(d_regs, wave, lane, d);
}
