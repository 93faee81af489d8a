// Private memory: arrays indexed at run time, and spills forced by a small register budget.
#define KERNEL extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, 256)))
#define SHARED __attribute__((shared))
#define TID __builtin_amdgcn_workitem_id_x()
#define BLOCK __builtin_amdgcn_workgroup_id_x()
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;
typedef unsigned char u8;
KERNEL private_array(const int *a, const int *idx, int *out) {
  u32 t = TID;
  int m[32];
  for (int i = 0; i < 32; i++) m[i] = a[t * 32 + (u32)i] * (i + 3);
  m[idx[t] & 31] = 5;
  m[idx[t + 1] & 31] += 9;
  int s = 0;
  for (int i = 0; i < 8; i++) s = s * 3 + m[idx[t + (u32)i] & 31];
  out[t] = s;
}
KERNEL private_narrow(const u8 *a, const int *idx, int *out) {
  u32 t = TID;
  u8 m[64];
  u16 n[64];
  for (int i = 0; i < 64; i++) { m[i] = a[t + (u32)i]; n[i] = (u16)(a[t + (u32)i] * 257); }
  m[idx[t] & 63] = 7;
  n[idx[t + 1] & 63] = 1000;
  out[t] = m[idx[t + 2] & 63] + n[idx[t + 3] & 63] + (signed char)m[idx[t + 4] & 63] + (short)n[idx[t + 5] & 63];
}
extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(32, 32), amdgpu_num_vgpr(24)))
spill(const float *a, float *out, int n) {
  u32 t = TID;
  float v[48];
  for (int i = 0; i < 48; i++) v[i] = a[t * 48 + (u32)i];
  for (int k = 0; k < n; k++)
    for (int i = 0; i < 48; i++) v[i] = v[i] * v[(i + 7) % 48] + (float)k;
  for (int i = 0; i < 48; i++) out[t * 48 + (u32)i] = v[i];
}
extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(32, 32), amdgpu_num_sgpr(24)))
spill_scalar(const int *a, int *out, int n) {
  int v[40];
  for (int i = 0; i < 40; i++) v[i] = a[i];
  for (int k = 0; k < n; k++) {
    for (int i = 0; i < 40; i++) v[i] += v[(i + 3) % 40] ^ k;
    out[100 + k] = v[k & 7];
  }
  for (int i = 0; i < 40; i++) out[i] = v[i];
}
