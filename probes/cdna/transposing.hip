// Operand dump behind transposing loads (gfx950): global -> LDS (scheme), [k][line] -> transposing loads -> registers of
// a real MFMA. What each lane fetches there, plainly, what it receives, and what the instruction reads are all dumped.
//
// Two waves, and blocks beneath each other, as in operand.hip. A is transposed on its way to LDS, B lies as in memory.
#include "cdna/mfma.h"
#include "cdna/tile.h"

static_assert(BITS == 8 || BITS == 16, "elements that one transposing load has whole");

constexpr int kDepth = larger(kK, 2 * kPerChunk);  // k of the tile, of which the instruction takes the first
constexpr int kParts = kOperandVgprs / 2;          // loads of 8 bytes
typedef Tile<kDepth, kWaves * kRows> TileA;
typedef Tile<kDepth, kWaves * kCols> TileB;
typedef u32x2 Pair;
typedef int i32x2 __attribute__((ext_vector_type(2)));
typedef short Shorts __attribute__((ext_vector_type(4)));

template <int Bits> __device__ inline Pair transposed(const char* at) {
  if constexpr (Bits == 16)
    return bits<Pair>(__builtin_amdgcn_ds_read_tr16_b64_v4i16((__attribute__((address_space(3))) Shorts*)at));
  else
    return bits<Pair>(__builtin_amdgcn_ds_read_tr8_b64_v2i32((__attribute__((address_space(3))) i32x2*)at));
}

template <typename Operand> struct Views { Operand raw, received; };

// Of 16 lanes' payloads a row of 16 elements takes BITS / 4 lanes: they name that many rows of k, and one strip of lines.
template <typename Operand, typename T>
__device__ inline Views<Operand> load_transposed(const char* lds, int first, int lane) {
  union { Operand all; Pair each[kParts]; } raw, received;
#pragma unroll
  for (int part = 0; part < kParts; ++part) {
    const int k = k_byte(lane / kRows, 8 * part) * 8 / BITS + lane % 16 / (BITS / 4);
    const int strip = (first + lane % kRows / 16 * 16) * BITS / 8 + lane % (BITS / 4) * 8;
    const char* at = lds + T::byte_of(k, strip);
    raw.each[part] = *(const Pair*)at;
    received.each[part] = transposed<BITS>(at);
  }
  return {raw.all, received.all};
}

extern "C" __global__ void __block__(kThreads)
transposing(const Element* A,  // [kWaves * kRows][kDepth]
            const Element* B,  // [kDepth][kWaves * kCols]
            u32* a_raw, u32* a_received, u32* a_regs,  // [wave][vgpr][lane]
            u32* b_raw, u32* b_received, u32* b_regs,
            u32* d_regs)
{
  __shared__ alignas(16) char a_lds[TileA::kBytes];  // [k][m]: A transposed
  __shared__ alignas(16) char b_lds[TileB::kBytes];  // [k][n]
  const int thread = thread_id(), wave = thread / kLanes, lane = thread % kLanes;
  TileA::store_columns(a_lds, A, thread, kThreads);
  TileB::store_rows(b_lds, B, thread, kThreads);
  __syncthreads();

  const Views<OperandA> of_a = load_transposed<OperandA, TileA>(a_lds, wave * kRows, lane);
  const Views<OperandB> of_b = load_transposed<OperandB, TileB>(b_lds, wave * kCols, lane);
  OperandA a = of_a.received;
  OperandB b = of_b.received;
  pin_words(a);
  pin_words(b);
  const Result d = multiply(a, b, Result{});

  dump_words(a_raw, wave, lane, of_a.raw);
  dump_words(a_received, wave, lane, of_a.received);
  dump_words(a_regs, wave, lane, a);
  dump_words(b_raw, wave, lane, of_b.raw);
  dump_words(b_received, wave, lane, of_b.received);
  dump_words(b_regs, wave, lane, b);
  dump_words(d_regs, wave, lane, d);
}
