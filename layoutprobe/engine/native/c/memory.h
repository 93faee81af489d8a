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

// Where lanes point: `at` bytes behind `base`, which is an offset in a memory. Lanes that are off point where an active
// one does.
typedef struct { u32 at[LANES]; u64 base; } __attribute__((aligned(128))) Places;
// Lanes' addresses are read one by one: from memory, as to take a vector apart is slower. Whoever reads them as a
// vector must hide that from the compiler.
AI void lay(Places *to, u64 base, v_u32 at) {
  memcpy(to->at, &at, sizeof at);
  __asm__("" : "+m"(to->at));
  to->base = base;
}
// Not zero in lanes that point further than `most`.
AI v_u32 beyond(v_u32 at, u32 most) { return __builtin_elementwise_max(at, (v_u32)most) ^ most; }
AI const u16x *vector_of(const u32 *at) {
  __asm__("" : "+r"(at));
  return (const u16x *)at;
}

AI void put(Wave *w, u32 n, v_u32 x, mask ex) {
  PUT(*(v_u32 *)vgpr(w, n), x, ex);
}

// Lanes one by one: more at a time are hardly faster, and take the compiler long.
#define FOURS _Pragma("clang loop unroll_count(4) vectorize(disable)")
// 16 lanes that access places of `step` bytes, one behind the other: as rows of a matrix do.
AI int in_a_row(const u32 *at, u32 step) {
  const u16x count = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  return !__builtin_reduce_or(*vector_of(at) - at[0] - count * step);
}
// Lanes from 16 on that access what lanes 0 to 15 do, as the operands of RDNA3's matrix instructions ask: it is
// looked at once.
AI int halves_alike(const u32 *at) {
  const u16x *half = vector_of(at);
  return LANES == 32 && !__builtin_reduce_or(half[0] ^ half[1]);
}

