// Narrow and two-address forms of LDS, scratch, flat and global memory, with both halves used.
#define KERNEL extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, 256)))
#define SHARED __attribute__((shared))
#define TID __builtin_amdgcn_workitem_id_x()
#define BLOCK __builtin_amdgcn_workgroup_id_x()
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;
typedef unsigned char u8;
typedef u16 u16x2 __attribute__((ext_vector_type(2)));
#define SYNC() do { __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier(); __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup"); } while (0)
KERNEL lds_insert_bytes(const u32 *a, const u16x2 *b, u16x2 *out) {
  SHARED u8 m[256];
  SHARED signed char n[256];
  SHARED u16 p[256];
  u32 t = TID;
  m[t] = (u8)a[t];
  n[t] = (signed char)(a[t] >> 8);
  p[t] = (u16)(a[t] >> 16);
  SYNC();
  u16x2 x = b[t], y = b[t + 1], z = b[t + 2], w = b[t + 3], v = b[t + 4];
  x[0] = m[t ^ 1];
  y[1] = m[t ^ 2];
  z[0] = (u16)(short)n[t ^ 3];
  w[1] = (u16)(short)n[t ^ 4];
  v[1] = p[t ^ 5];
  out[5 * t] = x;
  out[5 * t + 1] = y;
  out[5 * t + 2] = z;
  out[5 * t + 3] = w;
  out[5 * t + 4] = v;
}
KERNEL global_insert_bytes(const u8 *m, const signed char *n, const u16 *p, const u16x2 *b, u16x2 *out) {
  u32 t = TID;
  u16x2 x = b[t], y = b[t + 1], z = b[t + 2], w = b[t + 3], v = b[t + 4];
  x[0] = m[t ^ 1];
  y[1] = m[t ^ 2];
  z[0] = (u16)(short)n[t ^ 3];
  w[1] = (u16)(short)n[t ^ 4];
  v[1] = p[t ^ 5];
  out[5 * t] = x;
  out[5 * t + 1] = y;
  out[5 * t + 2] = z;
  out[5 * t + 3] = w;
  out[5 * t + 4] = v;
}
KERNEL flat_insert(u16 **table, u8 **bytes, u16x2 *out) {
  u32 t = TID;
  u16x2 x = out[t], y = out[t + 32], z = out[t + 64];
  x[0] = table[t][0];
  x[1] = table[t][3];
  y[1] = bytes[t][5];
  z[0] = (u16)(short)(signed char)bytes[t][7];
  out[t] = x;
  out[t + 32] = y;
  out[t + 64] = z;
  bytes[t][9] = (u8)(*(u32 *)&x >> 16);
  table[t][11] = y[1];
  typedef u32 u32x3 __attribute__((ext_vector_type(3)));
  u32x3 *p = (u32x3 *)(bytes[t] + 32);
  p[1] = p[0] + 3u;
}
KERNEL private_wide(const u64 *a, const int *idx, u64 *out) {
  u32 t = TID;
  u64 m[24];
  short n[40];
  signed char c[40];
  for (int i = 0; i < 24; i++) m[i] = a[t + (u32)i] * 3;
  for (int i = 0; i < 40; i++) { n[i] = (short)(idx[t + (u32)i] + i); c[i] = (signed char)(idx[t + (u32)i] ^ i); }
  m[(u32)idx[t] % 24] = 9;
  n[(u32)idx[t + 1] % 40] = 77;
  c[(u32)idx[t + 2] % 40] = 5;
  out[2 * t] = m[(u32)idx[t + 3] % 24];
  out[2 * t + 1] = (u64)(long long)(n[(u32)idx[t + 4] % 40] * c[(u32)idx[t + 5] % 40] + (u16)n[(u32)idx[t + 6] % 40]);
}
KERNEL private_insert(const u8 *a, const int *idx, u16x2 *out) {
  u32 t = TID;
  u8 c[64];
  u16 n[64];
  for (int i = 0; i < 64; i++) { c[i] = a[t + (u32)i]; n[i] = (u16)(a[t + (u32)i] * 3); }
  c[idx[t] & 63] = 1;
  n[idx[t + 1] & 63] = 2;
  u16x2 x = out[t], y = out[t + 32];
  x[1] = n[idx[t + 2] & 63];
  y[1] = c[idx[t + 3] & 63];
  out[t] = x;
  out[t + 32] = y;
  out[t + 64] = (u16x2){n[idx[t + 4] & 63], n[idx[t + 5] & 63]};
}
KERNEL masks(const int *a, u64 *out) {
  u32 t = TID;
  out[t] = __builtin_amdgcn_ballot_w64(a[t] > 3);
}
