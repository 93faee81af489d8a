// Makes device kernels C++ of the machine that runs the tests: one work-item at a time.
#define amdgpu_flat_work_group_size(...) unused
#define amdgpu_num_vgpr(...) unused
#define amdgpu_num_sgpr(...) unused
extern "C" unsigned lp_item, lp_group;
unsigned lp_item, lp_group;
#define __builtin_amdgcn_workitem_id_x() lp_item
#define __builtin_amdgcn_workitem_id_y() 0u
#define __builtin_amdgcn_workitem_id_z() 0u
#define __builtin_amdgcn_workgroup_id_x() lp_group
#define __builtin_amdgcn_workgroup_id_y() 0u
#define __builtin_amdgcn_workgroup_id_z() 0u

// What the instruction set guide says of the instructions that a few kernels name.
typedef unsigned lp_u32;
static lp_u32 __builtin_amdgcn_ubfe(lp_u32 x, lp_u32 at, lp_u32 width) {
  at &= 31, width &= 31;
  return x >> at & ((1u << width) - 1);
}
static int __builtin_amdgcn_sbfe(int x, lp_u32 at, lp_u32 width) {
  at &= 31, width &= 31;
  if (width == 0) return 0;
  unsigned long long field = (unsigned long long)((long long)x >> at) & ((1ull << width) - 1);
  return (int)(field ^ 1ull << (width - 1)) - (int)(1ull << (width - 1));
}
static lp_u32 __builtin_amdgcn_alignbit(lp_u32 high, lp_u32 low, lp_u32 by) {
  return (lp_u32)(((unsigned long long)high << 32 | low) >> (by & 31));
}
static lp_u32 __builtin_amdgcn_alignbyte(lp_u32 high, lp_u32 low, lp_u32 by) {
  return (lp_u32)(((unsigned long long)high << 32 | low) >> 8 * (by & 3));
}
static lp_u32 __builtin_amdgcn_perm(lp_u32 high, lp_u32 low, lp_u32 select) {
  unsigned long long both = (unsigned long long)high << 32 | low;
  lp_u32 out = 0;
  for (int i = 0; i < 4; i++) out |= (lp_u32)(both >> 8 * (select >> 8 * i & 7) & 255) << 8 * i;
  return out;  // selectors of 8 and more are not used by these kernels
}
static lp_u32 lp_distance(lp_u32 x, lp_u32 y) { return x > y ? x - y : y - x; }
static lp_u32 __builtin_amdgcn_sad_u8(lp_u32 x, lp_u32 y, lp_u32 sum) {
  for (int i = 0; i < 32; i += 8) sum += lp_distance(x >> i & 255, y >> i & 255);
  return sum;
}
static lp_u32 __builtin_amdgcn_msad_u8(lp_u32 x, lp_u32 y, lp_u32 sum) {
  for (int i = 0; i < 32; i += 8)
    if (y >> i & 255) sum += lp_distance(x >> i & 255, y >> i & 255);
  return sum;
}
static lp_u32 __builtin_amdgcn_sad_u16(lp_u32 x, lp_u32 y, lp_u32 sum) {
  return sum + lp_distance(x & 0xffff, y & 0xffff) + lp_distance(x >> 16, y >> 16);
}
static lp_u32 __builtin_amdgcn_lerp(lp_u32 x, lp_u32 y, lp_u32 round) {
  lp_u32 out = 0;
  for (int i = 0; i < 32; i += 8) out |= ((x >> i & 255) + (y >> i & 255) + (round >> i & 1)) / 2 << i;
  return out;
}
static float __builtin_amdgcn_fmed3f(float x, float y, float z) {
  float low = x < y ? x : y, high = x < y ? y : x;
  return z < low ? low : z > high ? high : z;
}
static float __builtin_amdgcn_fractf(float x) {
  float part = x - __builtin_floorf(x), most = 0x1.fffffep-1f;
  return part < most ? part : most;
}
static int __builtin_amdgcn_frexp_expf(float x) {
  int exponent = 0;
  __builtin_frexpf(x, &exponent);
  return exponent;
}
static float __builtin_amdgcn_frexp_mantf(float x) {
  int exponent;
  return __builtin_frexpf(x, &exponent);
}
static float __builtin_amdgcn_ldexpf(float x, int exponent) { return __builtin_ldexpf(x, exponent); }
static bool __builtin_amdgcn_classf(float x, int mask) {
  lp_u32 bits = __builtin_bit_cast(lp_u32, x), fraction = bits & 0x7fffff, exponent = bits >> 23 & 255;
  bool negative = bits >> 31;
  int kind;
  if (exponent == 255) kind = fraction ? (fraction >> 22 ? 1 : 0) : negative ? 2 : 9;
  else if (exponent) kind = negative ? 3 : 8;
  else if (fraction) kind = negative ? 4 : 7;
  else kind = negative ? 5 : 6;
  return mask >> kind & 1;
}
typedef __fp16 lp_pair __attribute__((ext_vector_type(2)));
static lp_pair __builtin_amdgcn_cvt_pkrtz(float, float) { return lp_pair{}; }  // in a kernel that is not compared

#if defined(__x86_64__)
// A compiler without run-time library: conversions to and from f16.
extern "C" __attribute__((weak)) _Float16 __truncdfhf2(double value) {
  unsigned long long bits = __builtin_bit_cast(unsigned long long, value), fraction = bits & 0xfffffffffffff;
  int exponent = (int)(bits >> 52 & 2047) - 1023;
  lp_u32 out;
  if (exponent == 1024) out = 0x7c00 | (fraction ? 0x200 | (lp_u32)(fraction >> 42) : 0);
  else if (exponent < -25) out = 0;
  else {
    int drop = exponent < -14 ? 42 - 14 - exponent : 42;
    unsigned long long whole = fraction | 1ull << 52, half = 1ull << (drop - 1), rest = whole & ((1ull << drop) - 1);
    out = (lp_u32)(whole >> drop) + (rest > half || (rest == half && (whole >> drop & 1)));
    if (exponent >= -14) out += (lp_u32)(exponent + 14) << 10;  // the leading bit makes it one more
    if (out > 0x7c00) out = 0x7c00;
  }
  return __builtin_bit_cast(_Float16, (unsigned short)((bits >> 48 & 0x8000) | out));
}
extern "C" __attribute__((weak)) _Float16 __truncsfhf2(float value) { return __truncdfhf2(value); }
extern "C" __attribute__((weak)) float __extendhfsf2(_Float16 value) {
  lp_u32 bits = __builtin_bit_cast(unsigned short, value), fraction = bits & 0x3ff, exponent = bits >> 10 & 31;
  float out = exponent == 31 ? (fraction ? __builtin_nanf("") : __builtin_inff())
              : exponent   ? __builtin_ldexpf((float)(fraction | 0x400), (int)exponent - 25)
                           : __builtin_ldexpf((float)fraction, -24);
  return bits >> 15 ? -out : out;
}
#endif
