// 64-bit division of lanes and of uniform values (loops, carries, ffbh).
#define KERNEL extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, 256)))
#define SHARED __attribute__((shared))
#define TID __builtin_amdgcn_workitem_id_x()
#define BLOCK __builtin_amdgcn_workgroup_id_x()
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;
typedef unsigned char u8;
KERNEL udiv64(const u64 *a, const u64 *b, u64 *out) {
  u32 t = TID;
  out[t] = a[t] / (b[t] | 1);
}
KERNEL srem64(const long long *a, const long long *b, long long *out) {
  u32 t = TID;
  out[t] = a[t] % (b[t] | 1);
}
KERNEL udiv64_uniform(u64 *out, u64 a, u64 b) { out[0] = a / b + a % b; }
