// Private, shared and global memory through every kind of pointer.
#define KERNEL extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, 1024)))
#define SHARED __attribute__((shared))
#define NOINLINE __attribute__((noinline, device))
typedef unsigned int u32;
typedef unsigned short u16;
typedef unsigned char u8;
typedef unsigned long long u64;
#define X __builtin_amdgcn_workitem_id_x()
#define GX __builtin_amdgcn_workgroup_id_x()
#define BARRIER() \
  do { \
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); \
    __builtin_amdgcn_s_barrier(); \
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup"); \
  } while (0)

// A private array that is indexed by a run-time value lives in scratch.
KERNEL private_array(const u32 *in, u32 *out, int n) {
  u32 a[24];
  for (int i = 0; i < 24; i++) a[i] = in[X] * (u32)(i + 1);
  for (int i = 0; i < n; i++) a[in[(X + (u32)i) & 255] % 24] ^= a[(X + (u32)i) % 24];
  u32 sum = 0;
  for (int i = 0; i < 24; i++) sum = sum * 31 + a[i];
  out[X] = sum;
}
KERNEL private_bytes(const u32 *in, u32 *out, int n) {
  u8 b[40];
  u16 h[12];
  for (int i = 0; i < 40; i++) b[i] = (u8)(in[X] >> (i & 24)) + (u8)i;
  for (int i = 0; i < 12; i++) h[i] = (u16)(in[X] * (u32)i);
  for (int i = 0; i < n; i++) { b[in[X + (u32)i] % 40] += (u8)h[in[X + (u32)i + 3] % 12]; h[(X + (u32)i) % 12] ^= b[i % 40]; }
  u32 sum = 0;
  for (int i = 0; i < 40; i++) sum = sum * 5 + b[i];
  for (int i = 0; i < 12; i++) sum = sum * 7 + h[i];
  out[X] = sum;
}
// One pointer, three memories: only a flat access can tell at run time.
KERNEL flat_pointer(u32 *data, u32 *out, int n) {
  SHARED u32 shared[1024];
  u32 mine[8];
  for (int i = 0; i < 8; i++) mine[(X + (u32)i) & 7] = 1000 * X + (X + (u32)i) % 8;
  shared[X] = X + 7;
  BARRIER();
  u32 which = data[X] % 3;
  volatile u32 *p = which == 0 ? (volatile u32 *)(data + X) : which == 1 ? (volatile u32 *)(shared + (X ^ 1)) : (volatile u32 *)(mine + ((u32)n & 7));
  u32 before = *p;
  *p = before + 5;
  out[X] = *p * 2 + before;
}
KERNEL flat_widths(const u32 *in, u32 *out, int n) {
  SHARED u8 shared[8192];
  volatile u8 *p = in[0] ? (volatile u8 *)(shared + 8 * X) : (volatile u8 *)(out + 4096 + 2 * X);
  p[0] = (u8)in[X + 1];
  *(volatile u16 *)(p + 2) = (u16)(in[X + 1] >> 8);
  *(volatile u32 *)(p + 4) = in[X + 1] ^ 0x5a5a5a5a;
  out[X] = p[0] + (u32) * (volatile u16 *)(p + 2) * 3 + *(volatile u32 *)(p + 4) + (u32)(int)*(volatile signed char *)p + (u32)(int)*(volatile short *)(p + 2);
}
// Counting down from a constant: clang folds the constant into the instruction's offset.
KERNEL countdown(const u32 *in, u32 *out) {
  SHARED u32 shared[64];
  shared[X] = in[X];
  BARRIER();
  if (X & 1) out[X] = shared[63 - X] * 3 + shared[X]; else out[X] = 1;
}
// Unaligned data in LDS: correct source, which clang turns into wide accesses.
struct __attribute__((packed)) Packed { u16 a; u32 b; u64 c; };
KERNEL packed(const u32 *in, u32 *out) {
  SHARED Packed shared[64];
  shared[X].a = (u16)in[X]; shared[X].b = in[X] * 3; shared[X].c = in[X] * 0x100000001ull;
  BARRIER();
  u32 other = X ^ 1;
  out[X] = shared[other].a + shared[other].b + (u32)(shared[other].c >> 16);
}
KERNEL halves(const u32 *in, u32 *out, int step) {
  SHARED u16 shared[1024];
  for (u32 i = X; i < 1024; i += 64) shared[i] = (u16)(in[i & 255] + i);
  BARRIER();
  u32 sum = 0;
  for (u32 j = 0; j < 8; j++) sum = sum * 3 + shared[(u32)step * X + j];
  out[X] = sum;
}
// Atomics that collide.
KERNEL histogram(const u32 *in, u32 *out, int n) {
  SHARED u32 bins[16];
  if (X < 16) bins[X] = 0;
  BARRIER();
  for (u32 i = X; i < (u32)n; i += 256)
    __hip_atomic_fetch_add(bins + (in[i] & 15), 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  BARRIER();
  if (X < 16) __hip_atomic_fetch_add(out + X, bins[X], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
KERNEL tickets(u32 *counter, u32 *out) {
  u32 mine = __hip_atomic_fetch_add(counter, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  out[GX * 256 + X] = mine;
}
KERNEL extremes(const int *in, int *out, u64 *wide) {
  u32 i = GX * 256 + X;
  __hip_atomic_fetch_max(out, in[i], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_min(out + 1, in[i], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_max((u32 *)out + 2, (u32)in[i], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_xor(out + 3, in[i], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_and(out + 4, in[i] | 0x0f0f0000, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_or(out + 5, in[i] & 0x00ff00ff, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_add(wide, (u64)(u32)in[i], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_sub(wide + 1, (u64)(u32)in[i], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
KERNEL float_sum(const float *in, float *out) {
  __hip_atomic_fetch_add(out + (X & 3), in[GX * 256 + X], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
// A multiplication by compare-and-swap: every lane retries until its turn came.
KERNEL swap_loop(const u32 *in, u32 *out) {
  u32 seen = __hip_atomic_load(out, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT), wanted;
  do wanted = seen * (in[X] | 1);
  while (!__hip_atomic_compare_exchange_weak(out, &seen, wanted, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT));
}
// The last workgroup to arrive adds up what the others left.
KERNEL last_one(const u32 *in, u32 *parts, u32 *counter, u32 *out) {
  SHARED u32 last;
  if (X == 0) {
    u32 sum = 0;
    for (u32 i = 0; i < 8; i++) sum += in[GX * 8 + i];
    parts[GX] = sum;
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
    last = __hip_atomic_fetch_add(counter, 1, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
  }
  BARRIER();
  if (last == 19 && X < 20) out[X] = parts[X];
}
