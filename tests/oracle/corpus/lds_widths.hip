// LDS loads and stores of every width: bytes, 16 bits, d16, 32 to 128 bits, two addresses, strides of 64.
#define KERNEL extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, 256)))
#define SHARED __attribute__((shared))
#define TID __builtin_amdgcn_workitem_id_x()
#define BLOCK __builtin_amdgcn_workgroup_id_x()
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;
typedef unsigned char u8;
typedef u32 u32x2 __attribute__((ext_vector_type(2)));
typedef u32 u32x3 __attribute__((ext_vector_type(3)));
typedef u32 u32x4 __attribute__((ext_vector_type(4)));
typedef _Float16 half2 __attribute__((ext_vector_type(2)));
#define SYNC() do { __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier(); __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup"); } while (0)
KERNEL lds_bytes(const u8 *a, int *out) {
  SHARED u8 m[512];
  SHARED signed char n[512];
  u32 t = TID;
  m[t] = a[t];
  n[t] = (signed char)(a[t] >> 1);
  m[t + 256] = (u8)(*(const u32 *)(a + 4 * t) >> 16);
  SYNC();
  out[t] = m[(t * 7) & 255] + n[(t * 5) & 255] + m[(t ^ 3) + 256];
}
KERNEL lds_shorts(const u16 *a, int *out) {
  SHARED u16 m[512];
  SHARED short n[512];
  u32 t = TID;
  m[t] = a[t];
  n[t] = (short)(*(const u32 *)(a + 2 * t) >> 16);
  SYNC();
  out[t] = m[(t * 7) & 255] + n[(t * 5) & 255];
}
KERNEL lds_d16(const _Float16 *a, half2 *out, u32 *bout) {
  SHARED _Float16 m[1024];
  SHARED u8 b[1024];
  SHARED signed char c[1024];
  u32 t = TID;
  half2 v = ((const half2 *)a)[t];
  m[17 * (t & 15) + (t >> 4)] = v[0];
  m[512 + 3 * t] = v[1];
  b[t] = (u8)t;
  c[t] = (signed char)(t * 3);
  SYNC();
  half2 r;
  r[0] = m[(t * 3) & 255];
  r[1] = m[512 + ((t * 5) & 255)];
  out[t] = r;
  u16 lo = b[(t * 5) & 255], hi = b[(t * 3) & 255];
  short slo = c[(t * 5) & 255], shi = c[(t * 3) & 255];
  bout[2 * t] = (u32)lo | ((u32)hi << 16);
  bout[2 * t + 1] = (u32)(u16)slo | ((u32)(u16)shi << 16);
}
KERNEL lds_wide(const u32x4 *a, u32x4 *out) {
  SHARED u32x4 m[256];
  SHARED u32x2 n[256];
  SHARED u32 p[768];
  u32 t = TID;
  u32x4 v = a[t];
  m[t] = v;
  n[t] = v.xy;
  p[3 * t] = v.x;
  p[3 * t + 1] = v.y;
  p[3 * t + 2] = v.z;
  SYNC();
  u32 q = (t * 5) & 255;
  u32x4 r = m[q];
  r.xy += n[q];
  r.x ^= p[3 * q];
  r.y ^= p[3 * q + 1];
  r.z ^= p[3 * q + 2];
  out[t] = r;
}
KERNEL lds_b96(const u32 *a, u32 *out) {
  SHARED u32x3 m[256];
  u32 t = TID;
  u32x3 v = {a[t], a[t + 1], a[t + 2]};
  m[t] = v;
  SYNC();
  u32x3 r = m[(t * 3) & 255];
  out[t] = r.x ^ r.y ^ r.z;
}
KERNEL lds_two_addresses(const u32 *a, const u64 *b, u32 *out, u64 *outb) {
  SHARED u32 m[1024];
  SHARED u64 n[1024];
  u32 t = TID;
  m[t] = a[t];
  m[t + 37] = a[t + 37];
  n[t] = b[t];
  n[t + 41] = b[t + 41];
  SYNC();
  u32 q = t ^ 5;
  out[t] = m[q] * m[q + 9];
  outb[t] = n[q] ^ n[q + 11];
  SYNC();
  m[t] = a[t] + 1;
  m[t + 512] = a[t + 300];
  n[t] = b[t] + 1;
  n[t + 512] = b[t + 300];
  SYNC();
  out[t + 256] = m[q] + m[q + 512];
  outb[t + 256] = n[q] + n[q + 512];
}
KERNEL lds_dynamic(const float *a, float *out, int n) {
  extern SHARED float dyn[];
  u32 t = TID;
  dyn[t] = a[t];
  SYNC();
  out[t] = dyn[(t + (u32)n) & 31];
}
