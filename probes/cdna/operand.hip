// Operand dump: global -> LDS (scheme) -> operand registers of a real MFMA -> dump.
//
// Two waves, and blocks beneath each other: wave w multiplies rows [w * kRows, ...) of A with as many columns of
// B. The registers that are dumped are those that feed the instruction. With ACC all of them are AccVGPRs.
#include "cdna/mfma.h"
#include "cdna/tile.h"

constexpr int kDepth = larger(kK, 2 * kPerChunk);  // k of the tile, of which the instruction takes the first
typedef Tile<kWaves * kRows, kDepth> TileA;
typedef Tile<kWaves * kCols, kDepth> TileB;

template <typename Operand, typename T> __device__ inline Operand load_operand(const char* lds, int line, int group) {
  union { Operand all; u32 each[kOperandVgprs]; } value;
#pragma unroll
  for (int v = 0; v < kOperandVgprs; ++v) value.each[v] = *(const u32*)(lds + T::byte_of(line, k_byte(group, 4 * v)));
  return value.all;
}

extern "C" __global__ void __block__(kThreads)
operand(const Element* A,  // [kWaves * kRows][kDepth]
        const Element* B,  // [kDepth][kWaves * kCols]
        u32* a_regs,       // [wave][vgpr][lane]
        u32* b_regs,       // [wave][vgpr][lane]
        u32* d_regs)       // [wave][vgpr][lane]
{
  __shared__ alignas(16) char a_lds[TileA::kBytes];  // [m][k]
  __shared__ alignas(16) char b_lds[TileB::kBytes];  // [n][k]: B transposed
  const int thread = thread_id(), wave = thread / kLanes, lane = thread % kLanes;
  TileA::store_rows(a_lds, A, thread, kThreads);
  TileB::store_columns(b_lds, B, thread, kThreads);
  __syncthreads();

  OperandA a = load_operand<OperandA, TileA>(a_lds, wave * kRows + lane % kRows, lane / kRows);
  OperandB b = load_operand<OperandB, TileB>(b_lds, wave * kCols + lane % kCols, lane / kCols);
  pin_words(a);
  pin_words(b);
  const Result d = multiply(a, b, Result{});

  dump_words(a_regs, wave, lane, a);
  dump_words(b_regs, wave, lane, b);
  dump_words(d_regs, wave, lane, d);
}
