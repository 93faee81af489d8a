// __hip_bfloat16 and __hip_bfloat162 with conversions and arithmetic. gfx11 has no bf16 arithmetic:
// everything is computed in f32 and rounded to nearest even once.
#pragma once
#include <hip/hip_fp16.h>

struct __hip_bfloat16_raw {
  unsigned short x;
};

struct __hip_bfloat16 {
  __bf16 data;
  __hip_bfloat16() = default;
  LAYOUTPROBE_MEMBER __hip_bfloat16(__hip_bfloat16_raw raw) : data(__builtin_bit_cast(__bf16, raw)) {}
  template <typename T, LAYOUTPROBE_ARITHMETIC(T)>
  LAYOUTPROBE_MEMBER constexpr __hip_bfloat16(T value) : data(__bf16(value)) {}
  template <typename T, LAYOUTPROBE_ARITHMETIC(T)>
  LAYOUTPROBE_MEMBER constexpr operator T() const { return T(data); }
  LAYOUTPROBE_MEMBER operator __hip_bfloat16_raw() const {
    return __builtin_bit_cast(__hip_bfloat16_raw, data);
  }
};
typedef __hip_bfloat16 __nv_bfloat16;

struct alignas(4) __hip_bfloat162 {
  __hip_bfloat16 x, y;
  __hip_bfloat162() = default;
  LAYOUTPROBE_MEMBER constexpr __hip_bfloat162(__hip_bfloat16 x_, __hip_bfloat16 y_) : x(x_), y(y_) {}
};

#define LAYOUTPROBE_OPERATOR(op, name)                                                            \
  LAYOUTPROBE_BOTH __hip_bfloat16 operator op(__hip_bfloat16 a, __hip_bfloat16 b) {               \
    return float(a.data) op float(b.data);                                                        \
  }                                                                                               \
  LAYOUTPROBE_BOTH __hip_bfloat16& operator op##=(__hip_bfloat16& a, __hip_bfloat16 b) {          \
    return a = a op b;                                                                            \
  }                                                                                               \
  LAYOUTPROBE_BOTH __hip_bfloat16 __h##name(__hip_bfloat16 a, __hip_bfloat16 b) { return a op b; } \
  LAYOUTPROBE_BOTH __hip_bfloat162 operator op(__hip_bfloat162 a, __hip_bfloat162 b) {            \
    return {a.x op b.x, a.y op b.y};                                                              \
  }
LAYOUTPROBE_OPERATOR(+, add)
LAYOUTPROBE_OPERATOR(-, sub)
LAYOUTPROBE_OPERATOR(*, mul)
LAYOUTPROBE_OPERATOR(/, div)
#undef LAYOUTPROBE_OPERATOR
LAYOUTPROBE_BOTH __hip_bfloat16 operator-(__hip_bfloat16 a) { return -float(a.data); }
LAYOUTPROBE_BOTH __hip_bfloat16 __hneg(__hip_bfloat16 a) { return -a; }
LAYOUTPROBE_BOTH __hip_bfloat162 __hadd2(__hip_bfloat162 a, __hip_bfloat162 b) { return a + b; }
LAYOUTPROBE_BOTH __hip_bfloat162 __hsub2(__hip_bfloat162 a, __hip_bfloat162 b) { return a - b; }
LAYOUTPROBE_BOTH __hip_bfloat162 __hmul2(__hip_bfloat162 a, __hip_bfloat162 b) { return a * b; }

#define LAYOUTPROBE_COMPARE(op, name)                                                               \
  LAYOUTPROBE_BOTH bool operator op(__hip_bfloat16 a, __hip_bfloat16 b) { return a.data op b.data; } \
  LAYOUTPROBE_BOTH bool __h##name(__hip_bfloat16 a, __hip_bfloat16 b) { return a.data op b.data; }
LAYOUTPROBE_COMPARE(==, eq)
LAYOUTPROBE_COMPARE(!=, ne)
LAYOUTPROBE_COMPARE(<, lt)
LAYOUTPROBE_COMPARE(<=, le)
LAYOUTPROBE_COMPARE(>, gt)
LAYOUTPROBE_COMPARE(>=, ge)
#undef LAYOUTPROBE_COMPARE

LAYOUTPROBE_BOTH __hip_bfloat16 __float2bfloat16(float a) { return a; }
LAYOUTPROBE_BOTH __hip_bfloat16 __float2bfloat16_rn(float a) { return a; }
LAYOUTPROBE_BOTH __hip_bfloat16 __double2bfloat16(double a) { return a; }
LAYOUTPROBE_BOTH float __bfloat162float(__hip_bfloat16 a) { return a.data; }
LAYOUTPROBE_BOTH __hip_bfloat162 __floats2bfloat162_rn(float x, float y) {
  return {__hip_bfloat16(x), __hip_bfloat16(y)};
}
LAYOUTPROBE_BOTH __hip_bfloat162 __float22bfloat162_rn(float2 a) { return __floats2bfloat162_rn(a.x, a.y); }
LAYOUTPROBE_BOTH __hip_bfloat162 __float2bfloat162_rn(float a) { return __floats2bfloat162_rn(a, a); }
LAYOUTPROBE_BOTH float2 __bfloat1622float2(__hip_bfloat162 a) { return {float(a.x), float(a.y)}; }
LAYOUTPROBE_BOTH __hip_bfloat162 __bfloat162bfloat162(__hip_bfloat16 a) { return {a, a}; }
LAYOUTPROBE_BOTH __hip_bfloat162 __halves2bfloat162(__hip_bfloat16 x, __hip_bfloat16 y) { return {x, y}; }
LAYOUTPROBE_BOTH __hip_bfloat16 __low2bfloat16(__hip_bfloat162 a) { return a.x; }
LAYOUTPROBE_BOTH __hip_bfloat16 __high2bfloat16(__hip_bfloat162 a) { return a.y; }
LAYOUTPROBE_BOTH float __low2float(__hip_bfloat162 a) { return a.x; }
LAYOUTPROBE_BOTH float __high2float(__hip_bfloat162 a) { return a.y; }
LAYOUTPROBE_BOTH unsigned short __bfloat16_as_ushort(__hip_bfloat16 a) {
  return __builtin_bit_cast(unsigned short, a.data);
}
LAYOUTPROBE_BOTH short __bfloat16_as_short(__hip_bfloat16 a) { return __builtin_bit_cast(short, a.data); }
LAYOUTPROBE_BOTH __hip_bfloat16 __ushort_as_bfloat16(unsigned short a) {
  return __hip_bfloat16_raw{a};
}
LAYOUTPROBE_BOTH __hip_bfloat16 __hfma(__hip_bfloat16 a, __hip_bfloat16 b, __hip_bfloat16 c) {
  return __builtin_fmaf(a.data, b.data, c.data);
}
LAYOUTPROBE_BOTH __hip_bfloat16 __habs(__hip_bfloat16 a) { return __builtin_fabsf(a.data); }
LAYOUTPROBE_BOTH __hip_bfloat16 __hmax(__hip_bfloat16 a, __hip_bfloat16 b) {
  return __builtin_fmaxf(a.data, b.data);
}
LAYOUTPROBE_BOTH __hip_bfloat16 __hmin(__hip_bfloat16 a, __hip_bfloat16 b) {
  return __builtin_fminf(a.data, b.data);
}
