// DPP16: every kind of lane pattern, with masks, bound control and fused into arithmetic.
#define KERNEL extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, 256)))
#define SHARED __attribute__((shared))
#define TID __builtin_amdgcn_workitem_id_x()
#define BLOCK __builtin_amdgcn_workgroup_id_x()
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;
typedef unsigned char u8;
#define DPP(old, x, ctrl, rm, bm, bc) __builtin_amdgcn_update_dpp(old, x, ctrl, rm, bm, bc)
#ifndef __GFX9__
KERNEL dpp_patterns(const int *a, int *out) {
  u32 t = TID;
  int x = a[t];
  int *o = out + 16 * t;
  o[0] = DPP(0, x, 0x1b, 0xf, 0xf, true);   // quad_perm:[3,2,1,0]
  o[1] = DPP(7, x, 0x101, 0xf, 0xf, false); // row_shl:1
  o[2] = DPP(7, x, 0x113, 0xf, 0xf, false); // row_shr:3
  o[3] = DPP(0, x, 0x124, 0xf, 0xf, true);  // row_ror:4
  o[4] = DPP(0, x, 0x140, 0xf, 0xf, true);  // row_mirror
  o[5] = DPP(0, x, 0x141, 0xf, 0xf, true);  // row_half_mirror
  o[6] = DPP(0, x, 0x152, 0xf, 0xf, true);  // row_share:2
  o[7] = DPP(0, x, 0x165, 0xf, 0xf, true);  // row_xmask:5
  o[8] = DPP(9, x, 0x1b, 0xa, 0x5, false);
  o[9] = DPP(x, x, 0x111, 0xe, 0xf, false);
  o[10] = DPP(0, x, 0x10f, 0xf, 0x3, true);
  o[11] = x + DPP(0, x, 0xb1, 0xf, 0xf, true);
  o[12] = x ^ DPP(0, x, 0x4e, 0xf, 0xf, true);
}
#endif
KERNEL dpp_reduce_f32(const float *a, float *out) {
  u32 t = TID;
  float x = a[t];
#define STEP(ctrl) x += __builtin_bit_cast(float, DPP(0, __builtin_bit_cast(int, x), ctrl, 0xf, 0xf, true))
#ifdef __GFX9__ // row_ror for row_xmask
  STEP(0x121);
  STEP(0x122);
  STEP(0x124);
  STEP(0x128);
#else
  STEP(0x161);
  STEP(0x162);
  STEP(0x164);
  STEP(0x168);
#endif
  float m = x;
#define MSTEP(ctrl) m = __builtin_fmaxf(m, __builtin_bit_cast(float, DPP(0, __builtin_bit_cast(int, m), ctrl, 0xf, 0xf, true)))
  MSTEP(0x121);
  MSTEP(0x122);
  MSTEP(0x124);
  MSTEP(0x128);
  out[t] = x * m;
}
KERNEL dpp_scan_u32(const u32 *a, u32 *out) {
  u32 t = TID;
  u32 x = a[t];
#define SCAN(ctrl) x += (u32)DPP(0, (int)x, ctrl, 0xf, 0xf, false)
  SCAN(0x111);
  SCAN(0x112);
  SCAN(0x114);
  SCAN(0x118);
  out[t] = x;
}
#ifdef __GFX9__
// A scan over the wave: within rows, then the last lane of a row, or of a half, to what comes behind it.
KERNEL dpp_scan_wave(const u32 *a, u32 *out) {
  u32 t = TID;
  u32 x = a[t];
  SCAN(0x111);
  SCAN(0x112);
  SCAN(0x114);
  SCAN(0x118);
  x += (u32)DPP(0, (int)x, 0x142, 0xa, 0xf, false);
  x += (u32)DPP(0, (int)x, 0x143, 0xc, 0xf, false);
  out[t] = x;
}
KERNEL dpp_shift_wave(const u32 *a, u32 *out) {
  u32 t = TID;
  out[t] = DPP(7, (int)a[t], 0x138, 0xf, 0xf, false);      // wave_shr:1
  out[64 + t] = DPP(9, (int)a[t], 0x130, 0xf, 0xf, false); // wave_shl:1
  out[128 + t] = DPP(0, (int)a[t], 0x13c, 0xf, 0xf, true); // wave_ror:1
  out[192 + t] = DPP(0, (int)a[t], 0x134, 0xf, 0xf, true); // wave_rol:1
}
#else
KERNEL dpp_compare(const int *a, int *out) {
  u32 t = TID;
  int x = a[t];
  int y = DPP(0, x, 0x161, 0xf, 0xf, true);
  out[t] = x < y ? x : y;
  out[32 + t] = (u32)x > (u32)y ? x : y;
  out[64 + t] = x == y ? 1 : 0;
}
KERNEL dpp8(const u32 *a, u32 *out) {
  u32 t = TID;
  out[t] = __builtin_amdgcn_mov_dpp8(a[t], 0x53977u) + __builtin_amdgcn_mov_dpp8(a[t], 0xfac688u);
}
#endif
