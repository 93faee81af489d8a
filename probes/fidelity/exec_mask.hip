// A matrix instruction while some lanes are inactive.
#include "lds/probe.h"

#if __GFX12__
typedef u32x4 Operand;
#else
typedef u32x8 Operand;
#endif

extern "C" __global__ void __block__(32)
exec_mask(const u32* __restrict__ a,     // [wave][vgpr][lane]
          const u32* __restrict__ b,     // [wave][vgpr][lane]
          const u32* __restrict__ c,     // [wave][vgpr][lane]
          const u32* __restrict__ old,   // [wave][vgpr][lane]: what D holds before
          const u32* __restrict__ mask,  // [wave]: EXEC while the instruction runs
          u32* __restrict__ d)           // [wave][vgpr][lane]
{
  const int wave = group_x(), lane = thread_id();
  const auto x = undump<Operand>(a, wave, lane), y = undump<Operand>(b, wave, lane);
  const auto z = undump<u32x8>(c, wave, lane);
  auto result = undump<u32x8>(old, wave, lane);
  const u32 active = __builtin_amdgcn_readfirstlane(mask[wave]);
  asm volatile(
      "s_mov_b32 exec_lo, %4\n\t"
      "v_wmma_f32_16x16x16_f16 %0, %1, %2, %3\n\t"
      "s_mov_b32 exec_lo, -1"
      : "+v"(result) : "v"(x), "v"(y), "v"(z), "s"(active));
  dump(d, wave, lane, result);
}
