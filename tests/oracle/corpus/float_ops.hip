// f32 arithmetic of lanes: fma forms, min/max/med3, clamp, output modifiers, compares, classes.
#define KERNEL extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, 256)))
#define SHARED __attribute__((shared))
#define TID __builtin_amdgcn_workitem_id_x()
#define BLOCK __builtin_amdgcn_workgroup_id_x()
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;
typedef unsigned char u8;
KERNEL f32_arith(const float *a, const float *b, const float *c, float *out) {
  u32 t = TID;
  float x = a[t], y = b[t], z = c[t];
  float *o = out + 32 * t;
  o[0] = x + y;
  o[1] = x - y;
  o[2] = x * y;
  o[3] = __builtin_fmaf(x, y, z);
  o[4] = __builtin_fmaf(x, y, 3.5f);
  o[5] = __builtin_fmaf(x, 1.25f, y);
  o[6] = __builtin_fmaf(-x, y, __builtin_fabsf(z));
  o[7] = __builtin_fminf(x, y);
  o[8] = __builtin_fmaxf(x, y);
  o[9] = __builtin_fminf(__builtin_fminf(x, y), z);
  o[10] = __builtin_fmaxf(__builtin_fmaxf(x, y), z);
  o[11] = __builtin_amdgcn_fmed3f(x, y, z);
  o[12] = __builtin_fminf(__builtin_fmaxf(x, 0.0f), 1.0f);
  o[13] = __builtin_fmaxf(__builtin_fminf(x, y), z);
  o[14] = __builtin_floorf(x) + __builtin_ceilf(y);
  o[15] = __builtin_truncf(x) * __builtin_rintf(y);
  o[16] = __builtin_amdgcn_fractf(x);
  o[17] = __builtin_ldexpf(x, (int)t - 8);
  o[18] = __builtin_amdgcn_frexp_mantf(x);
  o[19] = (float)__builtin_amdgcn_frexp_expf(y);
  o[20] = __builtin_copysignf(x, y);
  o[21] = -x;
  o[22] = __builtin_fabsf(y);
  o[23] = __builtin_roundevenf(z);
  o[24] = x * 2.0f;
  o[25] = (x + y) * 0.5f;
  o[26] = (x - y) * 4.0f;
  o[27] = __builtin_canonicalizef(x);
  o[28] = y - __builtin_fabsf(x);
  o[30] = __builtin_amdgcn_ldexpf(z, -3);
  o[31] = __builtin_roundf(x);
}
KERNEL f32_compare(const float *a, const float *b, int *out) {
  u32 t = TID;
  float x = a[t], y = b[t];
  int r = 0;
  r += x < y ? 1 : 0;
  r += x <= y ? 2 : 0;
  r += x > y ? 4 : 0;
  r += x >= y ? 8 : 0;
  r += x == y ? 16 : 0;
  r += x != y ? 32 : 0;
  r += __builtin_isunordered(x, y) ? 64 : 0;
  r += !(x < y) ? 128 : 0;
  r += !(x >= y) ? 256 : 0;
  r += !(x <= y) ? 512 : 0;
  r += !(x > y) ? 1024 : 0;
  r += __builtin_islessgreater(x, y) ? 2048 : 0;
  r += !__builtin_isunordered(x, y) ? 4096 : 0;
  r += !__builtin_islessgreater(x, y) ? 8192 : 0;
  out[t] = r;
}
KERNEL f32_class(const float *a, int *out, int mask) {
  u32 t = TID;
  float x = a[t];
  int r = __builtin_isnan(x) ? 1 : 0;
  r += __builtin_isinf(x) ? 2 : 0;
  r += __builtin_isfinite(x) ? 4 : 0;
  r += __builtin_isnormal(x) ? 8 : 0;
  r += __builtin_amdgcn_classf(x, mask) ? 16 : 0;
  if (__builtin_amdgcn_classf(x, 0x204)) {
    out[256 + t] = r;
  }
  out[t] = r;
}
