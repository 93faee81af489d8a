// Blocks, branches, barriers, and what decides which wave of a workgroup goes on.
#include "state.h"

// Blocks that a wave runs before another one gets a turn: it may spin on what that one will write.
enum { SLICE = 10000 };

// A block's first record. k0 its instructions, k1 which row of `touched`, k2 records to the copy that keeps
// track of undefined bits. This copy is for waves in which everything that the block touches is defined.
FORM(F_block) {
  if (unlikely((w->left -= i->k[0]) < 0)) STOP(ENDLESS);
  if (unlikely(--w->slice < 0)) {
    w->slice = SLICE;
    w->left += i->k[0];
    STOP(SLICED);
  }
  const u64 *mine = c->touched + UNDEF_WORDS * i->k[1];
  u64 met = 0;
  for (int n = 0; n < UNDEF_WORDS; n++) met |= mine[n] & w->undef[n];
  if (unlikely(met)) { i += i->k[2]; TAIL i->fn(w, i, c); }
  NEXT;
}

// The same where observers are told of blocks. A line of the log: which row of `touched`, and EXEC. k3 what else
// the block may write: it never stops for room, or its waves would not have the operands of matrix instructions
// that they have expanded.
enum { LINE = 4 };
FORM(F_block_told) {
  if (unlikely(w->logged + LINE + (c->accesses ? i->k[3] : 0) > c->log_words)) STOP(FULL);
  if (likely(w->slice > 0)) {
    u32 *line = c->log + w->index * c->log_words + w->logged;
    mask lanes = EX;
    line[0] = i->k[1];
    memcpy(line + 2, &lanes, sizeof lanes);
    w->logged += LINE;
  }
  TAIL F_block(w, i, c);
}

// The bits of a range of registers, first | count << 16; of one that lies in more than one word, whether there are any.
AI u64 in_range(const u64 *bits, u32 range) {
  u32 first = range & 0xffff, count = range >> 16 & 0xff;
  if (likely((first & 63) + count <= 64)) return bits[first >> 6] >> (first & 63) & (2ull << (count - 1)) - 1;
  for (u32 r = first; r < first + count; r++)
    if (bits[r >> 6] >> (r & 63) & 1) return 1;
  return 0;
}
static __attribute__((noinline)) void define_range(Wave *w, const Ctx *c, u32 range) {
  u32 first = range & 0xffff, count = range >> 16 & 0xff, kind = range >> 24 & 7;
  for (u32 r = first; r < first + count; r++) {
    if (!(w->undef[r >> 6] >> (r & 63) & 1)) continue;
    if (r <= SCC) { w->shadow[r] = 0; w->undef[r >> 6] &= ~(1ull << (r & 63)); }
    else define_lanes(w, c, r - 256, kind == 1 ? 0xffff0000u : kind == 2 ? 0xffffu : 0, kind == 3 ? ~(mask)0 : EX);
  }
}
// Behind an instruction that is executed alone; see lp_step.
FORM(F_return) { return READY; }

