// Epilogue: coded accumulators pass through a real WMMA and are stored the ordinary way.
//
// A = B = 0, so D = C: whatever accumulator slot held a code, the place where the code ends up in
// the output matrix is where the epilogue believes that slot belongs. Codes are non-negative
// integers that f32 holds exactly.
#include "wmma.h"

constexpr int kThreads = 128;
constexpr int kLd = 16;  // leading dimension of C

extern "C" __global__ void __block__(kThreads)
epilogue(const u32* acc,  // [wave][vgpr][lane]
         float* C)        // [64][16]: wave w stores rows [16w, 16w+16)
{
  const int thread = thread_id();
  const int wave = thread / kLanes, lane = thread % kLanes;

  const float8 c = undump<float8>(acc, wave, lane);
  const float8 d = WMMA(Fragment{}, Fragment{}, c);

  const int tile_row = wave * 16, tile_col = 0;
#pragma unroll
  for (int v = 0; v < 8; ++v) {
#if __GFX12__
    const int row = tile_row + v + lane / 16 * 8;
#else
    const int row = tile_row + 2 * v + lane / 16;
#endif
    const int col = tile_col + lane % 16;
    C[row * kLd + col] = d[v];
  }
}
