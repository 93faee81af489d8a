// A matrix instruction while some lanes are inactive.
#include "lds/probe.h"

#if __GFX12__
constexpr int kA = 4;
typedef u32x4 Operand;
#else
constexpr int kA = 8;
typedef u32x8 Operand;
#endif

__device__ inline Operand operand(const u32* in, int wave, int lane) {
  Operand registers;
#pragma unroll
  for (int v = 0; v < kA; ++v) registers[v] = in[(wave * kA + v) * kLanes + lane];
  return registers;
}

extern "C" __global__ void __block__(32)
exec_mask(const u32* __restrict__ a,     // [wave][vgpr][lane]
          const u32* __restrict__ b,     // [wave][vgpr][lane]
          const u32* __restrict__ c,     // [wave][vgpr][lane]
          const u32* __restrict__ old,   // [wave][vgpr][lane]: what D holds before
          const u32* __restrict__ mask,  // [wave]: EXEC while the instruction runs
          u32* __restrict__ d)           // [wave][vgpr][lane]
{
  const int wave = group_x(), lane = thread_id();
  const Operand x = operand(a, wave, lane), y = operand(b, wave, lane);
  const u32x8 z = undump(c, wave, lane);
  u32x8 result = undump(old, wave, lane);
  const u32 active = __builtin_amdgcn_readfirstlane(mask[wave]);
  asm volatile(
      "s_mov_b32 exec_lo, %4\n\t"
      "v_wmma_f32_16x16x16_f16 %0, %1, %2, %3\n\t"
      "s_mov_b32 exec_lo, -1"
      : "+v"(result) : "v"(x), "v"(y), "v"(z), "s"(active));
  dump(d, wave, lane, result);
}
