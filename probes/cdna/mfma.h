// What the probes must know of an MFMA. Whoever compiles them says which one it is: its mnemonic
// (INSTRUCTION, MODIFIERS), INST_M, INST_N, INST_K, INST_BLOCKS, the widths of its elements (A_BITS, B_BITS, RESULT_BITS),
// the registers of A and B (A_VGPRS, B_VGPRS), and whether A is sparse (SPARSE) or all operands are scaled (SCALED). So
// another instruction needs no other probe.
//
// The formulas are those of AMD's CDNA ISA guides, 7.1.4; of f8f6f4 those of Triton, of the longest sparse forms those of
// rocjitsu. They are what is probed: nothing else relies on them.
#pragma once
#include "lds/probe.h"

#ifdef ACC
#define FILE "a"  // AccVGPRs
#else
#define FILE "v"
#endif

constexpr int kM = INST_M, kN = INST_N, kK = INST_K, kBlocks = INST_BLOCKS;
constexpr int kWaves = 2, kThreads = 128;
constexpr int larger(int a, int b) { return a > b ? a : b; }
constexpr int smaller(int a, int b) { return a < b ? a : b; }

// A and B: the rows (columns) of all blocks lie along the lanes, and so many groups of lanes share their k.
constexpr int kRows = kM * kBlocks, kCols = kN * kBlocks;
template <int Count> struct Words { typedef u32 type __attribute__((ext_vector_type(Count))); };
template <> struct Words<1> { typedef u32 type; };
typedef Words<A_VGPRS>::type OperandA;
typedef Words<B_VGPRS>::type OperandB;


// What a lane holds of an operand: the same lines, and as much of k, as the other lanes of its group. Sparse A is
// compressed: of every four k two are kept, and lie side by side.
template <int Lines, int Bits, bool Compressed> struct Held {
  static constexpr int kDense = Lines * kK * Bits / 8 / kLanes;  // bytes, if nothing is left out
  static constexpr int kBytes = Compressed ? kDense / 2 : kDense, kVgprs = kBytes / 4;
  // What is longer than 16 bytes comes in runs: of 16 bytes, beside sparse A of 8 elements; below a byte it does not.
  static constexpr bool kLong = kDense > 16 && Bits >= 8;
  static constexpr int kRun = !kLong || Compressed ? kBytes : SPARSE ? Bits : 16;
  static constexpr bool kInterleaved = kLong && Compressed && Bits == 8;
  static constexpr int kPiece = kInterleaved ? 2 : 4;  // bytes that stay together

  // Where along k, in bytes, a lane's byte `at` belongs.
  __device__ static int k_byte(int group, int at) {
    if (kInterleaved) {
      const int pair = at / 2, middle = pair / 2 % 2, far = kM == 16 ? group % 2 + 2 * middle + group / 2 * 4 : middle + 2 * group;
      return 2 * (pair % 2 + pair / 4 * 2 + 4 * far) + at % 2;
    }
    return (at / kRun * (kLanes / Lines) + group) * kRun + at % kRun;
  }
};
typedef Held<kRows, A_BITS, SPARSE> HeldA;
typedef Held<kCols, B_BITS, false> HeldB;

// C and D: 32-bit rows in runs of four along the VGPRs, 64-bit ones one by one; a slot is what holds an element.
constexpr int kSlotWords = RESULT_BITS / 32, kSlots = larger(1, kRows * kN / kLanes);
constexpr int kRowRun = RESULT_BITS == 64 ? 1 : 4;
constexpr int kGroups = kLanes / kN;              // groups of lanes along a column
constexpr int kBlockSlots = kM * kN / kLanes;      // slots of a block; 0 where blocks share one
constexpr int kSide = larger(1, kLanes * kRowRun / (kM * kN));  // blocks beside each other along the lanes
constexpr int kResultVgprs = kSlots * kSlotWords;
typedef Words<kResultVgprs>::type Result;

__device__ inline int block_of(int lane, int slot) {
  return kBlockSlots ? slot / larger(1, kBlockSlots) : lane / kN % kSide;
}
__device__ inline int row_of(int lane, int slot) {
  const int at = kBlockSlots ? slot % larger(1, kBlockSlots) : slot;
  return kRowRun * (kGroups * (at / kRowRun) + lane / kN / kSide) + at % kRowRun;
}
__device__ inline int col_of(int lane) { return lane % kN; }

template <typename T> __device__ inline void pin_words(T& words) { asm volatile("" : "+" FILE(words)); }

// The instruction. Around inline assembly no compiler waits: two states before, and 24 after, more than any needs.
#define SETTLED MODIFIERS "\n\ts_nop 15\n\ts_nop 7"
__device__ inline Result multiply(OperandA a, OperandB b, Result c) {
#if SPARSE
  // It adds to what D held. The index keeps elements 0 and 1 of every four in even lanes, 2 and 3 in odd ones.
  const u32 index = thread_id() % 2 ? 0xeeeeeeee : 0x44444444;
  asm volatile("s_nop 1\n\t" INSTRUCTION " %0, %1, %2, %3" SETTLED : "+" FILE(c) : FILE(a), FILE(b), "v"(index));
  return c;
#else
  Result d;
#if SCALED
  // Every lane has scales of its own, and none is a NaN.
  const u32 of_a = 100 + thread_id() % kLanes / 2, of_b = 140 - thread_id() % kLanes / 2;
  asm volatile("s_nop 1\n\t" INSTRUCTION " %0, %1, %2, %3, %4, %5 op_sel_hi:[0,0,0]" SETTLED
               : "=&" FILE(d)
               : FILE(a), FILE(b), FILE(c), "v"(of_a), "v"(of_b));
#else
  asm volatile("s_nop 1\n\t" INSTRUCTION " %0, %1, %2, %3" SETTLED
               : "=&" FILE(d)
               : FILE(a), FILE(b), FILE(c));
#endif
  return d;
#endif
}

// Registers to out[wave][vgpr][lane], and back. A vector of six fills eight words of memory.
template <int Vgprs, typename T> __device__ inline void dump_words(u32* out, int wave, int lane, T words) {
  union { T all; u32 each[Vgprs]; } value = {words};
#pragma unroll
  for (int v = 0; v < Vgprs; ++v) out[(wave * Vgprs + v) * kLanes + lane] = value.each[v];
}
template <typename T> __device__ inline T undump_words(const u32* in, int wave, int lane) {
  constexpr int kVgprs = sizeof(T) / 4;
  union { T all; u32 each[kVgprs]; } value;
#pragma unroll
  for (int v = 0; v < kVgprs; ++v) value.each[v] = in[(wave * kVgprs + v) * kLanes + lane];
  return value.all;
}