// What of a register is read: all of it, a half, with or without the sign, a byte; or it is a bit for each lane, or an
// immediate of the instruction.
enum { READ_LANES = 11, READ_NUMBER = 12, EVERY_LANE = 32, DATA = 1, CONTROL = 2 };
static const u8 shifts[] = {0, 0, 16, 0, 0, 16, 0, 8, 16, 24};
static const u32 parts[] = {~0u, 0xffff, 0xffff, 0x7fffffff, 0x7fff, 0x7fff, 0xff, 0xff, 0xff, 0xff};
// The undefined bits that a range has in lanes that count, moved to the lower end.
static v_u32 undefined_in(Wave *w, const Ctx *c, u32 range) {
  u32 first = range & 0xffff, count = range >> 16 & 0xff, what = range >> 24 & 15;
  v_u32 met = (v_u32)0u;
  if (what == READ_NUMBER) return met;
  if (what == READ_LANES) {
    mask lanes;
    memcpy(&lanes, &w->shadow[first], sizeof lanes);
    met = bools(lanes) ? (v_u32)1u : met;
  } else
    for (u32 r = first; r < first + count; r++)
      if (has_bit(w->undef, r))
        met |= (r <= SCC ? (v_u32)w->shadow[r] : bits_of(w, c, r - 256)) >> shifts[what] & parts[what];
  return range >> 24 & EVERY_LANE ? met : bools(EX) ? met : (v_u32)0u;
}
// Where a value defines what others leave undefined: a 0 of either side of AND, a 1 of OR.
enum { SPREAD = 1, UNION = 2, UPWARD = 3, MOVED = 4, PICKED = 5, AND = 6, OR = 7, AND_OR = 8, OR3 = 9, INSERT = 10 };
static v_u32 value_of(Wave *w, const Ins *i, u32 range, u32 *numbers) {
  u32 r = range & 0xffff, what = range >> 24 & 15;
  if (what == READ_NUMBER) return (v_u32)i->k[(*numbers)++];
  return (r <= SCC ? (v_u32)w->s[r] : *(const v_u32 *)vgpr(w, r - 256)) >> shifts[what] & parts[what];
}
AI v_u32 of_and(v_u32 a, v_u32 b, v_u32 x, v_u32 y) { return (x & y) | (x & b) | (a & y); }
AI v_u32 of_or(v_u32 a, v_u32 b, v_u32 x, v_u32 y) { return (x & y) | (x & ~b) | (~a & y); }
static v_u32 by_value(Wave *w, const Ins *i, const Ctx *c, u32 rule) {
  v_u32 v[3] = {(v_u32)0u, (v_u32)0u, (v_u32)0u}, u[3] = {v[0], v[0], v[0]};
  for (u32 n = 0, numbers = 0; n < i->k[0]; n++) {
    u[n] = undefined_in(w, c, i->o[n]);
    v[n] = value_of(w, i + 1, i->o[n], &numbers);
  }
  v_u32 both = rule == OR || rule == OR3 ? of_or(v[0], v[1], u[0], u[1]) : of_and(v[0], v[1], u[0], u[1]);
  if (rule == INSERT) return u[0] | (v[0] & u[1]) | (~v[0] & u[2]);
  if (rule == AND || rule == OR) return both;
  return of_or(rule == OR3 ? v[0] | v[1] : v[0] & v[1], v[2], both, u[2]);
}
// Bytes that a selector, the last that is read, has made of no data.
static void clear_constants(Wave *w, const Ins *i, const Ctx *c) {
  u32 none = 0, n = (i->o[i->k[0]] & 0xffff) - 256;
  v_u32 picks = value_of(w, i + 1, i->o[i->k[0] - 1], &none), clear = (v_u32)0u;
  for (u32 b = 0; b < 32; b += 8) clear |= AS(v_u32, (picks >> b & 0xff) >= 12) & 0xffu << b;
  *shadow_of(w, c, n) &= ~(bools(EX) ? clear : (v_u32)0u);
}
// Undefined bits move as the instruction moves data: it is executed on them in place of that.
static void move_bits(Wave *w, const Ins *i, Ctx *c) {
  Ins alone[2] = {i[1]};
  alone[1].fn = F_return;
  for (u32 n = 0; n < 12; n++)
    if (i->k[3] >> n & 1)
      alone->o[n] += alone->o[n] < __builtin_offsetof(Wave, v) ? __builtin_offsetof(Wave, shadow) : c->shadow_bytes;
  for (u32 n = 0; n < 8; n++)
    if (i->k[3] >> (16 + n) & 1) alone->k[n] = 0;
  for (u32 n = i->k[0]; n < i->k[0] + i->k[1]; n++)
    for (u32 r = i->o[n] & 0xffff, end = r + (i->o[n] >> 16 & 0xff); r < end; r++)
      if (r >= 256 && is_blank(w, r - 256)) settle(w, c, r - 256);
  alone->fn(w, alone, c);
}
// What is written has these undefined bits. Of what was moved only those are new that the control has spoilt.
static void give_bits(Wave *w, const Ctx *c, u32 range, v_u32 x, int moved) {
  u32 first = range & 0xffff, end = first + (range >> 16 & 0xff), kind = range >> 24 & 7;
  if (kind == 5) {
    mask lanes = MASK(x != 0) & EX;
    memcpy(&w->shadow[first], &lanes, sizeof lanes);
    for (u32 r = first; r < end; r++)
      w->undef[r >> 6] = (w->undef[r >> 6] & ~(1ull << (r & 63))) | (u64)(w->shadow[r] != 0) << (r & 63);
    return;
  }
  u32 keep = moved ? ~0u : kind == 1 ? 0xffff0000u : kind == 2 ? 0xffffu : 0;
  if (kind == 1 || kind == 4) x &= 0xffff;
  if (kind == 2) x <<= 16;
  for (u32 r = first; r < end; r++) take_part(w, c, r - 256, x, keep, EX);
}
// Something that an instruction reads has undefined bits. 0: of what it reads, and numpy executes it; 1: they are
// elsewhere, in the other half or in lanes that are off; 2: its rule has said what is undefined of what it writes.
enum { NUMPYS = 0, ELSEWHERE = 1, KEPT = 2 };
AI int moves(u32 rule) { return rule == MOVED || rule == PICKED; }
static __attribute__((noinline)) int keep_bits(Wave *w, const Ins *i, Ctx *c) {
  v_u32 met[2] = {(v_u32)0u, (v_u32)0u};
  u32 rules[2] = {i->k[2] & 15, i->k[2] >> 4}, reads = i->k[0], all = reads + i->k[1];
  int some = 0;
  for (u32 n = 0; n < reads; n++) {
    u32 kind = i->o[n] >> 24, half = kind >> 4 & 1, role = kind >> 6;
    if (!in_range(w->undef, i->o[n])) continue;
    v_u32 bits = undefined_in(w, c, i->o[n]);
    if (!__builtin_reduce_or(bits)) continue;
    if (!role) return NUMPYS;
    some = 1;
    if (role == CONTROL || rules[half] == SPREAD) met[half] |= AS(v_u32, bits != 0);
    else if (!moves(rules[half])) met[half] |= bits;
  }
  if (!some) return ELSEWHERE;
  if (rules[0] >= AND) met[0] = by_value(w, i, c, rules[0]);
  if (moves(rules[0]) || moves(rules[1])) move_bits(w, i, c);
  if (rules[0] == PICKED) clear_constants(w, i, c);
  for (u32 n = reads; n < all; n++) {
    u32 half = i->o[n] >> 28 & 1;
    v_u32 bits = met[half];
    give_bits(w, c, i->o[n], rules[half] == UPWARD ? bits | -bits : bits, moves(rules[half]));
  }
  return KEPT;
}
// Stands before an instruction in the tracking copy. k0 how many ranges of registers it reads and k1 how many
// it writes; the ranges in o, first | count << 16 | kind << 24 (see guards.py). k2 the rule of what is
// undefined, of each half of a dual instruction; k3 which offsets and immediates of the instruction are data, where it moves bits.
FORM(F_guard) {
  u32 reads = i->k[0], all = reads + i->k[1];
  for (u32 n = 0; n < reads; n++) {
    if (likely(!in_range(w->undef, i->o[n]))) continue;
    int how = keep_bits(w, i, c);
    if (how == NUMPYS) { i++; STOP(SLOW); }
    if (how == KEPT) NEXT;
    break;
  }
  for (u32 n = reads; n < all; n++) {
    u32 range = i->o[n], first = range & 0xffff, kind = range >> 24 & 7;
    u64 undefined = in_range(w->undef, range);
    if (!undefined) continue;
    int whole = kind == 3 || (kind == 0 && EX == ~(mask)0), within = (first & 63) + (range >> 16 & 0xff) <= 64;
    if (likely(whole && within && first >= 256) && undefined == in_range(w->blank, range - 256)) {
      w->undef[first >> 6] ^= undefined << (first & 63);
      w->blank[(first >> 6) - 4] ^= undefined << (first & 63);
    } else
      define_range(w, c, range);
  }
  NEXT;
}

