// How long LDS takes for 64 accesses in a row, for each pattern of addresses: bank conflicts by the clock.
//
// One wave alone. Each pattern is timed kRepeats times; the shortest is the one that nothing disturbed.
// The clock is the shader's own, of which 20 bits are kept.
#include "lds/probe.h"

#ifndef WIDTH
#define WIDTH 0  // 0 a dword, 1 two, 2 four
#endif
#ifndef STORE
#define STORE 0
#endif

#if __GFX12__
#define WAIT_ALL "s_wait_idle\n\t"
#define WAIT_LDS "s_wait_dscnt 0x0\n\t"
#define CLOCK "hwreg(HW_REG_SHADER_CYCLES_LO, 0, 20)"
#else
#define WAIT_ALL "s_waitcnt vmcnt(0) lgkmcnt(0)\n\ts_waitcnt_vscnt null, 0x0\n\t"
#define WAIT_LDS "s_waitcnt lgkmcnt(0)\n\t"
#define CLOCK "hwreg(HW_REG_SHADER_CYCLES, 0, 20)"
#endif

#if WIDTH == 0
typedef u32 Word;
#define BITS "b32"
#elif WIDTH == 1
typedef u32x2 Word;
#define BITS "b64"
#else
typedef u32x4 Word;
#define BITS "b128"
#endif

#if STORE
#define ACCESS "ds_store_" BITS " %3, %2\n\t"
#else
#define ACCESS "ds_load_" BITS " %2, %3\n\t"
#endif
#define FOUR(x) x x x x

constexpr int kRepeats = 8;
constexpr int kBytes = 8192;

typedef __attribute__((address_space(3))) u32 lds_u32;

extern "C" __global__ void __block__(32)
lds_time(const u32* __restrict__ address,  // [pattern][lane]: bytes
         int patterns,
         u32* __restrict__ elapsed)        // [pattern][repeat]: clocks of 64 accesses
{
  __shared__ u32 held[kBytes / 4];
  const int lane = thread_id();
  const u32 base = (u32)(lds_u32*)held;
  Word data = {};
  for (int p = 0; p < patterns; ++p) {
    const u32 at = base + address[p * kLanes + lane];
#pragma unroll 1
    for (int r = 0; r < kRepeats; ++r) {
      u32 before, after;
      asm volatile(WAIT_ALL
                   "s_getreg_b32 %0, " CLOCK "\n\t"
                   FOUR(FOUR(FOUR(ACCESS)))
                   WAIT_LDS
                   "s_getreg_b32 %1, " CLOCK
                   : "=&s"(before), "=&s"(after), "+v"(data) : "v"(at) : "memory");
      if (lane == 0) elapsed[p * kRepeats + r] = (after - before) & 0xFFFFF;
    }
  }
}
