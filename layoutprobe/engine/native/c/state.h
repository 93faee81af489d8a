// Definedness of registers, as forms keep it.
#pragma once
#include "base.h"

AI int has_bit(const u64 *bits, u64 n) { return bits[n >> 6] >> (n & 63) & 1; }
AI u32 *vgpr(Wave *w, u32 n) { return w->v[n]; }
AI v_u32 *shadow_of(Wave *w, const Ctx *c, u32 n) { return (v_u32 *)((u8 *)w->v[n] + c->shadow_bytes); }
// A VGPR that nobody has written is blank: all its bits are undefined, but neither its value nor its shadow says so. Its
// shadow is zero, as that of every register whose bits are all defined. Most are written whole: then bits change here,
// and no memory. Before anybody looks at one, it is settled; Python sees no blank ones.
AI int is_blank(const Wave *w, u32 n) { return has_bit(w->blank, n); }
AI void settle(Wave *w, const Ctx *c, u32 n) {
  w->blank[n >> 6] &= ~(1ull << (n & 63));
  *(v_u32 *)vgpr(w, n) = (v_u32)(u32)c->poison;
  *shadow_of(w, c, n) = (v_u32)~0u;
}
// Some lanes of VGPR n (all of it, or what is not to keep) now hold defined bits.
AI void define_lanes(Wave *w, const Ctx *c, u32 n, u32 keep, mask lanes) {
  int whole = !keep && lanes == ~(mask)0;
  u64 bit = 1ull << (n & 63), *undef = &w->undef[(256 + n) >> 6];
  if (is_blank(w, n)) {
    if (likely(whole)) { w->blank[n >> 6] &= ~bit; *undef &= ~bit; return; }
    settle(w, c, n);
  }
  v_u32 *shadow = shadow_of(w, c, n), now = (v_u32)0u;
  if (!whole) now = bools(lanes) ? (*shadow & keep) : *shadow;
  *shadow = now;
  if (!__builtin_reduce_or(now)) *undef &= ~bit;
}
// The undefined bits of VGPR n.
AI v_u32 bits_of(Wave *w, const Ctx *c, u32 n) {
  if (is_blank(w, n)) settle(w, c, n);
  return *shadow_of(w, c, n);
}
// A part of VGPR n (without the bits to keep) now has these undefined bits in some lanes.
AI void take_part(Wave *w, const Ctx *c, u32 n, v_u32 bits, u32 keep, mask lanes) {
  u64 bit = 1ull << (n & 63), *undef = &w->undef[(256 + n) >> 6];
  v_u32 before = bits_of(w, c, n), now = bools(lanes) ? (before & keep) | bits : before;
  *shadow_of(w, c, n) = now;
  if (__builtin_reduce_or(now)) *undef |= bit;
  else *undef &= ~bit;
}
// Some lanes of VGPR n now hold what has these undefined bits.
AI void take_bits(Wave *w, const Ctx *c, u32 n, v_u32 bits, mask lanes) { take_part(w, c, n, bits, 0, lanes); }
