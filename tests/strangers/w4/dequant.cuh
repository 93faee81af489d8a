#pragma once
#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>
#include <cstdint>

namespace w4 {

typedef _Float16 half16 __attribute__((ext_vector_type(16)));
typedef float float8 __attribute__((ext_vector_type(8)));

// eight nibbles of a word, two by two: bits 0-3 and 16-19 first (interleaved order 0 2 4 6 1 3 5 7 undone here)
template <int GROUP>
struct Dequant {
  static __device__ __forceinline__ void run(uint32_t q, _Float16 s, _Float16 z, _Float16* out) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int code = (q >> (4 * i)) & 0xF;
      out[i] = ((_Float16)(float)code - z) * s;
    }
  }
};

}  // namespace w4
