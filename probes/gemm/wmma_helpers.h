// What the GEMM kernels in seeds/ share: tiles of global memory, LDS staging, fragments, epilogue.
//
// All kernels compute C = alpha * A * B + beta * C with A [M][K] and B [K][N] in f16 and C [M][N] in
// f32, row-major and dense, of any size from 1. Buffers are aligned to 16 bytes, and no matrix has
// 2^31 elements or more. With beta = 0, C is not read, as in BLAS: it may hold anything.
#pragma once
#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>

typedef _Float16 half8 __attribute__((ext_vector_type(8)));
typedef _Float16 half16 __attribute__((ext_vector_type(16)));
typedef float float8 __attribute__((ext_vector_type(8)));

constexpr int WAVE = 32;
constexpr int WMMA = 16;    // rows, columns and depth of one matrix instruction
constexpr int LDS_PAD = 8;  // halves; 16-byte accesses stay aligned and lanes spread over the banks

__device__ inline int lane_id() { return threadIdx.x % WAVE; }

// The same for all lanes of a wave, and said to be so: what follows from it stays in scalar registers.
__device__ inline int wave_id() { return __builtin_amdgcn_readfirstlane(threadIdx.x / WAVE); }

// A row-major matrix of f16 in global memory, seen from one of its elements. That element exists, and
// is the first of 8 columns that a 16-byte load may take where the rows are aligned.
struct Tile {
  const __half* first;
  int stride;      // halves from one row to the next
  int rows, cols;  // that exist from here on

  __device__ _Float16 element(unsigned offset) const {
    return *(const _Float16*)((const char*)first + offset * 2u);
  }
};

__device__ inline Tile tile_at(const __half* matrix, int rows, int cols, int row, int col) {
  return {matrix + (size_t)row * cols + col, cols, rows - row, cols - col};
}

// 8 neighbours of a row on their way from global memory. Whether they exist is asked when they are
// used: a select at once would wait for the load, and nothing could be loaded ahead.
struct Chunk {
  half8 loaded;
  bool exists;

  __device__ half8 values() const { return exists ? loaded : half8{}; }
};

// Elements (row, col) to (row, col + 7) of a tile, with zeros for those that do not exist. It loads in
// any case, from the tile's first element if need be: a select is cheaper than a divergent branch.
__device__ inline Chunk load_row8(const Tile& t, int row, int col) {
  const unsigned offset = row * t.stride + col;
  if (t.stride % 8 == 0) {  // rows are aligned, and 8 columns exist together or not at all
    const bool exists = row < t.rows && col < t.cols;
    return {*(const half8*)((const char*)t.first + (exists ? offset : 0u) * 2u), exists};
  }
  half8 values;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const bool exists = row < t.rows && col + i < t.cols;
    const _Float16 value = t.element(exists ? offset + i : 0u);
    values[i] = exists ? value : _Float16(0);
  }
  return {values, true};
}

// 8 halves to row `row` of a tile in LDS, as one 16-byte store.
__device__ inline void store_row8(_Float16* lds, int stride, int row, int col, const Chunk& chunk) {
  *(half8*)&lds[row * stride + col] = chunk.values();
}

// 8 neighbours of row k of B to a tile that is transposed in LDS: [n][k].
__device__ inline void store_column8(_Float16* lds, int stride, int n, int k, const Chunk& chunk) {
  const half8 values = chunk.values();
#pragma unroll
  for (int i = 0; i < 8; ++i) lds[(n + i) * stride + k] = values[i];
}

// The 16 values of k that a lane holds: row lane % 16 of A, or of transposed B. Lanes 0-15 and 16-31
// hold the same.
__device__ inline half16 load_fragment(const _Float16* lds, int stride, int row0, int k = 0) {
  const half8* chunks = (const half8*)&lds[(row0 + lane_id() % WMMA) * stride + k];
  return __builtin_shufflevector(chunks[0], chunks[1], 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

#if __GFX12__
// RDNA4 holds every k once: of each 8, the first 4 in lanes 0-15 and the others in lanes 16-31.
__device__ inline half8 own_half(half16 row) {
  const half8 lower = __builtin_shufflevector(row, row, 0, 1, 2, 3, 8, 9, 10, 11);
  const half8 upper = __builtin_shufflevector(row, row, 4, 5, 6, 7, 12, 13, 14, 15);
  return lane_id() < WMMA ? lower : upper;
}

__device__ inline float8 mma(half16 a, half16 b, float8 c) {
  return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(own_half(a), own_half(b), c);
}
#else
__device__ inline float8 mma(half16 a, half16 b, float8 c) {
  return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, c);
}
#endif

// Where C begins, how large it is, and how a product enters it.
struct Output {
  float* C;
  int M, N;
  float alpha, beta;
};

// One wave's tiles to C, the first of them at (row0, col0). VGPR v of a tile holds column lane % 16 of
// row 2v + lane / 16, on RDNA4 of row v + 8 * (lane / 16).
template <bool Interior, bool ReadsC, int TilesM, int TilesN>
__device__ inline void write_tiles(const Output& out, float8 (&acc)[TilesM][TilesN], int row0, int col0) {
#if __GFX12__
  const int lane_col = lane_id() % WMMA, lane_row = lane_id() / WMMA * 8;
#else
  const int lane_row = lane_id() / WMMA, lane_col = lane_id() % WMMA;
#endif
  // Distances to the end of C, from this lane's own first element.
  const int rows = out.M - row0 - lane_row, cols = out.N - col0 - lane_col;
  float* first = out.C + (size_t)row0 * out.N + col0;
  const unsigned offset = lane_row * out.N + lane_col;
#pragma unroll
  for (int j = 0; j < TilesN; ++j) {
    if (!Interior && j * WMMA >= cols) break;
#pragma unroll
    for (int i = 0; i < TilesM; ++i)
#pragma unroll
      for (int v = 0; v < 8; ++v) {
#if __GFX12__
        const int row = i * WMMA + v;
#else
        const int row = i * WMMA + 2 * v;
#endif
        if (!Interior && row >= rows) break;
        float* c = first + (size_t)row * out.N + j * WMMA;
        const float product = out.alpha * acc[i][j][v];
        c[offset] = ReadsC ? product + out.beta * c[offset] : product;
      }
  }
}

// As write_tiles; block_row and block_col say where the block's tile of BlockM x BlockN begins. Only
// blocks at an edge test every element, and only beta != 0 reads C.
template <int BlockM, int BlockN, int TilesM, int TilesN>
__device__ inline void epilogue(const Output& out, float8 (&acc)[TilesM][TilesN], int block_row,
                                int block_col, int row0, int col0) {
  const bool interior = block_row + BlockM <= out.M && block_col + BlockN <= out.N;
  row0 += block_row, col0 += block_col;
  if (interior && out.beta == 0.0f)
    write_tiles<true, false>(out, acc, row0, col0);
  else if (interior)
    write_tiles<true, true>(out, acc, row0, col0);
  else if (out.beta == 0.0f)
    write_tiles<false, false>(out, acc, row0, col0);
  else
    write_tiles<false, true>(out, acc, row0, col0);
}
