// Interaction: raw registers in, one mma.sync, raw registers out. One warp is one experiment.
//
// INSTRUCTION is its PTX text; A_REGS, B_REGS, D_REGS are 32-bit registers of its operands, and
// D_IS_F32 says whether those of C and D are of PTX's type .f32. The kernel knows no layout.
#include "probe.h"

#ifndef INSTRUCTION  // that of the other probes
#define INSTRUCTION "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
#define A_REGS 4
#define B_REGS 2
#define D_REGS 4
#define D_IS_F32 1
#endif

#if A_REGS == 4 && B_REGS == 2 && D_REGS == 4
#define OPERANDS " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
#elif A_REGS == 2 && B_REGS == 1 && D_REGS == 4
#define OPERANDS " {%0,%1,%2,%3}, {%4,%5}, {%6}, {%7,%8,%9,%10};"
#elif A_REGS == 4 && B_REGS == 2 && D_REGS == 2
#define OPERANDS " {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%8,%9};"
#elif A_REGS == 2 && B_REGS == 1 && D_REGS == 2
#define OPERANDS " {%0,%1}, {%2,%3}, {%4}, {%5,%6};"
#elif A_REGS == 1 && B_REGS == 1 && D_REGS == 2
#define OPERANDS " {%0,%1}, {%2}, {%3}, {%4,%5};"
#else
#error "no operand list for this instruction"
#endif

#if A_REGS == 4
#define A_INPUTS "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3])
#elif A_REGS == 2
#define A_INPUTS "r"(a[0]), "r"(a[1])
#else
#define A_INPUTS "r"(a[0])
#endif
#if B_REGS == 2
#define B_INPUTS "r"(b[0]), "r"(b[1])
#else
#define B_INPUTS "r"(b[0])
#endif

#if D_IS_F32
typedef float result;
#define OUT "+f"
#define IN "f"
__device__ inline result from_bits(u32 raw) { return __int_as_float((int)raw); }
__device__ inline u32 to_bits(result value) { return (u32)__float_as_int(value); }
#else
typedef u32 result;
#define OUT "+r"
#define IN "r"
__device__ inline result from_bits(u32 raw) { return raw; }
__device__ inline u32 to_bits(result value) { return value; }
#endif

extern "C" __global__ void __launch_bounds__(32)
interaction(const u32* __restrict__ a_in,  // [wave][vgpr][lane]
            const u32* __restrict__ b_in,  // [wave][vgpr][lane]
            const u32* __restrict__ c_in,  // [wave][vgpr][lane]
            const u32* __restrict__ old,   // [wave][vgpr][lane]: what the registers of D held before
            u32* __restrict__ d_out)       // [wave][vgpr][lane]
{
  const int wave = blockIdx.x, lane = threadIdx.x;
  u32 a[A_REGS], b[B_REGS], raw[D_REGS];
  result c[D_REGS], d[D_REGS];
  undump(a_in, wave, lane, a);
  undump(b_in, wave, lane, b);
  undump(c_in, wave, lane, raw);
#pragma unroll
  for (int v = 0; v < D_REGS; ++v) c[v] = from_bits(raw[v]);
  undump(old, wave, lane, raw);
#pragma unroll
  for (int v = 0; v < D_REGS; ++v) d[v] = from_bits(raw[v]);
#if D_REGS == 4
  asm volatile(INSTRUCTION OPERANDS
               : OUT(d[0]), OUT(d[1]), OUT(d[2]), OUT(d[3])
               : A_INPUTS, B_INPUTS, IN(c[0]), IN(c[1]), IN(c[2]), IN(c[3]));
#else
  asm volatile(INSTRUCTION OPERANDS : OUT(d[0]), OUT(d[1]) : A_INPUTS, B_INPUTS, IN(c[0]), IN(c[1]));
#endif
#pragma unroll
  for (int v = 0; v < D_REGS; ++v) raw[v] = to_bits(d[v]);
  dump(d_out, wave, lane, raw);
}
