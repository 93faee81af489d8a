// 16-bit loads and stores: which half of a register or dword they touch, and what becomes of the other.
//
// Every register holds `old` before its load, so that what is left of it shows. The assembly text
// leaves the compiler no choice of instruction.
#include "lds/probe.h"
#include "fidelity/waits.h"

constexpr int kOps = 14;

typedef __attribute__((address_space(3))) u32 lds_u32;

#define LOAD(n, text)                                                                       \
  {                                                                                         \
    u32 value = old[(wave * kOps + n) * kLanes + lane];                                     \
    asm volatile(text " %0, %1, %2\n\t" WAIT_GLOBAL                                         \
                 : "+v"(value) : "v"(lane * 4), "s"(memory) : "memory");                    \
    out[(wave * kOps + n) * kLanes + lane] = value;                                         \
  }
#define LOAD_LDS(n, text)                                                                   \
  {                                                                                         \
    u32 value = old[(wave * kOps + n) * kLanes + lane];                                     \
    asm volatile(text " %0, %1\n\t" WAIT_LDS : "+v"(value) : "v"(mine) : "memory");         \
    out[(wave * kOps + n) * kLanes + lane] = value;                                         \
  }
// Stores into the low half of a dword of LDS that holds `old`.
#define STORE_LDS(n, text)                                                                  \
  {                                                                                         \
    *mine = old[(wave * kOps + n) * kLanes + lane];                                         \
    asm volatile(WAIT_LDS "\n\t" text " %0, %1\n\t" WAIT_LDS : : "v"(mine), "v"(word) : "memory"); \
    out[(wave * kOps + n) * kLanes + lane] = *mine;                                         \
  }

extern "C" __global__ void __block__(32)
d16(const u32* __restrict__ memory,  // [lane]
    const u32* __restrict__ old,     // [wave][op][lane]
    u32* __restrict__ out)           // [wave][op][lane]
{
  __shared__ u32 held[kLanes];
  const int wave = group_x(), lane = thread_id();
  lds_u32* const mine = (lds_u32*)held + lane;
  const u32 word = memory[lane];
  *mine = word;
  asm volatile(WAIT_LDS : : "v"(mine) : "memory");
  LOAD(0, "global_load_d16_b16")
  LOAD(1, "global_load_d16_hi_b16")
  LOAD(2, "global_load_d16_u8")
  LOAD(3, "global_load_d16_hi_u8")
  LOAD(4, "global_load_d16_i8")
  LOAD(5, "global_load_d16_hi_i8")
  LOAD_LDS(6, "ds_load_u16_d16")
  LOAD_LDS(7, "ds_load_u16_d16_hi")
  LOAD_LDS(8, "ds_load_u8_d16")
  LOAD_LDS(9, "ds_load_u8_d16_hi")
  LOAD_LDS(10, "ds_load_i8_d16")
  LOAD_LDS(11, "ds_load_i8_d16_hi")
  STORE_LDS(12, "ds_store_b16")
  STORE_LDS(13, "ds_store_b16_d16_hi")
}
