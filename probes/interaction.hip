// Interaction: raw registers in, one real matrix instruction, raw registers out.
//
// The kernel assumes no layout whatever: what a slot means is what the experiment finds out by
// choosing the registers. One wave is one experiment, and one workgroup.
#include "lds/probe.h"

#ifndef DTYPE
#define DTYPE 0  // f16; the numbers are those of interaction.toml
#endif
static_assert(DTYPE == 0, "f16 is the only dtype so far");

extern "C" __global__ void __block__(32)
interaction(const u32* __restrict__ a,  // [wave][vgpr][lane]
            const u32* __restrict__ b,  // [wave][vgpr][lane]
            const u32* __restrict__ c,  // [wave][vgpr][lane]
            u32* __restrict__ d)        // [wave][vgpr][lane]
{
  const int wave = group_x(), lane = thread_id();
  const half16 a_operand = bits<half16>(undump(a, wave, lane));
  const half16 b_operand = bits<half16>(undump(b, wave, lane));
  const float8 c_operand = bits<float8>(undump(c, wave, lane));
  dump(d, wave, lane, bits<u32x8>(__builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a_operand, b_operand, c_operand)));
}
