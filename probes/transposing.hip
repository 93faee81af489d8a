// Operand dump behind transposing loads (gfx12): global memory, [k][line] -> transposing loads -> registers of a real
// WMMA. What each lane fetches there, plainly, what it receives, and what the instruction reads are all dumped.
//
// Waves and tile as in operand.hip. A is transposed in global memory first; B lies as it is given. Nothing is in LDS.
#include "wmma.h"

constexpr int kM = 64, kN = 64, kK = 16, kSide = 8;  // lanes that exchange elements, and elements that each fetches
constexpr int kThreads = 128;
typedef short s16x8 __attribute__((ext_vector_type(8)));

struct Views { Fragment raw, received; };

// Of 8 lanes each names a row of k, and 8 neighbours in it; a lane receives one line of 8 k, as `k_of` has them.
__device__ inline Views load_transposed(const u16* by_k, int lines, int first, int lane) {
  const int k = k_of(lane, lane % kSide);
  const u16* at = &by_k[k * lines + first + lane / kSide % 2 * kSide];
  Views seen;
  seen.raw = bits<Fragment>(*(const u16x8*)at);
  seen.received = bits<Fragment>(
      __builtin_amdgcn_global_load_tr_b128_v8i16((__attribute__((address_space(1))) s16x8*)at));
  return seen;
}

extern "C" __global__ void __block__(kThreads)
transposing(const u16* A,  // [64][16] row-major, M x K
            const u16* B,  // [16][64] row-major, K x N
            u16* a_turned,  // [16][64]: A transposed
            u32* a_raw, u32* a_received, u32* a_regs,  // [wave][vgpr][lane]
            u32* b_raw, u32* b_received, u32* b_regs,
            u32* d_regs)
{
  const int thread = thread_id(), wave = thread / kLanes, lane = thread % kLanes;
  for (int at = thread; at < kM * kK; at += kThreads) a_turned[at % kK * kM + at / kK] = A[at];
  __syncthreads();

  const Views of_a = load_transposed(a_turned, kM, wave * 16, lane);
  const Views of_b = load_transposed(B, kN, wave * 16, lane);
  Fragment a = of_a.received, b = of_b.received;
  pin(a);
  pin(b);
  const float8 d = WMMA(a, b, float8{});

  dump(a_raw, wave, lane, of_a.raw);
  dump(a_received, wave, lane, of_a.received);
  dump(a_regs, wave, lane, a);
  dump(b_raw, wave, lane, of_b.raw);
  dump(b_received, wave, lane, of_b.received);
  dump(b_regs, wave, lane, b);
  dump(d_regs, wave, lane, d);
}
