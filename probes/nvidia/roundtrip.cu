// Roundtrip: a tile of 16-bit codes, 64 x 16 in shared memory, goes there under the scheme and back.
//
// The tile is A, M x K, or with ROUNDTRIP_B (see roundtrip_b.cu) B, K x N: then it is transposed on
// the way, so that k is contiguous in shared memory for both. All of that memory is set to all ones
// first, a code that no pattern uses: what a card leaves there otherwise is anybody's.
#include "probe.h"
#include "lds/lds_schemes.h"

constexpr int kRows = 64, kCols = 16;
constexpr int kThreads = 128;

extern "C" __global__ void __launch_bounds__(kThreads)
roundtrip(const u16* in,  // A: [64][16]; B: [16][64]
          u32* readback,  // [wave][vgpr][lane], 4 VGPRs
          u32* lds_dump)  // [dword of the allocation]
{
  __shared__ alignas(16) u16 tile[lds_size(kRows, kCols)];
  const int thread = threadIdx.x;
  const int wave = thread / kLanes, lane = thread % kLanes;
  constexpr int kDwords = lds_size(kRows, kCols) / 2;
  static_assert(kDwords % kThreads == 0, "every thread copies as many dwords");
  u32* dwords = (u32*)tile;
  for (int i = thread; i < kDwords; i += kThreads) dwords[i] = 0xFFFFFFFFu;
  __syncthreads();

#ifdef ROUNDTRIP_B
  const int b_row = thread / 8, b_col = thread % 8 * kChunk;
  for (int i = 0; i < kChunk; ++i) tile[lds_index<kCols>(b_col + i, b_row)] = in[b_row * kRows + b_col + i];
#else
  const int store_row = thread / 2, store_col = thread % 2 * kChunk;
  *(u32x4*)&tile[lds_index<kCols>(store_row, store_col)] = *(const u32x4*)&in[store_row * kCols + store_col];
#endif
  __syncthreads();

  const int load_row = wave * 16 + lane % 16, load_col = lane / 16 * kChunk;
  const u32x4 got = *(const u32x4*)&tile[lds_index<kCols>(load_row, load_col)];
  const u32 registers[4] = {got.x, got.y, got.z, got.w};
  dump(readback, wave, lane, registers);
  for (int i = thread; i < kDwords; i += kThreads) lds_dump[i] = dwords[i];
}
