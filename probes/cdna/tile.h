// A tile in LDS whose elements have BITS bits: LDS schemes place halves, 16-byte chunks stay together.
#pragma once
#include "lds/lds_schemes.h"
#include "lds/probe.h"

template <int Bits> struct ElementOf;
template <> struct ElementOf<8> { typedef unsigned char type; };
template <> struct ElementOf<16> { typedef u16 type; };
template <> struct ElementOf<32> { typedef u32 type; };
template <> struct ElementOf<64> { typedef unsigned long long type; };
typedef ElementOf<BITS>::type Element;

constexpr int kChunkBytes = 2 * kChunk, kPerChunk = kChunkBytes / (int)sizeof(Element);

// Lines of so many elements of k; k is contiguous.
template <int Lines, int Depth> struct Tile {
  static constexpr int kHalves = Depth * (int)sizeof(Element) / 2, kBytes = 2 * lds_size(Lines, kHalves);

  // Byte of LDS with byte `at` of a line.
  __device__ static int byte_of(int line, int at) { return 2 * lds_index<kHalves>(line, at / 2) + at % 2; }

  // A, [Lines][Depth] in memory, chunk by chunk.
  __device__ static void store_rows(char* lds, const Element* in, int thread, int threads) {
    constexpr int kChunks = 2 * kHalves / kChunkBytes;
    for (int i = thread; i < Lines * kChunks; i += threads) {
      const int line = i / kChunks, at = i % kChunks * kChunkBytes;
      *(u32x4*)(lds + byte_of(line, at)) = *(const u32x4*)((const char*)in + line * 2 * kHalves + at);
    }
  }

  // B, [Depth][Lines] in memory, element by element.
  __device__ static void store_columns(char* lds, const Element* in, int thread, int threads) {
    for (int i = thread; i < Lines * Depth; i += threads) {
      const int k = i / Lines, line = i % Lines;
      *(Element*)(lds + byte_of(line, k * (int)sizeof(Element))) = in[i];
    }
  }
};
