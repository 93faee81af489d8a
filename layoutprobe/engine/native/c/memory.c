// Loads and stores of LDS and global memory, and scalar loads.
#include "memory.h"

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
    if (!lds_at(w, i, c, i->k[n], size, ex, at[n]) || unlikely(any_undefined(c->lds_shadow, at[n], size)))
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
    if (!lds_at(w, i, c, i->k[n], size, ex, at[n])) return 0;
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
  tell_access(w, i, c, 0, ex, at, LANES, 0, 0);
  load_lanes(w, i->o[1], c->arena, at, size, how, ex);
  return 1;
}
AI int global_store(Wave *w, const Ins *i, Ctx *c, v_u64 a, u32 size, u32 how) {
  mask ex = EX;
  if (!ex) return idle(w, i, c, 1, (size + 3) / 4);
  u64 at[LANES] __attribute__((aligned(128)));
  int met = global_at(c, i, a, size, ex, 1, at);
  if (unlikely(met == OUTSIDE)) return 0;
  tell_access(w, i, c, 0, ex, at, LANES, vgpr(w, i->o[1]), (size + 3) / 4);
  store_lanes(c->arena, at, vgpr(w, i->o[1]), size, how, ex);
  if (met == UNDEFINED) clear_lanes(c->arena_shadow, at, size, ex);
  return 1;
}

#define LOADS(name, size, how) \
  FORM(F_ds_load_##name) TRY(lds_load(w, i, c, size, how, 1)) \
  FORM(F_global_vv_load_##name) TRY(global_load(w, i, c, address_vv(w, i), size, how)) \
  FORM(F_global_sv_load_##name) TRY(global_load(w, i, c, address_sv(w, i), size, how))
#define STORES(name, size, how) \
  FORM(F_ds_store_##name) TRY(lds_store(w, i, c, size, how, 1)) \
  FORM(F_global_vv_store_##name) TRY(global_store(w, i, c, address_vv(w, i), size, how)) \
  FORM(F_global_sv_store_##name) TRY(global_store(w, i, c, address_sv(w, i), size, how))
EVERY_LOAD EVERY_STORE
FORM(F_ds_load_twice_4) TRY(lds_load(w, i, c, 4, PLAIN, 2))
FORM(F_ds_load_twice_8) TRY(lds_load(w, i, c, 8, PLAIN, 2))
FORM(F_ds_store_twice_4) TRY(lds_store(w, i, c, 4, PLAIN, 2))
FORM(F_ds_store_twice_8) TRY(lds_store(w, i, c, 8, PLAIN, 2))

// Scalar loads of k2 dwords: o0 base, o1 where to. o2 an offset in a scalar register where k3 says so.
FORM(F_s_load) {
  u64 base = ((u64)RS(0) | (u64)RSH(0) << 32) & ~3ull;
  u64 address = (base + OFFSET + (i->k[3] ? RS(2) : i->k[4])) & ~3ull;
  u64 at = address - ((u64)i->k[5] | (u64)i->k[6] << 32), size = 4 * i->k[2];
  for (u64 r = 0; r < c->region_count; r++) {
    const Region *g = &c->regions[r];
    if (g->end - g->start < size || at - g->start > g->end - g->start - size) continue;
    u32 met = 0;
    if (g->undefined)
      for (u32 j = 0; j < i->k[2]; j++) met |= *(const u1u *)(c->arena_shadow + at + 4 * j);
    if (unlikely(met)) STOP(SLOW);
    tell_access(w, i, c, 0, 1, &at, 1, 0, 0);
    u32 *d = (u32 *)(W8 + i->o[1]);
    for (u32 j = 0; j < i->k[2]; j++) d[j] = *(const u1u *)(c->arena + at + 4 * j);
    NEXT;
  }
  STOP(SLOW);
}
