// Accesses to LDS that move undefined bits, lane by lane: forms know defined ones alone.
#pragma once
#include "memory.h"

// o11 of the record: MOVES | bytes | how << 8 | places << 12 | store << 16; else no register lies so far. k7 records to
// where the wave goes on, in the copy that keeps track. 0: numpy executes it, and words the fault if it is one.
enum { MOVES = 0x80000000u };
static u32 bytes_at(const u8 *p, u32 size) {
  u32 x = 0;
  for (u32 b = 0; b < size; b++) x |= (u32)p[b] << 8 * b;
  return x;
}
static void put_bytes(u8 *p, u32 size, u32 x) {
  for (u32 b = 0; b < size; b++) p[b] = (u8)(x >> 8 * b);
}
static u32 extended(u32 x, u32 size, u32 how) {
  return how & SIGNED ? (u32)((i32)(x << (32 - 8 * size)) >> (32 - 8 * size)) : x;
}
static u32 placed(u32 x, u32 old, u32 how) {
  return how & LOW ? (old & 0xffff0000u) | (x & 0xffffu) : how & HIGH ? (old & 0xffffu) | x << 16 : x;
}
int move_undefined(Wave *w, const Ins *i, Ctx *c) {
  u32 what = i->o[11], size = what & 31, how = what >> 8 & 7, places = what >> 12 & 3, store = what >> 16 & 1;
  u32 registers = (size + 3) / 4, address = (i->o[0] - (u32)__builtin_offsetof(Wave, v)) / (4 * LANES);
  mask ex = EX;
  if (!(what & MOVES) || i->told || c->sieve || !ex) return 0;
  if (has_bit(w->undef, 256 + address) && MASK(bits_of(w, c, address) != 0) & ex) return 0;
  Places at[2];
  for (u32 n = 0; n < places; n++)
    if (!lds_at(c, RV(0) + i->k[n], size, ex, &at[n])) return 0;
  for (u32 n = 0; n < places; n++) {
    u32 first = store ? i->o[1 + n] : i->o[1] + n * registers;
    for (u32 r = first; r < first + registers; r++)
      if (is_blank(w, r)) settle(w, c, r);
    for (mask m = ex; m; m &= m - 1)
      for (u32 l = (u32)__builtin_ctzll(m), j = 0; j < registers; j++) {
        u64 here = at[n].base + at[n].at[l] + 4 * j;
        u32 part = size - 4 * j < 4 ? size - 4 * j : 4;
        u32 *value = &vgpr(w, first + j)[l], *undefined = &((u32 *)shadow_of(w, c, first + j))[l];
        if (store) {
          put_bytes(c->lds + here, part, *value >> (how & HIGH ? 16 : 0));
          put_bytes(c->lds_shadow + here, part, *undefined >> (how & HIGH ? 16 : 0));
        } else {
          *value = placed(extended(bytes_at(c->lds + here, part), part, how), *value, how);
          *undefined = placed(extended(bytes_at(c->lds_shadow + here, part), part, how), *undefined, how);
        }
      }
    for (u32 r = first; r < first + registers && !store; r++) take_bits(w, c, r, *shadow_of(w, c, r), 0);
  }
  return 1;
}
