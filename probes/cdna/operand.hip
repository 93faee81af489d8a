// Operand dump: global -> LDS (scheme) -> operand registers of a real MFMA -> dump.
//
// Two waves, and blocks beneath each other: wave w multiplies rows [w * kRows, ...) of A with as many columns of
// B. The registers that are dumped are those that feed the instruction. With ACC all of them are AccVGPRs.
#include "cdna/mfma.h"
#include "cdna/tile.h"

// k of the tiles, of which the instruction takes the first; of sparse A half is kept.
constexpr int kKept = SPARSE ? 2 : 1;
constexpr int kDepth = larger(kK, larger(2 * kKept * per_chunk(A_BITS), 2 * per_chunk(B_BITS)));
typedef Tile<kWaves * kRows, kDepth / kKept, A_BITS> TileA;
typedef Tile<kWaves * kCols, kDepth, B_BITS> TileB;

template <int Bytes> struct Piece { typedef u32 type; };
template <> struct Piece<2> { typedef u16 type; };

template <typename Operand, typename Held, typename T>
__device__ inline Operand load_operand(const char* lds, int line, int group) {
  typedef typename Piece<Held::kPiece>::type Part;
  union { Operand all; Part each[sizeof(Operand) / sizeof(Part)]; } value;
#pragma unroll
  for (int p = 0; p < Held::kBytes / Held::kPiece; ++p)
    value.each[p] = *(const Part*)(lds + T::byte_of(line, Held::k_byte(group, Held::kPiece * p)));
  return value.all;
}

extern "C" __global__ void __block__(kThreads)
operand(const ElementA* A, // [kWaves * kRows][kDepth / kKept]
        const ElementB* B, // [kDepth][kWaves * kCols]
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

  OperandA a = load_operand<OperandA, HeldA, TileA>(a_lds, wave * kRows + lane % kRows, lane / kRows);
  OperandB b = load_operand<OperandB, HeldB, TileB>(b_lds, wave * kCols + lane % kCols, lane / kCols);
  pin_words(a);
  pin_words(b);
  const Result d = multiply(a, b, Result{});

  dump_words<A_VGPRS>(a_regs, wave, lane, a);
  dump_words<B_VGPRS>(b_regs, wave, lane, b);
  dump_words<kResultVgprs>(d_regs, wave, lane, d);
}
