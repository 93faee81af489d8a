// Lane crossing: permlane16, permlanex16, ds_swizzle, ds_bpermute, ds_permute, readlane, ballot, mbcnt.
#define KERNEL extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, 256)))
#define SHARED __attribute__((shared))
#define TID __builtin_amdgcn_workitem_id_x()
#define BLOCK __builtin_amdgcn_workgroup_id_x()
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;
typedef unsigned char u8;
KERNEL permlane(const u32 *a, u32 *out, u32 s, u32 s2) {
  u32 t = TID, x = a[t];
  u32 *o = out + 8 * t;
  o[0] = __builtin_amdgcn_permlane16(x, x, 0x76543210u, 0xfedcba98u, false, false);
  o[1] = __builtin_amdgcn_permlane16(0, x, s, s2, true, true);
  o[2] = __builtin_amdgcn_permlanex16(x, x, 0x76543210u, 0xfedcba98u, false, false);
  o[3] = __builtin_amdgcn_permlanex16(5, x, s, s2, true, false);
  o[4] = __builtin_amdgcn_permlanex16(5, x, s2, 0x01234567u, false, true);
}
KERNEL swizzle(const int *a, int *out) {
  u32 t = TID;
  int x = a[t];
  int *o = out + 8 * t;
  o[0] = __builtin_amdgcn_ds_swizzle(x, 0x401f); // swap 16
  o[1] = __builtin_amdgcn_ds_swizzle(x, 0x041f); // xor 1
  o[2] = __builtin_amdgcn_ds_swizzle(x, 0x801b); // quad_perm
  o[3] = __builtin_amdgcn_ds_swizzle(x, 0x0018); // broadcast in 8
  o[4] = __builtin_amdgcn_ds_swizzle(x, 0xc420); // rotate
  o[5] = __builtin_amdgcn_ds_swizzle(x, 0x1c07);
}
KERNEL bpermute(const int *a, const int *idx, int *out) {
  u32 t = TID;
  int x = a[t];
  out[3 * t] = __builtin_amdgcn_ds_bpermute(idx[t] << 2, x);
  out[3 * t + 1] = __builtin_amdgcn_ds_permute((int)(t ^ 21) << 2, x);
  out[3 * t + 2] = __builtin_amdgcn_ds_bpermute((int)(((t + 7) & 31) << 2), x);
}
KERNEL lanes(const u32 *a, u32 *out, u32 s) {
  u32 t = TID, x = a[t];
  u32 *o = out + 8 * t;
  o[0] = (u32)__builtin_amdgcn_readlane((int)x, 5);
  o[1] = (u32)__builtin_amdgcn_readlane((int)x, (int)(s & 31));
  o[2] = (u32)__builtin_amdgcn_readfirstlane((int)x) * 3;
  u32 b = __builtin_amdgcn_ballot_w32(x > 100);
  o[4] = b;
  o[5] = __builtin_amdgcn_mbcnt_hi(0, __builtin_amdgcn_mbcnt_lo(b, 0));
  o[6] = __builtin_amdgcn_mbcnt_lo(~0u, 17);
  o[7] = (u32)__builtin_popcount(b) + (u32)__builtin_ctz(b | 0x80000000u);
}
KERNEL waterfall(const int *a, const int *table, int *out) {
  u32 t = TID;
  int x = a[t] & 7, r = 0;
  for (;;) {
    int first = __builtin_amdgcn_readfirstlane(x);
    if (first == x) {
      r = table[first] + (int)t;
      break;
    }
  }
  out[t] = r;
}
KERNEL votes(const int *a, int *out) {
  u32 t = TID;
  u32 m = __builtin_amdgcn_ballot_w32(a[t] != 0);
  if (m == 0xffffffffu) out[t] = 1;
  else if (m == 0) out[t] = 2;
  else out[t] = (m >> (t & 31)) & 1 ? 3 : 4;
}
