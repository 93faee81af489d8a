// What moves values between lanes, between lanes and scalar registers, and between VGPRs that M0 picks.
#include "state.h"

// A lane's value is taken if it is defined, whatever the register's other lanes are.
AI int taken(Wave *w, const Ins *i, const Ctx *c, u32 lane) {
  u32 n = i->o[2], r = 256 + n;
  if (unlikely(w->undef[r >> 6] >> (r & 63) & 1) && (is_blank(w, n) || ((const u32 *)shadow_of(w, c, n))[lane])) return 0;
  DS(1) = vgpr(w, n)[lane];
  return 1;
}
// o2 number of the VGPR, o1 where to. EXEC all zero: lane 0.
FORM(F_readfirstlane) {
  mask ex = EX;
  if (!taken(w, i, c, ex ? __builtin_ctzll(ex) : 0)) STOP(SLOW);
  NEXT;
}
// o0 the lane, or k0 where k1 says so.
FORM(F_readlane) {
  if (!taken(w, i, c, (i->k[1] ? i->k[0] : RS(0)) & (LANES - 1))) STOP(SLOW);
  NEXT;
}
// o0 the lane, or k0 (k2 & 1); o1 the value, or k1 (k2 & 2); o2 number of the VGPR. EXEC plays no part.
FORM(F_writelane) {
  u32 lane = (i->k[2] & 1 ? i->k[0] : RS(0)) & (LANES - 1), n = i->o[2], r = 256 + n;
  if (unlikely(w->undef[r >> 6] >> (r & 63) & 1)) define_lanes(w, c, n, 0, (mask)1 << lane);
  vgpr(w, n)[lane] = i->k[2] & 2 ? i->k[1] : RS(1);
  NEXT;
}
FORM(F_swap) {
  v_u32 a = RV(0), b = RV(1);
  v_b1 ex = bools(EX);
  DV(0) = ex ? b : a;
  DV(1) = ex ? a : b;
  NEXT;
}
// Moves VGPR `from` (kind 0), the scalar register o3 (1) or a number (2) to VGPR `to`. Undefined bits move along; whether
// there were any.
AI int move(Wave *w, const Ins *i, const Ctx *c, u64 from, u64 to, u32 kind, u32 value) {
  int spoilt = !kind && has_bit(w->undef, 256 + from);
  if (unlikely(spoilt)) take_bits(w, c, to, bits_of(w, c, from), EX);
  else if (unlikely(has_bit(w->undef, 256 + to))) define_lanes(w, c, to, 0, EX);
  v_u32 x = kind ? (v_u32)(kind == 1 ? RS(3) : value) : *(const v_u32 *)vgpr(w, from);
  v_u32 *target = (v_u32 *)vgpr(w, to);
  PUT(*target, x, EX);
  return spoilt;
}
// o0 M0, whose bits k0 (from k1 up) are added to o1, the number of the source, and k2 (from k3 up) to o2, that of the
// target. k4 what the source is: a VGPR, the scalar register o3, or k5. Undefined bits move along; k6 records further
// the block goes on for who has them.
FORM(F_movrel) {
  u64 from = i->o[1] + (u64)(RS(0) >> i->k[1] & i->k[0]), to = i->o[2] + (u64)(RS(0) >> i->k[3] & i->k[2]);
  if (unlikely(from >= c->vgprs || to >= c->vgprs)) STOP(SLOW);
  if (likely(!move(w, i, c, from, to, i->k[4], i->k[5]))) NEXT;
  i += i->k[6];
  TAIL i->fn(w, i, c);
}
// The same while GFX9's mode is on: M0[7:0] is added to o1 where k2 and M0[12] say so, to o2 where k3 and M0[15] do.
// k0 and k1 as k4 and k5 above; k4 and k5 where the registers end of whose kind source and target are.
enum { INDEX_BITS = 0xFF, IN_USE = 0xF0FF };
FORM(F_mov_in_mode) {
  u32 m0 = RS(0);
  u64 from = i->o[1] + (m0 >> 12 & i->k[2] ? m0 & INDEX_BITS : 0), to = i->o[2] + (m0 >> 15 & i->k[3] ? m0 & INDEX_BITS : 0);
  if (unlikely(from >= c->vgprs || to >= c->vgprs || from >= i->k[4] || to >= i->k[5])) STOP(SLOW);
  if (unlikely(w->shadow[M0] & IN_USE)) STOP(SLOW);
  if (likely(!move(w, i, c, from, to, i->k[0], i->k[1]))) NEXT;
  i += i->k[6];
  TAIL i->fn(w, i, c);
}
// Bits k0 of M0 (o0) become k1, and those of k2 what they are in o1; the others stay, undefined ones too.
FORM(F_set_m0) {
  DS(0) = (RS(0) & ~i->k[0]) | i->k[1] | (RS(1) & i->k[2]);
  w->shadow[M0] &= ~i->k[0];
  if (!w->shadow[M0]) w->undef[M0 >> 6] &= ~(1ull << (M0 & 63));
  NEXT;
}
// The halves of a wave64 change places, inactive lanes included.
#if LANES == 64
FORM(F_permlane64) {
  u32 moved[LANES] __attribute__((aligned(128)));
  for (u32 l = 0; l < LANES; l++) moved[l] = ((const u32 *)(W8 + i->o[0]))[l ^ 32];
  v_u32 x;
  memcpy(&x, moved, sizeof x);
  DV(1) = bools(EX) ? x : DV(1);
  NEXT;
}
#else
FORM(F_permlane64) { NEXT; }
#endif

