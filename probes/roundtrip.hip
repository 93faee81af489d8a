// Roundtrip: a tile of 16-bit codes, 64 x 16 in LDS, goes there under the scheme and comes back.
//
// The tile is A, M x K, or with ROUNDTRIP_B (see roundtrip_b.hip) B, K x N: then it is transposed on
// the way, so that k is contiguous in LDS for both.
//
// Dumps what every lane read back, as raw registers, and LDS itself in address order: the second
// shows where the codes physically are, whatever the load made of them.
#include "lds/probe.h"
#include "lds/lds_schemes.h"

constexpr int kRows = 64, kCols = 16;
constexpr int kThreads = 128;

extern "C" __global__ void __block__(kThreads)
roundtrip(const u16* in,  // A: [64][16]; B: [16][64]
          u32* readback,  // [wave][vgpr][lane], 4 VGPRs
          u32* lds_dump)  // [dword of the LDS allocation]
{
  __shared__ alignas(16) u16 tile[lds_size(kRows, kCols)];
  const int thread = thread_id();
  const int wave = thread / kLanes, lane = thread % kLanes;

#ifdef ROUNDTRIP_B
  // One 8-half vector per lane: eight lanes read a row of B, whose elements go to eight lines of LDS.
  const int b_row = thread / 8, b_col = thread % 8 * kChunk;
  const u16x8 codes = *(const u16x8*)&in[b_row * kRows + b_col];
#pragma unroll
  for (int i = 0; i < kChunk; ++i) tile[lds_index<kCols>(b_col + i, b_row)] = codes[i];
#else
  // One 8-half vector per lane: two neighbouring lanes fill a row.
  const int store_row = thread / 2, store_col = thread % 2 * kChunk;
  const u16x8 codes = *(const u16x8*)&in[store_row * kCols + store_col];
  *(u16x8*)&tile[lds_index<kCols>(store_row, store_col)] = codes;
#endif
  __syncthreads();

  // Read back as an operand is read: rows along the lanes, the half-waves taking the two chunks.
  const int load_row = wave * 16 + lane % 16, load_col = lane / 16 * kChunk;
  const u32x4 got = bits<u32x4>(*(const u16x8*)&tile[lds_index<kCols>(load_row, load_col)]);
#pragma unroll
  for (int v = 0; v < 4; ++v) readback[(wave * 4 + v) * kLanes + lane] = got[v];

  // Padding was never stored to: its dwords are undefined, and an emulator says so.
  constexpr int kDwords = lds_size(kRows, kCols) / 2;
  static_assert(kDwords % kThreads == 0, "every thread copies as many dwords");
  const u32* dwords = (const u32*)tile;
#pragma unroll
  for (int i = 0; i < kDwords / kThreads; ++i) lds_dump[i * kThreads + thread] = dwords[i * kThreads + thread];
}