// The same before what copies k0 VGPRs, whose undefined bits move along. In o the register that is written, and from
// bit 16 up that which is read (0xffff: none); all are read before one is written.
FORM(F_guard_copies) {
  v_u32 bits[2];
  int spoilt[2];
  for (u32 n = 0; n < i->k[0]; n++) {
    u32 r = i->o[n] >> 16;
    spoilt[n] = r != 0xffff && has_bit(w->undef, r);
    if (spoilt[n]) bits[n] = r <= SCC ? (v_u32)w->shadow[r] : bits_of(w, c, r - 256);
  }
  for (u32 n = 0; n < i->k[0]; n++) {
    u32 r = i->o[n] & 0xffff;
    if (spoilt[n]) take_bits(w, c, r - 256, bits[n], EX);
    else if (has_bit(w->undef, r)) define_lanes(w, c, r - 256, 0, EX);
  }
  NEXT;
}

// What only numpy executes.
FORM(F_slow) { STOP(SLOW); }
// Instead of a guard before what numpy executes because observers want to be told of it.
FORM(F_slow_next) { i++; STOP(SLOW); }
// Other waves of the workgroup go first where they are behind: LDS accesses of other kind follow.
FORM(F_meet) {
  if (c->per_group == 1) NEXT;
  i++;
  STOP(MET);
}
FORM(F_end) { STOP(ENDED); }
// Whether a wave that closes a loop has gone a round that changed no register of it: see Spins in engine/spinning.py.
// A sum of the registers is kept. Should two have one sum, another wave goes first for once.
typedef u32 words __attribute__((ext_vector_type(32)));
static u64 sum_of(const u32 *at, u64 rows, u64 sum) {
  words each = (words)(u32)sum;
  for (u64 r = 0; r < rows; r++) each = each * 0x9e3779b1u + *(const words *)(at + 32 * r);
  for (int n = 0; n < 32; n++) sum = (sum ^ each[n]) * 0x100000001b3ull;
  return sum | 1;  // 0 is none
}
static int spun(Wave *w, const Ins *i, const Ctx *c) {
  u32 here = (u32)(i - c->program);
  u64 scalars = sum_of(w->s, 4, w->s[SCC]);
  if (w->seen_at != here || w->seen[0] != scalars) {
    w->seen_at = here;
    w->seen[0] = scalars;
    w->seen[1] = 0;
    return 0;
  }
  u64 vectors = sum_of(&w->v[0][0], c->vgprs * LANES / 32, 0), before = w->seen[1];
  w->seen[1] = vectors;
  return before == vectors;
}
#define BRANCH(name, taken) \
  FORM(name) { i += (taken) ? (i32)i->k[0] : 1; TAIL i->fn(w, i, c); } \
  FORM(name##_back) { \
    if (!(taken)) NEXT; \
    int same = spun(w, i, c); \
    i += (i32)i->k[0]; \
    if (same) STOP(SPINS); \
    TAIL i->fn(w, i, c); \
  }
