// One WMMA of each kind of gfx1151, operands straight from memory.
#define KERNEL extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, 256)))
#define SHARED __attribute__((shared))
#define TID __builtin_amdgcn_workitem_id_x()
#define BLOCK __builtin_amdgcn_workgroup_id_x()
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;
typedef unsigned char u8;
typedef _Float16 half16 __attribute__((ext_vector_type(16)));
typedef short short16 __attribute__((ext_vector_type(16)));
typedef float float8 __attribute__((ext_vector_type(8)));
typedef int int8v __attribute__((ext_vector_type(8)));
typedef int int4v __attribute__((ext_vector_type(4)));
typedef int int2v __attribute__((ext_vector_type(2)));
KERNEL wmma_f32_f16(const half16 *a, const half16 *b, float8 *c) {
  u32 t = TID;
  c[t] = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a[t], b[t], c[t]);
}
KERNEL wmma_f32_bf16(const short16 *a, const short16 *b, float8 *c) {
  u32 t = TID;
  c[t] = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(a[t], b[t], c[t]);
}
KERNEL wmma_f16_f16(const half16 *a, const half16 *b, half16 *c, half16 *d) {
  u32 t = TID;
  c[t] = __builtin_amdgcn_wmma_f16_16x16x16_f16_w32(a[t], b[t], c[t], false);
  d[t] = __builtin_amdgcn_wmma_f16_16x16x16_f16_w32(a[t], b[t], d[t], true);
}
KERNEL wmma_bf16_bf16(const short16 *a, const short16 *b, short16 *c, short16 *d) {
  u32 t = TID;
  c[t] = __builtin_amdgcn_wmma_bf16_16x16x16_bf16_w32(a[t], b[t], c[t], false);
  d[t] = __builtin_amdgcn_wmma_bf16_16x16x16_bf16_w32(a[t], b[t], d[t], true);
}
KERNEL wmma_i32_iu8(const int4v *a, const int4v *b, int8v *c, int8v *d) {
  u32 t = TID;
  c[t] = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, a[t], false, b[t], c[t], false);
  d[t] = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(false, a[t], true, b[t], d[t], true);
}
KERNEL wmma_i32_iu4(const int2v *a, const int2v *b, int8v *c, int8v *d) {
  u32 t = TID;
  c[t] = __builtin_amdgcn_wmma_i32_16x16x16_iu4_w32(true, a[t], true, b[t], c[t], false);
  d[t] = __builtin_amdgcn_wmma_i32_16x16x16_iu4_w32(false, a[t], false, b[t], d[t], true);
}
KERNEL wmma_zero(const half16 *a, const half16 *b, float8 *c, int n) {
  u32 t = TID;
  float8 acc = {};
  for (int i = 0; i < n; i++) acc = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a[t + 32 * (u32)i], b[t + 32 * (u32)i], acc);
  c[t] = acc;
}
