#pragma once
#include <hip/hip_bf16.h>
typedef short bf16x16 __attribute__((ext_vector_type(16)));
typedef float f32x8 __attribute__((ext_vector_type(8)));
using bf16 = __hip_bfloat16;
__device__ inline short bits(bf16 x) {
  union {
    bf16 b;
    short s;
  } u{x};
  return u.s;
}
