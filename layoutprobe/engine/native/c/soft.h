// What the compiler calls where the processor has no instruction for it (x86-64-v2). Hidden, and once per library.
#pragma once
#if defined(__x86_64__) && !defined(__F16C__)
#define SOFT __attribute__((weak, visibility("hidden")))
SOFT f32 __extendhfsf2(_Float16 x) {
  u32 h = AS(u16, x), magnitude = h & 0x7fffu, sign = (h & 0x8000u) << 16;
  if (magnitude >= 0x7c00u) {  // NaN become quiet, as the processor's conversion makes them
    u32 quiet = magnitude > 0x7c00u ? 0x400000u : 0;
    return AS(f32, sign | 0x7f800000u | (magnitude & 0x3ffu) << 13 | quiet);
  }
  return AS(f32, sign | AS(u32, AS(f32, magnitude << 13) * 0x1p112f));
}
// To nearest even. What is below 2**-14 is rounded by an addition whose last bit is that of the smallest f16.
SOFT _Float16 __truncsfhf2(f32 x) {
  u32 u = AS(u32, x), magnitude = u & 0x7fffffffu, h;
  if (magnitude > 0x7f800000u) h = 0x7e00u | (magnitude >> 13 & 0x3ffu);
  else if (magnitude >= 0x477ff000u) h = 0x7c00u;
  else if (magnitude < 0x38800000u) h = AS(u32, AS(f32, magnitude) + 0.5f) - 0x3f000000u;
  else h = (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1)) >> 13;
  return AS(_Float16, (u16)(h | (u >> 16 & 0x8000u)));
}
// The product of two f32 is exact as an f64. Their sum is rounded to odd, so that the second rounding is as if there
// were one (Boldo and Melquiond).
SOFT f32 fmaf(f32 a, f32 b, f32 c) {
  f64 p = (f64)a * b, s = p + c, part = s - p, lost = (p - (s - part)) + (c - part);
  u64 bits_ = AS(u64, s);
  if (lost == lost && lost != 0 && !(bits_ & 1)) bits_ += ((lost > 0) == (s > 0)) ? 1 : -1;
  return (f32)AS(f64, bits_);
}
#undef SOFT
#endif