// Each active lane takes the value of lane at[l] of o1 and writes it to o2. Lanes that may not be read give 0, or
// leave what is there.
enum { FETCH_INACTIVE = 1, KEEP = 2 };
AI void move_lanes(Wave *w, const Ins *i, const u32 *at, u32 how) {
  mask ex = EX, readable = 0;
  const u32 *from = (const u32 *)(W8 + i->o[1]);
  u32 moved[LANES] __attribute__((aligned(128)));
  for (u32 l = 0; l < LANES; l++) {
    u32 lane = at[l] & (LANES - 1);
    mask read = how & FETCH_INACTIVE ? 1 : ex >> lane & 1;
    readable |= read << l;
    moved[l] = read ? from[lane] : 0;
  }
  v_u32 x;
  memcpy(&x, moved, sizeof x);
  DV(2) = bools(how & KEEP ? ex & readable : ex) ? x : DV(2);
}
// o0 addresses; k0 offset, k1 how, k2 lanes that are counted: all of the wave, or 32 in each half.
FORM(F_bpermute) {
  u32 at[LANES];
  for (u32 l = 0; l < LANES; l++)
    at[l] = ((((const u32 *)(W8 + i->o[0]))[l] + i->k[0]) >> 2 & (i->k[2] - 1)) | (i->k[2] == 32 ? l & 32 : 0);
  move_lanes(w, i, at, i->k[1]);
  NEXT;
}
// The reverse: of several that send to one lane the highest wins.
FORM(F_permute) {
  mask ex = EX;
  u32 sent[LANES] __attribute__((aligned(128))) = {0};
  for (mask m = ex; m; m &= m - 1) {
    u32 l = (u32)__builtin_ctzll(m);
    u32 place = (((const u32 *)(W8 + i->o[0]))[l] + i->k[0]) >> 2 & (i->k[2] - 1);
    sent[place | (i->k[2] == 32 ? l & 32 : 0)] = ((const u32 *)(W8 + i->o[1]))[l];
  }
  v_u32 x;
  memcpy(&x, sent, sizeof x);
  DV(2) = bools(ex) ? x : DV(2);
  NEXT;
}
// k: a byte for each lane of a half, the lane of that half that it reads.
FORM(F_swizzle) {
  u32 at[LANES];
  for (u32 l = 0; l < LANES; l++) at[l] = ((const u8 *)i->k)[l & 31] | (l & 32);
  move_lanes(w, i, at, 0);
  NEXT;
}
// The row of 16 (or with k3 the other one of 32), and 4 bits for each lane of it: o0 and o3, or k1 and k2 (k4 & 1, 2).
FORM(F_permlane16) {
  u64 low = i->k[4] & 1 ? i->k[1] : RS(0), high = i->k[4] & 2 ? i->k[2] : RS(3), nibbles = low | high << 32;
  u32 at[LANES];
  for (u32 l = 0; l < LANES; l++) at[l] = ((l & 48) ^ i->k[3]) + (nibbles >> 4 * (l & 15) & 15);
  move_lanes(w, i, at, i->k[0]);
  NEXT;
}
FORM(F_permlane16_var) {
  u32 at[LANES];
  for (u32 l = 0; l < LANES; l++) at[l] = ((l & 48) ^ i->k[3]) + (((const u32 *)(W8 + i->o[0]))[l] & 15);
  move_lanes(w, i, at, i->k[0]);
  NEXT;
}
