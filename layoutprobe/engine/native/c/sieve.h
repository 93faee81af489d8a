// The sieve: who touched what, in one word per granule. It lets a launch pass in which no two waves meet in memory, or
// only such as a barrier orders. At the first meeting it stops: whether that is a race, observers find out in a second
// run. What stores overwrite is kept for that. Part of memory.h.
#pragma once
#include "state.h"

enum { READ = 0, WRITTEN = 1, COUNTED = 2, ANYBODY = 0x3fffffff };

// Who has touched a granule after one more access: a wave (plus 1) or ANYBODY, and how. 0 where they must be ordered.
AI u32 met(u32 before, u32 wave, u32 how) {
  u32 mine = wave << 2 | how;
  if (how == COUNTED) mine = (u32)ANYBODY << 2 | COUNTED;  // atomics are in no order
  if (!before || before == mine) return mine;
  if (before >> 2 == wave && how != COUNTED) return before | mine;  // READ is 0: a wave's own stores stay
  return how == READ && (before & 3) == READ ? (u32)ANYBODY << 2 | READ : 0;
}

// Two 64-byte lines at most lie under an access. The first wave that stores to one keeps it, others wait for that.
AI void keep(Sieve *s, const Ctx *c, u64 line) {
  u32 *state = s->kept + line, now = __atomic_load_n(state, __ATOMIC_ACQUIRE), busy = 2 * s->launch, done = busy + 1;
  if (likely(now == done)) return;
  if (now != busy && __atomic_compare_exchange_n(state, &now, busy, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    memcpy(s->data + line * 64, c->arena + line * 64, 64);
    memcpy(s->shadow + line * 64, c->arena_shadow + line * 64, 64);
    __atomic_store_n(state, done, __ATOMIC_RELEASE);
    return;
  }
  while (__atomic_load_n(state, __ATOMIC_ACQUIRE) != done) RELAX;
}

AI int stop(Sieve *s) {
  __atomic_store_n(&s->suspect, 1, __ATOMIC_RELAXED);
  return 0;
}
// Words of a table hold the launch or the interval in their upper half. What it is after an access is mostly what it was
// before: `same` tells that without looking further.
typedef struct { u64 now, own, any; } Marks;
AI Marks marks(u64 when, u32 wave, u32 how) {
  u64 any = (u64)ANYBODY << 2 | (how == COUNTED ? COUNTED : READ);
  u64 own = how == COUNTED ? any : (u64)wave << 2 | WRITTEN;
  return (Marks){when << 32, when << 32 | own, when << 32 | (how == WRITTEN ? own : any)};
}
AI int same(Marks m, u64 word) { return word == m.own || word == m.any; }

AI int sift_granule(Sieve *s, Marks m, u64 *at, u32 wave, u32 how) {
  u64 before = __atomic_load_n(at, __ATOMIC_RELAXED), now;
  do {
    if (same(m, before)) return 1;
    u32 after = met((before ^ m.now) >> 32 ? 0 : (u32)before, wave, how);
    if (unlikely(!after)) return stop(s);
    now = m.now | after;
    if (now == before) return 1;
  } while (!__atomic_compare_exchange_n(at, &before, now, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return 1;
}
// Lanes that point where one before them does need not be looked at: those of the upper half, or the neighbour's.
AI mask apart(const Places *to, mask ex) { return ex == ~(mask)0 && halves_alike(to->at) ? ex & 0xffff : ex; }

// Lanes access global memory. 0: stop.
static __attribute__((noinline)) int sift_global(const Wave *w, const Ctx *c, const Places *places, u32 size, u32 how, mask ex) {
  Sieve *s = c->sieve;
  u32 wave = s->first + w->index + 1;
  Marks m = marks(s->launch, wave, how);
  u64 last = ~0ull;
  for (mask left = apart(places, ex); left; left &= left - 1) {
    u64 from = places->base + places->at[__builtin_ctzll(left)], to = from + size - 1;
    if (from == last) continue;
    last = from;
    if (how != READ)
      for (u64 line = from >> 6; line <= to >> 6; line++) keep(s, c, line);
    for (u64 n = from >> s->shift; n <= to >> s->shift; n++)
      if (!sift_granule(s, m, s->seen + n, wave, how)) return 0;
  }
  return 1;
}
// Lanes access LDS. What lies before the last barrier is in order: it has another interval.
static __attribute__((noinline)) int sift_lds(const Wave *w, const Ctx *c, const Places *places, u32 size, u32 how, mask ex) {
  Sieve *s = c->sieve;
  u64 group = w->index / c->per_group, shift = s->lds_shift, last = ~0ull;
  u64 *seen = s->lds_seen + (group * c->lds_stride >> shift);
  Marks m = marks(s->intervals[group], w->index + 1, how);
  for (mask left = apart(places, ex); left; left &= left - 1) {
    u64 from = places->base + places->at[__builtin_ctzll(left)], to = from + size - 1;
    if (from == last) continue;
    last = from;
    for (u64 n = from >> shift; n <= to >> shift; n++) {
      if (same(m, seen[n])) continue;
      u32 after = met((seen[n] ^ m.now) >> 32 ? 0 : (u32)seen[n], w->index + 1, how);
      if (unlikely(!after)) return stop(s);
      seen[n] = m.now | after;
    }
  }
  return 1;
}
// What lanes have stored is there. If not, another lane of the instruction stored something else to that place.
static __attribute__((noinline)) void sift_stored(Sieve *s, const u8 *memory, const Places *to, const u32 *r, u32 size, u32 how,
                                                  mask ex) {
  for (mask left = ex; left; left &= left - 1) {
    u32 l = (u32)__builtin_ctzll(left), word = how & HIGH ? r[l] >> 16 : r[l], lost = 0;
    const u8 *q = memory + to->base + to->at[l];
    if (size < 4) lost = size == 2 ? *(const h1u *)q ^ (u16)word : *q ^ (u8)word;
    else
      for (u32 j = 0; j < size / 4; j++) lost |= *(const u1u *)(q + 4 * j) ^ r[LANES * j + l];
    if (unlikely(lost)) {
      stop(s);
      return;
    }
  }
}
#define SIFT_STORED(memory, to, r, size, how, ex) \
  do { if (unlikely(c->sieve != 0)) sift_stored(c->sieve, memory, to, r, size, how, ex); } while (0)
#define SIFT(space, at, size, how, ex) \
  (likely(!c->sieve) || sift_##space(w, c, at, size, how, ex))
