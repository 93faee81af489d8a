// Global loads and stores of every width and D16 form.
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
KERNEL narrow(const u8 *a, const signed char *b, const u16 *c, const short *d, int *out) {
  u32 t = TID;
  out[t] = a[t] + b[t] * 3 + c[t] * 5 + d[t] * 7;
  ((u8 *)out)[1024 + t] = a[t + 1];
  ((u16 *)out)[1024 + t] = c[t + 1];
}
KERNEL store_high(const u32 *a, u8 *b, u16 *c) {
  u32 t = TID, x = a[t];
  b[3 * t] = (u8)(x >> 16);
  c[3 * t] = (u16)(x >> 16);
}
KERNEL d16(const _Float16 *a, const u8 *b, const signed char *c, half2 *out, u32 *iout) {
  u32 t = TID;
  half2 r;
  r[0] = a[5 * t];
  r[1] = a[3 * t + 77];
  out[t] = r;
  u16 lo = b[5 * t], hi = b[3 * t];
  iout[2 * t] = (u32)lo | ((u32)hi << 16);
  short slo = c[5 * t], shi = c[3 * t];
  iout[2 * t + 1] = (u32)(u16)slo | ((u32)(u16)shi << 16);
}
KERNEL wide(const u32x2 *a, const u32x4 *b, const u32 *c, u32x2 *o2, u32x4 *o4, u32 *o3) {
  u32 t = TID;
  o2[t] = a[t];
  o4[t] = b[t] + 1;
  u32x3 v = {c[3 * t], c[3 * t + 1], c[3 * t + 2]};
  v ^= 21;
  o3[3 * t] = v.x;
  o3[3 * t + 1] = v.y;
  o3[3 * t + 2] = v.z;
}
KERNEL offsets(const float *a, float *out, int stride, long long far) {
  u32 t = TID;
  const float *p = a + (long long)t * stride;
  out[t] = p[0] + p[-3] + p[500] + p[far] + a[t + 1023];
}
