// f64 arithmetic: add, mul, fma, division, square root, rounding, compares.
#define KERNEL extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, 256)))
#define SHARED __attribute__((shared))
#define TID __builtin_amdgcn_workitem_id_x()
#define BLOCK __builtin_amdgcn_workgroup_id_x()
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;
typedef unsigned char u8;
KERNEL f64(const double *a, const double *b, const double *c, double *out) {
  u32 t = TID;
  double x = a[t], y = b[t], z = c[t];
  double *o = out + 16 * t;
  o[0] = x + y;
  o[1] = x * y;
  o[2] = __builtin_fma(x, y, z);
  o[3] = __builtin_fmin(x, y);
  o[4] = __builtin_fmax(x, -y);
  o[5] = x / y;
  o[6] = __builtin_sqrt(__builtin_fabs(z));
  o[7] = __builtin_floor(x) + __builtin_ceil(y) + __builtin_trunc(z) + __builtin_rint(x);
  o[8] = __builtin_ldexp(x, (int)t);
  o[9] = __builtin_amdgcn_frexp_mant(x);
  o[10] = (double)__builtin_amdgcn_frexp_exp(y);
  o[11] = __builtin_amdgcn_fract(z);
  o[12] = x < y ? z : x;
  o[13] = x >= z ? y : __builtin_amdgcn_rcp(x) + __builtin_amdgcn_rsq(y);
  o[14] = x == y || x != z ? 1.0 : 2.0;
  o[15] = __builtin_amdgcn_class(x, 0x3f) ? x : y;
}
