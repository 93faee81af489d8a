// Integer division and modulo: the SALU float sequence of RDNA3.5 for uniform values, the VALU one for lanes.
#define KERNEL extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, 256)))
#define SHARED __attribute__((shared))
#define TID __builtin_amdgcn_workitem_id_x()
#define BLOCK __builtin_amdgcn_workgroup_id_x()
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;
typedef unsigned char u8;
KERNEL div_uniform(int *out, int a, int b, u32 c, u32 d) {
  out[0] = a / b;
  out[1] = a % b;
  out[2] = (int)(c / d);
  out[3] = (int)(c % d);
}
KERNEL div_lane_u32(const u32 *a, const u32 *b, u32 *out) {
  u32 t = TID, x = a[t], y = b[t] | 1;
  out[2 * t] = x / y;
  out[2 * t + 1] = x % y;
}
KERNEL div_lane_i32(const int *a, const int *b, int *out) {
  u32 t = TID;
  int x = a[t], y = b[t] | 1;
  out[2 * t] = x / y;
  out[2 * t + 1] = x % y;
}
KERNEL div_by_constants(const int *a, int *out, int n) {
  u32 t = TID;
  int x = a[t];
  out[t] = x / 7 + x % 10 + (int)((u32)x / 3u) + (int)((u32)(n * 5) / 12u);
}
KERNEL div_small(const u16 *a, const u16 *b, const signed char *c, u16 *out) {
  u32 t = TID;
  out[t] = (u16)(a[t] / (b[t] | 1) + (a[t] % (b[t] | 1)) + c[t] / (c[t + 1] | 1));
}