BRANCH(F_jump, 1)
BRANCH(F_scc0, !w->s[SCC])
BRANCH(F_scc1, w->s[SCC])
BRANCH(F_vccz, !*(const mask *)&w->s[106])
BRANCH(F_vccnz, *(const mask *)&w->s[106])
BRANCH(F_execz, !EX)
BRANCH(F_execnz, EX)
FORM(F_barrier) { i++; STOP(WAITS); }
FORM(F_signal) { w->signalled = 1; NEXT; }
FORM(F_await) {
  if (!w->signalled) STOP(SLOW);
  w->signalled = 0;
  i++;
  STOP(WAITS);
}

AI Wave *wave_at(const Ctx *c, u64 n) { return (Wave *)(c->waves + n * c->wave_bytes); }

// Registers as they are before a kernel starts: all undefined.
static void fresh(Wave *w, const Ctx *c) {
  u64 *undef = w->undef + 4;  // those of VGPRs
  for (u64 n = 0; n < c->vgprs; n++)
    if (undef[n >> 6] >> (n & 63) & 1 && !is_blank(w, (u32)n)) *shadow_of(w, c, (u32)n) = (v_u32)0u;
  u32 *words = (u32 *)w;
  for (u64 j = 0; j < sizeof(Wave) / 4; j++) words[j] = 0;
  for (u32 r = 0; r <= SCC; r++) {
    w->s[r] = (u32)c->poison;
    w->shadow[r] = ~0u;
    w->undef[r >> 6] |= 1ull << (r & 63);
  }
  for (u64 n = 0; n < c->vgprs; n++) {
    undef[n >> 6] |= 1ull << (n & 63);
    w->blank[n >> 6] |= 1ull << (n & 63);
  }
  w->left = (i64)c->left;
  w->slice = SLICE;
}
static void settle_all(Wave *w, const Ctx *c) {
  for (u32 n = 0; n < c->vgprs; n++)
    if (is_blank(w, n)) settle(w, c, n);
}
void lp_reset(const Ctx *c, u64 waves) {
  for (u64 n = 0; n < waves; n++) {
    Wave *w = wave_at(c, n);
    fresh(w, c);
    settle_all(w, c);
    w->index = (u32)n;
  }
}

