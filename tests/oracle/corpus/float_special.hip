// Transcendental and reciprocal approximations, exact division and square root of f32.
#define KERNEL extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, 256)))
#define SHARED __attribute__((shared))
#define TID __builtin_amdgcn_workitem_id_x()
#define BLOCK __builtin_amdgcn_workgroup_id_x()
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;
typedef unsigned char u8;
KERNEL approx(const float *a, float *out) {
  u32 t = TID;
  float x = a[t];
  float *o = out + 10 * t;
  o[0] = __builtin_amdgcn_exp2f(x);
  o[1] = __builtin_amdgcn_logf(x);
  o[2] = __builtin_amdgcn_rcpf(x);
  o[3] = __builtin_amdgcn_rsqf(x);
  o[4] = __builtin_amdgcn_sqrtf(x);
  o[5] = __builtin_amdgcn_sinf(x);
  o[6] = __builtin_amdgcn_cosf(x);
}
KERNEL exact(const float *a, const float *b, float *out) {
  u32 t = TID;
  out[4 * t] = a[t] / b[t];
  out[4 * t + 1] = __builtin_sqrtf(a[t]);
  out[4 * t + 2] = 1.0f / b[t];
  out[4 * t + 3] = __builtin_exp2f(a[t]) + __builtin_log2f(b[t]);
}
KERNEL exp_log(const float *a, float *out) {
  u32 t = TID;
  out[t] = __builtin_expf(a[t]) + __builtin_logf(a[t]) * __builtin_log10f(a[t]);
}
KERNEL approx_f16(const _Float16 *a, const _Float16 *b, _Float16 *out) {
  u32 t = TID;
  _Float16 x = a[t];
  _Float16 *o = out + 10 * t;
  o[0] = __builtin_amdgcn_rcph(x);
  o[1] = __builtin_amdgcn_rsqh(x);
  o[2] = __builtin_amdgcn_sinh(x);
  o[3] = __builtin_amdgcn_cosh(x);
  o[4] = __builtin_sqrtf16(x);
  o[5] = x / b[t];
  o[6] = __builtin_exp2f16(x);
  o[7] = __builtin_log2f16(x);
}
