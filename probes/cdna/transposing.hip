// Operand dump behind transposing loads (gfx950): global -> LDS (scheme), [k][line] -> transposing loads -> registers of
// a real MFMA. What each lane fetches there, plainly, what it receives, and what the instruction reads are all dumped.
//
// Two waves, and blocks beneath each other, as in operand.hip. A is transposed on its way to LDS, B lies as in memory.
#include "cdna/mfma.h"
#include "cdna/tile.h"

// k of the tile, of which the instruction takes the first.
constexpr int kDepth = larger(kK, larger(2 * per_chunk(A_BITS), 2 * per_chunk(B_BITS)));
typedef Tile<kDepth, kWaves * kRows, A_BITS> TileA;
typedef Tile<kDepth, kWaves * kCols, B_BITS> TileB;
typedef int i32x2 __attribute__((ext_vector_type(2)));
typedef int i32x3 __attribute__((ext_vector_type(3)));
typedef short Shorts __attribute__((ext_vector_type(4)));
#define IN_LDS(type, at) ((__attribute__((address_space(3))) type*)(at))

// Elements of one transposing load. Of 16 lanes' payloads a row of 16 elements takes kLanesOfRow lanes: they name that
// many rows of k, and one strip of lines.
template <int Bits> struct Load {
  static constexpr int kWords = Bits == 6 ? 3 : 2, kLanesOfRow = Bits / 4;

  __device__ static void transposed(u32* to, const char* at) {
    if constexpr (Bits == 16)
      put(to, bits<u32x2>(__builtin_amdgcn_ds_read_tr16_b64_v4i16(IN_LDS(Shorts, at))));
    else if constexpr (Bits == 8)
      put(to, __builtin_amdgcn_ds_read_tr8_b64_v2i32(IN_LDS(i32x2, at)));
    else if constexpr (Bits == 6)
      put(to, __builtin_amdgcn_ds_read_tr6_b96_v3i32(IN_LDS(i32x3, at)));
    else
      put(to, __builtin_amdgcn_ds_read_tr4_b64_v2i32(IN_LDS(i32x2, at)));
  }
  template <typename T> __device__ static void put(u32* to, T words) {
#pragma unroll
    for (int word = 0; word < kWords; ++word) to[word] = words[word];
  }
};

template <typename Operand> struct Views { Operand raw, received; };

template <typename Operand, typename Held, typename T, int Bits>
__device__ inline Views<Operand> load_transposed(const char* lds, int first, int lines, int lane) {
  typedef Load<Bits> L;
  union { Operand all; u32 each[Held::kVgprs]; } raw, received;
#pragma unroll
  for (int v = 0; v < Held::kVgprs; v += L::kWords) {
    const int k = Held::k_byte(lane / lines, 4 * v) * 8 / Bits + lane % 16 / L::kLanesOfRow;
    const int strip = (first + lane % lines / 16 * 16) * Bits / 8 + lane % L::kLanesOfRow * 8;
    const char* at = lds + T::byte_of(k, strip);
    L::put(raw.each + v, (const u32*)at);
    L::transposed(received.each + v, at);
  }
  return {raw.all, received.all};
}

extern "C" __global__ void __block__(kThreads)
transposing(const ElementA* A,  // [kWaves * kRows][kDepth]
            const ElementB* B,  // [kDepth][kWaves * kCols]
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

  const Views<OperandA> of_a = load_transposed<OperandA, HeldA, TileA, A_BITS>(a_lds, wave * kRows, kRows, lane);
  const Views<OperandB> of_b = load_transposed<OperandB, HeldB, TileB, B_BITS>(b_lds, wave * kCols, kCols, lane);
  OperandA a = of_a.received;
  OperandB b = of_b.received;
  pin_words(a);
  pin_words(b);
  const Result d = multiply(a, b, Result{});

  dump_words<A_VGPRS>(a_raw, wave, lane, of_a.raw);
  dump_words<A_VGPRS>(a_received, wave, lane, of_a.received);
  dump_words<A_VGPRS>(a_regs, wave, lane, a);
  dump_words<B_VGPRS>(b_raw, wave, lane, of_b.raw);
  dump_words<B_VGPRS>(b_received, wave, lane, of_b.received);
  dump_words<B_VGPRS>(b_regs, wave, lane, b);
  dump_words<kResultVgprs>(d_regs, wave, lane, d);
}
