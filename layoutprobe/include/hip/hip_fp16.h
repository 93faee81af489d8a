// __half and __half2 with conversions and arithmetic. Arithmetic is that of _Float16: rounded to
// nearest even after every operation, as v_add_f16 and its kin do.
#pragma once
#include <hip/hip_vector_types.h>

typedef _Float16 layoutprobe_f16x2 __attribute__((ext_vector_type(2)));

template <bool holds>
struct layoutprobe_if {};
template <>
struct layoutprobe_if<true> {
  typedef int type;
};
#define LAYOUTPROBE_ARITHMETIC(T) typename layoutprobe_if<__is_arithmetic(T)>::type = 0

struct __half_raw {
  unsigned short x;
};

struct __half {
  _Float16 data;
  __half() = default;
  LAYOUTPROBE_MEMBER __half(__half_raw raw) : data(__builtin_bit_cast(_Float16, raw)) {}
  template <typename T, LAYOUTPROBE_ARITHMETIC(T)>
  LAYOUTPROBE_MEMBER constexpr __half(T value) : data(_Float16(value)) {}
  template <typename T, LAYOUTPROBE_ARITHMETIC(T)>
  LAYOUTPROBE_MEMBER constexpr operator T() const { return T(data); }
  LAYOUTPROBE_MEMBER operator __half_raw() const { return __builtin_bit_cast(__half_raw, data); }
  LAYOUTPROBE_MEMBER __half& operator+=(__half b) { data += b.data; return *this; }
  LAYOUTPROBE_MEMBER __half& operator-=(__half b) { data -= b.data; return *this; }
  LAYOUTPROBE_MEMBER __half& operator*=(__half b) { data *= b.data; return *this; }
  LAYOUTPROBE_MEMBER __half& operator/=(__half b) { data /= b.data; return *this; }
};
typedef __half half;

struct alignas(4) __half2 {
  __half x, y;
  __half2() = default;
  LAYOUTPROBE_MEMBER constexpr __half2(__half x_, __half y_) : x(x_), y(y_) {}
  LAYOUTPROBE_MEMBER constexpr explicit __half2(__half both) : x(both), y(both) {}
  LAYOUTPROBE_MEMBER __half2(layoutprobe_f16x2 v) : x(v.x), y(v.y) {}
  LAYOUTPROBE_MEMBER operator layoutprobe_f16x2() const { return {x.data, y.data}; }
};
typedef __half2 half2;

LAYOUTPROBE_BOTH __half2 make_half2(__half x, __half y) { return {x, y}; }

// Operators: exact types on both sides. A half with a float is ambiguous, as with ROCm's headers:
// say which of the two you mean.
#define LAYOUTPROBE_OPERATOR(op)                                                            \
  LAYOUTPROBE_BOTH __half operator op(__half a, __half b) { return _Float16(a.data op b.data); } \
  LAYOUTPROBE_BOTH __half2 operator op(__half2 a, __half2 b) {                              \
    return layoutprobe_f16x2(a) op layoutprobe_f16x2(b);                                    \
  }
LAYOUTPROBE_OPERATOR(+)
LAYOUTPROBE_OPERATOR(-)
LAYOUTPROBE_OPERATOR(*)
LAYOUTPROBE_OPERATOR(/)
#undef LAYOUTPROBE_OPERATOR
LAYOUTPROBE_BOTH __half operator-(__half a) { return _Float16(-a.data); }
LAYOUTPROBE_BOTH __half2 operator-(__half2 a) { return -layoutprobe_f16x2(a); }
LAYOUTPROBE_BOTH __half2& operator+=(__half2& a, __half2 b) { return a = a + b; }
LAYOUTPROBE_BOTH __half2& operator-=(__half2& a, __half2 b) { return a = a - b; }
LAYOUTPROBE_BOTH __half2& operator*=(__half2& a, __half2 b) { return a = a * b; }

