// Packed f16 arithmetic, dot products and mixed-precision fma.
#define KERNEL extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, 256)))
#define SHARED __attribute__((shared))
#define TID __builtin_amdgcn_workitem_id_x()
#define BLOCK __builtin_amdgcn_workgroup_id_x()
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;
typedef unsigned char u8;
typedef _Float16 half2 __attribute__((ext_vector_type(2)));
typedef short short2 __attribute__((ext_vector_type(2)));
KERNEL pk_f16(const half2 *a, const half2 *b, const half2 *c, half2 *out) {
  u32 t = TID;
  half2 x = a[t], y = b[t], z = c[t];
  half2 *o = out + 10 * t;
  o[0] = x + y;
  o[1] = x * y;
  o[2] = x - y;
  o[3] = __builtin_elementwise_fma(x, y, z);
  o[4] = __builtin_elementwise_min(x, y);
  o[5] = __builtin_elementwise_max(x, y);
  o[6] = x.yx * y.xx + z;
  o[7] = -x * y;
  o[8] = __builtin_elementwise_fma(x, (half2){2, 2}, y.yx);
  o[9] = __builtin_elementwise_max(__builtin_elementwise_min(x, (half2){1, 1}), (half2){0, 0});
}
KERNEL fma_mix(const _Float16 *a, const _Float16 *b, const float *c, float *out, half2 *outh) {
  u32 t = TID;
  half2 x = ((const half2 *)a)[t], y = ((const half2 *)b)[t];
  float z = c[t];
  out[4 * t] = __builtin_fmaf((float)x[0], (float)y[1], z);
  out[4 * t + 1] = __builtin_fmaf((float)x[1], z, -(float)y[0]);
  out[4 * t + 2] = __builtin_fmaf(-(float)x[1], (float)y[1], (float)x[0]);
  half2 r;
  r[0] = (_Float16)__builtin_fmaf((float)x[0], (float)y[0], z);
  r[1] = (_Float16)__builtin_fmaf((float)x[1], (float)y[1], z);
  outh[t] = r;
  out[4 * t + 3] = __builtin_fmaf(__builtin_fabsf((float)x[0]), z, z);
}
KERNEL dots(const half2 *a, const half2 *b, const u32 *c, float *out, int *iout) {
  u32 t = TID;
  out[3 * t] = __builtin_amdgcn_fdot2(a[t], b[t], out[3 * t], false);
  u32 x = c[t], y = c[t + 1];
  iout[4 * t] = (int)__builtin_amdgcn_udot4(x, y, 7u, false);
  iout[4 * t + 1] = __builtin_amdgcn_sudot4(true, (int)x, true, (int)y, 9, false);
  iout[4 * t + 2] = __builtin_amdgcn_sudot8(true, (int)x, true, (int)y, 9, false);
  iout[4 * t + 3] = (int)__builtin_amdgcn_udot8(x, y, 7u, false);
}
