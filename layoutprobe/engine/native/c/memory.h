// How lanes reach memory. Every address is checked against the allocation before a byte moves. What is not plain
// (out of bounds, read-only, undefined bits) goes to numpy, which words the fault.
#pragma once
#include "state.h"

typedef u32 u4 __attribute__((ext_vector_type(4)));
typedef u32 u4u __attribute__((ext_vector_type(4), aligned(1)));
typedef u32 u16x __attribute__((ext_vector_type(16)));
typedef u32 u1u __attribute__((aligned(1)));
typedef u16 h1u __attribute__((aligned(1)));
typedef u64 q1u __attribute__((aligned(1)));
#define L4(p) (*(const u4u *)(p))

// How a form moves bits: bytes, sign extension, and the half of a D16 form.
enum { PLAIN = 0, SIGNED = 1, LOW = 2, HIGH = 4 };

AI void put(Wave *w, u32 n, v_u32 x, mask ex) {
  v_u32 *d = (v_u32 *)vgpr(w, n);
  *d = ex == ~(mask)0 ? x : bools(ex) ? x : *d;
}

// 16 lanes of 16 bytes each -> 16 lanes of four registers.
#define CAT(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7)
#define CAT2(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
#define PICK(a, b, j) \
  __builtin_shufflevector(a, b, 4*j, 4*j+1, 4*j+2, 4*j+3, 16+4*j, 17+4*j, 18+4*j, 19+4*j)
