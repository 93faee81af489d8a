// Types, and the state that forms work on. No libc: builtins only.
//
// A form executes one instruction for one wave and calls the form of the next record. Every offset in a
// record was made and checked by Python (lower.py); addresses that a kernel computes are checked here.
#pragma once
#ifndef LANES
#define LANES 32
#endif
#define AI static inline __attribute__((always_inline))
#define TAIL __attribute__((musttail)) return
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define memcpy __builtin_memcpy
#ifdef __x86_64__
#define RELAX __builtin_ia32_pause()
#else
#define RELAX __asm__ volatile("yield")
#endif
#define CV(x, t) __builtin_convertvector(x, t)
#define AS(t, x) __builtin_bit_cast(t, x)

typedef unsigned char u8; typedef signed char i8; typedef unsigned short u16; typedef short i16;
typedef unsigned int u32; typedef int i32; typedef unsigned long long u64; typedef long long i64;
typedef float f32; typedef double f64; typedef _Bool b1;
typedef u16 f16;  // an f16 is its bits: conversions are ours, so that NaN come out as numpy's do
#define VECTOR(t) typedef t v_##t __attribute__((ext_vector_type(LANES)))
VECTOR(u8); VECTOR(i8); VECTOR(u16); VECTOR(i16); VECTOR(u32); VECTOR(i32); VECTOR(u64); VECTOR(i64);
VECTOR(f32); VECTOR(f64); VECTOR(b1);
typedef v_u16 v_f16;
typedef _Float16 v_half __attribute__((ext_vector_type(LANES)));
#include "soft.h"
#if LANES == 32
typedef u32 mask;
#else
typedef u64 mask;
#endif
// One bit per lane, as numbers and as vectors of bool.
AI v_b1 bools(mask m) { v_b1 b; memcpy(&b, &m, sizeof m); return b; }
AI mask bits(v_b1 b) { mask m; memcpy(&m, &b, sizeof m); return m; }
#define MASK(e) bits(CV(e, v_b1))
#define SPLATB(e) ((e) ? ~(mask)0 : (mask)0)

enum { SCC = 128, EXEC = 126, M0 = 125, UNDEF_WORDS = 12, VGPR_WORDS = 8 };
// Scalar registers by their encoding, SCC, and behind them two words that swallow what nobody reads.
typedef struct Wave {
  u32 s[132];
  u64 undef[UNDEF_WORDS];  // bit r: register r (numbered as in isa.inst) may hold undefined bits
  i64 left;                // instructions until the budget is spent
  i64 slice;               // blocks until another wave gets its turn
  u32 at, status, pc, signalled;
  u32 index, logged;       // its number in the batch, and words in its log
  u64 seen[2];             // of its registers, where it last closed a loop that may wait; see spun
  u32 seen_at, pad[5];
  u32 shadow[132];         // undefined bits of s
  u32 pad2[28];
  u64 blank[VGPR_WORDS];   // bit n: nobody has written VGPR n yet; see state.h
  u32 v[][LANES];          // VGPRs, and behind them their undefined bits
} __attribute__((aligned(128))) Wave;

typedef struct Ins Ins;
typedef struct Ctx Ctx;
typedef int (*Fn)(Wave *, const Ins *, Ctx *);
struct Ins {
  Fn fn;
  u32 pc, told;  // told: observers ask for its accesses
  u32 o[12];  // operands: bytes from the wave's start
  u32 k[8];   // immediates
};
// undefined: some of its bytes may be.
typedef struct { u64 start, end, writable, undefined; } Region;

// Why a form came back instead of calling the next one; Wave.at says where to go on.
// READY: it may go on at once. MET: it has stopped for others to catch up. FRESH: its registers have not been set up.
// FULL: there is no room in its log. SPINS: it goes round a loop that changes none of its registers.
enum { READY = 0, ENDED = 1, WAITS = 2, SLOW = 3, ENDLESS = 4, SLICED = 5, FRESH = 6, MET = 7, FULL = 8, SPINS = 9 };

// A scalar register that hardware sets up: one value for all waves (step 0), or one for each (step 1).
typedef struct { u64 number, step; const u32 *values; } Initial;

// What the sieve knows of a launch; see sieve.h.
typedef struct {
  u64 *seen; u32 *kept; u8 *data, *shadow;  // of global memory: per granule, per line of 64 bytes, and kept bytes
  u64 *lds_seen, *intervals;                // of LDS: per granule, and of each workgroup how many barriers it has passed
  u32 launch, first;                        // number of the launch, and of the first wave of the batch
  u32 shift, lds_shift, suspect, pad;
} Sieve;

// An operand of a matrix instruction as numbers; see matrix.c.
typedef struct { f32 at[2][16][16]; u64 alike, pad[7]; } Fragment;

struct Ctx {
  // What a form needs. LDS is that of the workgroup that runs.
  u8 *lds, *lds_shadow; u64 lds_size;
  u8 *arena, *arena_shadow;
  const Region *regions; u64 region_count;
  const u64 *touched;  // UNDEF_WORDS per block: registers that it reads or writes
  const Ins *program;
  u64 shadow_bytes;    // from a VGPR to its undefined bits
  Fragment *fragments; // operands of matrix instructions, expanded
  u64 hints[64];       // which region an access hit last
  u64 before[512];     // where a load of a wave last pointed; see foresee
  u8 *scratch, *scratch_shadow; u64 scratch_size, scratch_stride;  // of a lane
  // What the scheduler needs.
  u8 *waves; u64 wave_bytes, per_group;
  u8 *lds_all, *lds_shadow_all; u64 lds_stride;
  // What a wave starts with; v0 has a row of LANES words per wave.
  const Initial *initial; u64 initial_count;
  const u32 *v0; u64 vgprs, poison, left;
  // What waves do, for observers: so many words for each wave; of the first waves accesses are written down, too.
  u32 *log; u64 log_words, accesses;
  Sieve *sieve;  // 0: nobody asks
  u64 lds_is_set;  // what LDS holds at the beginning an observer has said
  u64 defined;     // registers, LDS and scratch that nobody has set count as defined
};

#define W8 ((u8 *)w)
#define EX (*(const mask *)&w->s[EXEC])
// Sources: a VGPR, a scalar register, an immediate; and the upper words of pairs.
#define RV(n) (*(const v_u32 *)(W8 + i->o[n]))
#define RVH(n) (*(const v_u32 *)(W8 + i->o[n] + 4 * LANES))
#define RS(n) (*(const u32 *)(W8 + i->o[n]))
#define RSH(n) (*(const u32 *)(W8 + i->o[n] + 4))
#define RM(n) (*(const mask *)(W8 + i->o[n]))
// Destinations.
#define DV(n) (*(v_u32 *)(W8 + i->o[n]))
#define DVH(n) (*(v_u32 *)(W8 + i->o[n] + 4 * LANES))
#define DS(n) (*(u32 *)(W8 + i->o[n]))
#define DSH(n) (*(u32 *)(W8 + i->o[n] + 4))
typedef mask mask_u __attribute__((aligned(4)));
#define DM(n) (*(mask_u *)(W8 + i->o[n]))
// What some lanes are given. Mostly these are all: to part lanes takes longer than what most instructions compute.
#define PUT(to, x, lanes) do { if (likely((lanes) == ~(mask)0)) to = (x); else to = bools(lanes) ? (x) : to; } while (0)
#define NEXT TAIL i[1].fn(w, i + 1, c)
#define STOP(why) do { w->at = (u32)(i - c->program); w->pc = i->pc; return (why); } while (0)
#define FORM(name) int name(Wave *restrict w, const Ins *restrict i, Ctx *restrict c)
