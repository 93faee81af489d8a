// Math in common use: what the compiler expands by itself, without ROCm's device libraries. The
// f32 functions are those of the C library, the __ forms the fast ones of the hardware.
#pragma once
#include <hip/layoutprobe_keywords.h>

#ifndef INFINITY  // <math.h> has it, where that is included
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#endif

#define LAYOUTPROBE_UNARY(name) \
  LAYOUTPROBE_DEVICE float name##f(float a) { return __builtin_##name##f(a); }
LAYOUTPROBE_UNARY(fabs)
LAYOUTPROBE_UNARY(floor)
LAYOUTPROBE_UNARY(ceil)
LAYOUTPROBE_UNARY(trunc)
LAYOUTPROBE_UNARY(round)
LAYOUTPROBE_UNARY(rint)
LAYOUTPROBE_UNARY(nearbyint)
LAYOUTPROBE_UNARY(sqrt)
LAYOUTPROBE_UNARY(exp)
LAYOUTPROBE_UNARY(exp2)
LAYOUTPROBE_UNARY(exp10)
LAYOUTPROBE_UNARY(log)
LAYOUTPROBE_UNARY(log2)
LAYOUTPROBE_UNARY(log10)
#undef LAYOUTPROBE_UNARY

LAYOUTPROBE_DEVICE float rsqrtf(float a) { return 1.0f / __builtin_sqrtf(a); }
LAYOUTPROBE_DEVICE float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
LAYOUTPROBE_DEVICE float fminf(float a, float b) { return __builtin_fminf(a, b); }
LAYOUTPROBE_DEVICE float fmaxf(float a, float b) { return __builtin_fmaxf(a, b); }
LAYOUTPROBE_DEVICE float copysignf(float a, float b) { return __builtin_copysignf(a, b); }
LAYOUTPROBE_DEVICE float ldexpf(float a, int exponent) { return __builtin_ldexpf(a, exponent); }

