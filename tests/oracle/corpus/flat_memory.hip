// Generic pointers: flat loads and stores, of which some reach LDS and some global memory.
#define KERNEL extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, 256)))
#define SHARED __attribute__((shared))
#define TID __builtin_amdgcn_workitem_id_x()
#define BLOCK __builtin_amdgcn_workgroup_id_x()
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;
typedef unsigned char u8;
typedef u32 u32x4 __attribute__((ext_vector_type(4)));
#define SYNC() do { __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier(); __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup"); } while (0)
KERNEL flat_mixed(u32 *a, u32 *out, int which) {
  SHARED u32 m[64];
  u32 t = TID & 31;
  m[t] = t * 3;
  m[t + 32] = t * 5;
  SYNC();
  u32 *p = (which >> t) & 1 ? m : a;
  u32 x = p[t];
  u16 y = ((u16 *)p)[2 * t + 64];
  u8 z = ((u8 *)p)[t + 64];
  p[t] = x + y + z;
  ((u8 *)p)[t + 128] = (u8)x;
  ((u16 *)p)[t + 96] = (u16)y;
  SYNC();
  out[t] = m[t] ^ m[t + 32];
}
KERNEL flat_indirect(u32 **table, u32 *out) {
  u32 t = TID;
  u32 *p = table[t];
  u32x4 v = *(u32x4 *)p;
  u64 w = *(u64 *)(p + 4);
  *(u32x4 *)(p + 8) = v + 1;
  *(u64 *)(p + 12) = w;
  p[14] = (u32)((const signed char *)p)[60];
  p[15] = (u32)((const short *)p)[40];
  out[t] = v.x ^ (u32)w;
}
