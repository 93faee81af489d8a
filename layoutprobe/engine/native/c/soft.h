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
// In integers: both addends as whole numbers of one unit, with a last bit for what is below that. The product has at
// least 105 bits, so that what is shifted out is far below what is rounded.
SOFT u64 soft_whole(f64 x, i32 *unit) {
  u64 u = AS(u64, x), field = u >> 52 & 0x7ff, whole = u & 0xfffffffffffffull;
  *unit = (field ? (i32)field : 1) - 1075;
  if (field) return whole | 1ull << 52;
  for (; whole >> 52 == 0; whole <<= 1) --*unit;
  return whole;
}
SOFT f64 soft_number(unsigned __int128 whole, i32 unit, u64 sign) {
  i32 count = whole >> 64 ? 128 - __builtin_clzll((u64)(whole >> 64)) : 64 - __builtin_clzll((u64)whole), gone = count - 53;
  if (gone < -1074 - unit) gone = -1074 - unit;
  u64 kept;
  if (gone > 0) {
    unsigned __int128 half = gone <= 127 ? (unsigned __int128)1 << (gone - 1) : 0, rest = whole & (2 * half - 1);
    if (gone > 127) return AS(f64, sign);
    kept = (u64)(whole >> gone);
    kept += rest > half || (rest == half && (kept & 1));
  } else {
    kept = (u64)whole << -gone;
  }
  // What was rounded up to the next power of two has its bit in the exponent's field, as it should.
  u64 field = (u64)(unit + gone + 1074);
  u64 number = kept >> 52 ? (field << 52) + kept : kept;
  return AS(f64, sign | (number >> 52 >= 0x7ff || unit + gone + 1074 >= 0x7ff ? 0x7ffull << 52 : number));
}
SOFT f64 fma(f64 a, f64 b, f64 c) {
  u64 ua = AS(u64, a), ub = AS(u64, b), uc = AS(u64, c), most = 0x7ffull << 52, none = ~(1ull << 63);
  if ((ua & most) == most || (ub & most) == most || (uc & most) == most || !(ua & none) || !(ub & none)) return a * b + c;
  if (!(uc & none)) return a * b;
  i32 at, bt, ct;
  unsigned __int128 product = (unsigned __int128)soft_whole(a, &at) * soft_whole(b, &bt), added = soft_whole(c, &ct);
  i32 unit = at + bt, up = ct - unit;
  if (up > 73) {
    i32 down = up - 73;
    b1 rest = down < 127 ? (product & (((unsigned __int128)1 << down) - 1)) != 0 : 1;
    product = (down < 127 ? product >> down : 0) | rest, added <<= 73, unit = ct - 73;
  } else if (up >= 0) {
    added <<= up;
  } else {
    i32 left = -up < 20 ? -up : 20, down = -up - left;
    b1 rest = down < 127 ? (added & (((unsigned __int128)1 << down) - 1)) != 0 : 1;
    product <<= left, unit -= left, added = (down < 127 ? added >> down : 0) | rest;
  }
  u64 sign = (ua ^ ub) >> 63 << 63, other = uc >> 63 << 63;
  if (sign == other) return soft_number(product + added, unit, sign);
  if (product == added) return 0;
  return product > added ? soft_number(product - added, unit, sign) : soft_number(added - product, unit, other);
}
#undef SOFT
#endif