// Without a form for double, an argument of that type would silently become a float.
#define LAYOUTPROBE_UNARY(name)                                       \
  LAYOUTPROBE_DEVICE double name(double a) { return __builtin_##name(a); } \
  LAYOUTPROBE_DEVICE float name(float a) { return __builtin_##name##f(a); }
LAYOUTPROBE_UNARY(fabs)
LAYOUTPROBE_UNARY(floor)
LAYOUTPROBE_UNARY(ceil)
LAYOUTPROBE_UNARY(trunc)
LAYOUTPROBE_UNARY(round)
LAYOUTPROBE_UNARY(rint)
LAYOUTPROBE_UNARY(nearbyint)
LAYOUTPROBE_UNARY(sqrt)
#undef LAYOUTPROBE_UNARY
LAYOUTPROBE_DEVICE double rsqrt(double a) { return 1.0 / __builtin_sqrt(a); }
LAYOUTPROBE_DEVICE double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
#define LAYOUTPROBE_EXTREME(name)                                                                 \
  LAYOUTPROBE_DEVICE float name(float a, float b) { return __builtin_##name##f(a, b); }            \
  LAYOUTPROBE_DEVICE double name(double a, double b) { return __builtin_##name(a, b); }            \
  LAYOUTPROBE_DEVICE double name(double a, float b) { return __builtin_##name(a, b); }             \
  LAYOUTPROBE_DEVICE double name(float a, double b) { return __builtin_##name(a, b); }
LAYOUTPROBE_EXTREME(fmin)
LAYOUTPROBE_EXTREME(fmax)
#undef LAYOUTPROBE_EXTREME
LAYOUTPROBE_DEVICE double copysign(double a, double b) { return __builtin_copysign(a, b); }
LAYOUTPROBE_DEVICE double ldexp(double a, int exponent) { return __builtin_ldexp(a, exponent); }
LAYOUTPROBE_DEVICE float exp(float a) { return __builtin_expf(a); }
LAYOUTPROBE_DEVICE float log(float a) { return __builtin_logf(a); }
LAYOUTPROBE_DEVICE float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
LAYOUTPROBE_DEVICE bool isnan(double a) { return __builtin_isnan(a); }
LAYOUTPROBE_DEVICE bool isinf(double a) { return __builtin_isinf(a); }
LAYOUTPROBE_DEVICE bool isfinite(double a) { return __builtin_isfinite(a); }
LAYOUTPROBE_DEVICE bool isnan(float a) { return __builtin_isnan(a); }
LAYOUTPROBE_DEVICE bool isinf(float a) { return __builtin_isinf(a); }
LAYOUTPROBE_DEVICE bool isfinite(float a) { return __builtin_isfinite(a); }

// Near 0 a fitted odd polynomial, where 1 - 2 / (e^2x + 1) would cancel; within 3 ulp throughout.
LAYOUTPROBE_DEVICE float tanhf(float x) {
  const float t = x * x;
  float p = -0.0066157467f;
  p = p * t + 0.02131274f;
  p = p * t - 0.053910065f;
  p = p * t + 0.13333118f;
  p = p * t - 0.33333331f;
  const float far = 1.0f - 2.0f / (__builtin_expf(2.0f * __builtin_fabsf(x)) + 1.0f);
  return __builtin_fabsf(x) < 0.55f ? x + x * t * p : __builtin_copysignf(far, x);
}

LAYOUTPROBE_DEVICE float __expf(float a) { return __builtin_amdgcn_exp2f(a * 1.44269504088896341f); }
LAYOUTPROBE_DEVICE float __exp10f(float a) { return __builtin_amdgcn_exp2f(a * 3.32192809488736235f); }
LAYOUTPROBE_DEVICE float __logf(float a) { return __builtin_amdgcn_logf(a) * 0.693147180559945309f; }
LAYOUTPROBE_DEVICE float __log2f(float a) { return __builtin_amdgcn_logf(a); }
LAYOUTPROBE_DEVICE float __log10f(float a) { return __builtin_amdgcn_logf(a) * 0.301029995663981195f; }
LAYOUTPROBE_DEVICE float __powf(float a, float b) {
  return __builtin_amdgcn_exp2f(b * __builtin_amdgcn_logf(a));
}
// v_sin_f32 and v_cos_f32 take turns, not radians, and only the fraction counts.
LAYOUTPROBE_DEVICE float __sinf(float a) {
  return __builtin_amdgcn_sinf(__builtin_amdgcn_fractf(a * 0.159154943091895336f));
}
LAYOUTPROBE_DEVICE float __cosf(float a) {
  return __builtin_amdgcn_cosf(__builtin_amdgcn_fractf(a * 0.159154943091895336f));
}
LAYOUTPROBE_DEVICE float __fdividef(float a, float b) { return a * __builtin_amdgcn_rcpf(b); }
LAYOUTPROBE_DEVICE float __frcp_rn(float a) { return 1.0f / a; }
LAYOUTPROBE_DEVICE float __fsqrt_rn(float a) { return __builtin_sqrtf(a); }
LAYOUTPROBE_DEVICE float __frsqrt_rn(float a) { return 1.0f / __builtin_sqrtf(a); }
LAYOUTPROBE_DEVICE float __saturatef(float a) { return __builtin_fminf(__builtin_fmaxf(a, 0.0f), 1.0f); }
LAYOUTPROBE_DEVICE float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
// Each is one rounded operation: these do not fuse with their neighbours.
LAYOUTPROBE_DEVICE float __fadd_rn(float a, float b) {
#pragma clang fp contract(off)
  return a + b;
}
LAYOUTPROBE_DEVICE float __fsub_rn(float a, float b) {
#pragma clang fp contract(off)
  return a - b;
}
LAYOUTPROBE_DEVICE float __fmul_rn(float a, float b) {
#pragma clang fp contract(off)
  return a * b;
}
LAYOUTPROBE_DEVICE float __fdiv_rn(float a, float b) { return a / b; }

// min and max: of integers by the usual conversions, of floats as fminf and fmaxf treat NaN.
template <typename T, typename U>
LAYOUTPROBE_BOTH constexpr auto min(T a, U b) -> decltype(a + b) {
  typedef decltype(a + b) Common;
  if constexpr (__is_floating_point(Common))
    return __builtin_elementwise_minnum(Common(a), Common(b));
  else
    return Common(a) < Common(b) ? Common(a) : Common(b);
}
template <typename T, typename U>
LAYOUTPROBE_BOTH constexpr auto max(T a, U b) -> decltype(a + b) {
  typedef decltype(a + b) Common;
  if constexpr (__is_floating_point(Common))
    return __builtin_elementwise_maxnum(Common(a), Common(b));
  else
    return Common(a) > Common(b) ? Common(a) : Common(b);
}
LAYOUTPROBE_DEVICE int abs(int a) { return __builtin_abs(a); }
LAYOUTPROBE_DEVICE long abs(long a) { return __builtin_labs(a); }
LAYOUTPROBE_DEVICE long long abs(long long a) { return __builtin_llabs(a); }
LAYOUTPROBE_DEVICE float abs(float a) { return __builtin_fabsf(a); }
LAYOUTPROBE_DEVICE double abs(double a) { return __builtin_fabs(a); }

// Bits.
LAYOUTPROBE_DEVICE int __popc(unsigned a) { return __builtin_popcount(a); }
LAYOUTPROBE_DEVICE int __popcll(unsigned long long a) { return __builtin_popcountll(a); }
LAYOUTPROBE_DEVICE int __clz(int a) { return a ? __builtin_clz(a) : 32; }
LAYOUTPROBE_DEVICE int __clzll(long long a) { return a ? __builtin_clzll(a) : 64; }
LAYOUTPROBE_DEVICE int __ffs(int a) { return a ? __builtin_ctz(a) + 1 : 0; }
LAYOUTPROBE_DEVICE int __ffsll(long long a) { return a ? __builtin_ctzll(a) + 1 : 0; }
LAYOUTPROBE_DEVICE unsigned __brev(unsigned a) { return __builtin_bitreverse32(a); }
LAYOUTPROBE_DEVICE unsigned long long __brevll(unsigned long long a) { return __builtin_bitreverse64(a); }
LAYOUTPROBE_DEVICE unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
  const unsigned bytes = selector & 7 | (selector & 0x70) << 4 | (selector & 0x700) << 8 |
                         (selector & 0x7000) << 12;
  return __builtin_amdgcn_perm(high, low, bytes);
}
LAYOUTPROBE_DEVICE unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return __builtin_elementwise_fshl(high, low, shift);
}
LAYOUTPROBE_DEVICE unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return __builtin_elementwise_fshr(high, low, shift);
}
LAYOUTPROBE_DEVICE int __mul24(int a, int b) { return (a << 8 >> 8) * (b << 8 >> 8); }
LAYOUTPROBE_DEVICE unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffff) * (b & 0xffffff); }
LAYOUTPROBE_DEVICE int __mulhi(int a, int b) { return (long long)a * b >> 32; }
LAYOUTPROBE_DEVICE long long __mul64hi(long long a, long long b) { return (__int128)a * b >> 64; }
LAYOUTPROBE_DEVICE unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned __int128)a * b >> 64;
}
LAYOUTPROBE_DEVICE unsigned __umulhi(unsigned a, unsigned b) { return (unsigned long long)a * b >> 32; }

