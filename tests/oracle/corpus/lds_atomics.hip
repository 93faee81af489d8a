// Atomics on LDS, with and without the returned value.
#define KERNEL extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, 256)))
#define SHARED __attribute__((shared))
#define TID __builtin_amdgcn_workitem_id_x()
#define BLOCK __builtin_amdgcn_workgroup_id_x()
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;
typedef unsigned char u8;
#define RMW(op, p, v) __hip_atomic_fetch_##op(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP)
#define SYNC() do { __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier(); __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup"); } while (0)
KERNEL lds_atomics_u32(const u32 *a, u32 *out) {
  SHARED u32 m[16];
  u32 t = TID;
  if (t < 16) m[t] = t;
  SYNC();
  u32 x = a[t], r = 0;
  RMW(add, &m[x & 1], x);
  r ^= RMW(add, &m[2 + (x & 1)], x);
  r ^= RMW(min, &m[4], x);
  r ^= RMW(max, &m[5], x);
  r ^= RMW(and, &m[6], x);
  r ^= RMW(or, &m[7], x);
  r ^= RMW(xor, &m[8], x);
  r ^= (u32)RMW(min, (int *)&m[9], (int)x);
  r ^= (u32)RMW(max, (int *)&m[10], (int)x);
  r ^= __hip_atomic_exchange(&m[11], x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  u32 e = x;
  __hip_atomic_compare_exchange_strong(&m[12], &e, x + 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  r ^= e;
  RMW(sub, &m[13], x);
  RMW(or, &m[14], x);
  RMW(max, &m[15], x);
  SYNC();
  out[t] = r ^ m[t & 15];
}
KERNEL lds_atomics_wide(const u64 *a, u64 *out, const float *f, float *fout) {
  SHARED u64 m[4];
  SHARED float g[2];
  u32 t = TID;
  if (t < 4) m[t] = t;
  if (t < 2) g[t] = 0;
  SYNC();
  u64 r = RMW(add, &m[a[t] & 1], a[t]);
  RMW(max, &m[2], a[t]);
  RMW(add, &g[t & 1], f[t]);
  SYNC();
  out[t] = r ^ m[t & 3];
  fout[t] = g[t & 1];
}
KERNEL histogram(const u8 *a, u32 *out, int n) {
  SHARED u32 bins[256];
  u32 t = TID;
  bins[t] = 0;
  SYNC();
  for (int i = (int)t; i < n; i += 256) RMW(add, &bins[a[i]], 1u);
  SYNC();
  __hip_atomic_fetch_add(&out[t], bins[t], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
