// Scalar loads of every width, by immediate and by register offset.
#define KERNEL extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, 256)))
#define SHARED __attribute__((shared))
#define TID __builtin_amdgcn_workitem_id_x()
#define BLOCK __builtin_amdgcn_workgroup_id_x()
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;
typedef unsigned char u8;
typedef u32 u32x8 __attribute__((ext_vector_type(8)));
typedef u32 u32x16 __attribute__((ext_vector_type(16)));
KERNEL sloads(const u32 *__restrict__ a, const u32x8 *__restrict__ b, const u32x16 *__restrict__ c, u32 *__restrict__ out, int n) {
  u32 s = a[0] ^ a[n] ^ a[n * 3 + 1];
  u32x8 v = b[n];
  u32x16 w = c[n & 3];
  for (int i = 0; i < 8; i++) s = s * 3 + v[i];
  for (int i = 0; i < 16; i++) s = s * 5 + w[i];
  u64 q = ((const u64 *)a)[n + 4];
  out[TID] = s ^ (u32)q ^ (u32)(q >> 32) ^ TID;
}
KERNEL sload_bytes(const u8 *__restrict__ a, const short *__restrict__ b, int *__restrict__ out, int n) {
  out[TID] = a[n] + b[n] + (int)TID;
}
static __attribute__((constant)) const int table[37] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4, 6, 2, 6, 4, 3, 3, 8, 3, 2, 7, 9, 5, 0, 2, 8, 8, 4};
KERNEL constant_table(int *out, int n) { out[TID] = table[n] + table[TID % 37]; }