// Bits read as another type, and conversions with their rounding in the name.
LAYOUTPROBE_BOTH float __uint_as_float(unsigned a) { return __builtin_bit_cast(float, a); }
LAYOUTPROBE_BOTH float __int_as_float(int a) { return __builtin_bit_cast(float, a); }
LAYOUTPROBE_BOTH unsigned __float_as_uint(float a) { return __builtin_bit_cast(unsigned, a); }
LAYOUTPROBE_BOTH int __float_as_int(float a) { return __builtin_bit_cast(int, a); }
LAYOUTPROBE_BOTH float __int2float_rn(int a) { return float(a); }
LAYOUTPROBE_BOTH float __uint2float_rn(unsigned a) { return float(a); }
LAYOUTPROBE_BOTH int __float2int_rz(float a) { return int(a); }
LAYOUTPROBE_BOTH int __float2int_rn(float a) { return int(__builtin_rintf(a)); }
LAYOUTPROBE_BOTH int __float2int_rd(float a) { return int(__builtin_floorf(a)); }
LAYOUTPROBE_BOTH int __float2int_ru(float a) { return int(__builtin_ceilf(a)); }
LAYOUTPROBE_BOTH unsigned __float2uint_rz(float a) { return unsigned(a); }
LAYOUTPROBE_BOTH unsigned __float2uint_rn(float a) { return unsigned(__builtin_rintf(a)); }
