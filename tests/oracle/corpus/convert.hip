// Conversions between f16, f32, f64, integers and bytes, of lanes and of uniform values.
#define KERNEL extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, 256)))
#define SHARED __attribute__((shared))
#define TID __builtin_amdgcn_workitem_id_x()
#define BLOCK __builtin_amdgcn_workgroup_id_x()
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;
typedef unsigned char u8;
typedef _Float16 half2 __attribute__((ext_vector_type(2)));
typedef __fp16 fp16x2 __attribute__((ext_vector_type(2)));
typedef short short2 __attribute__((ext_vector_type(2)));
typedef unsigned short ushort2 __attribute__((ext_vector_type(2)));
KERNEL cvt_f32(const float *a, const int *b, const u32 *c, int *out) {
  u32 t = TID;
  int *o = out + 12 * t;
  o[0] = (int)a[t];
  o[1] = (int)(u32)a[t];
  ((float *)o)[2] = (float)b[t];
  ((float *)o)[3] = (float)c[t];
  ((float *)o)[4] = (float)(c[t] & 0xff);
  ((float *)o)[5] = (float)((c[t] >> 8) & 0xff) + (float)((c[t] >> 16) & 0xff) * (float)(c[t] >> 24);
  o[6] = (int)__builtin_floorf(a[t]);
  o[7] = (int)__builtin_rintf(a[t]);
  ((float *)o)[8] = (float)(short)b[t];
  ((float *)o)[9] = (float)(long long)b[t + 1] + (float)((u64)c[t] << 20);
}
KERNEL cvt_f16(const _Float16 *a, const float *b, const short *c, short *out) {
  u32 t = TID;
  short *o = out + 12 * t;
  o[0] = (short)a[t];
  o[1] = (short)(u16)a[t];
  ((_Float16 *)o)[2] = (_Float16)c[t];
  ((_Float16 *)o)[3] = (_Float16)(u16)c[t];
  ((_Float16 *)o)[4] = (_Float16)b[t];
  ((float *)o)[3] = (float)a[t];
  ((_Float16 *)o)[8] = (_Float16)(int)b[t];
  *(int *)(o + 10) = (int)a[t];
}
KERNEL cvt_pk(const float *a, const float *b, const int *c, u32 *out) {
  u32 t = TID;
  u32 *o = out + 10 * t;
  ((fp16x2 *)o)[0] = __builtin_amdgcn_cvt_pkrtz(a[t], b[t]);
  ((short2 *)o)[1] = __builtin_amdgcn_cvt_pknorm_i16(a[t], b[t]);
  ((ushort2 *)o)[2] = __builtin_amdgcn_cvt_pknorm_u16(a[t], b[t]);
  ((short2 *)o)[3] = __builtin_amdgcn_cvt_pk_i16(c[t], c[t + 1]);
  ((ushort2 *)o)[4] = __builtin_amdgcn_cvt_pk_u16((u32)c[t], (u32)c[t + 1]);
  o[5] = __builtin_amdgcn_cvt_pk_u8_f32(a[t], t & 3, (u32)c[t]);
  half2 h;
  h[0] = (_Float16)a[t];
  h[1] = (_Float16)b[t];
  ((half2 *)o)[6] = h;
}
KERNEL cvt_f64(const double *a, const int *b, const float *c, double *out) {
  u32 t = TID;
  out[5 * t] = (double)b[t] + (double)(u32)b[t + 1];
  out[5 * t + 1] = (double)c[t];
  ((float *)out)[10 * t + 4] = (float)a[t];
  ((int *)out)[10 * t + 5] = (int)a[t];
  ((u32 *)out)[10 * t + 6] = (u32)a[t];
  ((u64 *)out)[5 * t + 4] = (u64)a[t] + (u64)(long long)c[t];
}
KERNEL bf16(const float *a, const u16 *b, u16 *out, float *fout) {
  u32 t = TID;
  u32 u = __builtin_bit_cast(u32, a[t]);
  out[t] = (u16)((u + 0x7fff + ((u >> 16) & 1)) >> 16);
  fout[t] = __builtin_bit_cast(float, (u32)b[t] << 16);
}
KERNEL bf16_native(const __bf16 *a, const float *b, __bf16 *out, float *fout) {
  u32 t = TID;
  out[t] = (__bf16)b[t];
  fout[t] = (float)a[t] * 2.0f;
}
