// Interaction: raw registers in, one mma.sync, raw registers out. One warp is one experiment.
#include "probe.h"

extern "C" __global__ void __launch_bounds__(32)
interaction(const u32* __restrict__ a_in,  // [wave][vgpr][lane]
            const u32* __restrict__ b_in,  // [wave][vgpr][lane]
            const u32* __restrict__ c_in,  // [wave][vgpr][lane]
            u32* __restrict__ d_out)       // [wave][vgpr][lane]
{
  const int wave = blockIdx.x, lane = threadIdx.x;
  u32 a[4], b[2], c[4], d[4];
  undump(a_in, wave, lane, a);
  undump(b_in, wave, lane, b);
  undump(c_in, wave, lane, c);
  float sum[4];
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
               " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
               : "=f"(sum[0]), "=f"(sum[1]), "=f"(sum[2]), "=f"(sum[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]),
                 "f"(__int_as_float((int)c[0])), "f"(__int_as_float((int)c[1])),
                 "f"(__int_as_float((int)c[2])), "f"(__int_as_float((int)c[3])));
#pragma unroll
  for (int v = 0; v < 4; ++v) d[v] = (u32)__float_as_int(sum[v]);
  dump(d_out, wave, lane, d);
}
