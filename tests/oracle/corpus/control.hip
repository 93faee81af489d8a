// Divergent control flow: nested conditions, loops that lanes leave apart, switch, early return.
#define KERNEL extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, 256)))
#define SHARED __attribute__((shared))
#define TID __builtin_amdgcn_workitem_id_x()
#define BLOCK __builtin_amdgcn_workgroup_id_x()
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;
typedef unsigned char u8;
KERNEL collatz(const u32 *a, u32 *out) {
  u32 t = TID, x = a[t] & 1023, n = 0;
  while (x > 1) {
    if (x & 1) x = 3 * x + 1;
    else x >>= 1;
    n++;
  }
  out[t] = n;
}
KERNEL switch_lane(const u32 *a, u32 *out) {
  u32 t = TID, x = a[t], r;
  switch (x & 7) {
  case 0: r = x * 3; break;
  case 1: r = x ^ 0x55; break;
  case 2: r = x + out[t + 64]; break;
  case 3: r = ~x; break;
  case 4: r = x << 5; break;
  case 5: out[t + 256] = x; r = 9; break;
  default: r = x >> 3;
  }
  out[t] = r;
}
KERNEL switch_uniform(u32 *out, u32 x) {
  switch (x) {
  case 0: out[0] = x * 3 + out[9]; break;
  case 1: out[1] = x ^ 0x55; break;
  case 2: out[2] = x + out[3]; break;
  case 3: out[3] = ~x; break;
  case 4: out[4] = out[7] << 5; break;
  case 5: out[5] = x * out[8]; break;
  case 6: out[6] = 77; break;
  case 7: out[7] = out[1] / 9; break;
  default: out[8] = 1;
  }
}
KERNEL nested(const int *a, const int *b, int *out, int n) {
  u32 t = TID;
  int r = 0;
  for (int i = 0; i < n; i++) {
    if (a[t] > i) {
      if (b[t] < i) { r += b[t + (u32)i]; continue; }
      r ^= a[t + (u32)i];
      if (r == 1234567) break;
    } else if (b[t] == i) {
      out[t + 64] = r;
      return;
    }
    for (int j = 0; j < (r & 3); j++) r = r * 5 + j;
  }
  out[t] = r;
}
KERNEL short_circuit(const float *a, const int *b, int *out) {
  u32 t = TID;
  if ((a[t] > 0.5f && b[t] < 100) || (a[t + 1] < -1.0f && b[t + 1] != 7)) out[t] = b[t + 2];
  else if (!(a[t + 2] >= 3.0f) && (b[t] & 5)) out[t] = 2 * b[t + 3];
}
KERNEL early_return(const int *a, int *out, int n) {
  int i = (int)(BLOCK * 64 + TID);
  if (i >= n) return;
  out[i] = a[i] * 7 + (int)__builtin_amdgcn_workgroup_id_y() - (int)__builtin_amdgcn_workgroup_id_z();
}
KERNEL trap_if(const int *a, int *out) {
  if (a[TID] == 0x7fffffff) __builtin_trap();
  out[TID] = a[TID];
}
KERNEL ids(u32 *out) {
  u32 x = TID, y = __builtin_amdgcn_workitem_id_y(), z = __builtin_amdgcn_workitem_id_z();
  out[BLOCK * 256 + (z * 4 + y) * 8 + x] = x | y << 8 | z << 16;
}
