// A tile in LDS whose elements have Bits bits: LDS schemes place halves, 16-byte chunks stay together.
//
// In memory an element of less than a byte has a byte of its own. In LDS they lie end to end, those of 6 bits 16 to
// a chunk, of which they fill 12 bytes: transposing loads of them want addresses that are multiples of 16.
#pragma once
#include "lds/lds_schemes.h"
#include "lds/probe.h"

template <int Bits> struct ElementOf { typedef unsigned char type; };
template <> struct ElementOf<16> { typedef u16 type; };
template <> struct ElementOf<32> { typedef u32 type; };
template <> struct ElementOf<64> { typedef unsigned long long type; };
typedef ElementOf<A_BITS>::type ElementA;
typedef ElementOf<B_BITS>::type ElementB;

constexpr int kChunkBytes = 2 * kChunk;
constexpr int per_chunk(int bits) { return bits == 6 ? 16 : 8 * kChunkBytes / bits; }

// Lines of so many elements of k; k is contiguous. A line takes two chunks at least, as schemes exchange them.
template <int Lines, int Depth, int Bits> struct Tile {
  typedef typename ElementOf<Bits>::type Element;
  static constexpr int kPerChunk = per_chunk(Bits), kUsed = kPerChunk * Bits / 8;  // bytes of a chunk
  static constexpr int kChunks = Depth / kPerChunk, kHalves = (kChunks > 1 ? kChunks : 2) * kChunk;
  static constexpr int kBytes = 2 * lds_size(Lines, kHalves);

  // Byte of LDS with byte `at` of the elements of a line.
  __device__ static int byte_of(int line, int at) {
    const int byte = at / kUsed * kChunkBytes + at % kUsed;
    return 2 * lds_index<kHalves>(line, byte / 2) + byte % 2;
  }

  // A chunk of neighbours along k, which lie k_step apart in memory.
  __device__ static u32x4 packed(const Element* first, int k_step) {
    u32 words[5] = {};
#pragma unroll
    for (int e = 0; e < kPerChunk; ++e) {
      const int word = e * Bits / 32, shift = e * Bits % 32;
      const unsigned long long bits = (unsigned long long)first[e * k_step] << shift;
      words[word] |= (u32)bits;
      if (shift + Bits > 32) words[word + 1] |= (u32)(bits >> 32);
    }
    return u32x4{words[0], words[1], words[2], words[3]};
  }

  __device__ static void store(char* lds, const Element* in, int line_step, int k_step, int thread, int threads) {
    for (int i = thread; i < Lines * kChunks; i += threads) {
      const int line = i / kChunks, at = i % kChunks * kUsed;
      const Element* first = in + line * line_step + i % kChunks * kPerChunk * k_step;
      *(u32x4*)(lds + byte_of(line, at)) = packed(first, k_step);
    }
  }

  // A, [Lines][Depth] in memory.
  __device__ static void store_rows(char* lds, const Element* in, int thread, int threads) {
    store(lds, in, Depth, 1, thread, threads);
  }

  // B, [Depth][Lines] in memory.
  __device__ static void store_columns(char* lds, const Element* in, int thread, int threads) {
    store(lds, in, 1, Lines, thread, threads);
  }
};
