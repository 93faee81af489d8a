// Scalar forms that the compiler takes for small constants, single uses and uniform floats.
#define KERNEL extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, 256)))
#define SHARED __attribute__((shared))
#define TID __builtin_amdgcn_workitem_id_x()
#define BLOCK __builtin_amdgcn_workgroup_id_x()
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;
typedef unsigned char u8;
KERNEL constants(int *out, int a, int b, u32 c) {
  if (a == 1000) out[0] = 1;
  if (a > 1000) out[1] = 1;
  if (b < 3000) out[2] = 1;
  if (b != 2000) out[3] = 1;
  if (c > 5000u) out[4] = 1;
  if (c <= 60000u) out[5] = 1;
  if (c == 50000u) out[6] = 1;
  if (c != 51000u) out[7] = 1;
  if (a >= 1234) out[8] = 1;
  if (b <= 777) out[9] = 1;
  if (c < 40000u) out[10] = 1;
  if (c >= 45000u) out[11] = 1;
  out[12] = a * 1000;
  out[13] = b + 2000;
  out[14] = a == 5 ? 1000 : b;
}
KERNEL shift_add(u32 *out, u32 a, u32 b, u32 c) {
  out[0] = (a << 1) + c;
  out[1] = (b << 2) + a;
  out[2] = (c << 3) + b;
  out[3] = (a << 4) + b;
  out[4] = ~(a ^ b ^ c);
  out[5] = ~(a & c);
  out[6] = ~(b | c);
  out[7] = a | ~c;
  out[8] = ((1u << (a & 31)) - 1) << (b & 31);
  out[9] = __builtin_amdgcn_ubfe(a, b, c);
  out[10] = (u32)__builtin_amdgcn_sbfe((int)a, b, c);
  out[11] = (a & 0xffff0000u) | (b >> 16);
  out[12] = (a << 16) | (b >> 16);
  out[13] = (a & 0xffff) | (b & 0xffff0000u);
  out[14] = (a >> 16) | (b << 16);
}
KERNEL bit_tests(u32 *out, u32 a, u32 b, u64 c) {
  if ((a >> (b & 31)) & 1) out[0] = 3;
  if (!((a >> 7) & 1)) out[1] = 3;
  if ((c >> 40) & 1) out[2] = 5;
  if (!((c >> (b & 63)) & 1)) out[3] = 5;
  out[4] = a | 1u << 17;
  out[5] = a & ~(1u << 21);
  *(u64 *)(out + 6) = c | 1ull << 50;
}
KERNEL uniform_floats(float *out, float a, float b, float c) {
  float p = a * b, q = b + c;
  out[0] = __builtin_fminf(p, q);
  out[1] = __builtin_fmaxf(p, q - a);
  out[2] = __builtin_fmaf(a, 3.25f, b);
  out[3] = __builtin_fmaf(a, p, 5.75f);
  out[4] = __builtin_fabsf(p) - q;
  out[5] = -p;
  out[6] = p < q ? a : b;
  out[7] = p >= c ? b : c;
  out[8] = p == c ? a : c;
  out[9] = (float)(_Float16)p;
}
KERNEL uniform_half(_Float16 *out, _Float16 a, _Float16 b) {
  _Float16 p = a * b, q = a + b;
  out[0] = __builtin_fminf16(p, q);
  out[1] = __builtin_fmaxf16(p, q - a);
}
KERNEL uniform_compare_f32(int *out, float a, float b) {
  out[0] = a < b ? 3 : 4;
  out[1] = a <= b ? 3 : 4;
  out[2] = a > b ? 3 : 4;
  out[3] = a >= b ? 3 : 4;
  out[4] = __builtin_isunordered(a, b) ? 3 : 4;
  out[5] = __builtin_islessgreater(a, b) ? 3 : 4;
}
KERNEL uniform_packed(u32 *out, float a, float b) {
  typedef _Float16 half2 __attribute__((ext_vector_type(2)));
  typedef __fp16 fp16x2 __attribute__((ext_vector_type(2)));
  ((fp16x2 *)out)[0] = __builtin_amdgcn_cvt_pkrtz(a, b);
  half2 h;
  h[0] = (_Float16)a;
  h[1] = (_Float16)b;
  ((half2 *)out)[1] = h;
}
static __attribute__((device, noinline)) int callee(int x, int y) { return x * y + (x ^ 77); }
KERNEL call(const int *a, int *out) { out[TID] = callee(a[TID], a[TID + 1]) + 1; }
