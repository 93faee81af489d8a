// What LDS and VGPRs hold that nobody has set: read first, then marked for whoever comes next.
//
// One wave is one workgroup. Workgroups that start where an earlier one has ended find its marks, unless
// something clears what it left.
#include "lds/probe.h"
#include "fidelity/waits.h"

constexpr int kDwords = 8;  // of LDS, for each lane

typedef __attribute__((address_space(3))) u32 lds_u32;

extern "C" __global__ void __block__(32)
uninitialised(const u32* __restrict__ mark,  // [wave]
              u32* __restrict__ lds,         // [wave][dword][lane]
              u32* __restrict__ registers)   // [wave][vgpr][lane]
{
  __shared__ u32 held[kDwords * kLanes];
  const int wave = group_x(), lane = thread_id();
  const u32 own = mark[wave];
  u32 first, second;
  // Registers that the compiler has no use for, in a kernel as small as this.
  asm volatile(
      "v_mov_b32 %0, v120\n\t"
      "v_mov_b32 %1, v121\n\t"
      "v_mov_b32 v120, %2\n\t"
      "v_mov_b32 v121, %2"
      : "=&v"(first), "=&v"(second) : "v"(own) : "v120", "v121");
  registers[(wave * 2 + 0) * kLanes + lane] = first;
  registers[(wave * 2 + 1) * kLanes + lane] = second;
#pragma unroll
  for (int i = 0; i < kDwords; ++i) {
    u32 value;
    lds_u32* const mine = (lds_u32*)held + i * kLanes + lane;
    asm volatile("ds_load_b32 %0, %1\n\t" WAIT_LDS "\n\tds_store_b32 %1, %2"
                 : "=&v"(value) : "v"(mine), "v"(own) : "memory");
    lds[(wave * kDwords + i) * kLanes + lane] = value;
  }
}
