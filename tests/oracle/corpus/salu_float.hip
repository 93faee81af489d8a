// f32 arithmetic of uniform values: the SALU float instructions of RDNA3.5.
#define KERNEL extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, 256)))
#define SHARED __attribute__((shared))
#define TID __builtin_amdgcn_workitem_id_x()
#define BLOCK __builtin_amdgcn_workgroup_id_x()
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;
typedef unsigned char u8;
KERNEL sfloat(float *out, float a, float b, float c, int n, u32 m) {
  out[0] = a + b;
  out[1] = a - b;
  out[2] = a * b;
  out[3] = __builtin_fmaf(a, b, c);
  out[4] = __builtin_fmaf(a, 2.5f, c);
  out[5] = __builtin_fmaf(a, b, 7.25f);
  out[6] = __builtin_fminf(a, b);
  out[7] = __builtin_fmaxf(a, c);
  out[8] = __builtin_floorf(a);
  out[9] = __builtin_ceilf(b);
  out[10] = __builtin_truncf(c);
  out[11] = __builtin_rintf(a);
  out[12] = (float)n;
  out[13] = (float)m;
  out[14] = (float)((int)a + (int)(u32)b);
  float acc = c;
  for (int i = 0; i < n; i++) acc = __builtin_fmaf(acc, a, b);
  out[15] = acc;
}
KERNEL sfloat_compare(int *out, float a, float b) {
  if (a < b) out[0] = 1;
  if (a <= b) out[1] = 1;
  if (a > b) out[2] = 1;
  if (a >= b) out[3] = 1;
  if (a == b) out[4] = 1;
  if (a != b) out[5] = 1;
  if (__builtin_isunordered(a, b)) out[6] = 1;
  if (!(a < b)) out[7] = 1;
  if (!(a >= b)) out[8] = 1;
  if (!(a > b)) out[9] = 1;
  if (!(a <= b)) out[10] = 1;
  if (__builtin_islessgreater(a, b)) out[11] = 1;
}
KERNEL shalf(_Float16 *out, _Float16 a, _Float16 b, _Float16 c, float d) {
  out[0] = a + b;
  out[1] = a - b;
  out[2] = a * b;
  out[3] = __builtin_fmaf16(a, b, c);
  out[4] = __builtin_fminf16(a, b);
  out[5] = __builtin_fmaxf16(a, c);
  out[6] = __builtin_floorf16(a);
  out[7] = __builtin_ceilf16(a);
  out[8] = __builtin_truncf16(b);
  out[9] = __builtin_rintf16(b);
  out[10] = (_Float16)d;
  *(float *)(out + 12) = (float)a;
  if (a < b) out[16] = 1;
  if (a >= c) out[17] = 2;
}
