// Conversions and functions that C has not as numpy has them. Each for a vector; scalars are made one.
#pragma once
#include "base.h"

// f16 -> f32. NaN keep their payload and stay signalling, as in numpy's software conversion.
AI v_f32 f32_of_f16(v_u16 h) {
  v_u32 bits_ = CV(h, v_u32), magnitude = bits_ & 0x7fffu;
  v_f32 number = CV(AS(v_half, h), v_f32);
  v_u32 nan = (bits_ & 0x8000u) << 16 | 0x7f800000u | (magnitude << 13 & 0x7fffffu);
  return AS(v_f32, CV(magnitude > 0x7c00u, v_b1) ? nan : AS(v_u32, number));
}
// f32 -> f16, to nearest even. A NaN keeps the upper bits of its payload.
AI v_u16 f16_of_f32(v_f32 x) {
  v_u32 u = AS(v_u32, x), magnitude = u & 0x7fffffffu;
  v_u16 number = AS(v_u16, CV(x, v_half));
  v_u32 nan = 0x7c00u + (u >> 13 & 0x3ffu);
  nan += CV(nan == 0x7c00u, v_b1) ? (v_u32)1 : (v_u32)0;
  nan |= u >> 16 & 0x8000u;
  return CV(magnitude > 0x7f800000u, v_b1) ? CV(nan, v_u16) : number;
}
// f64 -> f32 with the last bit set where it is not exact: rounded again to fewer bits, it is rounded as if once
// (Boldo and Melquiond).
AI v_u32 to_odd(v_f64 x) {
  v_f32 near = CV(x, v_f32);
  v_u32 u = AS(v_u32, near);
  v_u64 is = AS(v_u64, x) & 0x7fffffffffffffffull, was = AS(v_u64, CV(near, v_f64)) & 0x7fffffffffffffffull;
  u -= CV(was > is, v_b1) ? (v_u32)1 : (v_u32)0;
  return u | (CV(was != is, v_b1) ? (v_u32)1 : (v_u32)0);
}
AI v_u16 f16_of_f64(v_f64 x) {
  v_u64 d = AS(v_u64, x);
  v_u32 nan = 0x7c00u + CV(d >> 42 & 0x3ffu, v_u32);
  nan += CV(nan == 0x7c00u, v_b1) ? (v_u32)1 : (v_u32)0;
  nan |= CV(d >> 48, v_u32) & 0x8000u;
  v_b1 none = CV((d & 0x7fffffffffffffffull) > 0x7ff0000000000000ull, v_b1);
  return none ? CV(nan, v_u16) : f16_of_f32(AS(v_f32, to_odd(x)));
}
// To nearest even; every NaN is the quiet one.
AI v_u16 bf16_of_f64(v_f64 x) {
  v_u32 u = to_odd(x), sign = CV(AS(v_u64, x) >> 48, v_u32) & 0x8000u;
  v_b1 none = CV((AS(v_u64, x) & 0x7fffffffffffffffull) > 0x7ff0000000000000ull, v_b1);
  u = (u + 0x7fffu + (u >> 16 & 1)) >> 16;
  return CV(none ? (0x7fc0u | sign) : u, v_u16);
}
AI v_f64 f64_of_f16(v_u16 h) { return CV(f32_of_f16(h), v_f64); }

// frexp: mantissa in [0.5, 1) and exponent; 0, infinities and NaN have exponent 0.
AI v_u64 frexp_scaled(v_f64 x, v_u64 *tiny) {
  v_u64 u = AS(v_u64, x), field = u >> 52 & 0x7ff;
  v_b1 small = CV(field == 0, v_b1);
  *tiny = small ? (v_u64)54 : (v_u64)0;
  return small ? AS(v_u64, x * 0x1p54) : u;
}
AI v_f64 frexp0(v_f64 x) {
  v_u64 tiny, u = frexp_scaled(x, &tiny), field = u >> 52 & 0x7ff;
  v_b1 odd = CV((field == 0) | (field == 0x7ff), v_b1);
  return odd ? x : AS(v_f64, (u & 0x800fffffffffffffull) | 0x3fe0000000000000ull);
}
AI v_i32 frexp1(v_f64 x) {
  v_u64 tiny, u = frexp_scaled(x, &tiny), field = u >> 52 & 0x7ff;
  v_b1 odd = CV((field == 0) | (field == 0x7ff), v_b1);
  return odd ? (v_i32)0 : CV(AS(v_i64, field - 1022 - tiny), v_i32);
}
// x * 2**n with one rounding, as musl's scalbn: steps that are exact until the last.
AI v_f64 two_to(v_i32 n) { return AS(v_f64, CV(n + 1023, v_u64) << 52); }
AI v_f64 ldexp_(v_f64 x, v_i32 n) {
  for (int step = 0; step < 2; step++) {
    v_b1 up = CV(n > 1023, v_b1), down = CV(n < -1022, v_b1);
    x = up ? x * 0x1p1023 : down ? x * (0x1p-1022 * 0x1p53) : x;
    n = up ? n - 1023 : down ? n + (1022 - 53) : n;
  }
  n = CV(n > 1023, v_b1) ? (v_i32)1023 : CV(n < -1022, v_b1) ? (v_i32)-1022 : n;
  return x * two_to(n);
}
