// Definedness of registers, as forms keep it.
#pragma once
#include "base.h"

AI int undefined_range(const Wave *w, u32 first, u32 count) {
  for (u32 r = first; r < first + count; r++)
    if (w->undef[r >> 6] >> (r & 63) & 1) return 1;
  return 0;
}
AI u32 *vgpr(Wave *w, u32 n) { return w->v[n]; }
AI v_u32 *shadow_of(Wave *w, const Ctx *c, u32 n) { return (v_u32 *)((u8 *)w->v[n] + c->shadow_bytes); }
// The active lanes of VGPR n (all of it, or one half) now hold defined bits.
AI void define_lanes(Wave *w, const Ctx *c, u32 n, u32 keep, mask lanes) {
  v_u32 *shadow = shadow_of(w, c, n), now = (v_u32)0u;
  u32 r = 256 + n;
  if (keep || lanes != ~(mask)0) now = bools(lanes) ? (*shadow & keep) : *shadow;
  *shadow = now;
  if (!__builtin_reduce_or(now)) w->undef[r >> 6] &= ~(1ull << (r & 63));
}
