// Epilogue: coded accumulators pass through a real mma.sync and are stored the ordinary way.
//
// A = B = 0, so D = C: whatever accumulator slot held a code, the place where the code ends up in
// the output matrix is where the epilogue believes that slot belongs. Codes are non-negative
// integers that f32 holds exactly.
#include "probe.h"

constexpr int kThreads = 128;
constexpr int kLd = 8;  // leading dimension of C

extern "C" __global__ void __launch_bounds__(kThreads)
epilogue(const u32* acc,  // [wave][vgpr][lane]
         float* C)        // [64][8]: warp w stores rows [16w, 16w+16)
{
  const int wave = threadIdx.x / kLanes, lane = threadIdx.x % kLanes;
  u32 c[4];
  undump(acc, wave, lane, c);
  float d[4];
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
               " {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%4,%4}, {%5,%6,%7,%8};"
               : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
               : "r"(0), "f"(__int_as_float((int)c[0])), "f"(__int_as_float((int)c[1])),
                 "f"(__int_as_float((int)c[2])), "f"(__int_as_float((int)c[3])));
#pragma unroll
  for (int v = 0; v < 4; ++v) {
    const int row = wave * 16 + lane / 4 + v / 2 * 8;
    const int col = lane % 4 * 2 + v % 2;
    C[row * kLd + col] = d[v];
  }
}
