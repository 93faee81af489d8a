// 16-bit integer arithmetic: true16 forms, packed forms, clamps, shifts, compares.
#define KERNEL extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, 256)))
#define SHARED __attribute__((shared))
#define TID __builtin_amdgcn_workitem_id_x()
#define BLOCK __builtin_amdgcn_workgroup_id_x()
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;
typedef unsigned char u8;
typedef short short2 __attribute__((ext_vector_type(2)));
typedef unsigned short ushort2 __attribute__((ext_vector_type(2)));
KERNEL i16(const short *a, const short *b, const short *c, short *out) {
  u32 t = TID;
  short x = a[t], y = b[t], z = c[t];
  u16 ux = (u16)x, uy = (u16)y;
  short *o = out + 20 * t;
  o[0] = (short)(x + y);
  o[1] = (short)(x - y);
  o[2] = (short)(x * y);
  o[3] = (short)(x * y + z);
  o[4] = (short)(ux << (uy & 15));
  o[5] = (short)(ux >> (uy & 15));
  o[6] = (short)(x >> (uy & 15));
  o[7] = x < y ? x : y;
  o[8] = x > y ? x : y;
  o[9] = (short)(ux < uy ? ux : uy);
  o[10] = (short)(ux > uy ? ux : uy);
  o[11] = (short)(x & y);
  o[12] = (short)(x | z);
  o[13] = (short)(x ^ y ^ z);
  o[14] = (short)~x;
  o[15] = __builtin_elementwise_add_sat(x, y);
  o[16] = (short)__builtin_elementwise_sub_sat(ux, uy);
  short m = x < y ? x : y;
  o[17] = m < z ? m : z;
  m = x > y ? x : y;
  o[18] = m > z ? m : z;
  m = x > (short)-5 ? x : (short)-5;
  o[19] = m < (short)99 ? m : (short)99;
}
KERNEL i16_compare(const short *a, const short *b, int *out) {
  u32 t = TID;
  short x = a[t], y = b[t];
  int r = x < y ? 1 : 0;
  r += x == y ? 2 : 0;
  r += (u16)x > (u16)y ? 4 : 0;
  r += x >= 100 ? 8 : 0;
  r += (u16)x <= 1000 ? 16 : 0;
  r += (x & 64) != 0 ? 32 : 0;
  out[t] = r;
}
KERNEL pk_i16(const short2 *a, const short2 *b, const short2 *c, short2 *out) {
  u32 t = TID;
  short2 x = a[t], y = b[t], z = c[t];
  short2 *o = out + 12 * t;
  o[0] = x + y;
  o[1] = x - y;
  o[2] = x * y;
  o[3] = x * y + z;
  o[4] = x << (y & 15);
  o[5] = x >> (y & 15);
  o[6] = (short2)((ushort2)x >> (ushort2)(y & 15));
  o[7] = __builtin_elementwise_min(x, y);
  o[8] = __builtin_elementwise_max(x, y);
  o[9] = (short2)__builtin_elementwise_min((ushort2)x, (ushort2)y);
  o[10] = (short2)__builtin_elementwise_max((ushort2)x, (ushort2)y);
  o[11] = __builtin_elementwise_sub_sat(x, y) + x.yx;
}
KERNEL bytes(const signed char *a, const u8 *b, int *out, u8 *bout) {
  u32 t = TID;
  int s = 0;
  for (int i = 0; i < 4; i++) s += a[4 * t + (u32)i] * (int)b[4 * t + (u32)i];
  out[t] = s;
  bout[t] = (u8)(s >> 3);
  ((u16 *)bout)[128 + t] = (u16)((b[t] << 8) | (u8)a[t]);
}
