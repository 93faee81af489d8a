// Loads and stores through buffer resources, of scratch (a lane's private memory), and of what flat addresses mean.
#pragma once
#include "memory.h"

AI int buffer_load(Wave *w, const Ins *i, Ctx *c, u32 size, u32 how) {
  mask ex = EX;
  Reach r = reach(w, i, size, ex);
  if (unlikely(!r.plain)) return 0;
  if (r.inside) {
    Places at;
    int met = global_at(c, i, r.at, size, r.inside, 0, 0, &at);
    if (unlikely(met != DEFINED))
      if (met == OUTSIDE || any_undefined(c->arena_shadow, &at, size)) return 0;
    if (!SIFT(global, &at, size, READ, r.inside)) return 0;
    load_lanes(w, i->o[1], c->arena, &at, size, how, r.inside);
  }
  if (ex != r.inside) zero_lanes(w, i->o[1], size, how, ex & ~r.inside);
  return 1;
}
AI int buffer_store(Wave *w, const Ins *i, Ctx *c, u32 size, u32 how) {
  mask ex = EX;
  Reach r = reach(w, i, size, ex);
  if (unlikely(!r.plain)) return 0;
  if (!r.inside) return 1;
  Places at;
  int met = global_at(c, i, r.at, size, r.inside, 0, 1, &at);
  if (unlikely(met == OUTSIDE) || !SIFT(global, &at, size, WRITTEN, r.inside)) return 0;
  store_lanes(c->arena, &at, vgpr(w, i->o[1]), size, how, r.inside);
  SIFT_STORED(c->arena, &at, vgpr(w, i->o[1]), size, how, r.inside);
  if (met == UNDEFINED) define_memory(c->arena_shadow, &at, size, r.inside);
  return 1;
}

// Scratch: o0 a VGPR (k1 & 1) and o2 a scalar register (k1 & 2) that are added to k0; o1 the first data register.
AI int scratch_at(const Wave *w, const Ctx *c, v_i64 local, u32 size, mask ex, Places *to) {
  if (c->scratch_size < size || MASK(AS(v_u64, local) > c->scratch_size - size) & ex) return 0;
  v_u32 at;
  for (u32 l = 0; l < LANES; l++) at[l] = (u32)local[l] + l * (u32)c->scratch_stride;
  if (ex != ~(mask)0) at = bools(ex) ? at : (v_u32)(at[__builtin_ctzll(ex)]);
  lay(to, (u64)w->index * LANES * c->scratch_stride, at);
  return 1;
}
AI v_i64 scratch_address(Wave *w, const Ins *i) {
  v_i64 local = (v_i64)((i64)(i32)i->k[0] + (i->k[1] & 2 ? (i32)RS(2) : 0));
  return i->k[1] & 1 ? local + CV(AS(v_i32, RV(0)), v_i64) : local;
}
AI int scratch_load_at(Wave *w, const Ins *i, Ctx *c, v_i64 local, u32 size, u32 how, mask ex) {
  Places at;
  if (unlikely(!scratch_at(w, c, local, size, ex, &at))) return 0;
  if (unlikely(any_undefined(c->scratch_shadow, &at, size))) return 0;
  load_lanes(w, i->o[1], c->scratch, &at, size, how, ex);
  return 1;
}
AI int scratch_store_at(Wave *w, const Ins *i, Ctx *c, v_i64 local, u32 size, u32 how, mask ex) {
  Places at;
  if (unlikely(!scratch_at(w, c, local, size, ex, &at))) return 0;
  store_lanes(c->scratch, &at, vgpr(w, i->o[1]), size, how, ex);
  define_memory(c->scratch_shadow, &at, size, ex);
  return 1;
}
AI int scratch_load(Wave *w, const Ins *i, Ctx *c, u32 size, u32 how) {
  mask ex = EX;
  return !ex || scratch_load_at(w, i, c, scratch_address(w, i), size, how, ex);
}
AI int scratch_store(Wave *w, const Ins *i, Ctx *c, u32 size, u32 how) {
  mask ex = EX;
  return !ex || scratch_store_at(w, i, c, scratch_address(w, i), size, how, ex);
}

// Flat: the upper word of an address says which memory it means; see semantics/operands.py. k2, k3: what to add to an
// offset in the arena to have the address. Lanes that mean several memories are numpy's, and those observers are told of.
enum { GLOBAL = 0, SHARED = 0x10000u, PRIVATE = 0x20000u, SEVERAL = 1 };
AI u32 memory_meant(const Ins *i, Address a, mask ex, v_u32 *low) {
  u64 add = a.add + ((u64)i->k[2] | (u64)i->k[3] << 32);
  u32 l = (u32)__builtin_ctzll(ex), first = (u32)((((u64)a.low[l] | (u64)a.high[l] << 32) + add) >> 32);
  if (likely(first != SHARED && first != PRIVATE)) return GLOBAL;
  v_u64 all = (CV(a.low, v_u64) | CV(a.high, v_u64) << 32) + add;
  *low = CV(all, v_u32);
  return MASK(CV(all >> 32, v_u32) != first) & ex ? SEVERAL : first;
}
AI int flat_load(Wave *w, const Ins *i, Ctx *c, int whole, Address a, u32 size, u32 how) {
  mask ex = EX;
  v_u32 low;
  u32 meant = ex ? memory_meant(i, a, ex, &low) : GLOBAL;
  if (likely(meant == GLOBAL)) return global_load(w, i, c, whole, a, size, how);
  if (meant == SEVERAL || (i->told && w->index < c->accesses)) return 0;
  if (meant == PRIVATE) return scratch_load_at(w, i, c, CV(low, v_i64), size, how, ex);
  Places at;
  if (!lds_at(c, low, size, ex, &at) || any_undefined(c->lds_shadow, &at, size) || !SIFT(lds, &at, size, READ, ex))
    return 0;
  load_lanes(w, i->o[1], c->lds, &at, size, how, ex);
  return 1;
}
AI int flat_store(Wave *w, const Ins *i, Ctx *c, int whole, Address a, u32 size, u32 how) {
  mask ex = EX;
  v_u32 low;
  u32 meant = ex ? memory_meant(i, a, ex, &low) : GLOBAL;
  if (likely(meant == GLOBAL)) return global_store(w, i, c, whole, a, size, how);
  if (meant == SEVERAL || (i->told && w->index < c->accesses)) return 0;
  if (meant == PRIVATE) return scratch_store_at(w, i, c, CV(low, v_i64), size, how, ex);
  Places at;
  if (!lds_at(c, low, size, ex, &at) || !SIFT(lds, &at, size, WRITTEN, ex)) return 0;
  store_lanes(c->lds, &at, vgpr(w, i->o[1]), size, how, ex);
  SIFT_STORED(c->lds, &at, vgpr(w, i->o[1]), size, how, ex);
  define_memory(c->lds_shadow, &at, size, ex);
  return 1;
}
