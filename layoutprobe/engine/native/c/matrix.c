// Matrix instructions of 16x16x16 whose halves of a wave each hold A and B (RDNA3, wave32).
//
// Order of sums: k ascends from 0, each product is added exactly once with one rounding (a fused multiply-add
// on 0), and C is added last.
#include "numbers.h"
#if LANES == 32
typedef f32 Fragment[16][32];
typedef f32 f16x __attribute__((ext_vector_type(16)));

// The two numbers in each lane of 8 registers.
#define EXPAND(low, high) { \
  _Pragma("clang loop unroll(full)") \
  for (int r = 0; r < 8; r++) { \
    v_u32 x = ((const v_u32 *)registers)[r]; \
    v_f32 l = low, h = high; \
    memcpy((*f)[2 * r], &l, sizeof l); \
    memcpy((*f)[2 * r + 1], &h, sizeof h); \
  } }
// NaN keep their payload, for which f32_of_f16 takes thrice as long as the processor, so they are looked for first.
typedef u16 halves __attribute__((ext_vector_type(2 * LANES)));
AI int any_nan(const u32 *registers) {
  halves most = (halves)(u16)0;
#pragma clang loop unroll(full)
  for (int r = 0; r < 8; r++) most = __builtin_elementwise_max(most, ((const halves *)registers)[r] & 0x7fff);
  return __builtin_reduce_max(most) > 0x7c00;
}
AI void expand_f16(f32 *out, const u32 *registers) {
  Fragment *f = (Fragment *)out;
  if (unlikely(any_nan(registers)))
    EXPAND(f32_of_f16(CV(x & 0xffffu, v_u16)), f32_of_f16(CV(x >> 16, v_u16)))
  else
    EXPAND(CV(AS(v_half, CV(x & 0xffffu, v_u16)), v_f32), CV(AS(v_half, CV(x >> 16, v_u16)), v_f32))
}
AI void expand_bf16(f32 *out, const u32 *registers) {
  Fragment *f = (Fragment *)out;
  EXPAND(AS(v_f32, x << 16), AS(v_f32, x & 0xffff0000u))
}
// Rows that are summed at once: as many as the processor's vector registers hold.
#ifdef __AVX512F__
enum { ROWS = 8 };
#else
enum { ROWS = 4 };
#endif
// One half-wave's rows: 2v from lane 2v of its own copy of A, 2v + 1 from lane 17 + 2v.
#define HALF(h, row) \
  for (int first = 0; first < 8; first += ROWS) { \
    f16x sum[ROWS]; \
    for (int n = 0; n < ROWS; n++) sum[n] = (f16x)(0.f); \
    for (int k = 0; k < 16; k++) { \
      f16x b; memcpy(&b, &(*B)[k][16 * h], 64); \
      _Pragma("clang loop unroll(full)") \
      for (int n = 0, v = first; n < ROWS; n++, v++) \
        sum[n] = __builtin_elementwise_fma((f16x)((*A)[k][row]), b, sum[n]); \
    } \
    _Pragma("clang loop unroll(full)") \
    for (int n = 0, v = first; n < ROWS; n++, v++) { \
      f16x x; memcpy(&x, from + 32 * v + 16 * h, 64); \
      x = sum[n] + x; memcpy(to + 32 * v + 16 * h, &x, 64); } }
AI void multiply_f32(const f32 *a, const f32 *b, const u32 *from, u32 *to) {
  const Fragment *A = (const Fragment *)a, *B = (const Fragment *)b;
  HALF(0, 2 * v) HALF(1, 17 + 2 * v)
}
// o0, o1, o2, o3: A, B, C, D; k0, k1 where A and B lie expanded; k2, k3: they lie there already.
#define MATRIX(name, expand) FORM(name) { \
  f32 *a = c->fragments + 512 * i->k[0], *b = c->fragments + 512 * i->k[1]; \
  if (!i->k[2]) expand(a, (const u32 *)(W8 + i->o[0])); \
  if (!i->k[3]) expand(b, (const u32 *)(W8 + i->o[1])); \
  multiply_f32(a, b, (const u32 *)(W8 + i->o[2]), (u32 *)(W8 + i->o[3])); \
  NEXT; }
MATRIX(F_wmma_f32_f16, expand_f16)
MATRIX(F_wmma_f32_bf16, expand_bf16)
#endif