// Registers that nobody has set count as defined: they hold the poison all the same.
static void define_all(Wave *w, const Ctx *c) {
  settle_all(w, c);
  for (u32 n = 0; n < c->vgprs; n++) *shadow_of(w, c, n) = (v_u32)0u;
  __builtin_memset(w->shadow, 0, sizeof w->shadow);
  __builtin_memset(w->undef, 0, sizeof w->undef);
}

// A workgroup starts: what hardware sets up. Only now, so that what is written is in the cache when it is read.
static void begin(const Ctx *c, u64 group) {
  for (u64 n = group * c->per_group; n < (group + 1) * c->per_group; n++) {
    Wave *w = wave_at(c, n);
    fresh(w, c);
    if (c->defined) define_all(w, c);
    w->index = (u32)n;
    for (u64 j = 0; j < c->initial_count; j++) {
      u64 r = c->initial[j].number;
      w->s[r] = c->initial[j].values[n * c->initial[j].step];
      w->shadow[r] = 0;
      w->undef[r >> 6] &= ~(1ull << (r & 63));
    }
    define_lanes(w, c, 0, 0, ~(mask)0);
    for (u32 l = 0; l < LANES; l++) w->v[0][l] = c->v0[n * LANES + l];
    if (c->log) settle_all(w, c);  // who watches may look at any register at any time
  }
  if (c->sieve) c->sieve->intervals[group]++;
  if (c->lds_is_set) return;
  __builtin_memset(c->lds_all + group * c->lds_stride, 0xA5, c->lds_stride);
  __builtin_memset(c->lds_shadow_all + group * c->lds_stride, c->defined ? 0 : 0xFF, c->lds_stride);
}

// The wave that goes on: one that has been let go; else of those that have met the one furthest behind, as the
// numpy scheduler chooses, or the furthest ahead while one that counts its rounds would pass over it. 0 when all
// wait, spin or have ended.
static Wave *chosen(const Ctx *c, Wave *first, int ahead, u32 *living, u32 *spinning) {
  Wave *best = 0;
  *living = *spinning = 0;
  for (u64 n = 0; n < c->per_group; n++) {
    Wave *w = (Wave *)((u8 *)first + n * c->wave_bytes);
    if (w->status == ENDED) continue;
    ++*living;
    if (w->status == READY) return w;
    *spinning += w->status == SPINS;
    if (w->status == WAITS || w->status == SPINS) continue;
    if (!best || (ahead ? w->pc > best->pc : w->pc < best->pc)) best = w;
  }
  return best;
}

