// Interaction: raw registers in, one real matrix instruction, raw registers out.
//
// The kernel assumes no layout whatever: what a slot means is what the experiment finds out by
// choosing the registers. One wave is one experiment, and one workgroup.
#include "wmma.h"

extern "C" __global__ void __block__(32)
interaction(const u32* __restrict__ a,  // [wave][vgpr][lane]
            const u32* __restrict__ b,  // [wave][vgpr][lane]
            const u32* __restrict__ c,  // [wave][vgpr][lane]
            u32* __restrict__ d)        // [wave][vgpr][lane]
{
  const int wave = group_x(), lane = thread_id();
  const Fragment a_operand = undump<Fragment>(a, wave, lane);
  const Fragment b_operand = undump<Fragment>(b, wave, lane);
  const float8 c_operand = undump<float8>(c, wave, lane);
  dump(d, wave, lane, WMMA(a_operand, b_operand, c_operand));
}
