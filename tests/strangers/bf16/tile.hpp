#pragma once
#include <hip/hip_runtime.h>
#include <hip/hip_bf16.h>
#include "types.hpp"

namespace tile {
// One 16x16 fragment per wave. A is row-major, B column-major (both K-contiguous).
template <typename T, int LD>
struct Tile {
  T* data;
  __device__ explicit Tile(T* p) : data(p) {}
  __device__ T& at(int r, int c) { return data[r * LD + c]; }
  template <int ROWS, int COLS, int THREADS>
  __device__ void fill(const T* src, int ld, int rows, int cols) {
    for (int e = threadIdx.x; e < ROWS * COLS; e += THREADS) {
      int r = e / COLS, c = e % COLS;
      at(r, c) = (r < rows && c < cols) ? src[(long)r * ld + c] : T(0.0f);
    }
  }
  __device__ bf16x16 fragment(int row, int k) const {
    bf16x16 f;
#pragma unroll
    for (int i = 0; i < 16; i++) f[i] = bits(data[row * LD + k + i]);
    return f;
  }
};
}  // namespace tile
