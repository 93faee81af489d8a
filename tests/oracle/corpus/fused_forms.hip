// Three-operand forms that need their intermediate value to have one use.
#define KERNEL extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, 256)))
#define SHARED __attribute__((shared))
#define TID __builtin_amdgcn_workitem_id_x()
#define BLOCK __builtin_amdgcn_workgroup_id_x()
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;
typedef unsigned char u8;
#define MIN(p, q) __builtin_elementwise_min(p, q)
#define MAX(p, q) __builtin_elementwise_max(p, q)
#define LOAD4(T) u32 t = TID; T x = a[4 * t], y = a[4 * t + 1], z = a[4 * t + 2], w = a[4 * t + 3]
KERNEL min3_i32(const int *a, int *out) { LOAD4(int); out[t] = MIN(MIN(x, y), z) + w; }
KERNEL max3_i32(const int *a, int *out) { LOAD4(int); out[t] = MAX(MAX(x, y), z) + w; }
KERNEL min3_u32(const u32 *a, u32 *out) { LOAD4(u32); out[t] = MIN(MIN(x, y), z) + w; }
KERNEL max3_u32(const u32 *a, u32 *out) { LOAD4(u32); out[t] = MAX(MAX(x, y), z) + w; }
KERNEL minmax_u32(const u32 *a, u32 *out) { LOAD4(u32); out[t] = MAX(MIN(x, y), z) - MIN(MAX(y, z), w); }
KERNEL maxmin_i32(const int *a, int *out) { LOAD4(int); out[t] = MIN(MAX(x, y), z) + w; }
KERNEL min3_i16(const short *a, short *out) { LOAD4(short); out[t] = (short)(MIN(MIN(x, y), z) + w); }
KERNEL max3_i16(const short *a, short *out) { LOAD4(short); out[t] = (short)(MAX(MAX(x, y), z) + w); }
KERNEL minmax3_u16(const u16 *a, u16 *out) {
  LOAD4(u16);
  out[2 * t] = (u16)(MIN(MIN(x, y), z) + w);
  out[2 * t + 1] = (u16)(MAX(MAX(w, y), z) ^ x);
}
KERNEL min3_f32(const float *a, float *out) {
  LOAD4(float);
  float p = x * y, q = y * z, r = z + w;
  out[4 * t] = __builtin_fminf(__builtin_fminf(p, q), r);
  out[4 * t + 1] = __builtin_fmaxf(__builtin_fmaxf(q, p - 1.0f), w * w);
  out[4 * t + 2] = __builtin_fmaxf(__builtin_fminf(p * 3.0f, q), x + w);
  out[4 * t + 3] = __builtin_fminf(__builtin_fmaxf(q * 5.0f, p), y + w);
}
KERNEL min3_f16(const _Float16 *a, _Float16 *out) {
  LOAD4(_Float16);
  _Float16 p = x * y, q = y * z, r = z + w;
  out[4 * t] = __builtin_fminf16(__builtin_fminf16(p, q), r);
  out[4 * t + 1] = __builtin_fmaxf16(__builtin_fmaxf16(q, p - x), w * w);
  out[4 * t + 2] = __builtin_fmaxf16(__builtin_fminf16(p * z, q), x + w);
  out[4 * t + 3] = __builtin_fminf16(__builtin_fmaxf16(q * w, p), y + w);
}
KERNEL xad(const u32 *a, u32 *out) { LOAD4(u32); out[t] = (x ^ y) + z * w; }
KERNEL xnor(const u32 *a, u32 *out) { LOAD4(u32); out[t] = ~(x ^ y) * z + w; }
KERNEL bfm(const u32 *a, u32 *out) { LOAD4(u32); out[t] = (((1u << (x & 31)) - 1) << (y & 31)) * w + z; }
KERNEL mad_i32_i16(const short *a, int *out) { LOAD4(short); out[t] = (int)x * y + ((int)z << 16 | (u16)w); }
KERNEL mad_u32_u16(const u16 *a, u32 *out) { LOAD4(u16); out[t] = (u32)x * y + ((u32)z << 16 | w); }
KERNEL mad_i16(const short *a, short *out) { LOAD4(short); out[t] = (short)(x * y + z + w); }
KERNEL ubytes(const u32 *a, float *out) {
  u32 t = TID, x = a[t];
  out[4 * t] = (float)(x & 0xff);
  out[4 * t + 1] = (float)((x >> 8) & 0xff);
  out[4 * t + 2] = (float)((x >> 16) & 0xff);
  out[4 * t + 3] = (float)(x >> 24);
}
KERNEL floor_to_int(const float *a, int *out) {
  LOAD4(float);
  out[2 * t] = (int)__builtin_floorf(x + y);
  out[2 * t + 1] = (int)__builtin_floorf(z + 0.5f) * (int)w;
}
KERNEL fma_forms_f16(const _Float16 *a, _Float16 *out) {
  LOAD4(_Float16);
  out[3 * t] = __builtin_fmaf16(x, y, z) * w;
  out[3 * t + 1] = __builtin_fmaf16(__builtin_fabsf16(x), -y, w);
  out[3 * t + 2] = __builtin_fmaf16(x, (_Float16)7.5, w) + __builtin_fmaf16(z, y, (_Float16)9.5);
}
KERNEL rotate_by(const u32 *a, u32 *out) { LOAD4(u32); out[t] = __builtin_elementwise_fshl(x, y, z) ^ __builtin_elementwise_fshr(x, y, w); }
KERNEL lane64(const u64 *a, u64 *out) { LOAD4(u64); out[t] = (x + (u64)(u32)y * 10) * z - (w << 3); }
KERNEL pow2(const int *a, int *out) { LOAD4(int); out[t] = (x + y) % 64 + z / 8 + (int)((u32)w % 16u); }
KERNEL nan_min(const float *a, float *out) { LOAD4(float); out[t] = __builtin_elementwise_minnum(x, y) - __builtin_elementwise_maxnum(z, w); }
KERNEL clamps(const int *a, const u32 *b, int *out) {
  u32 t = TID;
  out[t] = MAX(MIN(a[t], 127), -128);
  out[t + 256] = (int)MIN(b[t], 255u);
  out[t + 512] = __builtin_elementwise_add_sat(a[t], a[t + 1]);
  out[t + 768] = (int)__builtin_elementwise_sub_sat(b[t], b[t + 1]);
}
