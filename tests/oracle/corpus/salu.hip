// Uniform integer arithmetic and logic: the scalar ALU, its compares and its bit operations.
#define KERNEL extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, 256)))
#define SHARED __attribute__((shared))
#define TID __builtin_amdgcn_workitem_id_x()
#define BLOCK __builtin_amdgcn_workgroup_id_x()
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;
typedef unsigned char u8;
KERNEL salu_ops(int *out, int a, int b, u32 c, u32 d) {
  out[0] = a + b;
  out[1] = a - b;
  out[2] = a * b;
  out[3] = (a << (b & 31)) ^ (a >> (b & 15));
  out[4] = (int)((c >> (d & 31)) | (c & ~d));
  out[5] = a < b ? a : b;
  out[6] = a > b ? a : b;
  out[7] = (int)(c < d ? c : d);
  out[8] = (int)(c > d ? c : d);
  out[9] = __builtin_abs(a);
  out[10] = (int)((c >> 4) & 0xfff);
  out[11] = (a << 9) >> 20;
  out[12] = __builtin_popcount(c);
  out[13] = __builtin_clz(c | 1) + __builtin_ctz(d | 0x80000000u);
  out[14] = (int)__builtin_bitreverse32(c);
  out[15] = (short)a + (signed char)b;
  out[16] = (int)~(c & d);
  out[17] = (int)~(c | d);
  out[18] = (int)~(c ^ d);
  out[19] = (int)(c | ~d);
  out[20] = (int)((c << 3) + d);
  out[21] = (int)((c << 1) + d) ^ (int)((c << 2) + d) ^ (int)((c << 4) + d);
  out[22] = (int)((c & 0xffff) | (d << 16));
  out[23] = (int)((c >> 16) | (d & 0xffff0000u));
  out[24] = (int)((c & 0xffff) | (d & 0xffff0000u));
  out[25] = (int)(c | (1u << (d & 31)));
  out[26] = (int)(c & ~(1u << (d & 31)));
  out[27] = (c >> (d & 31)) & 1 ? a + 5 : b - 7;
  out[28] = (int)(((1u << (c & 31)) - 1) << (d & 31));
  out[30] = a * 1000 + 12345;
  out[31] = (int)__builtin_bswap32(c);
}
KERNEL salu_branches(int *out, int a, int b, u32 c, u32 d) {
  int r = 0;
  if (a == b) { out[1] = 1; r += 3; }
  if (a < b) { out[2] = 1; r ^= 5; }
  if (a >= 77777) { out[3] = 1; r *= 7; }
  if (c > d) { out[4] = 1; r -= 9; }
  if (c <= 12) { out[5] = 1; r |= 64; }
  if ((c & 8) == 0) { out[6] = 1; r += 1; }
  if (a > 3 && b < 9) { out[7] = r; }
  if (a != 4096 || d >= 100000) { out[8] = r; }
  for (int i = 0; i < a; i += 3) {
    r += out[16 + i];
    if (r == d) break;
  }
  out[0] = r;
}
KERNEL salu_select(u64 *out, u64 a, u64 b, int n, int m) {
  out[0] = n < m ? a : b;
  out[1] = n == 5 ? a & b : a | b;
  out[2] = a & ~b;
  out[3] = a ^ b;
  out[4] = ~(a ^ b);
}