// Eight lanes of 16 bytes each -> eight lanes of four registers: two matrices of 4x4 are transposed side by side.
typedef u32 u8x __attribute__((ext_vector_type(8)));
#define MIX(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
AI void gather16(const u8 *p, const u32 *at, u32 *out) {
  u8x r[4], low[2], high[2];
#pragma clang loop unroll(full)
  for (int l = 0; l < 4; l++) r[l] = MIX(L4(p + at[l]), L4(p + at[l + 4]), 0, 1, 2, 3, 4, 5, 6, 7);
#pragma clang loop unroll(full)
  for (int h = 0; h < 2; h++) {
    low[h] = MIX(r[2 * h], r[2 * h + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    high[h] = MIX(r[2 * h], r[2 * h + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  u8x x[4] = {MIX(low[0], low[1], 0, 1, 8, 9, 4, 5, 12, 13), MIX(low[0], low[1], 2, 3, 10, 11, 6, 7, 14, 15),
              MIX(high[0], high[1], 0, 1, 8, 9, 4, 5, 12, 13), MIX(high[0], high[1], 2, 3, 10, 11, 6, 7, 14, 15)};
  for (int j = 0; j < 4; j++) memcpy(out + LANES * j, &x[j], 32);
}
// Eight lanes of 8 bytes each -> eight lanes of two registers.
typedef u64 q4 __attribute__((ext_vector_type(4)));
#define Q(l) (*(const q1u *)(p + at[l]))
AI void gather8(const u8 *p, const u32 *at, u32 *out) {
  u8x a = AS(u8x, ((q4){Q(0), Q(1), Q(4), Q(5)})), b = AS(u8x, ((q4){Q(2), Q(3), Q(6), Q(7)}));
  u8x low = MIX(a, b, 0, 2, 8, 10, 4, 6, 12, 14), high = MIX(a, b, 1, 3, 9, 11, 5, 7, 13, 15);
  memcpy(out, &low, 32);
  memcpy(out + LANES, &high, 32);
}
AI void gather_row8(const u8 *p, u32 *out) {
  u16x a, b;
  memcpy(&a, p, 64);
  memcpy(&b, p + 64, 64);
  u16x low = MIX(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  u16x high = MIX(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
  memcpy(out, &low, 64);
  memcpy(out + LANES, &high, 64);
}

AI v_u32 gather(const u8 *p, const u32 *at, u32 size) {
  u32 r[LANES] __attribute__((aligned(128)));
#pragma clang loop unroll(full)
  for (int h = 0; h < LANES; h += 16) {
    if (size == 4 && in_a_row(at + h, 4)) { memcpy(r + h, p + at[h], 64); continue; }
    FOURS
    for (int l = h; l < h + 16; l++)
      r[l] = size == 4 ? *(const u1u *)(p + at[l]) : size == 2 ? *(const h1u *)(p + at[l]) : p[at[l]];
  }
  __asm__("" : "+m"(r));  // written one by one, too: to put a vector together is slower
  v_u32 x;
  memcpy(&x, r, sizeof x);
  return x;
}
// 16 lanes of 8 or 16 bytes each.
AI void gather_wide(const u8 *p, const u32 *at, u32 size, u32 *out) {
  if (size == 8 && in_a_row(at, 8)) { gather_row8(p + at[0], out); return; }
#pragma clang loop unroll(full)
  for (int l = 0; l < 16; l += 8)
    if (size == 16) gather16(p, at + l, out + l); else gather8(p, at + l, out + l);
}

AI void load_lanes(Wave *w, u32 dst, const u8 *memory, const Places *from, u32 size, u32 how, mask ex) {
  const u8 *p = memory + from->base;
  const u32 *at = from->at;
  u32 registers = size / 4;
  if (size == 16 || size == 8) {
    v_u32 x[4];
    u32 *to = ex == ~(mask)0 ? vgpr(w, dst) : (u32 *)x;
    gather_wide(p, at, size, to);
    if (halves_alike(at)) {
      for (u32 j = 0; j < registers; j++) memcpy(to + LANES * j + 16, to + LANES * j, 64);
    } else
      for (int h = 16; h < LANES; h += 16) gather_wide(p, at + h, size, to + h);
    if (unlikely(ex != ~(mask)0))
      for (u32 j = 0; j < registers; j++) put(w, dst + j, x[j], ex);
    return;
  }
  if (size > 4) {
    v_u32 x[3];
    for (u32 j = 0; j < registers; j++) x[j] = gather(p + 4 * j, at, 4);
    for (u32 j = 0; j < registers; j++) put(w, dst + j, x[j], ex);
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
AI void store_lanes(u8 *memory, const Places *to, const u32 *r, u32 size, u32 how, mask ex) {
  u8 *p = memory + to->base;
  const u32 *at = to->at;
  if (ex == ~(mask)0) {
    for (u32 h = 0; h < LANES; h += 16) {
      if (size == 4 && in_a_row(at + h, 4)) { memcpy(p + at[h], r + h, 64); continue; }
      FOURS
      for (u32 l = h; l < h + 16; l++) store_lane(p + at[l], r + l, size, how);
    }
    return;
  }
  for (mask m = ex; m; m &= m - 1) { u32 l = (u32)__builtin_ctzll(m); store_lane(p + at[l], r + l, size, how); }
}
// Whether any byte that the lanes load is undefined.
AI int any_undefined(const u8 *memory, const Places *from, u32 size) {
  const u8 *p = memory + from->base;
  const u32 *at = from->at;
  u4 wide = {0, 0, 0, 0};
  u64 met = 0;
#pragma clang loop unroll(full)
  for (int h = 0; h < LANES; h += 16) {
    if (h && halves_alike(at)) continue;
    if (size == 4 && in_a_row(at + h, 4)) {
      u16x x; memcpy(&x, p + at[h], 64);
      met |= __builtin_reduce_or(x);
      continue;
    }
    if (size == 16) {
#pragma clang loop unroll(full)
      for (int l = h; l < h + 16; l++) wide |= L4(p + at[l]);
      continue;
    }
    FOURS
    for (int l = h; l < h + 16; l++) {
      const u8 *q = p + at[l];
      if (size == 12) met |= *(const q1u *)q | *(const u1u *)(q + 8);
      else met |= size == 8 ? *(const q1u *)q : size == 4 ? *(const u1u *)q : size == 2 ? *(const h1u *)q : *q;
    }
  }
  return (met | __builtin_reduce_or(wide)) != 0;
}
// What the lanes store is defined.
AI void define_memory(u8 *shadow, const Places *to, u32 size, mask ex) {
  static const u32 zero[4 * LANES];
  store_lanes(shadow, to, zero, size, PLAIN, ex);
}

#include "sieve.h"

// Global memory. The lanes' places must each lie in one region: mostly all in that where the last access was.
enum { OUTSIDE = 0, DEFINED = 1, UNDEFINED = 3 };
// Addresses, and what to add to them to have offsets in the arena.
typedef struct { v_u32 low, high; u64 add; } Address;
static __attribute__((noinline)) int scattered(Ctx *c, u64 *hint, const v_u64 *to, u32 size, mask ex, int store, Places *places) {
  mask left = ex;
  int met = DEFINED;
  u64 r = *hint < c->region_count ? *hint : 0;
  for (u64 n = 0; n < c->region_count && left; n++) {
    const Region *g = &c->regions[r];
    if (g->end - g->start >= size && (!store || g->writable)) {
      mask hit = MASK(*to - g->start <= g->end - g->start - size) & left;
      if (hit) {
        *hint = r;
        if (g->undefined) met = UNDEFINED;
      }
      left &= ~hit;
    }
    if (++r == c->region_count) r = 0;
  }
  v_u64 a = bools(ex) ? *to : (v_u64)((*to)[__builtin_ctzll(ex)]);
  u64 base = __builtin_reduce_min(a);
  if (left || __builtin_reduce_max(a) - base >> 32) return OUTSIDE;  // so far apart lanes are numpy's
  lay(places, base, CV(a - base, v_u32));
  return met;
}
AI int global_at(Ctx *c, const Ins *i, Address a, u32 size, mask ex, int whole, int store, Places *places) {
  u64 *hint = &c->hints[(u64)(i - c->program) & 63];
  const Region *g = &c->regions[*hint];
  if (likely(*hint < c->region_count && g->end - g->start >= size && (!store || g->writable))) {
    u64 room = g->end - g->start - size, add = a.add - g->start;
    v_u32 low = a.low + (u32)add, high = a.high + (u32)(add >> 32) - AS(v_u32, low < (u32)add);
    v_u32 over = high | beyond(low, room >> 32 ? ~0u : (u32)room);
    if (likely(ex == ~(mask)0 ? !__builtin_reduce_or(over) : !(MASK(over != 0) & ex))) {
      lay(places, g->start, ex == ~(mask)0 ? low : bools(ex) ? low : (v_u32)(low[__builtin_ctzll(ex)]));
      return g->undefined ? UNDEFINED : DEFINED;
    }
  }
  if (whole) return OUTSIDE;
  v_u64 to = (CV(a.low, v_u64) | CV(a.high, v_u64) << 32) + a.add;
  return scattered(c, hint, &to, size, ex, store, places);
}
// A line of the log for each place that a load or store accesses: which record, which place and whether the wave has
// signalled its barrier, EXEC; where the lanes point; and what is stored.
enum { ACCESS_LINE = 0x80000000u };
AI void tell_access(Wave *w, const Ins *i, Ctx *c, u32 n, mask ex, const Places *to, u32 lanes, const u32 *data, u32 dwords) {
  if (likely(w->index >= c->accesses) || !i->told) return;
  u32 *line = c->log + w->index * c->log_words + w->logged;
  line[0] = ACCESS_LINE | (u32)(i - c->program);
  line[1] = n | w->signalled << 8;
  memcpy(line + 2, &ex, sizeof ex);
  line += 4;
  if (ex)
    for (u32 l = 0; l < lanes; l++) ((q1u *)line)[l] = to->base + to->at[l];
  line += 2 * lanes;
  if (ex && dwords) __builtin_memcpy(line, data, 4 * dwords * lanes);
  w->logged += 4 + 2 * lanes + dwords * lanes;
}
// A load in a loop steps on through a matrix: what it will want next is asked of the host's memory now. Rows of a
// matrix lie so far apart that the processor does not guess them.
AI void foresee(const Wave *w, const Ins *i, Ctx *c, const Places *to) {
  u64 *last = &c->before[((u64)(i - c->program) * 8 + w->index) & 511], here = to->base + to->at[0], step = here - *last;
  u64 next = (u64)c->arena + to->base + step;  // no pointer: it may step out of the arena, where a prefetch does nothing
  *last = here;
#pragma clang loop unroll(full)
  for (int l = 0; l < LANES; l += 4) __builtin_prefetch((const void *)(next + to->at[l]));
}
// k0, k1: what to add to addresses to have offsets in the arena.
#define OFFSET ((u64)i->k[0] | (u64)i->k[1] << 32)
#define TRY(done) { if (unlikely(!(done))) STOP(SLOW); NEXT; }
AI void zero_lanes(Wave *w, u32 dst, u32 size, u32 how, mask lanes) {
  v_u32 keep = (v_u32)(how & LOW ? 0xffff0000u : how & HIGH ? 0xffffu : 0u);
  for (u32 j = 0; j < (size + 3) / 4; j++) put(w, dst + j, *(v_u32 *)vgpr(w, dst + j) & keep, lanes);
}
// LDS: addresses and offsets add up modulo 2**32, so that a base may count down from the offset.
AI int lds_at(const Ctx *c, v_u32 a, u32 size, mask ex, Places *places) {
  if (size > c->lds_size) return 0;
  v_u32 over = beyond(a, (u32)(c->lds_size - size));
  if (unlikely(ex == ~(mask)0 ? __builtin_reduce_or(over) : MASK(over != 0) & ex)) return 0;
  if (ex != ~(mask)0) a = bools(ex) ? a : (v_u32)(a[__builtin_ctzll(ex)]);
  lay(places, 0, a);
  return 1;
}
// Addresses in o0, and o2 where a scalar register is added.
AI Address address_vv(Wave *w, const Ins *i) { return (Address){RV(0), RVH(0), OFFSET}; }
AI Address address_sv(Wave *w, const Ins *i) {
  return (Address){RV(0), (v_u32)0u, ((u64)RS(2) | (u64)RSH(2) << 32) + OFFSET};
}
// Buffers: o0 a VGPR that is added (where k3 & 1), o1 number of the first data register, o2 the resource, o3 the
// scalar offset (k3 & 2) or k4. k0, k1: see OFFSET; k2 the instruction's offset. The scalar offset counts for the
// address and not for the range. Structured buffers and accesses partly in range are numpy's.
typedef struct { Address at; mask inside; int plain; } Reach;
AI Reach reach(Wave *w, const Ins *i, u32 size, mask ex) {
  const u32 *resource = (const u32 *)(W8 + i->o[2]);
  Reach r = {0};
  if (unlikely(resource[1] >> 16 & 0x3fff)) return r;
  v_u32 lanes = i->k[3] & 1 ? RV(0) : (v_u32)0u;
  i64 offset = (i32)i->k[2];
  v_i64 room = (i64)resource[2] - offset - CV(lanes, v_i64);
  r.plain = size <= 4 || !(MASK(room >= 4) & MASK(room < (i64)size) & ex);
  r.inside = MASK(room >= (i64)size) & ex;
  u64 base = ((u64)resource[0] | (u64)(resource[1] & 0xffff) << 32) + (i->k[3] & 2 ? RS(3) : i->k[4]);
  r.at = (Address){lanes, (v_u32)0u, base + OFFSET + (u64)offset};
  return r;
}
// Whether lanes point between numbers of that size, which atomics may not.
AI int crooked(const Places *to, u32 size) {
  v_u32 at = *(const v_u32 *)to->at + (u32)to->base;
  return (__builtin_reduce_or(at) & (size - 1)) != 0;
}
AI u64 pair_of(Wave *w, u32 n, u32 l) { return (u64)vgpr(w, n)[l] | (u64)vgpr(w, n + 1)[l] << 32; }

// All lanes of a wave are active, and nobody asks what it does. That is so nearly always, and has ways of its own
// (`whole`), in which there are no calls for which registers would have to be kept. Where it fails, the other is tried.
#define UNWATCHED (EX == ~(mask)0 && !c->sieve && !i->told)
// LDS: o0 address, o1 number of the first data register; k0 offset, k1 second offset of the 2addr forms. See lds_at.
// Nobody takes part; observers are told of the others of the cohort.
AI int idle(Wave *w, const Ins *i, Ctx *c, u32 count, u32 dwords) {
  for (u32 n = 0; n < count; n++) tell_access(w, i, c, n, 0, 0, LANES, 0, dwords);
  return 1;
}
AI int lds_load(Wave *w, const Ins *i, Ctx *c, int whole, u32 size, u32 how, u32 count) {
  mask ex = whole ? ~(mask)0 : EX;
  if (!ex) return idle(w, i, c, count, 0);
  Places at[2];
  for (u32 n = 0; n < count; n++)
    if (!lds_at(c, RV(0) + i->k[n], size, ex, &at[n]) || unlikely(any_undefined(c->lds_shadow, &at[n], size)) ||
        !(whole || SIFT(lds, &at[n], size, READ, ex)))
      return 0;
  for (u32 n = 0; n < count; n++) {
    if (!whole) tell_access(w, i, c, n, ex, &at[n], LANES, 0, 0);
    load_lanes(w, i->o[1] + n * (size + 3) / 4, c->lds, &at[n], size, how, ex);
  }
  return 1;
}
AI int lds_store(Wave *w, const Ins *i, Ctx *c, int whole, u32 size, u32 how, u32 count) {
  mask ex = whole ? ~(mask)0 : EX;
  if (!ex) return idle(w, i, c, count, (size + 3) / 4);
  Places at[2];
  for (u32 n = 0; n < count; n++)
    if (!lds_at(c, RV(0) + i->k[n], size, ex, &at[n]) ||
        !(whole || SIFT(lds, &at[n], size, WRITTEN, ex)))
      return 0;
  for (u32 n = 0; n < count; n++) {
    if (!whole) tell_access(w, i, c, n, ex, &at[n], LANES, vgpr(w, i->o[1 + n]), (size + 3) / 4);
    store_lanes(c->lds, &at[n], vgpr(w, i->o[1 + n]), size, how, ex);
    if (!whole) SIFT_STORED(c->lds, &at[n], vgpr(w, i->o[1 + n]), size, how, ex);
    // In a loop it mostly has been defined: to look is cheaper than to write.
    if (any_undefined(c->lds_shadow, &at[n], size)) define_memory(c->lds_shadow, &at[n], size, ex);
  }
  return 1;
}

// Global memory.
AI int global_load(Wave *w, const Ins *i, Ctx *c, int whole, Address a, u32 size, u32 how) {
  mask ex = whole ? ~(mask)0 : EX;
  if (!ex) return idle(w, i, c, 1, 0);
  Places at;
  int met = global_at(c, i, a, size, ex, whole, 0, &at);
  if (unlikely(met != DEFINED))
    if (met == OUTSIDE || any_undefined(c->arena_shadow, &at, size)) return 0;
  if (!(whole || SIFT(global, &at, size, READ, ex))) return 0;
  foresee(w, i, c, &at);
  if (!whole) tell_access(w, i, c, 0, ex, &at, LANES, 0, 0);
  load_lanes(w, i->o[1], c->arena, &at, size, how, ex);
  return 1;
}
AI int global_store(Wave *w, const Ins *i, Ctx *c, int whole, Address a, u32 size, u32 how) {
  mask ex = whole ? ~(mask)0 : EX;
  if (!ex) return idle(w, i, c, 1, (size + 3) / 4);
  Places at;
  int met = global_at(c, i, a, size, ex, whole, 1, &at);
  if (unlikely(met == OUTSIDE) || !(whole || SIFT(global, &at, size, WRITTEN, ex))) return 0;
  if (!whole) tell_access(w, i, c, 0, ex, &at, LANES, vgpr(w, i->o[1]), (size + 3) / 4);
  store_lanes(c->arena, &at, vgpr(w, i->o[1]), size, how, ex);
  if (!whole) SIFT_STORED(c->arena, &at, vgpr(w, i->o[1]), size, how, ex);
  if (met == UNDEFINED) define_memory(c->arena_shadow, &at, size, ex);
  return 1;
}
