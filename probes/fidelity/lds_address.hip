// LDS at any byte address: loads, then stores into LDS that is filled anew before each.
#include "lds/probe.h"
#include "fidelity/waits.h"

constexpr int kLoaded = 8;    // dwords: 1 of u16, 1 of b32, 2 of b64, 4 of b128
constexpr int kStores = 4;    // b16, b32, b64, b128
constexpr int kDwords = 512;  // of LDS

typedef __attribute__((address_space(3))) u32 lds_u32;

__device__ inline void fill(lds_u32* lds, const u32* memory, int lane) {
  for (int i = lane; i < kDwords; i += kLanes) lds[i] = memory[i];
  asm volatile(WAIT_LDS : : "v"(lds) : "memory");
}

#define STORE(n, text, value)                                                        \
  {                                                                                  \
    fill(lds, memory, lane);                                                         \
    asm volatile(text " %0, %1\n\t" WAIT_LDS : : "v"(at), "v"(value) : "memory");    \
    for (int i = lane; i < kDwords; i += kLanes)                                     \
      stored[(wave * kStores + n) * kDwords + i] = lds[i];                           \
  }

extern "C" __global__ void __block__(32)
lds_address(const u32* __restrict__ memory,  // [dword]: what LDS holds
            const u32* __restrict__ word,    // [vgpr][lane]: what is stored
            const u32* __restrict__ address, // [wave][lane]: bytes
            u32* __restrict__ loaded,        // [wave][vgpr][lane]
            u32* __restrict__ stored)        // [wave][store][dword]: LDS afterwards
{
  __shared__ u32 held[kDwords];
  lds_u32* const lds = (lds_u32*)held;
  const int wave = group_x(), lane = thread_id();
  const u32 at = (u32)lds + address[wave * kLanes + lane];
  fill(lds, memory, lane);
  u32 one, two;
  u32x2 pair;
  u32x4 four;
  asm volatile(
      "ds_load_u16 %0, %4\n\t"
      "ds_load_b32 %1, %4\n\t"
      "ds_load_b64 %2, %4\n\t"
      "ds_load_b128 %3, %4\n\t" WAIT_LDS
      : "=&v"(one), "=&v"(two), "=&v"(pair), "=&v"(four) : "v"(at) : "memory");
  const u32 all[kLoaded] = {one, two, pair[0], pair[1], four[0], four[1], four[2], four[3]};
#pragma unroll
  for (int v = 0; v < kLoaded; ++v) loaded[(wave * kLoaded + v) * kLanes + lane] = all[v];
  u32x4 given;
#pragma unroll
  for (int v = 0; v < 4; ++v) given[v] = word[v * kLanes + lane];
  const u32 low = given[0];
  const u32x2 half_of_it = {given[0], given[1]};
  STORE(0, "ds_store_b16", low)
  STORE(1, "ds_store_b32", low)
  STORE(2, "ds_store_b64", half_of_it)
  STORE(3, "ds_store_b128", given)
}
