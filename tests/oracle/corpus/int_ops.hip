// 32-bit integer arithmetic and logic of lanes: three-operand forms, shifts, min/max, med3, sad.
#define KERNEL extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, 256)))
#define SHARED __attribute__((shared))
#define TID __builtin_amdgcn_workitem_id_x()
#define BLOCK __builtin_amdgcn_workgroup_id_x()
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;
typedef unsigned char u8;
KERNEL three_operand(const u32 *a, const u32 *b, const u32 *c, u32 *out) {
  u32 t = TID, x = a[t], y = b[t], z = c[t];
  u32 *o = out + 40 * t;
  o[0] = x + y + z;
  o[1] = (x << (y & 31)) + z;
  o[2] = (x + y) << (z & 31);
  o[3] = x & y | z;
  o[4] = x | y | z;
  o[5] = (x << (y & 31)) | z;
  o[6] = x ^ y ^ z;
  o[7] = (x ^ y) + z;
  o[8] = (x & 0xffffff) * (y & 0xffffff) + z;
  o[9] = (x & y) | (~x & z);
  o[10] = (x >> (y & 31)) & ((1u << (z & 31)) - 1);
  o[11] = (u32)((int)(x << 11) >> 21);
  o[12] = (x >> 7) & 0x3ff;
  o[13] = __builtin_amdgcn_sad_u8(x, y, z);
  o[14] = __builtin_amdgcn_sad_u16(x, y, z);
  o[15] = __builtin_amdgcn_lerp(x, y, z);
  o[16] = __builtin_amdgcn_msad_u8(x, y, z);
  o[17] = ~(x ^ y);
  o[18] = (x >> (z & 31)) - y;
  o[19] = y - (x & 0xff);
  o[20] = __builtin_amdgcn_ubfe(x, y, z);
  o[21] = (u32)__builtin_amdgcn_sbfe((int)x, y, z);
  o[22] = ((1u << (x & 31)) - 1) << (y & 31);
  o[23] = x * y;
  o[24] = (x | 0x80000000u) >> (y & 7);
}
KERNEL minmax(const int *a, const int *b, const int *c, int *out) {
  u32 t = TID;
  int x = a[t], y = b[t], z = c[t];
  u32 ux = (u32)x, uy = (u32)y, uz = (u32)z;
  int *o = out + 16 * t;
#define MIN(p, q) ((p) < (q) ? (p) : (q))
#define MAX(p, q) ((p) > (q) ? (p) : (q))
  o[0] = MIN(x, y);
  o[1] = MAX(x, y);
  o[2] = (int)MIN(ux, uy);
  o[3] = (int)MAX(ux, uy);
  int m = MIN(x, y);
  o[4] = MIN(m, z);
  m = MAX(x, z);
  o[5] = MAX(m, y);
  u32 um = MIN(ux, uz);
  o[6] = (int)MIN(um, uy);
  um = MAX(ux, uz);
  o[7] = (int)MAX(um, uy);
  m = MAX(x, -100);
  o[8] = MIN(m, 100);
  um = MAX(uy, 10u);
  o[9] = (int)MIN(um, 4000u);
  m = MIN(x, y);
  int lo = m, hi = MAX(x, y), mid = MIN(hi, z);
  o[10] = MAX(lo, mid);
  m = MIN(y, z);
  o[11] = MAX(m, x);
  m = MAX(y, z);
  o[12] = MIN(m, x);
  o[13] = __builtin_abs(x);
  o[14] = __builtin_elementwise_add_sat(x, y) ^ __builtin_elementwise_sub_sat(x, z);
  o[15] = (int)(__builtin_elementwise_add_sat(ux, uy) ^ __builtin_elementwise_sub_sat(ux, uz));
}
KERNEL bits(const u32 *a, u32 *out) {
  u32 t = TID, x = a[t];
  u32 *o = out + 8 * t;
  o[0] = (u32)__builtin_popcount(x) + t;
  o[1] = (u32)__builtin_clz(x | 1);
  o[2] = (u32)__builtin_ctz(x | 0x80000000u);
  o[3] = __builtin_bitreverse32(x);
  o[4] = __builtin_bswap32(x);
  o[6] = __builtin_rotateleft32(x, 13);
  o[7] = __builtin_rotateright32(x, t & 31);
}
KERNEL byte_moves(const u32 *a, const u32 *b, u32 *out) {
  u32 t = TID, x = a[t], y = b[t];
  u32 *o = out + 6 * t;
  o[0] = __builtin_amdgcn_perm(x, y, 0x07020500u + (t & 7));
  o[1] = __builtin_amdgcn_alignbit(x, y, t);
  o[2] = __builtin_amdgcn_alignbyte(x, y, t);
  o[3] = (x & 0xffff0000u) | (y >> 16);
  o[4] = (x & 0xff00ff00u) | (y & 0x00ff00ffu);
  o[5] = ((x & 0xff) << 24) | ((y >> 16) & 0xff);
}
KERNEL mul24(const int *a, const int *b, int *out) {
  u32 t = TID;
  int x = (a[t] << 8) >> 8, y = (b[t] << 8) >> 8;
  out[3 * t] = x * y;
  out[3 * t + 1] = x * y + a[t];
  out[3 * t + 2] = (int)((u32)(a[t] & 0xffffff) * (u32)(b[t] & 0xffffff));
}
