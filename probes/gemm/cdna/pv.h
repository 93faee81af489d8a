// What the PV stage of an fp8 attention kernel does with V, [keys][128], 64 keys at a time (gfx950).
//
// A tile of V lies in LDS in rows of 128 bytes. Rows are permuted (groups of 8 rows change places), and chunks of
// 16 bytes are XORed with the row they lie in. Each lane names 8 bytes at a time and gets 8 neighbours along the keys:
// four reads for each of four blocks of 32 columns, 128 bytes in all. An operand is 32 of them.
#pragma once
#include "transposing.h"

typedef TR8 I;
typedef Vector<int, 4> Chunk;

constexpr int HEAD = 128, KEYS = 64, BLOCKS = HEAD / I::DIM, PARTS = I::OPERAND_BYTES / 8;
constexpr int TILE_BYTES = KEYS * HEAD, THREADS = 256, SWEEP = THREADS * CHUNK_BYTES;  // bytes that all threads move

// The row of LDS that a row of V lies in: bits 3 and 4 exchanged.
__device__ inline int permuted(int row) { return (row & ~24) | (row & 8) << 1 | (row & 16) >> 1; }

// Byte of a permuted row in LDS.
__device__ inline int swizzled(int row, int at) {
  return row * HEAD + (at / CHUNK_BYTES ^ row % 8) * CHUNK_BYTES + at % CHUNK_BYTES;
}

struct Prefetched { Chunk half[TILE_BYTES / SWEEP]; };

// A tile of V from global memory to registers; `at` is this thread's first byte of it.
__device__ inline Prefetched prefetch(const unsigned char* tile, int at) {
  Prefetched next;
#pragma unroll
  for (int half = 0; half < TILE_BYTES / SWEEP; ++half) next.half[half] = *(const Chunk*)&tile[half * SWEEP + at];
  return next;
}

// The same from registers to LDS.
__device__ inline void store_tile(char* lds, const Prefetched& next, int at) {
#pragma unroll
  for (int half = 0; half < TILE_BYTES / SWEEP; ++half) {
    const int row = (half * SWEEP + at) / HEAD;
    *(Chunk*)&lds[swizzled(permuted(row), at % HEAD)] = next.half[half];
  }
}

// What a lane receives for all blocks: block by block, part by part.
struct Received { Pair pair[BLOCKS][PARTS]; };

__device__ inline Received read_tile(const char* lds) {
  Received raw;
#pragma unroll
  for (int block = 0; block < BLOCKS; ++block)
#pragma unroll
    for (int part = 0; part < PARTS; ++part) {
      const int row = permuted(row_named<8>(part));
      raw.pair[block][part] = read_transposed<8>(&lds[swizzled(row, block * I::DIM + byte_named<8>())]);
    }
  return raw;
}

// The operand of a block of columns.
__device__ inline I::Operand packed(const Received& raw, int block) {
  union { Pair each[PARTS]; I::Operand all; } operand;
#pragma unroll
  for (int part = 0; part < PARTS; ++part) operand.each[part] = raw.pair[block][part];
  return operand.all;
}