#define LAYOUTPROBE_COMPARE(op, name)                                                       \
  LAYOUTPROBE_BOTH bool operator op(__half a, __half b) { return a.data op b.data; }        \
  LAYOUTPROBE_BOTH bool __h##name(__half a, __half b) { return a.data op b.data; }          \
  LAYOUTPROBE_BOTH __half2 __h##name##2(__half2 a, __half2 b) {                             \
    return {__half(a.x.data op b.x.data ? 1 : 0), __half(a.y.data op b.y.data ? 1 : 0)};    \
  }
LAYOUTPROBE_COMPARE(==, eq)
LAYOUTPROBE_COMPARE(!=, ne)
LAYOUTPROBE_COMPARE(<, lt)
LAYOUTPROBE_COMPARE(<=, le)
LAYOUTPROBE_COMPARE(>, gt)
LAYOUTPROBE_COMPARE(>=, ge)
#undef LAYOUTPROBE_COMPARE

// Conversions.
LAYOUTPROBE_BOTH __half __float2half(float a) { return _Float16(a); }
LAYOUTPROBE_BOTH __half __float2half_rn(float a) { return _Float16(a); }
LAYOUTPROBE_DEVICE __half __float2half_rz(float a) {
  return __builtin_bit_cast(layoutprobe_f16x2, __builtin_amdgcn_cvt_pkrtz(a, 0.0f)).x;
}
LAYOUTPROBE_BOTH __half __double2half(double a) { return _Float16(a); }
LAYOUTPROBE_BOTH float __half2float(__half a) { return a.data; }
LAYOUTPROBE_BOTH __half2 __floats2half2_rn(float x, float y) { return {__half(x), __half(y)}; }
LAYOUTPROBE_BOTH __half2 __float22half2_rn(float2 a) { return {__half(a.x), __half(a.y)}; }
LAYOUTPROBE_BOTH __half2 __float2half2_rn(float a) { return __half2(__half(a)); }
LAYOUTPROBE_BOTH float2 __half22float2(__half2 a) { return {float(a.x), float(a.y)}; }
LAYOUTPROBE_BOTH __half2 __half2half2(__half a) { return __half2(a); }
LAYOUTPROBE_BOTH __half2 __halves2half2(__half x, __half y) { return {x, y}; }
LAYOUTPROBE_BOTH __half __low2half(__half2 a) { return a.x; }
LAYOUTPROBE_BOTH __half __high2half(__half2 a) { return a.y; }
LAYOUTPROBE_BOTH float __low2float(__half2 a) { return a.x; }
LAYOUTPROBE_BOTH float __high2float(__half2 a) { return a.y; }
LAYOUTPROBE_BOTH __half2 __low2half2(__half2 a) { return __half2(a.x); }
LAYOUTPROBE_BOTH __half2 __high2half2(__half2 a) { return __half2(a.y); }
LAYOUTPROBE_BOTH __half2 __lows2half2(__half2 a, __half2 b) { return {a.x, b.x}; }
LAYOUTPROBE_BOTH __half2 __highs2half2(__half2 a, __half2 b) { return {a.y, b.y}; }
LAYOUTPROBE_BOTH __half2 __lowhigh2highlow(__half2 a) { return {a.y, a.x}; }
LAYOUTPROBE_BOTH unsigned short __half_as_ushort(__half a) {
  return __builtin_bit_cast(unsigned short, a.data);
}
LAYOUTPROBE_BOTH short __half_as_short(__half a) { return __builtin_bit_cast(short, a.data); }
LAYOUTPROBE_BOTH __half __ushort_as_half(unsigned short a) { return __builtin_bit_cast(_Float16, a); }
LAYOUTPROBE_BOTH __half __short_as_half(short a) { return __builtin_bit_cast(_Float16, a); }
LAYOUTPROBE_BOTH __half __int2half_rn(int a) { return _Float16(a); }
LAYOUTPROBE_BOTH __half __uint2half_rn(unsigned a) { return _Float16(a); }
LAYOUTPROBE_BOTH __half __short2half_rn(short a) { return _Float16(a); }
LAYOUTPROBE_BOTH __half __ushort2half_rn(unsigned short a) { return _Float16(a); }
LAYOUTPROBE_BOTH int __half2int_rz(__half a) { return int(a.data); }
LAYOUTPROBE_BOTH int __half2int_rn(__half a) { return int(__builtin_rintf(a.data)); }
LAYOUTPROBE_BOTH unsigned __half2uint_rz(__half a) { return unsigned(a.data); }
LAYOUTPROBE_BOTH short __half2short_rz(__half a) { return short(a.data); }

