// Where element (row, col) of a tile of 16-bit elements lies in LDS: one function per scheme.
// layoutprobe/layouts/swizzle.py states the same schemes in Python; a property test compares both
// cell by cell.
//
// Every scheme keeps 8 consecutive columns (16 bytes) together, so that one ds_load_b128 or
// ds_store_b128 moves them.
#pragma once

#define LDS_NONE 0        // row-major
#define LDS_PADDED 1      // row-major, each row 8 halves longer
#define LDS_XOR 2         // chunk of 8 halves ^ row & 1
#define LDS_XOR_VECTOR 3  // chunk of 8 halves ^ row, over as many rows as cover the 32 banks once
#define LDS_ROW_PERMUTE 4 // row-major, of every 16 rows the second and the third four exchanged

#ifndef LDS_SCHEME
#define LDS_SCHEME LDS_NONE
#endif

constexpr int kChunk = 8;  // halves that one b128 access moves

// Halves from one row to the next.
constexpr int lds_stride(int cols) { return LDS_SCHEME == LDS_PADDED ? cols + kChunk : cols; }

// Halves that a tile of rows x cols takes.
constexpr int lds_size(int rows, int cols) { return rows * lds_stride(cols); }

// Rows of `cols` halves that share the 32 banks (64 halves), as a shift count.
constexpr int rows_per_bank_sweep_log2(int cols) {
  return cols >= 64 ? 0 : cols >= 32 ? 1 : cols >= 16 ? 2 : 3;
}

template <int Cols>
constexpr int lds_index(int row, int col) {
  static_assert(Cols % (2 * kChunk) == 0 && (Cols & (Cols - 1)) == 0, "whole power-of-two chunks");
  const int chunk = col / kChunk, within = col % kChunk;
  int swizzled = chunk;
  if (LDS_SCHEME == LDS_XOR) swizzled = chunk ^ (row & 1);
  if (LDS_SCHEME == LDS_XOR_VECTOR)
    swizzled = chunk ^ ((row >> rows_per_bank_sweep_log2(Cols)) & (Cols / kChunk - 1));
  if (LDS_SCHEME == LDS_ROW_PERMUTE) row = (row & ~12) | (row & 4) << 1 | (row & 8) >> 1;
  return row * lds_stride(Cols) + swizzled * kChunk + within;
}
