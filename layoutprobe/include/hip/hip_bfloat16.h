// hip_bfloat16, the older of HIP's two bf16 types: a struct around the 16 bits.
#pragma once
#include <hip/hip_bf16.h>

struct hip_bfloat16 {
  unsigned short data;
  hip_bfloat16() = default;
  LAYOUTPROBE_MEMBER explicit hip_bfloat16(float value)
      : data(__builtin_bit_cast(unsigned short, __bf16(value))) {}
  LAYOUTPROBE_MEMBER operator float() const { return __builtin_bit_cast(__bf16, data); }
  LAYOUTPROBE_MEMBER hip_bfloat16& operator=(float value) { return *this = hip_bfloat16(value); }
};

#define LAYOUTPROBE_OPERATOR(op)                                                \
  LAYOUTPROBE_BOTH hip_bfloat16 operator op(hip_bfloat16 a, hip_bfloat16 b) {   \
    return hip_bfloat16(float(a) op float(b));                                  \
  }                                                                             \
  LAYOUTPROBE_BOTH hip_bfloat16& operator op##=(hip_bfloat16& a, hip_bfloat16 b) { return a = a op b; }
LAYOUTPROBE_OPERATOR(+)
LAYOUTPROBE_OPERATOR(-)
LAYOUTPROBE_OPERATOR(*)
LAYOUTPROBE_OPERATOR(/)
#undef LAYOUTPROBE_OPERATOR