// Arithmetic by name.
LAYOUTPROBE_BOTH __half __hadd(__half a, __half b) { return a + b; }
LAYOUTPROBE_BOTH __half __hsub(__half a, __half b) { return a - b; }
LAYOUTPROBE_BOTH __half __hmul(__half a, __half b) { return a * b; }
LAYOUTPROBE_BOTH __half __hdiv(__half a, __half b) { return a / b; }
LAYOUTPROBE_BOTH __half __hneg(__half a) { return -a; }
LAYOUTPROBE_BOTH __half __habs(__half a) { return __builtin_fabsf16(a.data); }
LAYOUTPROBE_BOTH __half __hfma(__half a, __half b, __half c) {
  return __builtin_fmaf16(a.data, b.data, c.data);
}
LAYOUTPROBE_BOTH __half __hmax(__half a, __half b) { return __builtin_fmaxf16(a.data, b.data); }
LAYOUTPROBE_BOTH __half __hmin(__half a, __half b) { return __builtin_fminf16(a.data, b.data); }
LAYOUTPROBE_BOTH bool __hisnan(__half a) { return a.data != a.data; }
LAYOUTPROBE_BOTH int __hisinf(__half a) {
  return (__half_as_ushort(a) & 0x7fff) != 0x7c00 ? 0 : __half_as_short(a) < 0 ? -1 : 1;
}
LAYOUTPROBE_BOTH __half2 __hadd2(__half2 a, __half2 b) { return a + b; }
LAYOUTPROBE_BOTH __half2 __hsub2(__half2 a, __half2 b) { return a - b; }
LAYOUTPROBE_BOTH __half2 __hmul2(__half2 a, __half2 b) { return a * b; }
LAYOUTPROBE_BOTH __half2 __h2div(__half2 a, __half2 b) { return a / b; }
LAYOUTPROBE_BOTH __half2 __hneg2(__half2 a) { return -a; }
LAYOUTPROBE_BOTH __half2 __habs2(__half2 a) { return {__habs(a.x), __habs(a.y)}; }
LAYOUTPROBE_BOTH __half2 __hfma2(__half2 a, __half2 b, __half2 c) {
  return __builtin_elementwise_fma(layoutprobe_f16x2(a), layoutprobe_f16x2(b), layoutprobe_f16x2(c));
}
LAYOUTPROBE_BOTH __half2 __hmax2(__half2 a, __half2 b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }
LAYOUTPROBE_BOTH __half2 __hmin2(__half2 a, __half2 b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }

// Functions, computed in f32 and rounded once.
LAYOUTPROBE_BOTH __half hfloor(__half a) { return __builtin_floorf(a.data); }
LAYOUTPROBE_BOTH __half hceil(__half a) { return __builtin_ceilf(a.data); }
LAYOUTPROBE_BOTH __half htrunc(__half a) { return __builtin_truncf(a.data); }
LAYOUTPROBE_BOTH __half hrint(__half a) { return __builtin_rintf(a.data); }
LAYOUTPROBE_BOTH __half hsqrt(__half a) { return __builtin_sqrtf(a.data); }
LAYOUTPROBE_BOTH __half hrsqrt(__half a) { return 1.0f / __builtin_sqrtf(a.data); }
LAYOUTPROBE_BOTH __half hrcp(__half a) { return 1.0f / float(a.data); }
LAYOUTPROBE_BOTH __half hexp(__half a) { return __builtin_expf(a.data); }
LAYOUTPROBE_BOTH __half hexp2(__half a) { return __builtin_exp2f(a.data); }
LAYOUTPROBE_BOTH __half hlog(__half a) { return __builtin_logf(a.data); }
LAYOUTPROBE_BOTH __half hlog2(__half a) { return __builtin_log2f(a.data); }