AI void gather16(const u8 *p, const u64 *at, u32 *out) {
  u16x q[4];
#pragma clang loop unroll(full)
  for (int g = 0; g < 4; g++) {
    u16x x = CAT2(CAT(L4(p + at[4*g]), L4(p + at[4*g+1])), CAT(L4(p + at[4*g+2]), L4(p + at[4*g+3])));
    q[g] = __builtin_shufflevector(x, x, 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  }
#define OUT(j) { u16x r = CAT2(PICK(q[0], q[1], j), PICK(q[2], q[3], j)); memcpy(out + LANES * j, &r, 64); }
  OUT(0) OUT(1) OUT(2) OUT(3)
}

// 16 lanes that access places of `step` bytes, one behind the other: as rows of a matrix do.
typedef u64 o16 __attribute__((ext_vector_type(16), aligned(8)));
AI int in_a_row(const u64 *at, u32 step) {
  const o16 count = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  o16 apart = *(const o16 *)at - at[0] - count * step;
  return !__builtin_reduce_or(apart);
}
// Lanes from 16 on that access what lanes 0 to 15 do, as the operands of RDNA3's matrix instructions ask: it is
// looked at once.
AI int halves_alike(const u64 *at) {
  if (LANES != 32) return 0;
  o16 apart = *(const o16 *)at ^ *(const o16 *)(at + 16);
  return !__builtin_reduce_or(apart);
}

typedef u64 q8 __attribute__((ext_vector_type(8)));
typedef u64 q8u __attribute__((ext_vector_type(8), aligned(1)));
#define Q(l) (*(const q1u *)(p + at[l]))
// 16 lanes of 8 bytes each -> 16 lanes of two registers.
AI void gather8(const u8 *p, const u64 *at, u32 *out) {
  q8 x, y;
  if (in_a_row(at, 8)) {
    x = *(const q8u *)(p + at[0]);
    y = *(const q8u *)(p + at[0] + 64);
  } else {
    x = (q8){Q(0), Q(1), Q(2), Q(3), Q(4), Q(5), Q(6), Q(7)};
    y = (q8){Q(8), Q(9), Q(10), Q(11), Q(12), Q(13), Q(14), Q(15)};
  }
  u16x a = AS(u16x, x), b = AS(u16x, y);
  u16x low = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  u16x high = __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
  memcpy(out, &low, 64);
  memcpy(out + LANES, &high, 64);
}

AI v_u32 gather(const u8 *p, const u64 *at, u32 size) {
  u32 r[LANES] __attribute__((aligned(128)));
#pragma clang loop unroll(full)
  for (int h = 0; h < LANES; h += 16) {
    if (size == 4 && in_a_row(at + h, 4)) { memcpy(r + h, p + at[h], 64); continue; }
#pragma clang loop unroll(full)
    for (int l = h; l < h + 16; l++)
      r[l] = size == 4 ? *(const u1u *)(p + at[l]) : size == 2 ? *(const h1u *)(p + at[l]) : p[at[l]];
  }
  v_u32 x;
  memcpy(&x, r, sizeof x);
  return x;
}

AI void load_lanes(Wave *w, u32 dst, const u8 *p, const u64 *at, u32 size, u32 how, mask ex) {
  if (size == 16 || size == 8) {
    v_u32 x[4];
    u32 *to = (u32 *)x, registers = size / 4;
    if (halves_alike(at)) {
      if (size == 16) gather16(p, at, to); else gather8(p, at, to);
      for (u32 j = 0; j < registers; j++) memcpy(to + LANES * j + 16, to + LANES * j, 64);
    } else
      for (int h = 0; h < LANES; h += 16)
        if (size == 16) gather16(p, at + h, to + h); else gather8(p, at + h, to + h);
    for (u32 j = 0; j < registers; j++) put(w, dst + j, x[j], ex);
    return;
  }
  if (size > 4) {
    v_u32 x[3];
    for (u32 j = 0; j < size / 4; j++) x[j] = gather(p + 4 * j, at, 4);
    for (u32 j = 0; j < size / 4; j++) put(w, dst + j, x[j], ex);
    return;
  }
  v_u32 x = gather(p, at, size), old = *(v_u32 *)vgpr(w, dst);
  if (how & SIGNED) x = AS(v_u32, (AS(v_i32, x) << (i32)(32 - 8 * size)) >> (i32)(32 - 8 * size));
  if (how & LOW) x = (old & 0xffff0000u) | (x & 0xffffu);
  if (how & HIGH) x = (old & 0xffffu) | x << 16;
  put(w, dst, x, ex);
}

AI void store_lane(u8 *q, const u32 *r, u32 size, u32 how) {
  if (size == 16) { u4 x = {r[0], r[LANES], r[2*LANES], r[3*LANES]}; *(u4u *)q = x; return; }
  if (size == 2) { *(h1u *)q = (u16)(how & HIGH ? *r >> 16 : *r); return; }
  if (size == 1) { *q = (u8)(how & HIGH ? *r >> 16 : *r); return; }
  for (u32 j = 0; j < size / 4; j++) *(u1u *)(q + 4 * j) = r[LANES * j];
}
AI void store_lanes(u8 *p, const u64 *at, const u32 *r, u32 size, u32 how, mask ex) {
  if (ex == ~(mask)0) {
    for (u32 h = 0; h < LANES; h += 16) {
      if (size == 4 && in_a_row(at + h, 4)) { memcpy(p + at[h], r + h, 64); continue; }
      for (u32 l = h; l < h + 16; l++) store_lane(p + at[l], r + l, size, how);
    }
    return;
  }
  for (mask m = ex; m; m &= m - 1) { u32 l = (u32)__builtin_ctzll(m); store_lane(p + at[l], r + l, size, how); }
}
AI void clear_lanes(u8 *p, const u64 *at, u32 size, mask ex) {
  static const u32 zero[4 * LANES];
  store_lanes(p, at, zero, size, PLAIN, ex);
}
// Whether any byte that the lanes load is undefined. Lanes that are off point where an active one does.
AI int any_undefined(const u8 *p, const u64 *at, u32 size) {
  if (size == 16) {
    u4 met = {0, 0, 0, 0};
#pragma clang loop unroll(full)
    for (int l = 0; l < 16; l++) met |= L4(p + at[l]);
    if (!halves_alike(at))
#pragma clang loop unroll(full)
      for (int l = 16; l < LANES; l++) met |= L4(p + at[l]);
    return (met[0] | met[1] | met[2] | met[3]) != 0;
  }
  if (size == 8) {
    u64 met = 0;
#pragma clang loop unroll(full)
    for (int l = 0; l < LANES; l++) met |= Q(l);
    return met != 0;
  }
  u32 met = 0;
  for (u32 j = 0; j < size; j += 4) {
#pragma clang loop unroll(full)
    for (int l = 0; l < LANES; l++) {
      const u8 *q = p + at[l] + j;
      met |= size >= 4 ? *(const u1u *)q : size == 2 ? *(const h1u *)q : *q;
    }
  }
  return met != 0;
}

// Lanes' addresses are read one by one from here on: from memory, as to take a vector apart is slower.
#define LAID(at) __asm__("" : "+m"(*(u64(*)[LANES])(at)))
#include "sieve.h"

// Global memory. The lanes' offsets in the arena must each lie in one region.
enum { OUTSIDE = 0, DEFINED = 1, UNDEFINED = 3 };
AI int inside(Ctx *c, const Ins *i, v_u64 a, u32 size, mask ex, int store) {
  u64 *hint = &c->hints[(u64)(i - c->program) & 63], r = *hint;
  mask left = ex;
  int met = DEFINED;
  if (r >= c->region_count) r = 0;
  for (u64 n = 0; n < c->region_count; n++) {
    const Region *g = &c->regions[r];
    if (g->end - g->start >= size && (!store || g->writable)) {
      mask hit = MASK(a - g->start <= g->end - g->start - size) & left;
      if (hit) {
        *hint = r;
        if (g->undefined) met = UNDEFINED;
      }
      left &= ~hit;
      if (!left) return met;
    }
    if (++r == c->region_count) r = 0;
  }
  return OUTSIDE;
}
AI int global_at(Ctx *c, const Ins *i, v_u64 a, u32 size, mask ex, int store, u64 *at) {
  int met = inside(c, i, a, size, ex, store);
  if (ex != ~(mask)0) a = bools(ex) ? a : (v_u64)(a[__builtin_ctzll(ex)]);
  memcpy(at, &a, sizeof a);
  LAID(at);
  return met;
}
// A line of the log for each place that a load or store accesses: which record, which place and whether the wave has
// signalled its barrier, EXEC; where the lanes point; and what is stored.
enum { ACCESS_LINE = 0x80000000u };
AI void tell_access(Wave *w, const Ins *i, Ctx *c, u32 n, mask ex, const u64 *at, u32 lanes, const u32 *data, u32 dwords) {
  if (likely(w->index >= c->accesses) || !i->told) return;
  u32 *line = c->log + w->index * c->log_words + w->logged;
  line[0] = ACCESS_LINE | (u32)(i - c->program);
  line[1] = n | w->signalled << 8;
  memcpy(line + 2, &ex, sizeof ex);
  line += 4;
  if (ex) __builtin_memcpy(line, at, 8 * lanes);
  line += 2 * lanes;
  if (ex && dwords) __builtin_memcpy(line, data, 4 * dwords * lanes);
  w->logged += 4 + 2 * lanes + dwords * lanes;
}
// A load in a loop steps on through a matrix: what it will want next is asked of the host's memory now. Rows of a
// matrix lie so far apart that the processor does not guess them.
AI void foresee(const Wave *w, const Ins *i, Ctx *c, const u64 *at) {
  u64 *last = &c->before[((u64)(i - c->program) * 8 + w->index) & 511], step = at[0] - *last;
  *last = at[0];
#pragma clang loop unroll(full)
  for (int l = 0; l < LANES; l += 4) __builtin_prefetch(c->arena + at[l] + step);
}
// k0, k1: what to add to addresses to have offsets in the arena.
#define OFFSET ((u64)i->k[0] | (u64)i->k[1] << 32)
#define TRY(done) { if (unlikely(!(done))) STOP(SLOW); NEXT; }
AI void zero_lanes(Wave *w, u32 dst, u32 size, u32 how, mask lanes) {
  v_u32 keep = (v_u32)(how & LOW ? 0xffff0000u : how & HIGH ? 0xffffu : 0u);
  for (u32 j = 0; j < (size + 3) / 4; j++) put(w, dst + j, *(v_u32 *)vgpr(w, dst + j) & keep, lanes);
}
// LDS: o0 address. Addresses and offsets add up modulo 2**32, so that a base may count down from the offset.
AI int lds_at(Wave *w, const Ins *i, Ctx *c, u32 offset, u32 size, mask ex, u64 *at) {
  v_u32 a = RV(0) + offset;
  if (size > c->lds_size) return 0;
  if (unlikely(MASK(a > (u32)(c->lds_size - size)) & ex)) return 0;
  if (ex != ~(mask)0) a = bools(ex) ? a : (v_u32)(a[__builtin_ctzll(ex)]);
  v_u64 wide = CV(a, v_u64);
  memcpy(at, &wide, sizeof wide);
  LAID(at);
  return 1;
}
// Addresses in o0, and o2 where a scalar register is added.
AI v_u64 address_vv(Wave *w, const Ins *i) { return (CV(RV(0), v_u64) | CV(RVH(0), v_u64) << 32) + OFFSET; }
AI v_u64 address_sv(Wave *w, const Ins *i) {
  return CV(RV(0), v_u64) + (((u64)RS(2) | (u64)RSH(2) << 32) + OFFSET);
}
// Buffers: o0 a VGPR that is added (where k3 & 1), o1 number of the first data register, o2 the resource, o3 the
// scalar offset (k3 & 2) or k4. k0, k1: see OFFSET; k2 the instruction's offset. The scalar offset counts for the
// address and not for the range. Structured buffers and accesses partly in range are numpy's.
typedef struct { v_u64 at; mask inside; int plain; } Reach;
AI Reach reach(Wave *w, const Ins *i, u32 size, mask ex) {
  const u32 *resource = (const u32 *)(W8 + i->o[2]);
  Reach r = {0};
  if (unlikely(resource[1] >> 16 & 0x3fff)) return r;
  v_i64 at = (v_i64)(i64)(i32)i->k[2];
  if (i->k[3] & 1) at += CV(RV(0), v_i64);
  v_i64 room = (i64)resource[2] - at;
  r.plain = size <= 4 || !(MASK(room >= 4) & MASK(room < (i64)size) & ex);
  r.inside = MASK(room >= (i64)size) & ex;
  u64 base = ((u64)resource[0] | (u64)(resource[1] & 0xffff) << 32) + (i->k[3] & 2 ? RS(3) : i->k[4]);
  r.at = AS(v_u64, at) + (base + OFFSET);
  return r;
}
// Whether lanes point between numbers of that size, which atomics may not.
AI int crooked(const u64 *at, u32 size) {
  u64 met = 0;
  for (int l = 0; l < LANES; l++) met |= at[l];
  return (met & (size - 1)) != 0;
}
AI u64 pair_of(Wave *w, u32 n, u32 l) { return (u64)vgpr(w, n)[l] | (u64)vgpr(w, n + 1)[l] << 32; }

// LDS: o1 number of the first data register; k0 offset, k1 second offset of the 2addr forms. See lds_at.
// Nobody takes part; observers are told of the others of the cohort.
AI int idle(Wave *w, const Ins *i, Ctx *c, u32 count, u32 dwords) {
  for (u32 n = 0; n < count; n++) tell_access(w, i, c, n, 0, 0, LANES, 0, dwords);
  return 1;
}
AI int lds_load(Wave *w, const Ins *i, Ctx *c, u32 size, u32 how, u32 count) {
  mask ex = EX;
  if (!ex) return idle(w, i, c, count, 0);
  u64 at[2][LANES] __attribute__((aligned(128)));
  for (u32 n = 0; n < count; n++)
    if (!lds_at(w, i, c, i->k[n], size, ex, at[n]) || unlikely(any_undefined(c->lds_shadow, at[n], size)) ||
        !SIFT(lds, at[n], size, READ, ex))
      return 0;
  for (u32 n = 0; n < count; n++) {
    tell_access(w, i, c, n, ex, at[n], LANES, 0, 0);
    load_lanes(w, i->o[1] + n * (size + 3) / 4, c->lds, at[n], size, how, ex);
  }
  return 1;
}
AI int lds_store(Wave *w, const Ins *i, Ctx *c, u32 size, u32 how, u32 count) {
  mask ex = EX;
  if (!ex) return idle(w, i, c, count, (size + 3) / 4);
  u64 at[2][LANES] __attribute__((aligned(128)));
  for (u32 n = 0; n < count; n++)
    if (!lds_at(w, i, c, i->k[n], size, ex, at[n]) || !SIFT(lds, at[n], size, WRITTEN, ex)) return 0;
  for (u32 n = 0; n < count; n++) {
    tell_access(w, i, c, n, ex, at[n], LANES, vgpr(w, i->o[1 + n]), (size + 3) / 4);
    store_lanes(c->lds, at[n], vgpr(w, i->o[1 + n]), size, how, ex);
    clear_lanes(c->lds_shadow, at[n], size, ex);
  }
  return 1;
}

// Global memory.
AI int global_load(Wave *w, const Ins *i, Ctx *c, v_u64 a, u32 size, u32 how) {
  mask ex = EX;
  if (!ex) return idle(w, i, c, 1, 0);
  u64 at[LANES] __attribute__((aligned(128)));
  int met = global_at(c, i, a, size, ex, 0, at);
  if (unlikely(met != DEFINED))
    if (met == OUTSIDE || any_undefined(c->arena_shadow, at, size)) return 0;
  if (!SIFT(global, at, size, READ, ex)) return 0;
  foresee(w, i, c, at);
  tell_access(w, i, c, 0, ex, at, LANES, 0, 0);
  load_lanes(w, i->o[1], c->arena, at, size, how, ex);
  return 1;
}
AI int global_store(Wave *w, const Ins *i, Ctx *c, v_u64 a, u32 size, u32 how) {
  mask ex = EX;
  if (!ex) return idle(w, i, c, 1, (size + 3) / 4);
  u64 at[LANES] __attribute__((aligned(128)));
  int met = global_at(c, i, a, size, ex, 1, at);
  if (unlikely(met == OUTSIDE) || !SIFT(global, at, size, WRITTEN, ex)) return 0;
  tell_access(w, i, c, 0, ex, at, LANES, vgpr(w, i->o[1]), (size + 3) / 4);
  store_lanes(c->arena, at, vgpr(w, i->o[1]), size, how, ex);
  if (met == UNDEFINED) clear_lanes(c->arena_shadow, at, size, ex);
  return 1;
}
