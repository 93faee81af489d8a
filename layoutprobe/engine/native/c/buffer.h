// Loads and stores through buffer resources, and of scratch (a lane's private memory).
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
AI int scratch_at(Wave *w, const Ins *i, Ctx *c, u32 size, mask ex, Places *to) {
  v_i64 local = (v_i64)((i64)(i32)i->k[0] + (i->k[1] & 2 ? (i32)RS(2) : 0));
  if (i->k[1] & 1) local += CV(AS(v_i32, RV(0)), v_i64);
  if (c->scratch_size < size || MASK(AS(v_u64, local) > c->scratch_size - size) & ex) return 0;
  v_u32 at;
  for (u32 l = 0; l < LANES; l++) at[l] = (u32)local[l] + l * (u32)c->scratch_stride;
  if (ex != ~(mask)0) at = bools(ex) ? at : (v_u32)(at[__builtin_ctzll(ex)]);
  lay(to, (u64)w->index * LANES * c->scratch_stride, at);
  return 1;
}
AI int scratch_load(Wave *w, const Ins *i, Ctx *c, u32 size, u32 how) {
  mask ex = EX;
  if (!ex) return 1;
  Places at;
  if (unlikely(!scratch_at(w, i, c, size, ex, &at))) return 0;
  if (unlikely(any_undefined(c->scratch_shadow, &at, size))) return 0;
  load_lanes(w, i->o[1], c->scratch, &at, size, how, ex);
  return 1;
}
AI int scratch_store(Wave *w, const Ins *i, Ctx *c, u32 size, u32 how) {
  mask ex = EX;
  if (!ex) return 1;
  Places at;
  if (unlikely(!scratch_at(w, i, c, size, ex, &at))) return 0;
  store_lanes(c->scratch, &at, vgpr(w, i->o[1]), size, how, ex);
  define_memory(c->scratch_shadow, &at, size, ex);
  return 1;
}
