// 64-bit integer arithmetic, shifts and comparisons of lanes and of uniform values.
#define KERNEL extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, 256)))
#define SHARED __attribute__((shared))
#define TID __builtin_amdgcn_workitem_id_x()
#define BLOCK __builtin_amdgcn_workgroup_id_x()
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;
typedef unsigned char u8;
KERNEL math64(const u64 *a, const u64 *b, u64 *out, int n) {
  u32 t = TID;
  u64 x = a[t], y = b[t];
  u64 r = x + y;
  r ^= x - y;
  r += x * y;
  r ^= x << (t & 63);
  r += y >> (t & 31);
  r ^= (u64)((long long)x >> (n & 63));
  r += (u64)(u32)x * (u32)y + r;
  r ^= (u64)((long long)(int)x * (int)y);
  if (x < y) r += 3;
  if ((long long)x > (long long)y) r ^= 5;
  if (x == r) r = ~r;
  if ((long long)x <= (long long)r) r -= 9;
  out[t] = x != y ? r : x;
}
KERNEL math64_uniform(u64 *out, u64 x, u64 y, int n) {
  u64 r = x + y;
  r ^= x - y;
  r += x * y;
  r ^= x << (n & 63);
  r += y >> (n & 31);
  r ^= (u64)((long long)x >> (n & 63));
  r |= ~(x & y);
  if (x == y) r += 5;
  if (x < y) r ^= 77;
  out[0] = r;
  out[1] = (u64)__builtin_popcountll(x) + (u64)__builtin_ctzll(y) + (u64)__builtin_clzll(x | 1);
  out[2] = __builtin_bitreverse64(x);
  out[3] = (x >> 5) & 0xffffffffffULL;
}
KERNEL mul_hi(const u32 *a, const int *b, u32 *out, u32 s, int i) {
  u32 t = TID;
  out[t] = (u32)(((u64)a[t] * a[t + 1]) >> 32) ^ (u32)(((long long)b[t] * b[t + 1]) >> 32);
  out[256] = (u32)(((u64)s * (u32)i) >> 32) ^ (u32)(((long long)i * (int)s) >> 32);
}
