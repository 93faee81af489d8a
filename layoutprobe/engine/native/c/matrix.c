// Matrix instructions of 16x16x16 whose halves of a wave each hold A and B (RDNA3, wave32).
//
// Order of sums: k ascends from 0, each product is added exactly once with one rounding (a fused multiply-add
// on 0), and C is added last.
#include "numbers.h"
#if LANES == 32
typedef f32 f16x __attribute__((ext_vector_type(16)));
typedef f32 f8x __attribute__((ext_vector_type(8)));
typedef u32 u8x __attribute__((ext_vector_type(8)));
typedef u16 halves __attribute__((ext_vector_type(16)));
typedef _Float16 half8 __attribute__((ext_vector_type(8)));

// A fragment is [k][row or column]. Of A each row is read from one half-wave only: even rows from lanes 0 to 15, odd
// ones from lanes 16 to 31. B is there for each half-wave; where both have the same (`alike`), once.

// Eight lanes of a register, as the two numbers of each.
typedef struct { f8x low, high; } Numbers;
// NaN need not stay signalling here, as the processor's conversion leaves them not: sums make them quiet.
AI Numbers numbers_f16(u8x x) {
  halves h = AS(halves, x);
  h = __builtin_shufflevector(h, h, 0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15);
  return (Numbers){CV(AS(half8, __builtin_shufflevector(h, h, 0, 1, 2, 3, 4, 5, 6, 7)), f8x),
                   CV(AS(half8, __builtin_shufflevector(h, h, 8, 9, 10, 11, 12, 13, 14, 15)), f8x)};
}
AI Numbers numbers_bf16(u8x x) { return (Numbers){AS(f8x, x << 16), AS(f8x, x & 0xffff0000u)}; }

#define LANES8(r, lane) (*(const u8x *)(registers + LANES * (r) + (lane)))
#define EACH(n, count) _Pragma("clang loop unroll(full)") for (int n = 0; n < count; n++)
#define EXPAND(type) \
  AI void expand_a_##type(Fragment *f, const u32 *registers) { \
    EACH(r, 8) EACH(p, 2) { \
      Numbers n = numbers_##type(__builtin_shufflevector(LANES8(r, 8 * p), LANES8(r, 8 * p + 16), 0, 9, 2, 11, 4, 13, 6, 15)); \
      memcpy(f->at[0][2 * r] + 8 * p, &n.low, 32); \
      memcpy(f->at[0][2 * r + 1] + 8 * p, &n.high, 32); \
    } \
  } \
  AI void expand_b_##type(Fragment *f, const u32 *registers) { \
    u8x apart = (u8x)0u; \
    EACH(r, 8) EACH(p, 2) apart |= LANES8(r, 8 * p) ^ LANES8(r, 8 * p + 16); \
    f->alike = !__builtin_reduce_or(apart); \
    for (int h = 0; h < 2 - (int)f->alike; h++) \
      EACH(r, 8) EACH(p, 2) { \
        Numbers n = numbers_##type(LANES8(r, 16 * h + 8 * p)); \
        memcpy(f->at[h][2 * r] + 8 * p, &n.low, 32); \
        memcpy(f->at[h][2 * r + 1] + 8 * p, &n.high, 32); \
      } \
  }
EXPAND(f16)
EXPAND(bf16)
// Rows that are summed at once: as many as the processor's vector registers hold.
#ifdef __AVX512F__
enum { ROWS = 8 };
#else
enum { ROWS = 4 };
#endif
// The rows of one half-wave: even ones of the first, odd ones of the second.
#define HALF(h) \
  for (int first = 0; first < 8; first += ROWS) { \
    f16x sum[ROWS]; \
    EACH(n, ROWS) sum[n] = (f16x)(0.f); \
    for (int k = 0; k < 16; k++) { \
      f16x x; memcpy(&x, b[h][k], 64); \
      EACH(n, ROWS) sum[n] = __builtin_elementwise_fma((f16x)(a[k][2 * (first + n) + h]), x, sum[n]); \
    } \
    EACH(n, ROWS) { \
      u32 at = 32 * (first + n) + 16 * h; \
      f16x x; memcpy(&x, from + at, 64); \
      x = sum[n] + x; memcpy(to + at, &x, 64); \
    } \
  }
AI void multiply(const Fragment *A, const Fragment *B, const u32 *from, u32 *to) {
  const f32 (*a)[16] = A->at[0], (*b[2])[16] = {B->at[0], B->at[!B->alike]};
  HALF(0) HALF(1)
}
// o0, o1, o2, o3: A, B, C, D; k0, k1 where A and B lie expanded; k2, k3: they lie there already.
#define MATRIX(type) FORM(F_wmma_f32_##type) { \
  Fragment *a = c->fragments + i->k[0], *b = c->fragments + i->k[1]; \
  if (!i->k[2]) expand_a_##type(a, (const u32 *)(W8 + i->o[0])); \
  if (!i->k[3]) expand_b_##type(b, (const u32 *)(W8 + i->o[1])); \
  multiply(a, b, (const u32 *)(W8 + i->o[2]), (u32 *)(W8 + i->o[3])); \
  NEXT; }
MATRIX(f16)
MATRIX(bf16)
#endif
