// Atomics on global memory, with and without the returned value.
#define KERNEL extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, 256)))
#define SHARED __attribute__((shared))
#define TID __builtin_amdgcn_workitem_id_x()
#define BLOCK __builtin_amdgcn_workgroup_id_x()
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;
typedef unsigned char u8;
#define RMW(op, p, v) __hip_atomic_fetch_##op(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)
KERNEL global_atomics_u32(const u32 *a, u32 *m, u32 *out) {
  u32 t = TID, x = a[t], r = 0;
  RMW(add, &m[x & 1], x);
  r ^= RMW(add, &m[2 + (x & 1)], x);
  r ^= RMW(min, &m[4 + (x & 1)], x);
  r ^= RMW(max, &m[6 + (x & 1)], x);
  r ^= RMW(and, &m[8 + (x & 1)], x);
  r ^= RMW(or, &m[10 + (x & 1)], x);
  r ^= RMW(xor, &m[12 + (x & 1)], x);
  r ^= (u32)RMW(min, (int *)&m[14 + (x & 1)], (int)x);
  r ^= (u32)RMW(max, (int *)&m[16 + (x & 1)], (int)x);
  r ^= __hip_atomic_exchange(&m[18 + (x & 1)], x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  u32 e = x;
  __hip_atomic_compare_exchange_strong(&m[20 + (x & 1)], &e, x + 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  r ^= e;
  r ^= RMW(sub, &m[22 + (x & 1)], x);
  out[t] = r;
}
KERNEL global_atomics_wide(const u64 *a, u64 *m, u64 *out, const float *f, float *fm) {
  u32 t = TID;
  out[t] = RMW(add, &m[a[t] & 3], a[t]);
  RMW(max, &m[4 + (a[t] & 3)], a[t]);
  __builtin_amdgcn_global_atomic_fadd_f32((__attribute__((address_space(1))) float *)(fm + (t & 3)), f[t]);
}
KERNEL arrive(u32 *counter, u32 *out, u32 total) {
  SHARED u32 ticket;
  u32 t = TID;
  if (t == 0) ticket = __hip_atomic_fetch_add(counter, 1u, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  if (ticket == total - 1) out[t] = ticket;
}
KERNEL fences(u32 *a, u32 *out) {
  u32 t = TID;
  a[t] = t;
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
  out[t] = __hip_atomic_load(&a[t ^ 1], __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_store(&a[t], 5u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
}
