// Control flow in which lanes, waves and workgroups part and meet again.
#define KERNEL extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, 1024)))
#define SHARED __attribute__((shared))
typedef unsigned int u32;
#define X __builtin_amdgcn_workitem_id_x()
#define GX __builtin_amdgcn_workgroup_id_x()
#define WAVE __builtin_amdgcn_readfirstlane(X / 32)
#define BARRIER() \
  do { \
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); \
    __builtin_amdgcn_s_barrier(); \
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup"); \
  } while (0)

KERNEL nested(const u32 *in, u32 *out) {
  u32 x = in[X], r = 0;
  if (x & 1) {
    r = 3;
    if (x & 2) {
      r = r * 7 + (x >> 8);
      if (x & 4) r ^= in[(x >> 8) & 63]; else if (x & 8) out[X + 256] = r; else r -= x & 0xff;
    } else if (x & 16) r = 99;
  } else {
    if ((x & 32) && X > 5) r = x / 3; else r = x % 5;
    r++;
  }
  out[X] = r;
}
// Trip counts by lane, break and continue.
KERNEL loops(const u32 *in, u32 *out) {
  u32 x = in[X], r = x & 0xf;
  for (u32 i = 0; i < (x >> 4 & 31); i++) {
    if ((r & 7) == 3) { r += i; continue; }
    if (r > 5000) break;
    for (u32 j = i; j < (x >> 9 & 7); j++) {
      r = r * 3 + j;
      if (r & 0x100) break;
    }
    r += 2;
  }
  out[X] = r;
}
// Trip counts by wave: a scalar branch on which waves disagree, with LDS in between.
KERNEL waves(const u32 *in, u32 *out) {
  SHARED u32 shared[1024];
  u32 w = (u32)WAVE, r = in[X];
  shared[X] = r;
  for (u32 i = 0; i < w * 3 + 1; i++) {
    r = r * 5 + i;
    if (w == 2 && i == 4) break;
    if (w & 1) r ^= 0x55;
  }
  if (w == 1) r += 1000; else if (w == 3) r -= 1000;
  BARRIER();
  out[X] = r + shared[X ^ 32];
}
KERNEL switches(const u32 *in, u32 *out) {
  u32 x = in[X], r = 1;
  switch (x % 11) {
    case 0: r = x; break;
    case 1: r = x * 3;
    case 2: r += 10; break;  // 1 falls through
    case 3: case 4: r = x >> 3; break;
    case 5: for (u32 i = 0; i < (x & 7); i++) r *= 3; break;
    case 7: r = in[X ^ 1]; break;
    case 9: out[X + 256] = x; r = 5; break;
    default: r = ~x;
  }
  out[X] = r;
}
// A tree reduction: a barrier in each turn of a loop.
KERNEL reduce(const u32 *in, u32 *out) {
  SHARED u32 shared[512];
  shared[X] = in[GX * 512 + X];
  BARRIER();
  for (u32 step = 256; step > 0; step /= 2) {
    if (X < step) shared[X] += shared[X + step];
    BARRIER();
  }
  if (X == 0) out[GX] = shared[0];
}
// Each turn hands a value on to the next wave: two barriers, both needed.
KERNEL relay(const u32 *in, u32 *out, int turns) {
  SHARED u32 shared[256];
  u32 r = in[X];
  for (int i = 0; i < turns; i++) {
    shared[X] = r;
    BARRIER();
    r = shared[(X + 32) & 255] * 3 + (u32)i;
    BARRIER();
  }
  out[X] = r;
}
// Waves 1 and 3 leave early; the others still meet.
KERNEL early(const u32 *in, u32 *out, int first) {
  SHARED u32 shared[256];
  u32 w = (u32)WAVE;
  if (w & 1 && w > (u32)first) return;
  shared[X] = in[X];
  BARRIER();
  u32 r = shared[X ^ 64];
  BARRIER();
  shared[X] = r + 1;
  BARRIER();
  out[X] = shared[X ^ 64] * 2;
}
// Some lanes return before the barrier, their wave does not.
KERNEL lanes_leave(const u32 *in, u32 *out, int n) {
  SHARED u32 shared[64];
  shared[X] = in[X];
  BARRIER();
  if (X >= (u32)n) return;
  out[X] = shared[63 - X];
}
// Waves of one workgroup take different numbers of turns, with a barrier in each.
KERNEL busy(const u32 *in, u32 *out, int n) {
  u32 r = in[GX * 128 + X];
  u32 limit = (GX * 7 + (u32)WAVE * 3) % 11 + 1;
  for (u32 i = 0; i < limit; i++) r = r * 1664525 + 1013904223;
  SHARED u32 shared[128];
  shared[X] = r;
  BARRIER();
  out[GX * 128 + X] = shared[(X + 64) & 127] + (u32)n;
}
