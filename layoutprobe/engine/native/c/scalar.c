// Scalar loads. Forms of other loads and stores are made for the kernels that need them: see native/memory.py.
#include "undefined.h"

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
    Places place = {.base = at};
    if (!SIFT(global, &place, (u32)size, READ, 1)) STOP(SLOW);
    tell_access(w, i, c, 0, 1, &place, 1, 0, 0);
    u32 *d = (u32 *)(W8 + i->o[1]);
    for (u32 j = 0; j < i->k[2]; j++) d[j] = *(const u1u *)(c->arena + at + 4 * j);
    NEXT;
  }
  STOP(SLOW);
}

// What numpy is about to access for a wave; 0: stop.
int lp_sift(const Ctx *c, u64 wave, const u64 *at, u32 size, u32 how, u64 lanes, u32 lds) {
  const Wave *w = (const Wave *)(c->waves + wave * c->wave_bytes);
  for (mask left = (mask)lanes; left; left &= left - 1) {
    Places place = {.base = at[__builtin_ctzll(left)]};
    if (!(lds ? sift_lds(w, c, &place, size, how, 1) : sift_global(w, c, &place, size, how, 1))) return 0;
  }
  return 1;
}