// All living waves of a workgroup have come to their barrier, and go on.
static void pass_barrier(Ctx *c, Wave *first, u64 group) {
  u32 pc = 0;
  for (u64 n = 0; n < c->per_group; n++) {
    Wave *w = (Wave *)((u8 *)first + n * c->wave_bytes);
    if (w->status != WAITS) continue;
    if (c->sieve && pc && w->pc != pc) c->sieve->suspect = 1;  // they stand at barriers apart
    pc = w->pc;
    w->status = READY;
  }
  if (c->sieve) c->sieve->intervals[group]++;
}

int move_undefined(Wave *w, const Ins *i, Ctx *c);  // undefined.h

// Runs one workgroup until it has ended (0), must wait for numpy (1), its waves had a turn (2), or only those are
// left that spin (3).
static int run_group(Ctx *c, u64 group) {
  Wave *first = wave_at(c, group * c->per_group);
  c->lds = c->lds_all + group * c->lds_stride;
  c->lds_shadow = c->lds_shadow_all + group * c->lds_stride;
  if (first->status == FRESH) begin(c, group);
  int ahead = 0;
  for (u64 turns = 0;;) {
    u32 living, spinning;
    Wave *w = chosen(c, first, ahead, &living, &spinning);
    if (!living) return 0;
    if (!w && spinning) return 3;
    if (!w) {
      pass_barrier(c, first, group);
      continue;
    }
    if (c->sieve && c->sieve->suspect) return 1;
    if (w->status == SLOW || w->status == ENDLESS || w->status == FULL) return 1;
    if (w->status == MET)  // those who have met go on together
      for (u64 n = 0, pc = w->pc; n < c->per_group; n++) {
        Wave *other = (Wave *)((u8 *)first + n * c->wave_bytes);
        if (other->status == MET && other->pc == pc) other->status = READY;
      }
    const Ins *i = c->program + w->at;
    int why = i->fn(w, i, c);
    const Ins *at = c->program + w->at;
    if (why == SLOW && at->fn != F_slow && move_undefined(w, at, c)) {
      w->at += at->k[7];
      why = READY;
    }
    if (why == SLICED) {
      w->status = MET;
      ahead = !ahead;
      if (++turns == 2 * c->per_group) return 2;
    } else w->status = (u32)why;
  }
}

// Runs workgroups [from, to) of the batch. 0 when all have ended, 1 when numpy must do something. Waves that spin go
// on when no other can.
int lp_run(Ctx *c, u64 from, u64 to) {
  for (;;) {
    int stuck = 0, again = 0, spinning = 0;
    for (u64 g = from; g < to; g++) {
      int why = run_group(c, g);
      stuck |= why == 1;
      again |= why == 2;
      spinning |= why == 3;
    }
#ifdef __AVX__
    __builtin_ia32_vzeroupper();
#endif
    if (stuck) {
      for (u64 n = from * c->per_group; n < to * c->per_group; n++)
        if (wave_at(c, n)->status != ENDED && wave_at(c, n)->status != FRESH) settle_all(wave_at(c, n), c);
      return 1;
    }
    if (again) continue;
    if (!spinning) return 0;
    for (u64 n = from * c->per_group; n < to * c->per_group; n++)
      if (wave_at(c, n)->status == SPINS) wave_at(c, n)->status = READY;
  }
}

// Executes one instruction for some waves, between what observers are told before and after it. Behind its record
// stands one that returns.
void lp_step(Ctx *c, const Ins *i, const u64 *which, u64 count) {
  for (u64 n = 0; n < count; n++) i->fn(wave_at(c, which[n]), i, c);
#ifdef __AVX__
  __builtin_ia32_vzeroupper();
#endif
}

void lp_sizes(u64 *out) {
  out[0] = sizeof(Wave); out[1] = sizeof(Ins); out[2] = sizeof(Ctx);
  out[3] = __builtin_offsetof(Wave, undef); out[4] = __builtin_offsetof(Wave, at);
  out[5] = __builtin_offsetof(Wave, shadow); out[6] = __builtin_offsetof(Wave, left);
  out[7] = sizeof(Region); out[8] = LANES; out[9] = sizeof(Sieve); out[10] = sizeof(Fragment);
}
