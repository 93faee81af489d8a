// f16 arithmetic of single values: true16 forms, min/max/med3, fma, rounding, frexp, ldexp, compares.
#define KERNEL extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, 256)))
#define SHARED __attribute__((shared))
#define TID __builtin_amdgcn_workitem_id_x()
#define BLOCK __builtin_amdgcn_workgroup_id_x()
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;
typedef unsigned char u8;
KERNEL f16_arith(const _Float16 *a, const _Float16 *b, const _Float16 *c, _Float16 *out) {
  u32 t = TID;
  _Float16 x = a[t], y = b[t], z = c[t];
  _Float16 *o = out + 24 * t;
  o[0] = x + y;
  o[1] = x - y;
  o[2] = x * y;
  o[3] = __builtin_fmaf16(x, y, z);
  o[4] = __builtin_fmaf16(-x, y, z);
  o[5] = __builtin_fminf16(x, y);
  o[6] = __builtin_fmaxf16(x, y);
  o[7] = __builtin_fminf16(__builtin_fminf16(x, y), z);
  o[8] = __builtin_fmaxf16(__builtin_fmaxf16(x, y), z);
  o[9] = __builtin_amdgcn_fmed3h(x, y, z);
  o[10] = __builtin_floorf16(x);
  o[11] = __builtin_ceilf16(y);
  o[12] = __builtin_truncf16(z);
  o[13] = __builtin_rintf16(x);
  o[14] = __builtin_amdgcn_fracth(x);
  o[15] = __builtin_amdgcn_ldexph(x, (int)t - 5);
  o[16] = __builtin_amdgcn_frexp_manth(y);
  o[17] = (_Float16)(float)__builtin_amdgcn_frexp_exph(z);
  o[18] = __builtin_fabsf16(x) - (-y);
  o[19] = __builtin_fminf16(__builtin_fmaxf16(x, (_Float16)0), (_Float16)1);
  o[20] = __builtin_copysignf16(x, y);
  o[21] = __builtin_fmaf16(x, y, (_Float16)3.0);
  o[22] = __builtin_fmaf16(x, (_Float16)1.5, y);
}
KERNEL f16_compare(const _Float16 *a, const _Float16 *b, int *out, int mask) {
  u32 t = TID;
  _Float16 x = a[t], y = b[t];
  int r = x < y ? 1 : 0;
  r += x <= y ? 2 : 0;
  r += x > y ? 4 : 0;
  r += x >= y ? 8 : 0;
  r += x == y ? 16 : 0;
  r += x != y ? 32 : 0;
  r += !(x < y) ? 64 : 0;
  r += __builtin_isnan(x) ? 128 : 0;
  r += __builtin_amdgcn_classh(y, mask) ? 256 : 0;
  out[t] = r;
}
KERNEL f16_select(const _Float16 *a, const _Float16 *b, _Float16 *out, int n) {
  u32 t = TID;
  _Float16 x = a[t], y = b[t];
  for (int i = 0; i < n; i++) {
    x = x < y ? x * y : y - x;
    y = __builtin_fmaf16(x, x, y);
  }
  out[t] = x + y;
}
