// Roundtrip: a tile of codes, 64 lines of 64 bytes in LDS, goes there under the scheme and comes back.
//
// The tile is A, M x K, or with ROUNDTRIP_B (see roundtrip_b.hip) B, K x N: then it is transposed on the way, so
// that k is contiguous in LDS for both.
//
// Dumps what every lane read back, as raw registers, and LDS itself in address order: the second shows where the
// codes physically are, whatever the load made of them.
#include "cdna/tile.h"

constexpr int kThreads = 128;
constexpr int kLines = 64, kLineElements = 4 * per_chunk(A_BITS), kLineBytes = kLineElements * A_BITS / 8;
constexpr int kVgprs = kLines * kLineBytes / kThreads / 4;
typedef Tile<kLines, kLineElements, A_BITS> Whole;

extern "C" __global__ void __block__(kThreads)
roundtrip(const ElementA* in,  // A: [64][kLineElements]; B: [kLineElements][64]
          u32* readback,       // [wave][vgpr][lane], kVgprs
          u32* lds_dump)       // [dword of the LDS allocation]
{
  __shared__ alignas(16) char tile[Whole::kBytes];
  const int thread = thread_id(), wave = thread / kLanes, lane = thread % kLanes;
#ifdef ROUNDTRIP_B
  Whole::store_columns(tile, in, thread, kThreads);
#else
  Whole::store_rows(tile, in, thread, kThreads);
#endif
  __syncthreads();

  // Read back as an operand is read: lines along the lanes, the half-waves taking the halves of a line.
  const int line = wave * 32 + lane % 32, first = lane / 32 * (kLineBytes / 2);
#pragma unroll
  for (int v = 0; v < kVgprs; ++v)
    readback[(wave * kVgprs + v) * kLanes + lane] = *(const u32*)(tile + Whole::byte_of(line, first + 4 * v));

  // Padding was never stored to: its dwords are undefined, and an emulator says so.
  for (int i = thread; i < Whole::kBytes / 4; i += kThreads) lds_dump[i] = ((const u32*)tile)[i];
}
